"""Programs and models that tests need. If one is missing, a test is skipped, or fails in CI."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

from recollect.embedders import EMBEDDERS

__all__ = ["require_embedder", "require_program", "skip_or_fail"]


def require_program(*names: str, package: str) -> str:
    """Return the path of the first of these programs that is installed."""
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        missing = names[0] if len(names) == 1 else f"none of {', '.join(names)}"
        verb = "is not" if len(names) == 1 else "is"
        skip_or_fail(f"{missing} {verb} on the PATH; on Debian: apt-get install {package}")
    return path


def require_embedder(name: str = "arctic-embed-s") -> None:
    """Continue only if this embedder of the catalogue is installed."""
    unavailable_reason = EMBEDDERS[name].unavailable_reason
    if unavailable_reason and (problem := unavailable_reason()):
        skip_or_fail(f"this test needs an embedder: {problem}")


def skip_or_fail(problem: str) -> NoReturn:
    """Skip the test, or fail it if CI or RECOLLECT_SKIP_NOTHING is set."""
    if os.environ.get("CI") or os.environ.get("RECOLLECT_SKIP_NOTHING"):
        pytest.fail(problem)
    pytest.skip(problem)
