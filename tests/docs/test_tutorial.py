"""Whoever follows the tutorial word for word, from a checkout and on a fresh machine, succeeds."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.docs.session import DOCS, commands, on_a_free_port, run
from tests.requirements import require_minilm, require_program

PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")
ROOT = DOCS.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "tests", "benchmarks")
"""What a checkout holds that pip does not need, and what a new one does not hold."""


@pytest.fixture
def desk() -> Iterator[Path]:
    """Give a folder that is gone afterwards: an environment has hundreds of megabytes, too many to keep for a look."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def checkout(desk: Path) -> Path:
    return Path(shutil.copytree(ROOT, desk / "checkout", ignore=LEFT_OUT))


@pytest.fixture
def fresh(desk: Path) -> dict[str, str]:
    """Return the environment of somebody who has this Python, and has never heard of Recollect."""
    python = desk / "bin" / "python3"
    python.parent.mkdir()
    base = getattr(sys, "_base_executable", sys.executable)  # that which made the environment of these tests
    python.write_text(f'#!/bin/sh\nexec "{base}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RECOLLECT_", "PYTHON", "COVERAGE", "COV_", "VIRTUAL_ENV"))
    }
    ours = Path(sys.prefix, "bin")
    path = [str(python.parent), *(each for each in kept["PATH"].split(os.pathsep) if Path(each) != ours)]
    kept["PIP_NO_COMPILE"] = "1"  # what is never imported need not be compiled here
    return kept | {"PATH": os.pathsep.join(path), "RECOLLECT_CACHE": str(desk / "cache")}


def test_tutorial_commands(checkout: Path, fresh: dict[str, str]) -> None:
    require_minilm()
    require_program("curl", package="curl")
    run(on_a_free_port(commands(PAGE)), checkout, fresh, seconds=600)
    made = checkout.parent / "my-memory"
    assert sorted(path.name for path in made.iterdir()) == ["agent.py", "memory.db", "notes", "server.log", "venv"]
