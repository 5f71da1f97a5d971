"""Connections to one PostgreSQL database: addresses, a pool, and transactions for reading and writing.

A read transaction sees a consistent snapshot; if its connection breaks, the read is repeated once. A write transaction
locks the rows of its namespaces in the table ``namespaces``. Each transaction sets its visible namespaces, the current
time and its timeouts when it begins, so that connections keep no state between transactions and a pooler such as
PgBouncer can be used. The pool is a queue with one entry for each allowed connection: an idle connection, or ``None``
for one that is not open. psycopg_pool is not used, because it does not report why a server refuses connections.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from queue import Empty, LifoQueue
from typing import Any, TypeVar

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Composed

from recollect import arguments
from recollect.errors import ArgumentError, StoreBusyError, StoreError, StoreReadOnlyError, StoreUnavailableError
from recollect.stores.postgres import schema
from recollect.stores.postgres.errors import is_disconnect, translate_error
from recollect.stores.postgres.text import lookup_hash, register_adapters
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.rows import to_microseconds

WRITE_TIMEOUT = 60.0  # seconds that a write transaction waits for other writers
POOL_SIZE = 8
POOL_TIMEOUT = 10.0
"""Seconds to wait for a free connection; fewer than HTTP clients wait, so that they get a response with the reason."""
STATEMENT_TIMEOUT = 60.0  # seconds after which the server cancels a statement
CONNECT_TIMEOUT = 5  # seconds to wait for each host of the address
_MAX_TIMEOUT = 86_400  # the seconds of a day

Result = TypeVar("Result")


def split_options(address: str) -> tuple[str, dict[str, Any]]:
    """Split an address into the address for libpq and the options of :class:`Connections`."""
    base, _, query = address.partition("?")
    options: dict[str, Any] = {}
    libpq_options = []
    for option in query.split("&"):
        name, _, value = option.partition("=")
        if name in ("pool_size", "pool_timeout", "statement_timeout"):
            options[name] = _parse_option(name, value)
        else:
            libpq_options.append(option)
    return f"{base}?{'&'.join(libpq_options)}" if any(libpq_options) else base, options


def _parse_option(name: str, value: str) -> float:
    """Return the value of an option as a number; raise an error if it is not in the allowed range."""
    try:
        number = int(value) if name == "pool_size" else float(value)
    except ValueError:
        number = -1  # rejected below
    if name == "pool_size" and number < 1:
        raise ArgumentError("target", f"has {name}={value}; give a whole number from 1 on")
    if name != "pool_size" and not 0 <= number <= _MAX_TIMEOUT:
        raise ArgumentError("target", f"has {name}={value}; give seconds, from 0 to {_MAX_TIMEOUT}")
    return number


def _parse_address(address: str) -> dict[str, Any]:
    """Return the parts of an address by their libpq names. Errors do not quote the address: it may have a password."""
    try:
        parts = dict(conninfo_to_dict(address))
    except psycopg.Error:
        parts = {"host": "@"}  # rejected below
    port_digits = str(parts.get("port", "")).replace(",", "")  # an address with several hosts may have several ports
    # With an unescaped @, slash or colon in the password, libpq takes a part of it for the host, database or port.
    if "@" in f"{parts.get('host', '')}{parts.get('dbname', '')}" or (port_digits and not port_digits.isdecimal()):
        raise ArgumentError(
            "target",
            "is no address of a PostgreSQL database; write postgresql://user:password@host:port/database, "
            "with %40 for an @ in the password, %2F for a slash, %3A for a colon; options of libpq, "
            "pool_size, pool_timeout and statement_timeout follow a ?",
        ) from None
    return parts


def _display_address(parts: Mapping[str, Any]) -> str:
    """Return the address without the password."""
    host, port = str(parts.get("host", "")), parts.get("port")
    user = f"{parts['user']}@" if parts.get("user") else ""
    has_socket = host.startswith("/")  # then the host is the folder of a Unix socket
    server, socket_option = ("", f"?host={host}") if has_socket else (host, "")
    return f"postgresql://{user}{server}{f':{port}' if port else ''}/{parts.get('dbname', '')}{socket_option}"


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
        """Connect; create or migrate the tables if necessary. With ``read_only``, raise an error instead."""
        parts = _parse_address(address)
        self.location = _display_address(parts)
        self.read_only = read_only
        self._pool_size = pool_size
        self._pool_timeout = pool_timeout
        self._statement_timeout = statement_timeout
        self._password = parts.get("password")
        defaults = {"application_name": "recollect", "connect_timeout": CONNECT_TIMEOUT}
        self._address = make_conninfo("", **{**defaults, **parts, "client_encoding": "utf8"})
        self._snapshot_id = ""  # if not empty, all transactions see this exported snapshot
        self._closed = False
        self._start_pool()
        with self._translate_errors(), self._connect() as connection:
            self._search_path = schema.prepare(connection, self.location, read_only=read_only)

    def read(
        self,
        work: Callable[[PostgresTransaction], Result],
        *,
        namespace: str | None,
        statement_timeout: float | None = None,
    ) -> Result:
        """Return the result of ``work`` in a read transaction that sees one namespace, or all (``None``).

        If the connection breaks, ``work`` is repeated once on another connection. ``statement_timeout`` is in seconds:
        0 means no limit; ``None`` means the timeout of the constructor.
        """
        namespaces = None if namespace is None else [namespace]
        begin = self._begin_sql(_READ_ONLY, namespaces, statement_timeout)
        begin += _SELECT_NAMESPACES.format(_lookup_hashes(namespaces))
        try:
            with self._transaction(begin) as transaction:
                return work(transaction)
        except StoreUnavailableError:
            with self._transaction(begin) as transaction:
                return work(transaction)

    @contextmanager
    def write(
        self,
        namespaces: Collection[str] | None,
        *,
        create: bool = False,
        lock: bool = True,
        timeout: float = WRITE_TIMEOUT,
        statement_timeout: float | None = None,
    ) -> Iterator[PostgresTransaction]:
        """Yield a transaction that changes these namespaces; it is committed unless an error is raised.

        The namespaces are locked, unless ``lock`` is false. If ``namespaces`` is ``None``, the transaction sees all
        namespaces and locks none. With ``create``, missing namespaces are created. ``timeout`` is how many seconds the
        transaction waits for other writers; ``statement_timeout`` is as in :meth:`read`.
        """
        if self.read_only:
            raise StoreReadOnlyError(f"{self.location} was opened read-only; open it for writing to change it")
        begin = self._begin_sql(_READ_WRITE, namespaces, statement_timeout, timeout)
        if namespaces and create:
            begin += _CREATE_NAMESPACES.format(sorted(namespaces))
        begin += (_LOCK_NAMESPACES if lock else _SELECT_NAMESPACES).format(_lookup_hashes(namespaces))
        with self._transaction(begin) as transaction:
            yield transaction
            self._commit(transaction.connection)

    @contextmanager
    def autocommit_connection(self) -> Iterator[Connection]:
        """Yield a new connection for index builds: it is not pooled, in no transaction, and has no timeouts."""
        with self._translate_errors(), self._connect() as connection:
            connection.execute(_NO_TIMEOUTS, [self._search_path])
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connections]:
        """Yield read-only connections without statement timeouts; all of them see the present state of the store."""
        begin = self._begin_sql(_READ_ONLY, None, statement_timeout=0) + _SELECT_NAMESPACES.format([])
        with self._transaction(begin) as transaction:
            connections = copy(self)
            connections.read_only, connections._statement_timeout = True, 0.0
            ((_, connections._snapshot_id),) = transaction.connection.execute(_EXPORT_SNAPSHOT).fetchall()
            connections._start_pool()
            try:
                yield connections
            finally:
                connections.close()

    def close(self) -> None:
        """Close all idle connections; a connection in use is closed when it is returned to the pool."""
        self._closed = True
        with suppress(Empty):
            while True:
                connection = self._pool.get_nowait()
                if connection is not None:
                    connection.close()
        for _ in range(self._pool_size):
            self._pool.put(None)  # wakes a thread that waits for a connection

    def _start_pool(self) -> None:
        self._process_id = os.getpid()
        self._pool: LifoQueue[Connection | None] = LifoQueue()
        for _ in range(self._pool_size):
            self._pool.put(None)

    def _connect(self) -> Connection:
        # No prepared statements: the plan of a statement would stay in use after its tables have grown.
        connection = psycopg.connect(self._address, autocommit=True, prepare_threshold=None)
        register_adapters(connection)
        return connection

    def _begin_sql(
        self,
        isolation_level: str,
        namespaces: Collection[str] | None,
        statement_timeout: float | None,
        lock_timeout: float = WRITE_TIMEOUT,
    ) -> Composed:
        """Return the statements that begin a transaction; they are sent together, in one round trip."""
        if statement_timeout is None:
            statement_timeout = self._statement_timeout
        set_snapshot = SQL("SET TRANSACTION SNAPSHOT {};").format(self._snapshot_id) if self._snapshot_id else SQL("")
        return _BEGIN.format(
            isolation_level=SQL(isolation_level),
            set_snapshot=set_snapshot,
            search_path=self._search_path,
            namespaces="*" if namespaces is None else "",
            now=str(to_microseconds(arguments.now())),
            statement_timeout=str(round(statement_timeout * 1000)),
            lock_timeout=str(max(round(lock_timeout * 1000), 1)),  # for the server, 0 would mean no limit
        )

    @contextmanager
    def _transaction(self, begin: Composed) -> Iterator[PostgresTransaction]:
        """Yield a transaction on a pooled connection; replace a connection that the server closed while it was idle."""
        connection = self._wait_for_connection()
        try:
            with self._translate_errors():
                try:
                    connection = connection or self._connect()
                    transaction = self._begin(connection, begin)
                except psycopg.Error as error:
                    if connection is None or not is_disconnect(error):
                        raise
                    connection = self._connect()
                    transaction = self._begin(connection, begin)
                yield transaction
        finally:
            if connection is not None:
                with suppress(psycopg.Error):  # a broken connection has nothing to roll back
                    connection.rollback()
                if self._closed:
                    connection.close()
            self._pool.put(None if connection is None or connection.closed else connection)

    def _wait_for_connection(self) -> Connection | None:
        """Return an idle connection, or ``None`` if the caller may open a new connection."""
        if self._process_id != os.getpid():  # pragma: no cover (forked: inherited connections belong to the parent)
            self._start_pool()
        try:
            connection = self._pool.get(timeout=self._pool_timeout)
        except Empty:
            raise StoreBusyError(
                f"{self.location}: all {self._pool_size} connections were in use for {self._pool_timeout:g} seconds; "
                "raise pool_size, or send fewer requests at once"
            ) from None
        if self._closed:
            self._pool.put(None)
            raise StoreError(f"{self.location} is closed; open it again to use it")
        return connection

    def _begin(self, connection: Connection, statements: Composed) -> PostgresTransaction:
        """Run the statements of ``_begin_sql``; the first result has the schema version, the last the namespaces."""
        cursor = connection.execute(statements)
        while not cursor.description:  # a statement without a result
            cursor.nextset()
        schema.require_version(cursor.fetchone(), self.location)
        while cursor.nextset():
            pass
        return PostgresTransaction(connection, {name: key for name, key, _ in cursor})

    def _commit(self, connection: Connection) -> None:
        try:
            cursor = connection.execute("COMMIT")
        except psycopg.Error as error:
            if is_disconnect(error):
                raise StoreUnavailableError(
                    f"{self.location} closed the connection during a commit: the change was written as a "
                    "whole or not at all; check which before you repeat it"
                ) from error
            raise
        if cursor.statusmessage != "COMMIT":  # the message is ROLLBACK if a statement failed
            raise StoreError(f"{self.location} rejected a part of a change; nothing was written")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise translate_error(self.location, error, self._password) from error


def _lookup_hashes(namespaces: Collection[str] | None) -> list[bytes]:
    return [lookup_hash(name) for name in namespaces or ()]


_READ_ONLY = "REPEATABLE READ READ ONLY"
_READ_WRITE = "READ COMMITTED"  # without READ WRITE, which would override an administrator's read-only setting

# The setting recollect.namespaces is "*" for all namespaces. Otherwise it is empty until the statement that selects or
# locks the namespaces sets it to their keys. The idle timeout of five minutes releases the locks of a hanging process.
_BEGIN = SQL("""
BEGIN ISOLATION LEVEL {isolation_level}; {set_snapshot}
SELECT (SELECT version FROM recollect.schema_version),
    set_config('search_path', {search_path}, true),
    set_config('recollect.namespaces', {namespaces}, true),
    set_config('recollect.now', {now}, true),
    set_config('statement_timeout', {statement_timeout}, true),
    set_config('lock_timeout', {lock_timeout}, true),
    set_config('idle_in_transaction_session_timeout', '300000', true);
