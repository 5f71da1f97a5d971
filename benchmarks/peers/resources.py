"""What a process has in memory, and what a folder takes on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["Resident", "disk_bytes", "resident"]

_OURS = Path("/proc/self")


class Resident(NamedTuple):
    """Bytes of memory: now, at most since the process began, and those of now that are no files."""

    now: int
    peak: int
    anonymous: int


def resident(process: Path = _OURS) -> Resident | None:
    """Return what a process has in memory, if the kernel tells, as Linux does.

    The peak is the kernel's VmHWM: that of ``getrusage`` begins with what the parent had when it started the process.

    >>> resident(Path("/nowhere")) is None
    True
    """
    try:
        lines = (process / "status").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    told = {
        name: 1024 * int(value.split()[0])
        for name, _, value in (line.partition(":") for line in lines)
        if "kB" in value
    }
    return Resident(told["VmRSS"], told["VmHWM"], told["RssAnon"])


def disk_bytes(folder: Path) -> int:
    """Return how many bytes all files below a folder have.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a").write_bytes(b"12345")
    ...     disk_bytes(Path(folder))
    5
    """
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
