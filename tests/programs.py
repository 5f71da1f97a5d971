"""Programs that tests run and that Python does not bring."""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ["program"]


def program(*names: str, package: str) -> str:
    """Return the path of the first of these that is there.

    Where there is none the test is skipped, or fails where nothing may be skipped, as in CI.
    """
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        missing = names[0] if len(names) == 1 else f"none of {', '.join(names)}"
        verb = "is not" if len(names) == 1 else "is"
        message = f"{missing} {verb} on the PATH; on Debian: apt-get install {package}"
        if os.environ.get("CI") or os.environ.get("RECOLLECT_SKIP_NOTHING"):
            pytest.fail(message)
        pytest.skip(message)
    return found
