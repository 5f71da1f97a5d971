"""Connections to one PostgreSQL database: a pool, and transactions for reading and writing.

Readers have a consistent snapshot, and are repeated once if their connection breaks. Writers of a namespace lock its
row. Each transaction sets the namespaces that it may see, the time and its timeouts itself, so that a pooled connection
has no state, also behind a pooler such as PgBouncer.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from recollect import arguments
from recollect.errors import StoreBusyError, StoreError, StoreReadOnlyError, StoreUnavailableError
from recollect.stores.postgres import schema
from recollect.stores.postgres.errors import is_disconnect, translate_error
from recollect.stores.postgres.pool import (
    ConnectionCheck,
    display_address,
    parse_address,
    pipeline,
    pool_name,
    silence_psycopg,
)
from recollect.stores.postgres.text import lookup_hash, register_adapters
from recollect.stores.rows import to_microseconds

WRITE_TIMEOUT = 60.0
"""Seconds to wait for other writers before giving up."""

POOL_SIZE = 8
POOL_TIMEOUT = 10.0
"""Seconds: less than the timeout of an HTTP request, so that the response can say what is wrong."""
STATEMENT_TIMEOUT = 60.0
CONNECT_TIMEOUT = 5
"""Seconds for each host: the second of two is tried before the pool gives up."""

_POLL_SECONDS = 1.0  # the pool gives up on a server that is down, and does not notice that it is back
_RECONNECT_SECONDS = 0.5
_ALL_NAMESPACES = "*"

Result = TypeVar("Result")


class Transaction(NamedTuple):
    """A connection in a transaction."""

    connection: Connection[TupleRow]
    namespaces: Mapping[str, int]
    """The keys of the namespaces of the transaction; one in which nothing was ever stored has none."""


class _Outage(NamedTuple):
    """Why the server accepts no connections, and when to try again."""

    reason: StoreError
    until: float


class Connections:
    """All connections of this process to one database."""

    def __init__(
        self,
        address: str,
        *,
        read_only: bool = False,
        pool_size: int = POOL_SIZE,
        pool_timeout: float = POOL_TIMEOUT,
        statement_timeout: float = STATEMENT_TIMEOUT,
    ) -> None:
        """Connect, and create or migrate the tables if necessary and allowed."""
        parts = parse_address(address)
        self.location = display_address(parts)
        self.read_only = read_only
        self.pool_size = pool_size
        self._pool_timeout = pool_timeout
        self._statement_timeout = statement_timeout
        self._secret = str(parts["password"]) if parts.get("password") else None
        defaults: dict[str, str | int | None] = {"application_name": "recollect", "connect_timeout": CONNECT_TIMEOUT}
        self._address = make_conninfo("", **{**defaults, **parts, "client_encoding": "utf8"})
        self._closed = False
        self._pool: ConnectionPool[Connection[TupleRow]] | None
        self.drop_pool()
        with self._translated(), psycopg.connect(self._address, autocommit=True) as connection:
            self._search_path = schema.prepare(connection, self.location, read_only=read_only)
        _OPEN.add(self)

    def read(
        self,
        work: Callable[[Transaction], Result],
        *,
        namespace: str | None,
        statement_timeout: float | None = None,
    ) -> Result:
        """Return what ``work`` reads of a namespace, or of all for ``None``, in one snapshot.

        If the connection breaks, ``work`` is repeated once on another. A ``statement_timeout`` of 0 is none.
        """
        for attempt in (1, 2):
            try:
                return self._read(work, namespace, statement_timeout)
            except psycopg.Error as error:
                if not is_disconnect(error):
                    raise translate_error(self.location, error, self._secret) from error
                self._check.distrust_idle()
                if attempt == 2:
                    raise StoreUnavailableError(
                        f"{self.location} closed the connection twice; see the server's log, and try again"
                    ) from error
        raise AssertionError  # pragma: no cover (the second attempt returns or raises)

    @contextmanager
    def write(
        self,
        namespaces: Collection[str] | None,
        *,
        create: bool = False,
        lock: bool = True,
        timeout: float = WRITE_TIMEOUT,
        statement_timeout: float | None = None,
    ) -> Iterator[Transaction]:
        """Yield a transaction that changes these namespaces; it is committed unless an error is raised.

        They are locked, unless ``lock`` is false; ``create`` creates those that are missing. ``None`` is all of them,
        and locks none. ``timeout`` is how many seconds to wait for other writers.
        """
        if self.read_only:
            raise StoreReadOnlyError(f"{self.location} was opened with read_only=True; open it without to change it")

        def begin(connection: Connection[TupleRow]) -> Transaction:
            with pipeline(connection):
                # Not READ WRITE: an administrator may have made the database read-only.
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                version = self._settings(
                    connection, _ALL_NAMESPACES if namespaces is None else "", statement_timeout, timeout
                )
                if namespaces and create:
                    connection.execute(_CREATE, [sorted(namespaces)])
                rows = connection.execute(_LOCK if lock else _FIND, [[lookup_hash(name) for name in namespaces or ()]])
            schema.require_version(version.fetchone(), self.location)
            return Transaction(connection, {name: key for name, key, _ in rows})

        with self._translated(), self._transaction(begin) as transaction:
            yield transaction
            self._commit(transaction.connection)

    @contextmanager
    def outside(self) -> Iterator[Connection[TupleRow]]:
        """Yield a connection of its own, without transaction and timeouts, for work on indexes."""
        with self._translated(), psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute(_NO_TIMEOUTS, [self._search_path])
            yield connection

    def read_snapshot(self, work: Callable[[SnapshotConnections], Result]) -> Result:
        """Return what ``work`` reads of the store in one snapshot, with any number of calls and without timeout."""
        return self.read(lambda at: work(SnapshotConnections(self, at.connection)), namespace=None, statement_timeout=0)

    def close(self) -> None:
        """Close idle connections; one in use is closed when it is returned."""
        with self._guard:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def drop_pool(self) -> None:
        """Start without connections, as a forked process must: those that it inherits are its parent's."""
        self._guard = threading.Lock()
        self._pool = None
        self._in_use = 0
        self._outage: _Outage | None = None
        self._check = ConnectionCheck()

    def _read(
        self, work: Callable[[Transaction], Result], namespace: str | None, statement_timeout: float | None
    ) -> Result:
        with self._borrowed() as connection:
            with pipeline(connection):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                version = self._settings(
                    connection, _ALL_NAMESPACES if namespace is None else "", statement_timeout, WRITE_TIMEOUT
                )
                rows = connection.execute(_FIND, [[] if namespace is None else [lookup_hash(namespace)]])
            schema.require_version(version.fetchone(), self.location)
            result = work(Transaction(connection, {name: key for name, key, _ in rows}))
            connection.execute("COMMIT")
            return result

    def _settings(
        self, connection: Connection[TupleRow], namespaces: str, statement_timeout: float | None, timeout: float
    ) -> psycopg.Cursor[TupleRow]:
        limit = self._statement_timeout if statement_timeout is None else statement_timeout
        return connection.execute(
            _SETTINGS,
            [
                self._search_path,
                namespaces,
                str(to_microseconds(arguments.now())),
                _milliseconds(limit),
                _milliseconds(max(timeout, 0.001)),
            ],
        )

    def _commit(self, connection: Connection[TupleRow]) -> None:
        try:
            done = connection.execute("COMMIT")
        except psycopg.Error as error:
            if is_disconnect(error):
                raise StoreUnavailableError(
                    f"{self.location} closed the connection during a commit: the change was written as a "
                    "whole or not at all; check which before you repeat it"
                ) from error
            raise
        if done.statusmessage != "COMMIT":
            raise StoreError(f"{self.location} rejected a part of a change; nothing was written")

    @contextmanager
    def _transaction(self, begin: Callable[[Connection[TupleRow]], Transaction]) -> Iterator[Transaction]:
        """Yield a transaction; if the connection turns out to be broken, on another: nothing was written."""
        for attempt in (1, 2):  # pragma: no branch (the second returns or raises)
            with self._borrowed() as connection:
                try:
                    transaction = begin(connection)
                except psycopg.Error as error:
                    self._check.distrust_idle()
                    if attempt == 2 or not is_disconnect(error):
                        raise
                else:
                    yield transaction
                    return

    @contextmanager
    def _borrowed(self) -> Iterator[Connection[TupleRow]]:
        pool = self._open_pool()
        connection = self._wait_for_connection(pool)
        try:
            yield connection
        finally:
            with self._guard:
                self._in_use -= 1
            with suppress(psycopg.Error):  # a broken one has nothing to roll back
                connection.rollback()
            self._check.returned(connection)
            with silence_psycopg():
                pool.putconn(connection)

    def _open_pool(self) -> ConnectionPool[Connection[TupleRow]]:
        with self._guard:
            if self._closed:
                raise StoreError(f"{self.location} is closed; open it again to use it")
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._address,
                    # A prepared plan for a small table would stay while the table grows.
                    kwargs={"autocommit": True, "prepare_threshold": None},
                    min_size=0,
                    max_size=self.pool_size,
                    reconnect_timeout=_RECONNECT_SECONDS,
                    configure=register_adapters,
                    check=self._check.check,
                    name=pool_name(),
                    open=True,
                )
            return self._pool

    def _wait_for_connection(self, pool: ConnectionPool[Connection[TupleRow]]) -> Connection[TupleRow]:
        self._fail_during_outage()
        end = time.monotonic() + self._pool_timeout
        while True:
            try:
                connection = pool.getconn(max(0.001, min(_POLL_SECONDS, end - time.monotonic())))
            except PoolTimeout:
                if time.monotonic() >= end:
                    raise self._no_connection() from None
            except psycopg.OperationalError as error:  # another thread closed it
                raise StoreError(f"{self.location} is closed; open it again to use it") from error
            else:
                with self._guard:
                    self._in_use += 1
                self._outage = None
                return connection

    def _fail_during_outage(self) -> None:
        """Raise an error at once if the server was unreachable just now: each step of a call would wait again."""
        outage = self._outage
        if outage is None:
            return
        reason = type(outage.reason)(*outage.reason.args) if time.monotonic() < outage.until else self._probe()
        if reason is not None and not isinstance(reason, StoreBusyError):
            raise reason

    def _no_connection(self) -> StoreError:
        if self._in_use >= self.pool_size:
            return StoreBusyError(
                f"{self.location}: all {self.pool_size} connections were in use for {self._pool_timeout:g} seconds; "
                "raise pool_size, or send fewer requests at once"
            )
        return self._probe() or StoreBusyError(
            f"{self.location} gave no connection within {self._pool_timeout:g} seconds; try again"
        )

    def _probe(self) -> StoreError | None:
        """Connect, and return why that fails, if it does; the pool does not tell."""
        started = time.monotonic()
        try:
            psycopg.connect(self._address).close()
        except psycopg.Error as error:
            reason = translate_error(self.location, error, self._secret)
            now = time.monotonic()
            # A fast refusal is probed again soon, a slow timeout less often.
            self._outage = None if isinstance(reason, StoreBusyError) else _Outage(reason, now + (now - started))
            return reason
        self._outage = None
        return None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise translate_error(self.location, error, self._secret) from error


