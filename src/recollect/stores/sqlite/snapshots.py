"""Snapshot files beside the memory: memory-mapped arrays that are derived from its tables.

SQLite is the only source of truth: a snapshot can be deleted at any time and is rebuilt. The table ``snapshots`` names
the file of a namespace (and model) and the revision it was built from. Notes that were added since have higher keys
than ``last_key``; notes that were changed or deleted since are listed in the table ``word_changes``, the change log,
with their revision. Changes are logged from before the first snapshot is built, and deleted from the log when all
snapshots of the namespace include them.

A file has a line that names the format, a line of JSON (data type, shape and offset of each array, other JSON values
called facts, CRC-32), and the arrays, aligned to 64 bytes. Its name is ``<memory>-snapshot-<token>``.
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

LEXICAL = 0
"""The value of ``snapshots.model`` for a lexical snapshot, which has posting lists."""
SNAPSHOT_ERRORS = (ArithmeticError, LookupError, MemoryError, ValueError)
"""What a search over a corrupt snapshot can raise."""
WRITE_TIMEOUT = 1.0
"""Seconds to wait for other writers: a snapshot can be written later."""
ORPHAN_AGE = 600.0
"""Seconds after which a file that the table does not name counts as abandoned, not as being written."""
PAUSE_FACTOR = 10
"""After a snapshot, no other is started for this many times the time it took."""

_MAGIC = b"recollect arrays 1\n"
_ALIGNMENT = 64
_MAX_HEADER = 1 << 14


def max_delta(notes: int) -> int:
    """Return how many notes a snapshot of ``notes`` may lack; each process reads these from the tables."""
    return max(2_000, notes // 50)


class SnapshotArrays(NamedTuple):
    """The contents of a snapshot file: arrays by name, and JSON values."""

    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]


class SnapshotRef(NamedTuple):
    """A row of the table ``snapshots``: the end of the file's name, its revision and the highest key in it."""

    token: str
    revision: int
    last_key: int


NewSnapshot = tuple[int, Callable[[], SnapshotArrays]]
"""The highest key in a snapshot to write, and a function that builds its arrays."""


