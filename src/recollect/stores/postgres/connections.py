"""Connections to one PostgreSQL database: a pool for threads, transactions for reading and writing, errors as ours.

Readers see the store at one moment, and begin again, once, where their connection is cut. Writers of one namespace wait
for each other at its row: whoever comes second sees what the first has written. Each transaction says for itself which
namespaces it may see, what time it is and how long it waits, so that nothing is left behind in a connection that
others borrow next, a pooler between here and the server included.
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

from recollect import clock
from recollect.errors import StoreBusyError, StoreError, StoreReadOnlyError, StoreUnavailableError
from recollect.stores.postgres import schema
from recollect.stores.postgres.adapters import adapt
from recollect.stores.postgres.failures import failure, is_cut
from recollect.stores.postgres.options import location_of, parts_of
from recollect.stores.postgres.pooling import Trust, pipeline, pool_name, quietly
from recollect.stores.postgres.text import mark
from recollect.stores.rows import to_microseconds

__all__ = ["PATIENCE", "Connections", "Moment", "Transaction"]

PATIENCE = 60.0
"""Seconds to wait for other writers before giving up."""

POOL_SIZE = 8
POOL_TIMEOUT = 10.0
"""Seconds: less than a server has for a request, so that it can say what is the matter."""
STATEMENT_TIMEOUT = 60.0
CONNECT_TIMEOUT = 5
"""Seconds for each host: where the first of two is lost, there is time for the second before the pool gives up."""

_LOOKS_AGAIN = 1.0  # seconds: the pool itself gives up on a server that is away, and does not notice that it is back
_GIVES_UP = 0.5
_EVERYWHERE = "*"

Result = TypeVar("Result")


class Transaction(NamedTuple):
    """A connection within a transaction, and where it is."""

    connection: Connection[TupleRow]
    namespaces: Mapping[str, int]
    """The keys of the namespaces that were asked for; one in which nothing was ever stored has none."""


class _Away(NamedTuple):
    """A server that was waited for in vain."""

    why: StoreError
    until: float
    """When it is worth asking again."""


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
        """Connect, and create or migrate the tables where that is needed and allowed."""
        parts = parts_of(address)
        self.location = location_of(parts)
        self.read_only = read_only
        self.pool_size = pool_size
        self._pool_timeout = pool_timeout
        self._statement_timeout = statement_timeout
        self._secret = str(parts["password"]) if parts.get("password") else None
        known: dict[str, str | int | None] = {"application_name": "recollect", "connect_timeout": CONNECT_TIMEOUT}
        self._address = make_conninfo("", **{**known, **parts, "client_encoding": "utf8"})
        self._closed = False
        self._pool: ConnectionPool[Connection[TupleRow]] | None
        self.forget_pool()
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
        """Return what ``work`` reads at one moment of a namespace, or of all for ``None``.

        Where the connection is cut, it is done once more on another. A ``statement_timeout`` of 0 is none.
        """
        for attempt in (1, 2):
            try:
                return self._read(work, namespace, statement_timeout)
            except psycopg.Error as error:
                if not is_cut(error):
                    raise failure(self.location, error, self._secret) from error
                self._trust.doubt()
                if attempt == 2:
                    raise StoreUnavailableError(
                        f"{self.location} cut the connection, and once more when the search was repeated; "
                        "see the server's log, and try again"
                    ) from error
        raise AssertionError  # pragma: no cover (the second attempt returns or raises)

    @contextmanager
    def write(
        self,
        namespaces: Collection[str] | None,
        *,
        create: bool = False,
        lock: bool = True,
        patience: float = PATIENCE,
        statement_timeout: float | None = None,
    ) -> Iterator[Transaction]:
        """Give a transaction that changes these namespaces, committed at the end unless an error comes.

        It has them to itself, unless ``lock`` is false; with ``create`` those that are new begin. ``None`` is all of
        them, and locks none. ``patience`` is how many seconds it waits for others; less than a millisecond is none.
        """
        if self.read_only:
            raise StoreReadOnlyError(f"{self.location} was opened with read_only=True; open it without to change it")

        def begin(connection: Connection[TupleRow]) -> Transaction:
            with pipeline(connection):
                # Not READ WRITE: an administrator may have set the database to be read alone.
                connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                begun = self._settings(
                    connection, _EVERYWHERE if namespaces is None else "", statement_timeout, patience
                )
                if namespaces and create:
                    connection.execute(_CREATE, [sorted(namespaces)])
                found = connection.execute(_LOCK if lock else _FIND, [[mark(name) for name in namespaces or ()]])
            schema.require_version(begun.fetchone(), self.location)
            return Transaction(connection, {name: key for name, key, _ in found})

        with self._translated(), self._begun(begin) as transaction:
            yield transaction
            self._commit(transaction.connection)

    @contextmanager
    def outside(self) -> Iterator[Connection[TupleRow]]:
        """Give a connection of its own, in no transaction and for as long as it takes: for work on indexes."""
        with self._translated(), psycopg.connect(self._address, autocommit=True) as connection:
            connection.execute(_UNHURRIED, [self._search_path])
            yield connection

    def at_one_moment(self, work: Callable[[Moment], Result]) -> Result:
        """Return what ``work`` reads of the store as it is now, with as many calls and for as long as it takes."""
        return self.read(lambda at: work(Moment(self, at.connection)), namespace=None, statement_timeout=0)

    def close(self) -> None:
        """Close what is idle; a connection in use closes when it comes back."""
        with self._guard:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def forget_pool(self) -> None:
        """Begin without a connection, as a child process must: those that it was born with are its parent's."""
        self._guard = threading.Lock()
        self._pool = None
        self._in_use = 0
        self._away: _Away | None = None
        self._trust = Trust()

    def _read(
        self, work: Callable[[Transaction], Result], namespace: str | None, statement_timeout: float | None
    ) -> Result:
        with self._borrowed() as connection:
            with pipeline(connection):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                begun = self._settings(
                    connection, _EVERYWHERE if namespace is None else "", statement_timeout, PATIENCE
                )
                found = connection.execute(_FIND, [[] if namespace is None else [mark(namespace)]])
            schema.require_version(begun.fetchone(), self.location)
            result = work(Transaction(connection, {name: key for name, key, _ in found}))
            connection.execute("COMMIT")
            return result

    def _settings(
        self, connection: Connection[TupleRow], namespaces: str, statement_timeout: float | None, patience: float
    ) -> psycopg.Cursor[TupleRow]:
        limit = self._statement_timeout if statement_timeout is None else statement_timeout
        return connection.execute(
            _SETTINGS,
            [
                self._search_path,
                namespaces,
                str(to_microseconds(clock.now())),
                _milliseconds(limit),
                _milliseconds(max(patience, 0.001)),
            ],
        )

    def _commit(self, connection: Connection[TupleRow]) -> None:
        try:
            done = connection.execute("COMMIT")
        except psycopg.Error as error:
            if is_cut(error):
                raise StoreUnavailableError(
                    f"{self.location} cut the connection while a change was being committed: it was written as a "
                    "whole or not at all; look which before you repeat it"
                ) from error
            raise
        if done.statusmessage != "COMMIT":
            raise StoreError(f"{self.location} refused a part of a change; nothing was written")

    @contextmanager
    def _begun(self, begin: Callable[[Connection[TupleRow]], Transaction]) -> Iterator[Transaction]:
        """Give a transaction that was begun; where the connection turns out to be cut, on another: nothing was done."""
        for attempt in (1, 2):  # pragma: no branch (the second returns or raises)
            with self._borrowed() as connection:
                try:
                    transaction = begin(connection)
                except psycopg.Error as error:
                    self._trust.doubt()
                    if attempt == 2 or not is_cut(error):
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
            with suppress(psycopg.Error):  # one that is cut has nothing to roll back
                connection.rollback()
            self._trust.give_back(connection)
            with quietly():
                pool.putconn(connection)

    def _open_pool(self) -> ConnectionPool[Connection[TupleRow]]:
        with self._guard:
            if self._closed:
                raise StoreError(f"{self.location} is closed; open it again to use it")
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._address,
                    # A plan that was made for a small table would be kept while it grows; poolers keep none at all.
                    kwargs={"autocommit": True, "prepare_threshold": None},
                    min_size=0,
                    max_size=self.pool_size,
                    reconnect_timeout=_GIVES_UP,
                    configure=adapt,
                    check=self._trust.check,
                    name=pool_name(),
                    open=True,
                )
            return self._pool

    def _wait_for_connection(self, pool: ConnectionPool[Connection[TupleRow]]) -> Connection[TupleRow]:
        self._refuse_while_away()
        end = time.monotonic() + self._pool_timeout
        while True:
            try:
                connection = pool.getconn(max(0.001, min(_LOOKS_AGAIN, end - time.monotonic())))
            except PoolTimeout:
                if time.monotonic() >= end:
                    raise self._no_connection() from None
            except psycopg.OperationalError as error:  # it was closed by another thread
                raise StoreError(f"{self.location} is closed; open it again to use it") from error
            else:
                with self._guard:
                    self._in_use += 1
                self._away = None
                return connection

    def _refuse_while_away(self) -> None:
        """Raise an error at once if others have waited in vain for the server, and it still does not let us in.

        A call has many steps: each of them would wait anew.
        """
        away = self._away
        if away is None:
            return
        why = type(away.why)(*away.why.args) if time.monotonic() < away.until else self._refusal()
        if why is not None and not isinstance(why, StoreBusyError):
            raise why

    def _no_connection(self) -> StoreError:
        if self._in_use >= self.pool_size:
            return StoreBusyError(
                f"{self.location}: all {self.pool_size} connections were in use for {self._pool_timeout:g} seconds; "
                "raise pool_size, or ask less at once"
            )
        return self._refusal() or StoreBusyError(
            f"{self.location} gave no connection within {self._pool_timeout:g} seconds; try again"
        )

    def _refusal(self) -> StoreError | None:
        """Return why the server lets nobody in, if it does not; the pool knows only that it has no connection."""
        begun = time.monotonic()
        try:
            psycopg.connect(self._address).close()
        except psycopg.Error as error:
            why = failure(self.location, error, self._secret)
            now = time.monotonic()
            # Who says no at once is asked again at once, so that it is back when it is; who says nothing costs time.
            self._away = None if isinstance(why, StoreBusyError) else _Away(why, now + (now - begun))
            return why
        self._away = None
        return None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise failure(self.location, error, self._secret) from error