class SnapshotConnections(Connections):
    """Connections whose reads are all in one transaction."""

    def __init__(self, connections: Connections, connection: Connection[TupleRow]) -> None:
        self.location = connections.location
        self.read_only = True
        self._connection = connection

    def read(
        self,
        work: Callable[[Transaction], Result],
        *,
        namespace: str | None,
        statement_timeout: float | None = None,  # noqa: ARG002 (copying a store has no timeout)
    ) -> Result:
        """Return what ``work`` reads of a namespace, or of all for ``None``."""
        self._connection.execute(_SET_NAMESPACES, [_ALL_NAMESPACES if namespace is None else ""])
        rows = self._connection.execute(_FIND, [[] if namespace is None else [lookup_hash(namespace)]])
        return work(Transaction(self._connection, {name: key for name, key, _ in rows}))


# The idle timeout ends the lock of a process that hangs.
_SETTINGS = """
SELECT (SELECT version FROM recollect.schema_version),
    set_config('search_path', %s, true),
    set_config('recollect.namespaces', %s, true),
    set_config('recollect.now', %s, true),
    set_config('statement_timeout', %s, true),
    set_config('lock_timeout', %s, true),
    set_config('idle_in_transaction_session_timeout', '300000', true)
"""

_NO_TIMEOUTS = """
SELECT set_config('search_path', %s, false), set_config('statement_timeout', '0', false),
    set_config('lock_timeout', '0', false)
"""

