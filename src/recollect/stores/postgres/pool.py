"""Addresses, and what psycopg's pool lacks: skipping a check that is not needed, and silence.

The pool checks each connection before it is used, which takes a round trip; one that was used within the last second is
trusted. psycopg logs every broken connection; here an error says what came of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TypedDict
from weakref import WeakKeyDictionary

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from recollect.errors import ArgumentError

TRUST_SECONDS = 1.0
"""How long a connection that was returned is assumed to be alive."""
_MAX_SECONDS = 86_400

_POOL_NAME = "recollect-pool-"
_NUMBERS = count(1)


class PoolOptions(TypedDict, total=False):
    """The size of the pool, and timeouts in seconds for a connection and for a statement."""

    pool_size: int
    pool_timeout: float
    statement_timeout: float


def split_options(address: str) -> tuple[str, PoolOptions]:
    """Return an address for libpq, and the options in it that are for the pool.

    >>> split_options("postgresql://db/notes?sslmode=require&pool_size=20")
    ('postgresql://db/notes?sslmode=require', {'pool_size': 20})
    """
    base, _, query = address.partition("?")
    options: PoolOptions = {}
    others = []
    for option in query.split("&"):
        name, _, value = option.partition("=")
        if name == "pool_size":
            options["pool_size"] = _positive(name, value)
        elif name == "pool_timeout":
            options["pool_timeout"] = _seconds(name, value)
        elif name == "statement_timeout":
            options["statement_timeout"] = _seconds(name, value)
        else:
            others.append(option)
    return f"{base}?{'&'.join(others)}" if any(others) else base, options


def _positive(name: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and int(value)):
        raise ArgumentError("target", f"has {name}={value}; give a whole number from 1 on")
    return int(value)


def _seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < _MAX_SECONDS:
        raise ArgumentError("target", f"has {name}={value}; give seconds, from 0 to {_MAX_SECONDS}")
    return seconds


def parse_address(address: str) -> dict[str, str | int | None]:
    """Return the parts of an address. An error does not repeat it: a part may be the password."""
    try:
        parts = dict(conninfo_to_dict(address))
    except psycopg.Error:
        parts = {"host": "@"}
    ports = str(parts.get("port", "")).replace(",", "")
    # An unescaped @ or slash in the password moves a part of it to the host or the database.
    if "@" in f"{parts.get('host', '')}{parts.get('dbname', '')}" or (ports and not ports.isdecimal()):
        raise ArgumentError(
            "target",
            "is no address of a PostgreSQL database; write postgresql://user:password@host:port/database, "
            "with %40 for an @ in the password, %2F for a slash, %3A for a colon; options of libpq, "
            "pool_size, pool_timeout and statement_timeout follow a ?",
        ) from None
    return parts


def display_address(parts: Mapping[str, str | int | None]) -> str:
    """Return the address without the password.

    >>> display_address({"user": "ines", "password": "secret", "host": "db", "port": "5433", "dbname": "notes"})
    'postgresql://ines@db:5433/notes'
    """
    host, port = str(parts.get("host", "")), parts.get("port")
    user = f"{parts['user']}@" if parts.get("user") else ""
    server, socket = ("", f"?host={host}") if host.startswith("/") else (host, "")
    return f"postgresql://{user}{server}{f':{port}' if port else ''}/{parts.get('dbname', '')}{socket}"


class ConnectionCheck:
    """Checks idle connections, except those that were used recently."""

    def __init__(self) -> None:
        self._returned: WeakKeyDictionary[Connection[TupleRow], float] = WeakKeyDictionary()
        self._distrusted = 0.0

    def returned(self, connection: Connection[TupleRow]) -> None:
        """Record that a connection was alive just now."""
        self._returned[connection] = time.monotonic()

    def distrust_idle(self) -> None:
        """Check all connections that are idle now: one was broken."""
        self._distrusted = time.monotonic()

    def check(self, connection: Connection[TupleRow]) -> None:
        """Raise an error if a connection is broken."""
        returned = self._returned.get(connection, 0.0)
        if returned <= self._distrusted or time.monotonic() - returned > TRUST_SECONDS:
            ConnectionPool.check_connection(connection)


class _ThreadState(threading.local):
    silent = False


_state = _ThreadState()


@contextmanager
def silence_psycopg() -> Iterator[None]:
    """Let psycopg log nothing in this thread."""
    _state.silent = True
    try:
        yield
    finally:
        _state.silent = False


@contextmanager
def pipeline(connection: Connection[TupleRow]) -> Iterator[None]:
    """Send statements together, without a log entry for each one after a failed one."""
    with silence_psycopg(), connection.pipeline():
        yield


def pool_name() -> str:
    """Return a unique name that marks the log entries of our pools."""
    return f"{_POOL_NAME}{next(_NUMBERS)}"


def _is_foreign(record: logging.LogRecord) -> bool:
    """Return whether a log entry is about connections of others."""
    return not _state.silent and _POOL_NAME not in record.getMessage()


for _logger in ("psycopg", "psycopg.pool"):
    logging.getLogger(_logger).addFilter(_is_foreign)
