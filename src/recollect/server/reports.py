"""The evaluation reports of a folder: files that Recollect wrote there, and no others.

A folder may hold anything. What is served from it is found by walking over it, never by joining a name to its path;
it is a file of its own and no link; and it begins and ends as a report does.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import BinaryIO, NamedTuple

from recollect.text import well_formed

__all__ = ["LARGEST", "ReportFile", "report_text", "reports_in"]

LARGEST = 16 * 1_048_576
"""How many bytes a report may have; what is larger is none."""

_OPENING = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="Recollect '
)
"""How every report begins; the evaluation writes it so, and is too large a part to be loaded for this."""
_END = b"</html>\n"
_HEAD_BYTES = 8192
"""Where the title must stand."""
_TITLE = re.compile(rb"<title>([^<]*)</title>")


class ReportFile(NamedTuple):
    """A report as it is listed."""

    name: str
    title: str
    changed_at: datetime
    bytes: int


def reports_in(folder: Path) -> list[ReportFile]:
    r"""Return the reports that lie in a folder, the newest first.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "study.html").write_bytes(_OPENING + b'1.0"><title>tea: evaluation</title></html>\n')
    ...     _ = Path(folder, "other.html").write_bytes(b"<!doctype html><title>Somebody else's</title></html>\n")
    ...     [(report.name, report.title) for report in reports_in(Path(folder))]
    [('study.html', 'tea: evaluation')]
    """
    found = []
    for name in _names(folder):
        with _report(folder / name) as file:
            if file is not None:
                found.append(_listed(name, file))
    return sorted(found, key=lambda report: (report.changed_at, report.name), reverse=True)


def report_text(folder: Path, name: str) -> bytes | None:
    """Return the whole of a report, or ``None`` where none in this folder has this name."""
    if name not in _names(folder):
        return None
    with _report(folder / name) as file:
        return None if file is None else file.read(LARGEST)


def _names(folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:  # it may come back with the next report
        return []
    return [name for name in names if name.endswith(".html") and well_formed(name) == name]


@contextmanager
def _report(path: Path) -> Iterator[BinaryIO | None]:
    """Open a report, or give nothing where this is none, or none that may be read."""
    try:
        file = None if path.is_symlink() else open(path, "rb", opener=_opened)  # noqa: SIM115 (it is closed below)
    except OSError:
        file = None
    if file is None:
        yield None
        return
    with file:
        yield file if _is_report(file) else None


def _opened(path: str, flags: int) -> int:
    """Open neither a link that came in between nor, waiting for ever, a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _is_report(file: BinaryIO) -> bool:
    held = os.fstat(file.fileno())
    if not stat.S_ISREG(held.st_mode) or not len(_OPENING) + len(_END) <= held.st_size <= LARGEST:
        return False
    begins = file.read(len(_OPENING)) == _OPENING
    file.seek(-len(_END), os.SEEK_END)
    ends = file.read() == _END
    file.seek(0)
    return begins and ends


def _listed(name: str, file: BinaryIO) -> ReportFile:
    held = os.fstat(file.fileno())
    title = _TITLE.search(file.read(_HEAD_BYTES))
    shown = unescape(title[1].decode(errors="replace")) if title else name
    return ReportFile(name, shown, datetime.fromtimestamp(held.st_mtime, UTC), held.st_size)
