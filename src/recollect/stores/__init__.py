"""Where notes live and are found: :mod:`recollect.stores.base` is the contract, each folder an engine that keeps it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from recollect.stores.base import Store

__all__ = ["open_store"]


def open_store(target: str | PathLike[str], *, read_only: bool = False) -> Store:
    """Open the store that ``target`` names: the path of an SQLite file.

    >>> open_store("redis://localhost")
    Traceback (most recent call last):
    recollect.errors.ArgumentError: target: no store is known for 'redis://localhost'; give the path of a file
    """
    from recollect.stores.sqlite.store import SQLiteStore  # noqa: PLC0415 (brings SQLite and numpy)

    name: Any = target if isinstance(target, str) else getattr(target, "__fspath__", lambda: None)()
    if not isinstance(name, str):
        raise ArgumentTypeError("target", f"must be the path of a file, got {type(target).__name__}")
    if "://" in name:
        raise ArgumentError("target", f"no store is known for {name!r}; give the path of a file")
    if name == ":memory:":
        raise ArgumentError("target", "a memory lives in a file; for a passing one, give a path in a temporary folder")
    if not name.strip() or "\0" in name:
        raise ArgumentError("target", f"must be the path of a file, got {name!r}")
    return SQLiteStore(Path(name).expanduser(), read_only=read_only)
