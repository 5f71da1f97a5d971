"""A file is written whole or not at all: who reads it meanwhile finds what was there before."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from secrets import token_hex

__all__ = ["replace_text"]


def replace_text(path: Path, text: str) -> None:
    """Write a text to a file in place of what it held; raise ``OSError`` and leave it as it was where that fails.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for text in ("old", "new"):
    ...         replace_text(Path(folder, "study.html"), text)
    ...     [(path.name, path.read_text()) for path in Path(folder).iterdir()]
    [('study.html', 'new')]
    """
    goal = Path(os.path.realpath(path))  # a link stays one
    beside = goal.with_name(f".{token_hex(8)}.part")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            if goal.exists():
                shutil.copymode(goal, beside)  # who may not read it may not read the new one, either
            file.write(text)
        beside.replace(goal)
    finally:
        beside.unlink(missing_ok=True)