class Snapshots:
    """The snapshot files of one memory."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self._undeleted: set[str] = set()
        """Tokens of files that could not be deleted yet, because they are mapped."""
        self._corrupt: set[str] = set()

    def load(self, token: str, *, verify: bool = False) -> SnapshotArrays | None:
        """Map a snapshot file into memory; ``None`` if it is missing or corrupt. ``verify`` checks every byte."""
        if token not in self._corrupt:
            with suppress(StoreError, OSError):
                snapshot = load_arrays(self._path(token), verify=verify)
                return snapshot if snapshot.facts.get("token") == token else None
        return None

    def is_corrupt(self, ref: SnapshotRef | None) -> bool:
        """Return whether the snapshot of a failed search is corrupt; if so, it is not loaded again."""
        if ref is None or self.load(ref.token, verify=True) is not None:
            return False
        self._corrupt.add(ref.token)
        return True

    def save(self, token: str, snapshot: SnapshotArrays) -> None:
        """Write a file with the owner and the permissions of the memory, as SQLite does with its own."""
        path, memory = self._path(token), self.connections.file.stat()
        save_arrays(path, snapshot.arrays, {**snapshot.facts, "token": token})
        with suppress(OSError, AttributeError):  # only an administrator may change the owner, and not on every system
            os.chown(path, memory.st_uid, memory.st_gid)
        path.chmod(memory.st_mode & 0o777)

    def delete(self, tokens: Iterable[str] = ()) -> None:
        """Delete files, and those that could not be deleted before: some systems do not delete a mapped file."""
        for token in [*tokens, *self._undeleted]:
            try:
                self._path(token).unlink(missing_ok=True)
                self._undeleted.discard(token)
            except OSError:
                self._undeleted.add(token)

    def tokens(self, connection: apsw.Connection) -> set[str]:
        """Return the tokens of all files that the table names."""
        return {token for (token,) in fetch(connection, "SELECT token FROM snapshots WHERE token <> ''")}

    def files(self) -> dict[str, Path]:
        """Return the files with the name and the first line of a snapshot, or without content, by token."""
        memory, files = self.connections.file, {}
        pattern = re.compile(re.escape(memory.name) + "-snapshot-([0-9a-f]{16})")
        with suppress(OSError):
            for path in memory.parent.iterdir():
                if matched := pattern.fullmatch(path.name):
                    with suppress(OSError), path.open("rb") as file:
                        if file.read(len(_MAGIC)) in (_MAGIC, b""):
                            files[matched[1]] = path
        return files

    def orphans(self, tokens: Set[str]) -> list[str]:
        """Return the tokens of files that are not in ``tokens`` and too old to be still being written."""
        with suppress(OSError):  # another process may delete one
            latest, files = time.time() - ORPHAN_AGE, self.files().items()
            return [token for token, path in files if token not in tokens and path.stat().st_mtime < latest]
        return []

    def problem(self, connection: apsw.Connection) -> str:
        """Return which files are corrupt or orphaned; "" if none is."""
        tokens = self.tokens(connection)
        existing = [token for token in sorted(tokens) if self._path(token).exists()]
        corrupt = [token for token in existing if not self.load(token, verify=True)]
        problems = [("corrupt", corrupt), ("left behind by another process", self.orphans(tokens))]
        names = [(problem, ", ".join(self._path(token).name for token in files)) for problem, files in problems]
        return "; ".join(f"{problem}: {files}" for problem, files in names if files)

    def _path(self, token: str) -> Path:
        memory = self.connections.file
        return memory.with_name(f"{memory.name}-snapshot-{token}")


class SnapshotIndex(ABC):
    """An index of one namespace in memory: a snapshot, and the rows that were added to the tables since."""

    min_rows: ClassVar[int]
    """The minimum number of rows for a snapshot."""
    added_rows: ClassVar[str]
    """SQL for the rows of namespace ?1 and model ?2 with a higher key than ?3: what follows FROM."""

    def __init__(self, snapshots: Snapshots, namespace: int, model: int) -> None:
        self._snapshots = snapshots
        self._namespace = namespace
        self._model = model
        self._lock = threading.Lock()
        self._ref: SnapshotRef | None = None
        """The snapshot that was loaded last, even if its file was missing."""
        self.needs_snapshot = False
        """Whether a new snapshot was due, or soon due, when the index was viewed last."""
        self._clear()

    def is_corrupt(self) -> bool:
        """Return whether a search failed because the snapshot is corrupt; if so, it is not used again."""
        with self._lock:
            if corrupt := self._snapshots.is_corrupt(self._ref):
                self._clear()
            return corrupt

    def is_stale(self, connection: apsw.Connection) -> bool:
        """Return whether a new snapshot is due: the current one lacks too many notes, or any was changed or deleted."""
        ref = self._current(connection)
        if ref is None:
            return self._count_added(connection, 0, self.min_rows) >= self.min_rows
        snapshot = self._load_file(ref)
        if snapshot is None or self._changed_since(connection, ref.revision):
            return True
        limit = max_delta(len(snapshot.arrays["keys"]))
        return self._count_added(connection, ref.last_key, limit) > limit

    def write_snapshot(self, stopped: Callable[[], bool], timeout: float = WRITE_TIMEOUT) -> None:
        """Write a new snapshot in place of the current one, unless ``stopped`` becomes true.

        Nothing changes if the disk is full, other processes keep the memory busy, or one of them publishes its first.
        """
        connections = self._snapshots.connections
        with suppress(StoreError, OSError, MemoryError, np.linalg.LinAlgError):
            with connections.writing(timeout) as connection:  # writers log changes only if this row exists
                connection.execute(
                    "INSERT OR IGNORE INTO snapshots SELECT key, ?, '', revision, 0 FROM namespaces WHERE key = ?",
                    (self._model, self._namespace),
                )
            with connections.reading() as connection:
                current, built_from = self._current(connection), revision(connection, self._namespace)
                new = self._read_snapshot(connection, current, stopped)
            if new is not None:
                self._publish(current, built_from, new, timeout)
            elif current is None:
                with connections.writing(timeout) as connection:
                    sql = "DELETE FROM snapshots WHERE namespace = ? AND model = ? AND token = ''"
                    connection.execute(sql, (self._namespace, self._model))
                    self._trim_change_log(connection)

    def _publish(self, current: SnapshotRef | None, built_from: int, new: NewSnapshot, timeout: float) -> None:
        """Write the file, and name it in the table unless another process replaced the current snapshot."""
        token, snapshots, (last_key, build) = token_hex(8), self._snapshots, new
        try:
            snapshots.save(token, build())
            with snapshots.connections.writing(timeout) as connection:
                # Replace only the snapshot that was read: a later one has trimmed changes that this one needs.
                connection.execute(
                    "UPDATE snapshots SET token = ?1, revision = ?2, last = ?3 "
                    "WHERE namespace = ?4 AND model = ?5 AND token = ?6 AND revision <= ?2",
                    (token, built_from, last_key, self._namespace, self._model, current.token if current else ""),
                )
                if not connection.changes():
                    raise StoreError("another process has written a snapshot meanwhile")
                self._trim_change_log(connection)
                tokens = snapshots.tokens(connection)
        except BaseException:
            snapshots.delete([token])
            raise
        snapshots.delete([*([current.token] if current else []), *snapshots.orphans(tokens)])

    def _trim_change_log(self, connection: apsw.Connection) -> None:
        """Delete the changes that every snapshot of the namespace includes."""
        connection.execute(
            "DELETE FROM word_changes WHERE namespace = ?1 "
            "AND revision <= coalesce((SELECT min(revision) FROM snapshots WHERE namespace = ?1), revision)",
            (self._namespace,),
        )

    def _current(self, connection: apsw.Connection) -> SnapshotRef | None:
        """Return the snapshot that the connection's transaction sees, if there is one."""
        sql = "SELECT token, revision, last FROM snapshots WHERE namespace = ? AND model = ? AND token <> ''"
        row = connection.execute(sql, (self._namespace, self._model)).get
        return SnapshotRef(*row) if row else None

    def _load_file(self, ref: SnapshotRef, *, verify: bool = False) -> SnapshotArrays | None:
        """Map a snapshot file into memory; ``None`` if it is missing, corrupt or of another format."""
        snapshot = self._snapshots.load(ref.token, verify=verify)
        try:
            return snapshot if snapshot and self._is_consistent(*snapshot) else None
        except (TypeError, LookupError):  # an array has too few dimensions or values
            return None

    def _changed_since(self, connection: apsw.Connection, last: int) -> list[int]:
        """Return the keys of the notes that were changed or deleted after a revision."""
        sql = "SELECT DISTINCT note FROM word_changes WHERE namespace = ? AND revision > ?"
        return [note for (note,) in fetch(connection, sql, (self._namespace, last))]

    def _count_added(self, connection: apsw.Connection, last_key: int, limit: int) -> int:
        """Return how many rows have a higher key, up to ``limit`` + 1."""
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {self.added_rows} LIMIT ?4)"  # noqa: S608 (fixed names)
        return int(connection.execute(sql, (self._namespace, self._model, last_key, limit + 1)).get)

    @staticmethod
    @abstractmethod
    def _is_consistent(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> bool:
        """Return whether a file has the arrays and facts of the index, and lengths that agree; reads no array."""

    @abstractmethod
    def _clear(self) -> None:
        """Drop the data in memory."""

    @abstractmethod
    def _read_snapshot(
        self, connection: apsw.Connection, ref: SnapshotRef | None, stopped: Callable[[], bool]
    ) -> NewSnapshot | None:
        """Read the rows of a new snapshot: those that the current one lacks, or all; ``None`` if none is due."""


class SnapshotWorker:
    """Writes snapshots in a background thread, one at a time; it stops for a fork and when the memory is closed."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._paused_until = 0.0
        self._stopping = connections.read_only

    def start(self, index: SnapshotIndex) -> None:
        """Start to write a snapshot, unless one is being written or was written recently: a later search retries."""
        with self._lock:
            if self._stopping or (self._thread and self._thread.is_alive()) or time.monotonic() < self._paused_until:
                return
            thread = threading.Thread(target=self._run, args=(index,), name="recollect-snapshot", daemon=True)
            with suppress(RuntimeError):  # without a thread, searches only take longer
                thread.start()
                self._thread = thread

    def wait(self) -> None:
        """Wait until no snapshot is being written."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Abandon the snapshot that is being written."""
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
        offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    buffers = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
    for buffer in buffers:
        checksum = zlib.crc32(buffer.data, checksum)
    header = _MAGIC + json.dumps({"arrays": layout, "facts": dict(facts), "check": checksum}).encode() + b"\n"
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode=0o600)) as file:
        file.write(header.ljust(-(-len(header) // _ALIGNMENT) * _ALIGNMENT))
        for buffer in buffers:
            file.write(buffer.data)
            file.write(b"\0" * (-buffer.nbytes % _ALIGNMENT))
        file.flush()
        os.fsync(file.fileno())


def load_arrays(path: Path, *, verify: bool = False) -> SnapshotArrays:
    """Map the arrays of a file into memory; with ``verify``, every byte of them is checked."""
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
        head = content[:_MAX_HEADER].tobytes()
        magic, described, rest = head.split(b"\n", 2)
        if magic + b"\n" != _MAGIC:
            raise ValueError("the first line is not that of a snapshot")
        header, start = json.loads(described), -(-(len(head) - len(rest)) // _ALIGNMENT) * _ALIGNMENT
        arrays, checksum = {}, 0
        for name, (kind, shape, offset) in header["arrays"].items():
            size = np.dtype(kind).itemsize * int(np.prod(shape, dtype=np.int64))
            if start + offset + size > len(content):
                raise ValueError("it is truncated")
            part = np.asarray(content[start + offset : start + offset + size])
            checksum = zlib.crc32(part.data, checksum) if verify else checksum
            arrays[name] = part.view(kind).reshape(shape)
        if verify and checksum != header["check"]:
            raise ValueError("its checksum is wrong")
        return SnapshotArrays(arrays, dict(header["facts"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise StoreDamagedError(f"{path} is not a snapshot file ({error}); delete it") from error
