"""A backup appears when it is whole; until then it lies beside its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import urandom
from pathlib import Path

from recollect.errors import ArgumentError, StoreError

__all__ = ["appearing"]


@contextmanager
def appearing(target: Path, *, overwrite: bool, source: Path | None = None) -> Iterator[Path]:
    """Give where to write an SQLite file; it takes its place as ``target`` at the end, unless an error comes.

    What is there already stays, unless ``overwrite``; ``source``, the file that is copied, always does.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with appearing(Path(folder, "notes.db"), overwrite=False) as unfinished:
    ...         written = unfinished.write_text("tea")
    ...     [path.name for path in Path(folder).iterdir()]
    ['notes.db']
    """
    try:
        if target.exists() and (not overwrite or (source is not None and target.samefile(source))):
            raise ArgumentError("target", f"{target} exists; choose another name")
        if any(target.with_name(target.name + end).exists() for end in ("-wal", "-journal")):
            raise ArgumentError("target", f"{target} is in use, or was not closed; choose another name")
        unfinished = target.with_name(f"{target.name}.{urandom(4).hex()}.partial")
        try:
            yield unfinished
            unfinished.replace(target)
        finally:
            for end in ("", "-wal", "-shm"):
                unfinished.with_name(unfinished.name + end).unlink(missing_ok=True)
    except (OSError, UnicodeError) as error:
        raise StoreError(f"{str(target)!a} cannot be written: {error}") from error
