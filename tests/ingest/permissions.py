"""Files that cannot be read, for whoever runs the tests: root, who may read all, becomes nobody meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65_534


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Take the permission to read a file or folder below ``shared_path`` away."""
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
