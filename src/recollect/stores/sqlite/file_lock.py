"""A lock between processes that is let go when its process ends, on every system: SQLite's own, on an empty file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recollect.errors import StoreBusyError, StoreError

__all__ = ["locked"]


@contextmanager
def locked(path: Path, *, patience: float = 10.0) -> Iterator[None]:
    """Hold the lock of a file that is there for nothing else, made where it is missing; wait so many seconds for it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, locked(Path(folder, "keys.lock")):
    ...     print("alone")
    alone
    """
    try:
        connection = apsw.Connection(str(path))
        try:
            connection.set_busy_timeout(round(patience * 1000))
            connection.execute("BEGIN EXCLUSIVE")
            yield
        finally:
            connection.close()
    except apsw.BusyError:
        raise StoreBusyError(f"another process holds {path}") from None
    except apsw.Error as error:
        raise StoreError(f"{path} cannot be locked: {error}") from None
