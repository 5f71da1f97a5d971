"""A memory in a temporary folder, and the command line run on it in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from click.testing import CliRunner, Result

import recollect
from recollect.cli import recollect as commands

Run: TypeAlias = Callable[..., Result]

NOTES: list[dict[str, Any]] = [
    {
        "id": "n1",
        "path": "memory/tea.md",
        "title": "Tea",
        "summary": "Green, no milk.",
        "content": "Prefers green tea.",
        "tags": ["drink", "preference"],
        "created_at": "2026-01-10",
        "last_accessed_at": "2026-02-01",
        "importance": 0.8,
        "links": [("supersedes", "memory/coffee.md")],
        "metadata": {"season": "winter", "cups": 3},
    },
    {
        "id": "n2",
        "path": "memory/coffee.md",
        "title": "Coffee",
        "content": "Drank coffee, then tea.",
        "tags": ["drink"],
        "created_at": "2025-11-03",
        "session": "s1",
        "position": 2,
    },
    {"id": "n3", "content": "A bicycle with new brakes.", "created_at": "2026-03-01T18:00:00Z", "session": "s1"},
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run each test in an empty folder, without a model, a reranker or colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    variables = ("RECOLLECT_DB", "RECOLLECT_RERANKER", "RECOLLECT_SECRETS", "RECOLLECT_DEBUG")
    for name in (*variables, "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: str, input: str | bytes | None = None, **options: Any) -> Result:  # noqa: A002 (click's name)
        return CliRunner().invoke(commands, arguments, input=input, prog_name="recollect", **options)

    return invoke


@pytest.fixture
def sample_path() -> Path:
    """Create the default memory with three notes."""
    with recollect.open("recollect.db", embedder=None) as memory:
        memory.add_many(NOTES)
    return Path("recollect.db")


def error_of(result: Result, code: int) -> str:
    """Return the one line of an error, without its first word."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("error: ").rstrip("\n")
