"""The commands of the tutorial succeed in a checkout on a fresh machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.docs.session import DOCS, commands, on_a_free_port, run
from tests.requirements import require_embedder, require_program

PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")
ROOT = DOCS.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "tests", "benchmarks")
"""Files that pip does not need or that a new checkout does not have."""


@pytest.fixture
def desk() -> Iterator[Path]:
    """Yield a folder that is deleted afterwards: an environment has hundreds of megabytes."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def checkout(desk: Path) -> Path:
    return Path(shutil.copytree(ROOT, desk / "checkout", ignore=LEFT_OUT))


@pytest.fixture
def fresh(desk: Path) -> dict[str, str]:
    """Return environment variables with this Python and without Recollect."""
    python = desk / "bin" / "python3"
    python.parent.mkdir()
    base = getattr(sys, "_base_executable", sys.executable)  # the Python behind the virtual environment
    python.write_text(f'#!/bin/sh\nexec "{base}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RECOLLECT_", "PYTHON", "COVERAGE", "COV_", "VIRTUAL_ENV"))
    }
    ours = Path(sys.prefix, "bin")
    path = [str(python.parent), *(entry for entry in environment["PATH"].split(os.pathsep) if Path(entry) != ours)]
    environment["PIP_NO_COMPILE"] = "1"  # faster
    return environment | {"PATH": os.pathsep.join(path), "RECOLLECT_CACHE": str(desk / "cache")}


def test_tutorial_commands(checkout: Path, fresh: dict[str, str]) -> None:
    require_embedder()
    require_program("curl", package="curl")
    run(on_a_free_port(commands(PAGE)), checkout, fresh, seconds=600)
    made = checkout.parent / "my-memory"
    assert sorted(path.name for path in made.iterdir()) == ["agent.py", "memory.db", "notes", "server.log", "venv"]