""")

# The column ``mark`` has the lookup hash of the name, which the SQL function ``mark`` computes.
_SELECT_NAMESPACES = SQL("""
SELECT name, key, set_config('recollect.namespaces', string_agg(key::text, ',') OVER (), true)
FROM recollect.namespaces WHERE mark = ANY ({}::bytea[])
""")

# Rows are locked in the order of their keys, so that two writers do not deadlock.
_LOCK_NAMESPACES = SQL("""
WITH locked AS MATERIALIZED (
    SELECT key, name FROM recollect.namespaces WHERE mark = ANY ({}::bytea[]) ORDER BY key FOR NO KEY UPDATE
)
SELECT name, key, set_config('recollect.namespaces', string_agg(key::text, ',') OVER (), true) FROM locked
""")

# Without NOT EXISTS, the statement would use up a key of the identity column for each existing namespace.
_CREATE_NAMESPACES = SQL("""
INSERT INTO recollect.namespaces (name) SELECT new.name FROM unnest({}::text[]) AS new (name)
WHERE NOT EXISTS (SELECT 1 FROM recollect.namespaces AS n WHERE n.mark = recollect.mark(new.name))
ORDER BY new.name ON CONFLICT DO NOTHING;
""")

_NO_TIMEOUTS = """
SELECT set_config('search_path', %s, false), set_config('statement_timeout', '0', false),
    set_config('lock_timeout', '0', false)
"""

# No idle timeout: the transaction that exports the snapshot is idle while others read the snapshot.
_EXPORT_SNAPSHOT = "SELECT set_config('idle_in_transaction_session_timeout', '0', true), pg_export_snapshot()"
