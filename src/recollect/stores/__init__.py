"""Where notes live and are found: :mod:`recollect.stores.base` is the contract, each folder an engine that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from recollect.errors import ArgumentError, ArgumentTypeError, StoreError
from recollect.stores.addresses import is_address, without_secrets

if TYPE_CHECKING:
    from recollect.stores.base import Store

__all__ = ["open_store"]


def _open_postgres(address: str, *, read_only: bool) -> Store:
    try:
        from recollect.stores.postgres.store import PostgresStore  # noqa: PLC0415 (of an extra)
    except ImportError as error:
        raise StoreError(f"psycopg cannot be imported ({error}): pip install 'recollectdb[postgres]'") from error
    return PostgresStore.at(address, read_only=read_only)


OPENERS: Mapping[str, Callable[..., Store]] = MappingProxyType(
    {"postgres": _open_postgres, "postgresql": _open_postgres}
)
"""What opens the addresses of each scheme."""


def open_store(target: str | PathLike[str], *, read_only: bool = False) -> Store:
    """Open the store that ``target`` names: the path of an SQLite file, or the address of a server.

    Such an address is ``postgresql://host/database``.

    >>> open_store("redis://localhost")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    recollect.errors.ArgumentError: target: no store is known for 'redis://localhost'; give the path of a file, or ...
    """
    name: Any = target if isinstance(target, str) else getattr(target, "__fspath__", lambda: None)()
    if not isinstance(name, str):
        raise ArgumentTypeError("target", f"must be the path of a file, got {type(target).__name__}")
    scheme, found, _ = name.partition("://")
    if found:
        if scheme not in OPENERS:
            raise ArgumentError(
                "target",
                f"no store is known for {without_secrets(name)!r}; give the path of a file, or an address that begins "
                "with postgresql://",
            )
        return OPENERS[scheme](name, read_only=read_only)
    if is_address(name):  # of a known kind, and mistyped
        kind = scheme.partition(":")[0]
        begins = f"{kind if kind in OPENERS else 'postgresql'}://"
        raise ArgumentError("target", f"an address begins with {begins}; for a file of this name, write ./ before it")
    if name == ":memory:":
        raise ArgumentError("target", "a memory lives in a file; for a passing one, give a path in a temporary folder")
    if not name.strip() or "\0" in name:
        raise ArgumentError("target", f"must be the path of a file, got {name!r}")
    from recollect.stores.sqlite.store import SQLiteStore  # noqa: PLC0415 (brings SQLite and numpy)

    return SQLiteStore(Path(name).expanduser(), read_only=read_only)