class Moment(Connections):
    """Reads of one transaction, which sees the store as it was when it began."""

    def __init__(self, connections: Connections, connection: Connection[TupleRow]) -> None:
        """Read on a connection that is in a transaction."""
        self.location = connections.location
        self.read_only = True
        self._connection = connection

    def read(
        self,
        work: Callable[[Transaction], Result],
        *,
        namespace: str | None,
        statement_timeout: float | None = None,  # noqa: ARG002 (what copies a store is not hurried)
    ) -> Result:
        """Return what ``work`` reads of a namespace, or of all for ``None``."""
        self._connection.execute(_SEEN, [_EVERYWHERE if namespace is None else ""])
        found = self._connection.execute(_FIND, [[] if namespace is None else [mark(namespace)]])
        return work(Transaction(self._connection, {name: key for name, key, _ in found}))


# A process that hangs in the middle of a change does not keep the others out for ever.
_SETTINGS = """
SELECT (SELECT version FROM recollect.schema_version),
    set_config('search_path', %s, true),
    set_config('recollect.namespaces', %s, true),
    set_config('recollect.now', %s, true),
    set_config('statement_timeout', %s, true),
    set_config('lock_timeout', %s, true),
    set_config('idle_in_transaction_session_timeout', '300000', true)
"""

_UNHURRIED = """
SELECT set_config('search_path', %s, false), set_config('statement_timeout', '0', false),
    set_config('lock_timeout', '0', false)
"""

