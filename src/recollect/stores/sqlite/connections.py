"""Connections to one SQLite file: one for writing, many for reading, for threads and for processes.

SQLite's write-ahead log lets readers go on while one writes. Writers wait for each other: within this process at a
lock, between processes at SQLite's own, for as long as :data:`PATIENCE` says. A commit is on the disk when it returns.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

import apsw

from recollect.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from recollect.nesting import with_room
from recollect.stores.sqlite import schema
from recollect.stores.sqlite.transaction import reveal_expired
from recollect.stores.tokens import indexed

__all__ = ["PATIENCE", "Connections"]

PATIENCE = 60.0
"""Seconds to wait for other writers before giving up."""

PAGE_BYTES = 8192  # five vectors of 384 numbers fit into one page; of SQLite's usual 4096 a quarter would stay empty
LOG_PAGES = 4000  # 32 MB: many notes at once are not copied into the file after every few hundred
HEARS_EVERY = 100_000  # steps of SQLite's machine: some milliseconds
CACHE_KIBIBYTES = 16 * 1024

_NOT_WRITABLE = "cannot be written to; make it and its folder writable, or use read_only=True"
_DAMAGED = "is damaged; 'recollect doctor --repair' rebuilds what can be rebuilt; else restore a backup"
_ERRORS: tuple[tuple[type[apsw.Error], type[StoreError], str], ...] = (
    (apsw.BusyError, StoreBusyError, f"is kept busy by others; nothing was written after {PATIENCE:.0f} seconds"),
    (apsw.LockedError, StoreBusyError, "is kept busy by others; nothing was written"),
    (apsw.FullError, StoreFullError, "has no room left on its disk; nothing was written"),
    (apsw.ReadOnlyError, StoreReadOnlyError, _NOT_WRITABLE),
    (apsw.NotADBError, StoreDamagedError, "is not an SQLite database; choose another file"),
    (apsw.CorruptError, StoreDamagedError, _DAMAGED),
    (apsw.CantOpenError, StoreError, "cannot be opened; check that its folder exists and may be written to"),
    (apsw.IOError, StoreError, "cannot be read or written; check the disk"),
)


class Connections:
    """All connections of this process to one file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, and create or migrate it where that is needed and allowed."""
        self.path = path
        """As it was given, for people."""
        with self._translated():
            self.file = Path(os.path.realpath(path))
            """Where that was then: the folder that a process works in may change, and a link may lead there."""
        self.read_only = read_only
        self._writing = threading.Lock()
        self._changed = threading.Condition(threading.RLock())  # guards what follows
        self._writer: apsw.Connection | None = None
        self._idle: list[apsw.Connection] = []
        self._immutable: set[apsw.Connection] = set()
        self._in_use = 0
        self._forking = False
        self._closed = False
        self._in_use = 1
        self._give_back(self._open_first())
        _OPEN.add(self)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Give a connection on which all reads see the store at one moment."""
        with self._translated():
            connection = self._take()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def writing(self, patience: float | None = None) -> Iterator[apsw.Connection]:
        """Give the connection for writing in a transaction of its own, committed at the end unless an error comes.

        ``patience`` is for what is not worth waiting for as long as usual: how many seconds it waits for its turn.
        """
        if self.read_only:
            raise StoreReadOnlyError(f"{self.path} was opened with read_only=True; open it without to change it")
        with self._translated(), self._turn(patience):
            self._check_open()
            if self._writer is None:
                self._writer = self._connect(apsw.SQLITE_OPEN_READWRITE)
            connection = self._writer
            try:
                # An interrupt may come while it waits, and must not leave the transaction open behind it.
                self._begin_writing(connection, patience)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def checking(self, blamed: Path | None = None) -> Iterator[apsw.Connection]:
        """Give a connection for what SQLite counts as a write though it changes nothing here; it sees all there is."""
        with self._translated(blamed):
            connection = self._take()
            try:
                connection.pragma("query_only", value=False)
                reveal_expired(connection)
                yield connection
            finally:
                connection.pragma("query_only", value=True)
                self._give_back(connection)

    def vacuum(self) -> None:
        """Free what no table holds any more."""
        with self.checking() as connection:
            connection.execute("VACUUM")

    def backup(self, target: Path) -> None:
        """Write a compact, consistent copy to ``target``, which must not exist."""
        with self.checking(target) as connection:
            connection.execute("VACUUM INTO ?", (_uri(target),))

    def close(self) -> None:
        """Close what is idle; a connection in use closes when it comes back."""
        with self._writing:
            self._closed = True
            self._close_idle()

    def before_fork(self) -> None:
        """Wait until no connection is in use, and close all: SQLite's locks do not survive in a child process.

        A child that has a copy of an open connection would take the parent's locks for its own, and lose what it
        writes. Both sides open new connections when they need them.
        """
        self._writing.acquire()
        self._changed.acquire()
        self._forking = True  # who comes now waits, so that those who are here can finish
        self._changed.wait_for(lambda: not self._in_use, timeout=PATIENCE)
        self._close_idle()

    def after_fork(self) -> None:
        """Go on, in the parent and in the child."""
        self._forking = False
        self._changed.notify_all()
        self._changed.release()
        self._writing.release()

    @property
    def forking(self) -> bool:
        """Whether a fork waits for connections that are in use."""
        return self._forking

    @contextmanager
    def _turn(self, patience: float | None) -> Iterator[None]:
        """Wait for the other writers of this process."""
        if not self._writing.acquire(timeout=-1 if patience is None else patience):
            raise StoreBusyError(f"{self.path} is kept busy by others; nothing was written after {patience:g} seconds")
        try:
            yield
        finally:
            self._writing.release()

    def _begin_writing(self, connection: apsw.Connection, patience: float | None) -> None:
        """Begin a transaction as soon as no other process writes."""
        if patience is None:
            connection.execute("BEGIN IMMEDIATE")
            return
        connection.set_busy_timeout(int(patience * 1000))
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            problem = f"{self.path} is kept busy by others; nothing was written after {patience:g} seconds ({error})"
            raise StoreBusyError(problem) from error
        finally:
            connection.set_busy_timeout(int(PATIENCE * 1000))

    def _close_idle(self) -> None:
        with self._changed:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            while self._idle:
                self._idle.pop().close()

    def _take(self) -> apsw.Connection:
        with self._changed:
            self._changed.wait_for(lambda: not self._forking, timeout=PATIENCE)
            self._check_open()
            self._in_use += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect_for_reading()
        except BaseException:
            with self._changed:
                self._in_use -= 1
            raise

    def _give_back(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._changed:
            self._in_use -= 1
            self._changed.notify_all()
            # One that believes the file immutable would never learn of what others write.
            if self._closed or connection in self._immutable:
                self._immutable.discard(connection)
                connection.close()
            else:
                self._idle.append(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again to use it")

    def _open_first(self) -> apsw.Connection:
        with self._translated():
            if self.file.is_dir():
                raise StoreError(f"{self.path} is a directory; give the path of a file")
            if not self.file.parent.is_dir():
                raise StoreError(f"{self.path.parent} does not exist; create it first")
            if self.read_only:
                if not self.file.exists():
                    raise StoreError(f"{self.path} does not exist; open it without read_only=True to create it")
                connection = self._connect_for_reading()
                if not schema.is_current(connection, str(self.path)):
                    raise StoreError(
                        f"{self.path} is empty or of an older version; open it once without read_only=True"
                    )
                return connection
            connection = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            if connection.readonly("main"):
                raise StoreReadOnlyError(f"{self.path} {_NOT_WRITABLE}")
            current = schema.is_current(connection, str(self.path))
            if connection.pragma("journal_mode") != "wal":  # a new store, or a backup
                connection.pragma("page_size", PAGE_BYTES)
                _begin_log(connection)
            if not current:
                schema.migrate(connection, str(self.path))
            self._writer = connection
            return self._connect_for_reading()

    def _connect_for_reading(self) -> apsw.Connection:
        try:
            connection = self._connect(apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE)
            connection.execute("SELECT 1 FROM sqlite_schema").get  # noqa: B018 (opens the file, which SQLite puts off)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not self.read_only or not self.file.exists() or self._log().exists():
                raise
            # The log's index cannot be created in a folder without permission; without a log none is needed.
            connection = self._connect(apsw.SQLITE_OPEN_READONLY, "immutable=1")
            self._immutable.add(connection)
        connection.pragma("query_only", value=True)
        return connection

    def _log(self) -> Path:
        return self.file.with_name(self.file.name + "-wal")

    def _connect(self, flags: int, options: str = "") -> apsw.Connection:
        connection = apsw.Connection(_uri(self.file, options), flags=flags | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(int(PATIENCE * 1000))
        connection.create_scalar_function(
            "indexed", lambda *texts: indexed(texts[0]), 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )
        connection.create_scalar_function("same_json", _same_json, 2, deterministic=True)
        # A call into Python now and then, so that an interrupt is heard during a long search.
        connection.set_progress_handler(lambda: False, HEARS_EVERY)
        connection.pragma("cache_size", -CACHE_KIBIBYTES)
        connection.pragma("foreign_keys", value=True)
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", LOG_PAGES)
        connection.pragma("secure_delete", value=True)  # what is deleted is overwritten, not left in free pages
        return connection

    @contextmanager
    def _translated(self, blamed: Path | None = None) -> Iterator[None]:
        """Turn SQLite's errors into ours: one line that names the file and says what to do."""
        path = blamed or self.path
        try:
            yield
        except apsw.Error as error:
            for kind, ours, advice in _ERRORS:
                if isinstance(error, kind):
                    raise ours(f"{path} {advice} ({error})") from error
            if "no such table" in str(error):
                raise StoreDamagedError(f"{path} {_DAMAGED} ({error})") from error
            raise StoreError(f"{path}: {error}") from error
        except (OSError, UnicodeError) as error:
            raise StoreError(f"{str(path)!a} cannot be used as a file: {error}") from error


def _same_json(*values: Any) -> bool:
    return with_room(lambda: bool(json.loads(values[0]) == json.loads(values[1])))


def _uri(path: Path, options: str = "") -> str:
    """Return the path as SQLite takes it whatever bytes it holds."""
    return f"file:{quote(os.fsencode(path.absolute()))}?{options}"


def _begin_log(connection: apsw.Connection) -> None:
    """Switch to a write-ahead log. Who does so at the same moment as another is sent away at once: it tries again."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


_OPEN: WeakSet[Connections] = WeakSet()
_held: list[Connections] = []


def _before_fork() -> None:
    _held.extend(_OPEN)
    for connections in _held:
        connections.before_fork()


def _after_fork() -> None:
    while _held:
        _held.pop().after_fork()


if hasattr(os, "register_at_fork"):  # pragma: no branch (wherever there is no fork, nothing is to be done)
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
