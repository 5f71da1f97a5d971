"""Snapshots: memory-mapped files of arrays, with which a process can search without first reading all the tables.

A namespace has a snapshot of its posting lists (column ``model`` is 0), and one of the vectors of the active model.
The SQLite database is the only source of truth: a snapshot may be deleted at any time, and is then rebuilt from it.

*Validity.* The table ``snapshots`` has, for each snapshot, the token in the name of its file, the revision of the
namespace (a counter of changes) at which it was built, and the highest key of a note or vector in it (``last``). Rows
that were added later have higher keys. The table ``word_changes``, the change log, has the notes that were changed or
deleted later, each with the revision of the change. Writers log changes only if the namespace has a row in
``snapshots``. Therefore a row with an empty token is inserted before the first snapshot is built. A change is deleted
from the log when all snapshots of the namespace include it.

*File format.* The name is ``<database>-snapshot-<token>``; the token is 16 random hexadecimal digits. The file begins
with a header of two lines. The first names the format. The second is JSON: the data type, shape and offset of each
array, further values called facts, and the CRC-32 of all arrays. The arrays follow. The header and each array are
padded to multiples of 64 bytes; offsets are in bytes from the first array. A file never changes: a new snapshot is a
new file.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError, StoreError
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.transaction import fetch, revision

LEXICAL = 0  # the value of ``snapshots.model`` for a snapshot of posting lists
SNAPSHOT_ERRORS = (ArithmeticError, LookupError, MemoryError, ValueError)  # a search of corrupt data may raise these
WRITE_TIMEOUT = 1.0  # seconds to wait for other writers; few, because a snapshot can be written later
ORPHAN_AGE = 600.0  # seconds; a younger file that the table does not name may still be in the process of being written
PAUSE_FACTOR = 10  # after writing a snapshot, a process writes none for this many times the duration of the writing

_MAGIC = b"recollect arrays 1\n"
_ALIGNMENT = 64  # bytes: a cache line
_MAX_HEADER = 1 << 14  # bytes; a longer header is not read


class SnapshotArrays(NamedTuple):
    """The contents of a snapshot file: arrays by name, and other JSON values by name."""

    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]


class SnapshotRef(NamedTuple):
    """A row of the table ``snapshots``: the token of the file, the revision, and the highest key in the snapshot."""

    token: str
    revision: int
    last_key: int


NewSnapshot = tuple[int, Callable[[], SnapshotArrays]]
"""The highest key in a new snapshot, and a function that builds its arrays, to be called after the read transaction."""


class Snapshots:
    """The snapshot files of one database, each identified by its token."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self._undeleted: set[str] = set()  # tokens of files that could not be deleted yet, because they were mapped
        self._corrupt: set[str] = set()  # tokens of files that are not loaded any more

    def load(self, token: str, *, verify: bool = False) -> SnapshotArrays | None:
        """Map a file into memory; ``None`` if it is missing, corrupt or renamed. ``verify`` compares the checksum."""
        if token not in self._corrupt:
            with suppress(StoreError, OSError):
                snapshot = load_arrays(self._path(token), verify=verify)
                return snapshot if snapshot.facts.get("token") == token else None
        return None

    def reject_if_corrupt(self, ref: SnapshotRef | None) -> bool:
        """Return whether the checksum of a snapshot is wrong or its file is missing; if so, never load it again."""
        if ref is None or self.load(ref.token, verify=True) is not None:
            return False
        self._corrupt.add(ref.token)
        return True

    def save(self, token: str, snapshot: SnapshotArrays) -> None:
        """Write a file with the owner and the permissions of the database, as SQLite does with its WAL."""
        path, database = self._path(token), self.connections.file.stat()
        save_arrays(path, snapshot.arrays, {**snapshot.facts, "token": token})
        with suppress(OSError, AttributeError):  # only an administrator may change the owner, and not on every system
            os.chown(path, database.st_uid, database.st_gid)
        path.chmod(database.st_mode & 0o777)

    def delete(self, tokens: Iterable[str]) -> None:
        """Delete files, and files that an earlier call could not delete, because Windows deletes no mapped file."""
        for token in [*tokens, *self._undeleted]:
            try:
                self._path(token).unlink(missing_ok=True)
                self._undeleted.discard(token)
            except OSError:
                self._undeleted.add(token)

    def retry_deletions(self) -> None:
        """Delete the files that could not be deleted before."""
        self.delete(())

    def referenced_tokens(self, connection: apsw.Connection) -> set[str]:
        """Return the tokens of the files that the table ``snapshots`` names."""
        return {token for (token,) in fetch(connection, "SELECT token FROM snapshots WHERE token <> ''")}

    def files(self) -> dict[str, Path]:
        """Return the paths of the snapshot files by token, including empty files, which a stopped writer may leave."""
        database, files = self.connections.file, {}
        pattern = re.compile(re.escape(database.name) + "-snapshot-([0-9a-f]{16})")
        with suppress(OSError):
            for path in database.parent.iterdir():
                if matched := pattern.fullmatch(path.name):
                    with suppress(OSError), path.open("rb") as file:
                        if file.read(len(_MAGIC)) in (_MAGIC, b""):
                            files[matched[1]] = path
        return files

    def orphans(self, tokens: Set[str]) -> list[str]:
        """Return the tokens of all files older than :data:`ORPHAN_AGE`, except ``tokens``, which are in use."""
        with suppress(OSError):  # another process may have deleted a file
            cutoff, files = time.time() - ORPHAN_AGE, self.files().items()
            return [token for token, path in files if token not in tokens and path.stat().st_mtime < cutoff]
        return []

    def problem(self, connection: apsw.Connection) -> str:
        """Return a message that lists the corrupt and the orphaned files; "" if there are none."""
        tokens = self.referenced_tokens(connection)
        existing = [token for token in sorted(tokens) if self._path(token).exists()]
        corrupt = [token for token in existing if not self.load(token, verify=True)]
        messages = []
        for problem, affected in (("corrupt", corrupt), ("left behind by another process", self.orphans(tokens))):
            if affected:
                messages.append(f"{problem}: {', '.join(self._path(token).name for token in affected)}")
        return "; ".join(messages)

    def _path(self, token: str) -> Path:
        database = self.connections.file
        return database.with_name(f"{database.name}-snapshot-{token}")


