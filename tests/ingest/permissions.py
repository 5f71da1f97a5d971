"""Files without read permission, also if root runs the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65_534


@contextmanager
def without_read_permission(path: Path) -> Iterator[None]:
    """Remove the read permission of a file or folder below ``shared_path``; root becomes nobody meanwhile."""
    before = path.stat().st_mode
    path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(NOBODY)
        yield
    finally:
        os.seteuid(user)
        path.chmod(before)
