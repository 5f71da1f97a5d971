"""Data walks from front to back, and so do imports: a room may know those behind it, never those in front or beside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect

PACKAGE = Path(recollect.__file__).parent

LAYERS = [
    {"__main__"},
    {"cli"},
    {"server"},
    {"integrations"},
    {"client"},
    {"evaluation"},
    {"asynchronous"},
    {"opening"},
    {"memory"},
    {"health"},
    {"writer", "access"},
    {"retrieval"},
    {"ingest", "stores", "embedders", "rerankers"},
    {"jsonl", "inference", "secrets"},
    {"ranking"},
    {"fusion"},
    {"query"},
    {"model", "settings"},
    {"arguments"},
    {"text", "progress", "sample"},
    {"errors", "__version__"},
]
"""From the front to the back of the house. ``__init__`` shows all rooms and belongs to none."""

DEPTH = {room: depth for depth, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str:
    return module.split(".")[1] if module.count(".") else "__init__"


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" if module == "recollect" else module for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    assert room in DEPTH, f"{room} is a new room: give it a place in LAYERS"
    for module in imports_of(path):
        if module.split(".")[0] == "recollect":
            other = room_of(module)
            assert other == room or DEPTH[other] > DEPTH[room], f"{room} must not import {module}"
