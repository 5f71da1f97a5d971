"""The connections of a process to one SQLite file: one for writing, and a pool for reading.

Threads and processes may share the file. In WAL mode readers do not wait for a writer. Writers wait for each other:
threads of one process share a Python lock, processes share SQLite's lock. When a commit returns, its data is on disk.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

import apsw

from recollect.arguments import with_deep_stack
from recollect.errors import StoreBusyError, StoreDamagedError, StoreError, StoreFullError, StoreReadOnlyError
from recollect.stores.sqlite import schema
from recollect.stores.tokens import indexed

WRITE_TIMEOUT = 60.0
"""The limit in seconds of three waits: of a writer for other processes, of os.fork() for the readers in this process,
and of a reader for a running os.fork()."""
_NOT_WRITABLE = "cannot be written to; make it and its folder writable, or use it read-only"
_LOCKED = "is locked by other writers; nothing was written"
_DAMAGED = "is damaged; 'recollect doctor --repair' rebuilds what can be rebuilt; else restore a backup"
_ERRORS: tuple[tuple[type[apsw.Error], type[StoreError], str], ...] = (  # SQLite's error, ours, and our message
    (apsw.BusyError, StoreBusyError, _LOCKED),
    (apsw.LockedError, StoreBusyError, _LOCKED),
    (apsw.FullError, StoreFullError, "has no space left on its disk; nothing was written"),
    (apsw.ReadOnlyError, StoreReadOnlyError, _NOT_WRITABLE),
    (apsw.NotADBError, StoreDamagedError, "is not an SQLite database; choose another file"),
    (apsw.CorruptError, StoreDamagedError, _DAMAGED),
    (apsw.CantOpenError, StoreError, "cannot be opened; check that its folder exists and may be written to"),
    (apsw.IOError, StoreError, "cannot be read or written; check the disk"),
)


class Connections:
    """All connections of this process to one file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, and create or migrate it if necessary and allowed."""
        self.path = path  # as the caller wrote it, for messages
        with self._translate_errors():
            self.file = Path(os.path.realpath(path))  # absolute: the working directory may change later
        self.read_only = read_only
        self._write_lock = threading.Lock()
        self._pool_changed = threading.Condition(threading.RLock())  # guards the fields below
        self._writer: apsw.Connection | None = None
        self._idle: list[apsw.Connection] = []  # for reading
        self._immutable: set[apsw.Connection] = set()  # connections to a file that SQLite assumes not to change
        self._in_use = 1  # how many connections for reading are in use; 1, because _return (below) subtracts 1
        self.forking = False  # true while the process is being forked
        self._closed = False
        self._return(self._open_first())
        _OPEN.add(self)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Yield a connection in a read transaction."""
        with self._translate_errors():
            connection = self._take()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                self._return(connection)

    @contextmanager
    def writing(self, timeout: float | None = None) -> Iterator[apsw.Connection]:
        """Yield the writing connection in a transaction, which is committed unless an error is raised.

        ``timeout`` is how many seconds to wait for other writers. By default, the wait for threads of this process has
        no limit, and the wait for other processes has the limit :data:`WRITE_TIMEOUT`.
        """
        if self.read_only:
            raise StoreReadOnlyError(f"{self.path} was opened read-only; open it for writing to change it")
        if not self._write_lock.acquire(timeout=-1 if timeout is None else timeout):
            raise StoreBusyError(f"{self.path} {_LOCKED}")
        try:
            with self._translate_errors():
                self._check_open()
                if self._writer is None:
                    self._writer = self._connect(apsw.SQLITE_OPEN_READWRITE)
                self._writer.set_busy_timeout(int(1000 * (WRITE_TIMEOUT if timeout is None else timeout)))
                with _write_transaction(self._writer):
                    yield self._writer
        finally:
            self._write_lock.release()

    @contextmanager
    def maintaining(self, path: Path | None = None) -> Iterator[apsw.Connection]:
        """Yield a connection that has no transaction, may write, and sees expired notes; errors name ``path``."""
        with self._translate_errors(path):
            connection = self._take()
            try:
                connection.pragma("query_only", value=False)
                connection.execute("DROP VIEW IF EXISTS temp.notes")  # the view by which hide_expired hides notes
                yield connection
            finally:
                connection.pragma("query_only", value=True)
                self._return(connection)

    def backup(self, target: Path) -> None:
        """Write a compact, consistent copy to ``target``, which must not exist."""
        with self.maintaining(target) as connection:
            connection.execute("VACUUM INTO ?", (_uri(target),))

    def close(self) -> None:
        """Close idle connections; a connection in use is closed when it is returned."""
        with self._write_lock:
            self._closed = True
            self._close_idle()

    def before_fork(self) -> None:
        """Wait until no connection is in use, and close all of them.

        SQLite's locks do not survive a fork: a child process with a copy of an open connection would assume that it
        has the locks of the parent, and could corrupt the file. Both processes open new connections when necessary.
        """
        self._write_lock.acquire()
        self._pool_changed.acquire()
        self.forking = True  # makes new readers wait until after_fork
        self._pool_changed.wait_for(lambda: not self._in_use, timeout=WRITE_TIMEOUT)
        self._close_idle()

    def after_fork(self) -> None:
        """Allow new connections again, in the parent and in the child."""
        self.forking = False
        self._pool_changed.notify_all()
        self._pool_changed.release()
        self._write_lock.release()

    def _close_idle(self) -> None:
        with self._pool_changed:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            while self._idle:
                self._idle.pop().close()

    def _take(self) -> apsw.Connection:
        """Return an idle or new connection for reading, and count it as in use."""
        with self._pool_changed:
            self._pool_changed.wait_for(lambda: not self.forking, timeout=WRITE_TIMEOUT)
            self._check_open()
            self._in_use += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect_for_reading()
        except BaseException:
            with self._pool_changed:
                self._in_use -= 1
            raise

    def _return(self, connection: apsw.Connection) -> None:
        """End the transaction of a connection, and put it back into the pool."""
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._pool_changed:
            self._in_use -= 1
            self._pool_changed.notify_all()
            # An immutable connection never sees what other processes write, so it is not used again.
            if self._closed or connection in self._immutable:
                self._immutable.discard(connection)
                connection.close()
            else:
                self._idle.append(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again to use it")

    def _open_first(self) -> apsw.Connection:
        """Create or migrate the file if necessary, and return its first connection for reading."""
        with self._translate_errors():
            if self.file.is_dir():
                raise StoreError(f"{self.path} is a directory; give the path of a file")
            if not self.file.parent.is_dir():
                raise StoreError(f"{self.path.parent} does not exist; create it first")
            if self.read_only:
                if not self.file.exists():
                    raise StoreError(f"{self.path} does not exist; open it for writing to create it")
                connection = self._connect_for_reading()
                if not schema.is_current(connection, str(self.path)):
                    problem = (
                        "is empty or has an older schema; open it for writing once, for example by 'recollect reindex'"
                    )
                    raise StoreError(f"{self.path} {problem}")
                return connection
            connection = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            if connection.readonly("main"):
                raise StoreReadOnlyError(f"{self.path} {_NOT_WRITABLE}")
            is_current = schema.is_current(connection, str(self.path))
            if connection.pragma("journal_mode") != "wal":  # a new file, or a copy that VACUUM INTO wrote
                # A vector of 384 float32 numbers has 1536 bytes. Five of them fill a page of 8192 bytes well. SQLite's
                # default page of 4096 bytes has space for only two, so that a quarter of the page would stay empty.
                connection.pragma("page_size", 8192)
                _enable_wal(connection)
            if not is_current:
                if connection.pragma("user_version"):  # 0: a new file, which needs no backup
                    self._back_up(connection)
                with _write_transaction(connection):
                    schema.migrate(connection, str(self.path))
            self._writer = connection
            return self._connect_for_reading()

    def _back_up(self, connection: apsw.Connection) -> None:
        """Copy a file of an older schema to ``<name>.schema-<number>.bak``, unless another process has migrated it."""
        version = connection.pragma("user_version")
        target = self.file.with_name(f"{self.file.name}.schema-{version}.bak")
        unfinished = target.with_name(f"{target.name}.{token_hex(4)}.partial")
        try:
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode=0o600))
            connection.execute("VACUUM INTO ?", (_uri(unfinished),))
            copy = apsw.Connection(_uri(unfinished), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
            copied_version = copy.pragma("user_version")
            copy.close()
            if copied_version == version:  # otherwise another process migrated the file before it was copied
                unfinished.chmod(self.file.stat().st_mode & 0o777)
                unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)

    def _connect_for_reading(self) -> apsw.Connection:
        try:
            connection = self._connect(apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE)
            connection.execute("SELECT 1 FROM sqlite_schema").get  # noqa: B018 (SQLite opens the file at the first read)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not self.read_only or not self.file.exists() or self.file.with_name(self.file.name + "-wal").exists():
                raise
            # SQLite cannot create the WAL's index (-shm) in a read-only folder. An immutable file needs no such index.
            connection = self._connect(apsw.SQLITE_OPEN_READONLY, "immutable=1")
            self._immutable.add(connection)
        connection.pragma("query_only", value=True)
        return connection

    def _connect(self, flags: int, options: str = "") -> apsw.Connection:
        connection = apsw.Connection(_uri(self.file, options), flags=flags | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(int(WRITE_TIMEOUT * 1000))
        connection.create_scalar_function(  # for the view from which FTS5 reads the texts of notes
            "indexed", lambda *texts: indexed(texts[0]), 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )
        connection.create_scalar_function("same_json", _same_json, 2, deterministic=True)
        # SQLite calls this function every 100,000 instructions (some milliseconds). Python can then raise
        # KeyboardInterrupt, which ends a long search.
        connection.set_progress_handler(lambda: False, 100_000)
        connection.pragma("cache_size", -16 * 1024)  # a negative number is KiB
        connection.pragma("foreign_keys", value=True)
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", 4000)  # pages, so that a large batch has few checkpoints
        connection.pragma("secure_delete", value=True)  # overwrite deleted content
        return connection

    @contextmanager
    def _translate_errors(self, path: Path | None = None) -> Iterator[None]:
        """Raise a ``StoreError`` instead of an error of SQLite or the system; its message names ``path``."""
        path = path or self.path
        try:
            yield
        except apsw.Error as error:
            for apsw_class, error_class, message in _ERRORS:
                if isinstance(error, apsw_class):
                    raise error_class(f"{path} {message} ({error})") from error
            if "no such table" in str(error):
                raise StoreDamagedError(f"{path} {_DAMAGED} ({error})") from error
            raise StoreError(f"{path}: {error}") from error
        except (OSError, UnicodeError) as error:
            raise StoreError(f"{str(path)!a} cannot be used as a file: {error}") from error


@contextmanager
def _write_transaction(connection: apsw.Connection) -> Iterator[None]:
    """Begin a transaction that writes; commit it at the end, or roll it back if an error or interrupt was raised."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _same_json(*values: Any) -> bool:
    """Return whether two JSON texts have the same value; the SQL function ``same_json``."""
    return with_deep_stack(lambda: bool(json.loads(values[0]) == json.loads(values[1])))


def _uri(path: Path, options: str = "") -> str:
    """Return a URI with the query string ``options`` for a path that may have special characters or invalid UTF-8."""
    return f"file:{quote(os.fsencode(path.absolute()))}?{options}"


def _enable_wal(connection: apsw.Connection) -> None:
    """Switch to WAL mode; retry while another process does the same, because SQLite does not wait for it."""
    deadline = time.monotonic() + WRITE_TIMEOUT
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


_OPEN: WeakSet[Connections] = WeakSet()  # all objects of this process
_forking: list[Connections] = []  # the objects that _before_fork locked and _after_fork unlocks


def _before_fork() -> None:
    _forking.extend(_OPEN)
    for connections in _forking:
        connections.before_fork()


def _after_fork() -> None:
    while _forking:
        _forking.pop().after_fork()


if hasattr(os, "register_at_fork"):  # pragma: no branch (Windows lacks it)
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
