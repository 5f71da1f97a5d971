"""Stores of notes: :mod:`recollect.stores.base` is the contract, each package an engine that implements it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from recollect.errors import ArgumentError, ArgumentTypeError, StoreError

if TYPE_CHECKING:
    from recollect.stores.base import Store

__all__ = ["STORES", "is_url", "open_store", "redact_secrets"]


def _open_sqlite(path: str, *, read_only: bool) -> Store:
    from recollect.stores.sqlite.store import SQLiteStore  # noqa: PLC0415 (imports SQLite and numpy)

    return SQLiteStore(Path(path).expanduser(), read_only=read_only)


def _open_postgres(url: str, *, read_only: bool) -> Store:
    try:
        from recollect.stores.postgres.store import PostgresStore  # noqa: PLC0415 (of an extra)
    except ImportError as error:
        raise StoreError(f"psycopg cannot be imported ({error}): pip install 'recollectdb[postgres]'") from error
    return PostgresStore.at(url, read_only=read_only)


STORES: Mapping[str, Callable[..., Store]] = MappingProxyType(
    {"": _open_sqlite, "postgres": _open_postgres, "postgresql": _open_postgres}
)
"""The function that opens the targets of each URL scheme; a path has none."""


def open_store(target: str | PathLike[str], *, read_only: bool = False) -> Store:
    """Open the store at ``target``: the path of an SQLite file, or a URL such as ``postgresql://host/database``.

    >>> open_store("redis://localhost")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    recollect.errors.ArgumentError: target: no store opens 'redis://localhost'; give the path of a file, or a URL ...
    """
    name: Any = target if isinstance(target, str) else getattr(target, "__fspath__", lambda: None)()
    if not isinstance(name, str):
        raise ArgumentTypeError("target", f"must be the path of a file, got {type(target).__name__}")
    scheme, separator, _ = name.partition("://")
    if separator and scheme not in STORES:
        known = " or ".join(f"{scheme}://" for scheme in STORES if scheme)
        raise ArgumentError(
            "target",
            f"no store opens {redact_secrets(name)!r}; give the path of a file, or a URL that begins with {known}",
        )
    if not separator:
        _check_path(name)
    return STORES[scheme if separator else ""](name, read_only=read_only)


def _check_path(name: str) -> None:
    if is_url(name):  # of a known scheme, and mistyped
        scheme = name.partition(":")[0]
        prefix = f"{scheme if scheme in STORES else 'postgresql'}://"
        raise ArgumentError("target", f"a URL begins with {prefix}; for a file of this name, write ./ before it")
    if name == ":memory:":
        raise ArgumentError(
            "target", "a memory lives in a file; for a temporary one, give a path in a temporary folder"
        )
    if not name.strip() or "\0" in name:
        raise ArgumentError("target", f"must be the path of a file, got {name!r}")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|postgres(?:ql)?:")
"""How a URL begins; a known scheme without its slashes is mistyped, and no file."""
_KEYWORDS = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service)\s*=", re.IGNORECASE)
"""How libpq's other connection strings begin."""
_OPTION = re.compile(r"\w+=")
_NO_PORT = re.compile(r":(?!\d+(?:/|$)).*", re.DOTALL)
_SECRET_OPTIONS = ("password", "sslpassword", "token")


def is_url(target: str) -> bool:
    """Return whether a target names a server rather than a file.

    >>> is_url("postgresql://db/notes"), is_url("notes/memory.db")
    (True, False)
    """
    return (_SCHEME.match(target) or _KEYWORDS.match(target)) is not None


def redact_secrets(target: str) -> str:
    """Return a target without its password or token, for messages and logs; the user's name stays.

    A password may contain characters that should have been escaped: rather too much is removed than too little.

    >>> redact_secrets("postgresql://ines:pa/s@s@db:5433/notes?password=pass&sslmode=require")
    'postgresql://ines@db:5433/notes?sslmode=require'
    """
    if _KEYWORDS.match(target):
        return "host=…"
    scheme = _SCHEME.match(target)
    if scheme is None:
        return target
    rest = target[scheme.end() :]
    host, _, options = rest.partition("?")
    if options and not all(map(_OPTION.match, options.split("&"))):  # the ? is part of a password
        user, at, rest = rest.rpartition("@")
        host, _, options = rest.partition("?")
    else:
        user, at, host = host.rpartition("@")
    if user.startswith("/"):  # no server, so no user either: the @ is a part of the path
        user, at, host = "", "", f"{user}@{host}"
    if not at and "@" in options:  # after the colon comes a port, or a part of a password
        host = _NO_PORT.sub("", host)
    name = user.partition(":")[0]
    pairs = (option.partition("=") for option in options.split("&") if option)
    public = ["".join(pair) for pair in pairs if pair[0].lower() not in _SECRET_OPTIONS and "@" not in pair[2]]
    query = f"?{'&'.join(public)}" if public else ""
    return f"{scheme[0]}{name}{at if name else ''}{host}{query}"