_SET_NAMESPACES = "SELECT set_config('recollect.namespaces', %s, true)"

_FIND = """
SELECT name, key, set_config('recollect.namespaces', string_agg(key::text, ',') OVER (), true)
FROM recollect.namespaces WHERE mark = ANY (%s)
"""

# In the order of their keys, so that there is no deadlock.
_LOCK = """
WITH locked AS MATERIALIZED (
    SELECT key, name FROM recollect.namespaces WHERE mark = ANY (%s) ORDER BY key FOR NO KEY UPDATE
)
SELECT name, key, set_config('recollect.namespaces', string_agg(key::text, ',') OVER (), true) FROM locked
"""

# An existing one is not inserted: every attempt would use up a key.
_CREATE = """
INSERT INTO recollect.namespaces (name) SELECT new.name FROM unnest(%s::text[]) AS new (name)
WHERE NOT EXISTS (SELECT 1 FROM recollect.namespaces AS n WHERE n.mark = recollect.mark(new.name))
ORDER BY new.name ON CONFLICT DO NOTHING
"""


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))


_OPEN: WeakSet[Connections] = WeakSet()
_inherited: list[object] = []


def _after_fork_in_child() -> None:  # pragma: no cover (another process)
    for connections in list(_OPEN):
        _inherited.append(connections.__dict__.get("_pool"))  # collecting it would close the parent's connections
        connections.drop_pool()


if hasattr(os, "register_at_fork"):  # pragma: no branch (not on Windows)
    os.register_at_fork(after_in_child=_after_fork_in_child)