_SEEN = "SELECT set_config('recollect.namespaces', %s, true)"

_FIND = """
SELECT name, key, set_config('recollect.namespaces', string_agg(key::text, ',') OVER (), true)
FROM recollect.namespaces WHERE mark = ANY (%s)
"""

# In the order of their keys, so that two who want the same ones never wait for each other.
_LOCK = """
WITH locked AS MATERIALIZED (
    SELECT key, name FROM recollect.namespaces WHERE mark = ANY (%s) ORDER BY key FOR NO KEY UPDATE
)
SELECT name, key, set_config('recollect.namespaces', string_agg(key::text, ',') OVER (), true) FROM locked
"""

# One that is there is not tried: each trial would use up a key.
_CREATE = """
INSERT INTO recollect.namespaces (name) SELECT asked.name FROM unnest(%s::text[]) AS asked (name)
WHERE NOT EXISTS (SELECT 1 FROM recollect.namespaces AS n WHERE n.mark = recollect.mark(asked.name))
ORDER BY asked.name ON CONFLICT DO NOTHING
"""


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))


_OPEN: WeakSet[Connections] = WeakSet()
_inherited: list[object] = []


def _after_fork_in_child() -> None:  # pragma: no cover (another process)
    for connections in list(_OPEN):
        _inherited.append(connections.__dict__.get("_pool"))  # never collected: that would say goodbye for the parent
        connections.forget_pool()


if hasattr(os, "register_at_fork"):  # pragma: no branch (wherever there is no fork, nothing is to be done)
    os.register_at_fork(after_in_child=_after_fork_in_child)
