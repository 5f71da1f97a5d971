"""What the pool of connections does not do by itself: trust what was in use a moment ago, and keep quiet."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from weakref import WeakKeyDictionary

from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

__all__ = ["Trust", "pipeline", "pool_name", "quietly"]

TRUSTED = 1.0
"""Seconds for which a connection that was given back is taken to be as it was: to ask costs a journey to the server."""

_POOL_NAME = "recollect-pool-"
_NUMBERS = count(1)


class Trust:
    """Which idle connections need not be asked whether they are still there."""

    def __init__(self) -> None:
        """Trust none yet."""
        self._returned: WeakKeyDictionary[Connection[TupleRow], float] = WeakKeyDictionary()
        self._doubted = 0.0

    def give_back(self, connection: Connection[TupleRow]) -> None:
        """Remember that a connection was there just now."""
        self._returned[connection] = time.monotonic()

    def doubt(self) -> None:
        """Trust none that is idle now: one of them was cut."""
        self._doubted = time.monotonic()

    def check(self, connection: Connection[TupleRow]) -> None:
        """Raise an error if a connection is gone; who is trusted is not asked."""
        returned = self._returned.get(connection, 0.0)
        if returned <= self._doubted or time.monotonic() - returned > TRUSTED:
            ConnectionPool.check_connection(connection)


class _Threads(threading.local):
    quiet = False


_threads = _Threads()


@contextmanager
def quietly() -> Iterator[None]:
    """Let psycopg log nothing that it does here: what comes of it is an error, or nothing that matters."""
    _threads.quiet = True
    try:
        yield
    finally:
        _threads.quiet = False


@contextmanager
def pipeline(connection: Connection[TupleRow]) -> Iterator[None]:
    """Send statements together. Where one fails, nobody wants to hear that those behind it do so too."""
    with quietly(), connection.pipeline():
        yield


def pool_name() -> str:
    """Return a name for a pool, by which what it logs is told from what others do."""
    return f"{_POOL_NAME}{next(_NUMBERS)}"


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a record is of others: of what happens to our connections, an error says what came of it."""
    return not _threads.quiet and _POOL_NAME not in record.getMessage()


for _logger in ("psycopg", "psycopg.pool"):
    logging.getLogger(_logger).addFilter(_is_news)
