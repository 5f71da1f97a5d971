"""Open a store of notes by its path or URL, and redact URLs for messages.

:mod:`recollect.stores.base` is the contract of a store. ``sqlite`` and ``postgres`` implement it, and share ``sql``.
"""

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
        from recollect.stores.postgres.store import PostgresStore  # noqa: PLC0415 (an optional dependency)
    except ImportError as error:
        raise StoreError(f"psycopg cannot be imported ({error}): pip install 'recollectdb[postgres]'") from error
    return PostgresStore.at(url, read_only=read_only)


STORES: Mapping[str, Callable[..., Store]] = MappingProxyType(
    {"": _open_sqlite, "postgres": _open_postgres, "postgresql": _open_postgres}
)
"""The function that opens a store for each URL scheme; the function for the empty scheme opens the path of a file."""


def open_store(target: str | PathLike[str], *, read_only: bool = False) -> Store:
    """Open the store at ``target``: the path of an SQLite file, or a URL such as ``postgresql://host/database``.

    >>> open_store("redis://localhost")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    recollect.errors.ArgumentError: target: no store opens 'redis://localhost'; give the path of a file, or a URL ...
    """
    location: Any = target.__fspath__() if isinstance(target, PathLike) else target
    if not isinstance(location, str):
        raise ArgumentTypeError("target", f"must be the path of a file, got {type(target).__name__}")
    scheme, separator, _ = location.partition("://")
    if separator and scheme not in STORES:
        prefixes = " or ".join(f"{known_scheme}://" for known_scheme in STORES if known_scheme)
        message = f"no store opens {redact_secrets(location)!r}; give the path of a file, or a URL that begins with"
        raise ArgumentError("target", f"{message} {prefixes}")
    if not separator:
        _check_path(location)
    return STORES[scheme if separator else ""](location, read_only=read_only)


def _check_path(path: str) -> None:
    """Raise an error if ``path``, a target without ``://``, is not the path of a file."""
    if is_url(path):  # a mistyped URL, such as postgresql:notes, or a connection string of libpq
        scheme = path.partition(":")[0]
        prefix = f"{scheme if scheme in STORES else 'postgresql'}://"
        raise ArgumentError("target", f"a URL begins with {prefix}; for a file of this name, write ./ before it")
    if path == ":memory:":
        raise ArgumentError(
            "target", "a memory lives in a file; for a temporary one, give a path in a temporary folder"
        )
    if not path.strip() or "\0" in path:
        raise ArgumentError("target", f"must be the path of a file, got {path!r}")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|postgres(?:ql)?:")
"""The beginning of a URL. ``postgresql:`` without slashes matches, because it is a mistyped URL rather than a file."""
_CONNECTION_STRING = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|service)\s*=", re.IGNORECASE)
"""The beginning of a libpq connection string of keywords and values, such as ``host=db user=ines``."""
_OPTION = re.compile(r"\w+=")  # an option of a URL: name=value
_COLON_WITHOUT_PORT = re.compile(r":(?!\d+(?:/|$)).*", re.DOTALL)  # a colon that no port follows, and all text after it
_SECRET_OPTIONS = ("password", "sslpassword", "token")


def is_url(target: str) -> bool:
    """Return whether a target names a server rather than a file.

    >>> is_url("postgresql://db/notes"), is_url("notes/memory.db")
    (True, False)
    """
    return (_SCHEME.match(target) or _CONNECTION_STRING.match(target)) is not None


def redact_secrets(target: str) -> str:
    """Return a target without its password and tokens, for messages and logs; the user's name stays.

    A password may contain unescaped ``/``, ``?`` or ``@``. In doubt, more than the password is removed.

    >>> redact_secrets("postgresql://ines:pa/s@s@db:5433/notes?password=pass&sslmode=require")
    'postgresql://ines@db:5433/notes?sslmode=require'
    """
    if _CONNECTION_STRING.match(target):
        return "host=…"  # no value is shown, because each of them may contain a secret
    scheme = _SCHEME.match(target)
    if scheme is None:
        return target
    # The parts of the URL: scheme://user:password@location?options, where location is host:port/database.
    rest = target[scheme.end() :]
    before_options, _, options = rest.partition("?")
    if options and not all(map(_OPTION.match, options.split("&"))):  # some are not name=value: the ? is in a password
        credentials, at_sign, rest = rest.rpartition("@")
        location, _, options = rest.partition("?")
    else:
        credentials, at_sign, location = before_options.rpartition("@")
    if credentials.startswith("/"):  # the URL has no host and no credentials: the @ is part of a path
        credentials, at_sign, location = "", "", f"{credentials}@{location}"
    if not at_sign and "@" in options:  # as in user:a?b=c@host with the password a?b=c: remove its start from location
        location = _COLON_WITHOUT_PORT.sub("", location)
    user = credentials.partition(":")[0]
    # An option with an @ is left out: the text before the @ may be the rest of a password.
    without_at_sign = [option for option in options.split("&") if option and "@" not in option]
    safe_options = [option for option in without_at_sign if option.partition("=")[0].lower() not in _SECRET_OPTIONS]
    query = f"?{'&'.join(safe_options)}" if safe_options else ""
    return f"{scheme[0]}{user}{at_sign if user else ''}{location}{query}"