class SnapshotIndex(ABC):
    """An index of one namespace (and model) in memory: a snapshot, and the rows of the tables that changed since."""

    min_rows: ClassVar[int]  # the first snapshot is written when ``added_rows_sql`` selects this many rows
    added_rows_sql: ClassVar[str]
    """The SQL after FROM that selects the rows of namespace ?1 (and model ?2) whose key is higher than ?3."""

    def __init__(self, snapshots: Snapshots, namespace_id: int, model_key: int = LEXICAL) -> None:
        self._snapshots = snapshots
        self._namespace_id = namespace_id
        self._model_key = model_key
        self._lock = threading.Lock()
        self._ref: SnapshotRef | None = None  # the snapshot that a search last loaded, or tried to load
        self.needs_snapshot = False  # whether the last search found that a new snapshot should be written
        self._clear()

    @staticmethod
    def max_delta(rows: int) -> int:
        """Return how many new rows a snapshot with ``rows`` rows may lack; each process reads these from the tables."""
        return max(2_000, rows // 50)

    def drop_if_corrupt(self) -> bool:
        """After a search raised an error: if the snapshot is corrupt, stop using it; return whether it is corrupt."""
        with self._lock:
            is_corrupt = self._snapshots.reject_if_corrupt(self._ref)
            if is_corrupt:
                self._clear()
            return is_corrupt

    def is_stale(self, connection: apsw.Connection) -> bool:
        """Return whether a snapshot should be written: many rows are new, a note changed, or the file is unusable."""
        ref = self._current(connection)
        if ref is None:
            return self._count_added(connection, 0, self.min_rows) >= self.min_rows
        snapshot = self._load_file(ref)
        if snapshot is None or self._changed_since(connection, ref.revision):
            return True
        limit = self.max_delta(len(snapshot.arrays["keys"]))
        return self._count_added(connection, ref.last_key, limit) > limit

    def write_snapshot(self, stopped: Callable[[], bool], timeout: float = WRITE_TIMEOUT) -> None:
        """Write a new snapshot and delete the current one; give up when ``stopped`` returns true.

        Nothing changes if the disk is full, other writers keep the database locked, or another process is first.
        """
        connections = self._snapshots.connections
        with suppress(StoreError, OSError, MemoryError, np.linalg.LinAlgError):
            with connections.writing(timeout) as connection:  # after this insert, writers log changes
                connection.execute(
                    "INSERT OR IGNORE INTO snapshots SELECT key, ?, '', revision, 0 FROM namespaces WHERE key = ?",
                    (self._model_key, self._namespace_id),
                )
            with connections.reading() as connection:
                current, read_revision = self._current(connection), revision(connection, self._namespace_id)
                new = self._read_snapshot(connection, current, stopped)
            if new is not None:
                self._publish(current, read_revision, new, timeout)
            elif current is None:  # nothing was built: remove the row
                with connections.writing(timeout) as connection:
                    sql = "DELETE FROM snapshots WHERE namespace = ? AND model = ? AND token = ''"
                    connection.execute(sql, (self._namespace_id, self._model_key))
                    self._trim_change_log(connection)

    def _publish(self, current: SnapshotRef | None, read_revision: int, new: NewSnapshot, timeout: float) -> None:
        """Write the file and enter it in the table, unless another process has replaced the snapshot ``current``."""
        snapshots, (last_key, build) = self._snapshots, new
        token, current_token = token_hex(8), current.token if current else ""
        try:
            snapshots.save(token, build())
            with snapshots.connections.writing(timeout) as connection:
                # Match no row if another process replaced ``current``: it trimmed changes that this snapshot lacks.
                connection.execute(
                    "UPDATE snapshots SET token = ?1, revision = ?2, last = ?3 "
                    "WHERE namespace = ?4 AND model = ?5 AND token = ?6 AND revision <= ?2",
                    (token, read_revision, last_key, self._namespace_id, self._model_key, current_token),
                )
                if not connection.changes():
                    raise StoreError("another process has written a snapshot meanwhile")
                self._trim_change_log(connection)
                tokens = snapshots.referenced_tokens(connection)
        except BaseException:
            snapshots.delete([token])
            raise
        replaced_tokens = [current_token] if current else []
        snapshots.delete([*replaced_tokens, *snapshots.orphans(tokens)])

    def _trim_change_log(self, connection: apsw.Connection) -> None:
        """Delete the changes that all snapshots of the namespace include; all changes if there is no snapshot."""
        connection.execute(
            "DELETE FROM word_changes WHERE namespace = ?1 "
            "AND revision <= coalesce((SELECT min(revision) FROM snapshots WHERE namespace = ?1), revision)",
            (self._namespace_id,),
        )

    def _current(self, connection: apsw.Connection) -> SnapshotRef | None:
        """Return the row of this index in the table ``snapshots``; ``None`` if it has no snapshot."""
        sql = "SELECT token, revision, last FROM snapshots WHERE namespace = ? AND model = ? AND token <> ''"
        row = connection.execute(sql, (self._namespace_id, self._model_key)).get
        return SnapshotRef(*row) if row else None

    def _load_file(self, ref: SnapshotRef, *, verify: bool = False) -> SnapshotArrays | None:
        """Map a snapshot file into memory; ``None`` if it is missing, corrupt or made for another kind of index."""
        snapshot = self._snapshots.load(ref.token, verify=verify)
        try:
            return snapshot if snapshot and self._is_consistent(*snapshot) else None
        except (TypeError, LookupError):  # an array has too few dimensions or values
            return None

    def _changed_since(self, connection: apsw.Connection, last_revision: int) -> list[int]:
        """Return the keys of the notes that were changed or deleted after a revision."""
        sql = "SELECT DISTINCT note FROM word_changes WHERE namespace = ? AND revision > ?"
        return [note for (note,) in fetch(connection, sql, (self._namespace_id, last_revision))]

    def _count_added(self, connection: apsw.Connection, last_key: int, limit: int) -> int:
        """Return how many rows have a higher key than ``last_key``; stop counting at ``limit`` + 1."""
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {self.added_rows_sql} LIMIT ?4)"  # noqa: S608 (fixed names)
        return int(connection.execute(sql, (self._namespace_id, self._model_key, last_key, limit + 1)).get)

    @staticmethod
    @abstractmethod
    def _is_consistent(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> bool:
        """Return whether a file has the arrays and facts of this index, with lengths that match."""

    @abstractmethod
    def _clear(self) -> None:
        """Drop the data in memory."""

    @abstractmethod
    def _read_snapshot(
        self, connection: apsw.Connection, ref: SnapshotRef | None, stopped: Callable[[], bool]
    ) -> NewSnapshot | None:
        """Read the rows that the snapshot ``ref`` lacks, or all rows if there is no usable snapshot.

        Return ``None`` if ``stopped`` returned true, or if there is nothing to write.
        """


class SnapshotWorker:
    """Writes snapshots in a background thread, one at a time; a fork or ``stop`` abandons the current snapshot."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._paused_until = 0.0  # seconds of time.monotonic()
        self._stopping = connections.read_only  # a read-only store writes no snapshots

    def start(self, index: SnapshotIndex) -> None:
        """Start to write a snapshot; do nothing if one is being written, or if the last was written too recently."""
        with self._lock:
            if self._stopping or (self._thread and self._thread.is_alive()) or time.monotonic() < self._paused_until:
                return
            thread = threading.Thread(target=self._run, args=(index,), name="recollect-snapshot", daemon=True)
            with suppress(RuntimeError):  # if no thread can be started, searches only take longer
                thread.start()
                self._thread = thread

    def wait(self) -> None:
        """Wait until no snapshot is being written."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Abandon the snapshot that is being written, and write no more."""
        with self._lock:
            self._stopping = True
        self.wait()

    def _run(self, index: SnapshotIndex) -> None:
        started = time.monotonic()
        try:
            index.write_snapshot(lambda: self._stopping or self._connections.forking)
        finally:
            now = time.monotonic()
            self._paused_until = now + PAUSE_FACTOR * (now - started)


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write arrays of any shape to a new file that only its owner may read, and sync it to disk."""
    layout, offset, checksum = {}, 0, 0
    for name, array in arrays.items():
        layout[name] = (array.dtype.str, array.shape, offset)
        offset += _aligned(array.nbytes)
    buffers = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
    for buffer in buffers:
        checksum = zlib.crc32(buffer.data, checksum)
    header = _MAGIC + json.dumps({"arrays": layout, "facts": dict(facts), "check": checksum}).encode() + b"\n"
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode=0o600)) as file:
        file.write(header.ljust(_aligned(len(header))))
        for buffer in buffers:
            file.write(buffer.data)
            file.write(b"\0" * (-buffer.nbytes % _ALIGNMENT))
        file.flush()
        os.fsync(file.fileno())


def load_arrays(path: Path, *, verify: bool = False) -> SnapshotArrays:
    """Map the arrays of a file into memory; with ``verify``, compare their checksum, which reads every byte."""
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
        beginning = content[:_MAX_HEADER].tobytes()
        magic, header_line, rest = beginning.split(b"\n", 2)
        if magic + b"\n" != _MAGIC:
            raise ValueError("its first line is not that of a snapshot")
        header, arrays_start = json.loads(header_line), _aligned(len(beginning) - len(rest))
        arrays, checksum = {}, 0
        for name, (dtype, shape, offset) in header["arrays"].items():
            start = arrays_start + offset
            end = start + np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
            if end > len(content):
                raise ValueError("it is truncated")
            buffer = np.asarray(content[start:end])
            checksum = zlib.crc32(buffer.data, checksum) if verify else checksum
            arrays[name] = buffer.view(dtype).reshape(shape)
        if verify and checksum != header["check"]:
            raise ValueError("its checksum is wrong")
        return SnapshotArrays(arrays, dict(header["facts"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise StoreDamagedError(f"{path} is not a snapshot file ({error}); delete it") from error


def _aligned(size: int) -> int:
    """Return a number of bytes, rounded up to the alignment of arrays."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT
