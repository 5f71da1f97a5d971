"""What tests need and Python does not bring: where it is missing they are skipped, but never where nothing may be."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

from recollect.embedders.minilm import minilm_unavailable_reason

__all__ = ["do_without", "minilm", "program"]


def program(*names: str, package: str) -> str:
    """Return the path of the first of these that is there."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        missing = names[0] if len(names) == 1 else f"none of {', '.join(names)}"
        verb = "is not" if len(names) == 1 else "is"
        do_without(f"{missing} {verb} on the PATH; on Debian: apt-get install {package}")
    return found


def minilm() -> None:
    """See to it that MiniLM is there."""
    if problem := minilm_unavailable_reason():
        do_without(f"this is about MiniLM: {problem}")


def do_without(problem: str) -> NoReturn:
    """Skip the test, or let it fail where nothing may be skipped, as in CI."""
    if os.environ.get("CI") or os.environ.get("RECOLLECT_SKIP_NOTHING"):
        pytest.fail(problem)
    pytest.skip(problem)
