"""Snapshot files beside the memory: memory-mapped arrays that are derived from its tables.

SQLite is the only source of truth: a snapshot can be deleted at any time and is rebuilt. The table ``snapshots`` names
the file of a namespace (and model) and the revision it was built from. Notes that were added since have higher keys
than ``last_key``; notes that were changed or deleted since are listed in the table ``word_changes`` with their
revision. That change log starts before the first snapshot is built, and is trimmed to what some snapshot of the
namespace lacks.

A file has a line that names the format, a line of JSON (data type, shape and offset of each array, facts, CRC-32), and
the arrays, aligned to 64 bytes. Its name is ``<memory>-snapshot-<token>``.
"""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError, StoreError
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.transaction import fetch, revision

LEXICAL = 0
"""In place of a model's key: the snapshot has posting lists."""
SNAPSHOT_ERRORS = (ArithmeticError, LookupError, MemoryError, ValueError)
"""What a search over a corrupt snapshot can raise."""
WRITE_TIMEOUT = 1.0
"""Seconds to wait for other writers: a snapshot can be written later."""
ORPHAN_AGE = 600.0
"""Seconds after which a file that the table does not name counts as abandoned, not as being written."""

_MAGIC = b"recollect arrays 1\n"
_ALIGNMENT = 64
_MAX_HEADER = 1 << 14


def max_delta(notes: int) -> int:
    """Return how many notes a snapshot of ``notes`` may lack: a process reads them when it starts to search.

    >>> max_delta(3_000), max_delta(1_000_000)
    (2000, 20000)
    """
    return max(2_000, notes // 50)


class SnapshotArrays(NamedTuple):
    """The contents of a snapshot file: arrays by name, and JSON values."""

    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Any]


class SnapshotRef(NamedTuple):
    """A row of the table ``snapshots``: the end of the file's name, its revision and the highest key in it."""

    token: str
    revision: int
    last_key: int


class SnapshotData(NamedTuple):
    """A new snapshot that is not yet in a file."""

    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]
    last_key: int


class SnapshotSchema(NamedTuple):
    """The arrays and facts that snapshots of one kind must have."""

    arrays: Set[str]
    facts: Set[str]
    is_consistent: Callable[[Mapping[str, NDArray[Any]]], bool]
    """Checks the lengths of arrays against each other, without reading them."""

    def matches(self, snapshot: SnapshotArrays) -> bool:
        """Return whether a file has this schema."""
        if snapshot.arrays.keys() != self.arrays or not self.facts <= snapshot.facts.keys():
            return False
        try:
            return self.is_consistent(snapshot.arrays)
        except (TypeError, LookupError):  # an array has too few dimensions or values
            return False


class Snapshots:
    """The snapshot files of one memory."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._undeleted: set[str] = set()
        """Tokens of files that could not be deleted yet, because they are mapped."""
        self._corrupt: set[str] = set()

    def current(self, connection: apsw.Connection, namespace: int, model: int = LEXICAL) -> SnapshotRef | None:
        """Return the snapshot that the connection's transaction sees, if there is one."""
        row = connection.execute(_SELECT, (namespace, model)).get
        return SnapshotRef(*row) if row and row[0] else None

    def load(self, ref: SnapshotRef, schema: SnapshotSchema) -> SnapshotArrays | None:
        """Map a snapshot file into memory; ``None`` if it is missing, corrupt or of another schema.

        A copy of the memory in another folder has none.
        """
        if ref.token in self._corrupt:
            return None
        with suppress(StoreError, OSError):
            snapshot = load_arrays(self._path(ref.token))
            if snapshot.facts.get("token") == ref.token and schema.matches(snapshot):
                return snapshot
        return None

    def is_stale(
        self,
        connection: apsw.Connection,
        namespace: int,
        model: int,
        schema: SnapshotSchema,
        count_added: Callable[[int, int], int],
        min_rows: int,
    ) -> bool:
        """Return whether a new snapshot is due: the current one lacks too much, or has what was changed or deleted.

        ``count_added(key, limit)`` counts the rows after a key, up to ``limit`` + 1. The first snapshot is due with
        more than ``min_rows`` rows.
        """
        ref = self.current(connection, namespace, model)
        if ref is None:
            return count_added(0, min_rows) > min_rows
        snapshot = self.load(ref, schema)
        if snapshot is None or changed_since(connection, namespace, ref.revision):
            return True
        limit = max_delta(len(snapshot.arrays["keys"]))
        return count_added(ref.last_key, limit) > limit

    def is_intact(self, ref: SnapshotRef) -> bool:
        """Return whether the checksum of a snapshot file is right."""
        return _is_intact(self._path(ref.token))

    def is_corrupt(self, ref: SnapshotRef | None) -> bool:
        """Return whether the snapshot of a failed search is corrupt; if so, it is not loaded again."""
        if ref is None or (ref.token not in self._corrupt and self.is_intact(ref)):
            return False
        self._corrupt.add(ref.token)
        return True

    def write(
        self,
        namespace: int,
        model: int,
        read: Callable[[apsw.Connection, SnapshotRef | None], Callable[[], SnapshotData] | None],
        timeout: float = WRITE_TIMEOUT,
    ) -> None:
        """Build a new snapshot and put it in place of the current one.

        ``read`` reads what is needed and returns what builds the snapshot once the connection is free again. If the
        disk is full, or other processes write or finish first, nothing changes.
        """
        with suppress(StoreError, OSError, MemoryError, np.linalg.LinAlgError):
            self._start_change_log(namespace, model, timeout)
            with self._connections.reading() as connection:
                current = self.current(connection, namespace, model)
                built_from = revision(connection, namespace)
                build = read(connection, current)
            if build is not None:
                self._publish(namespace, model, current, built_from, build(), timeout)
            elif current is None:
                self._stop_change_log(namespace, model, timeout)

    def tokens(self, connection: apsw.Connection) -> set[str]:
        """Return the tokens of all files that the table names."""
        return {token for (token,) in fetch(connection, "SELECT token FROM snapshots WHERE token <> ''")}

    def delete(self, tokens: Iterable[str] = ()) -> None:
        """Delete files, and those that could not be deleted before: some systems do not delete a mapped file."""
        for token in [*tokens, *self._undeleted]:
            try:
                self._path(token).unlink(missing_ok=True)
                self._undeleted.discard(token)
            except OSError:
                self._undeleted.add(token)

    def files(self) -> list[Path]:
        """Return all snapshot files by their names, orphans included."""
        path = self._connections.file
        pattern = re.compile(re.escape(path.name) + "-snapshot-[0-9a-f]{16}")
        with suppress(OSError):
            return [file for file in path.parent.iterdir() if pattern.fullmatch(file.name)]
        return []

    def problem(self, connection: apsw.Connection) -> str:
        """Return which files are corrupt or orphaned; "" if none is."""
        tokens = self.tokens(connection)
        paths = {token: self._path(token) for token in sorted(tokens)}
        corrupt = [path.name for token, path in paths.items() if path.exists() and not _is_snapshot(path, token)]
        orphans = [path.name for path in self._orphans(tokens)]
        problems = [("corrupt", corrupt), ("left behind by another process", orphans)]
        return "; ".join(f"{problem}: {', '.join(names)}" for problem, names in problems if names)

    def delete_all(self, tokens: Set[str]) -> None:
        """Delete the files with these tokens, and all orphans."""
        self.delete({*tokens, *map(_token_of, self._snapshot_files())})

    def _start_change_log(self, namespace: int, model: int, timeout: float) -> None:
        """Add the row that makes writers record changes from now on."""
        with self._connections.reading() as connection:
            if connection.execute(_SELECT, (namespace, model)).get:
                return
        with self._connections.writing(timeout=timeout) as connection:
            connection.execute(
                "INSERT OR IGNORE INTO snapshots SELECT key, ?, '', revision, 0 FROM namespaces WHERE key = ?",
                (model, namespace),
            )

    def _stop_change_log(self, namespace: int, model: int, timeout: float) -> None:
        """Remove the row of a snapshot that was not built."""
        with self._connections.writing(timeout=timeout) as connection:
            connection.execute(
                "DELETE FROM snapshots WHERE namespace = ? AND model = ? AND token = ''", (namespace, model)
            )
            _trim_change_log(connection, namespace)

    def _publish(
        self,
        namespace: int,
        model: int,
        current: SnapshotRef | None,
        built_from: int,
        data: SnapshotData,
        timeout: float,
    ) -> None:
        """Write the file, and name it in the table unless another process replaced the current snapshot."""
        token = token_hex(8)
        path = self._path(token)
        try:
            save_arrays(path, data.arrays, {**data.facts, "token": token})
            self._copy_permissions(path)
            with self._connections.writing(timeout=timeout) as connection:
                # Only in place of the one that was read: a later one has trimmed changes that this one lacks.
                connection.execute(
                    "UPDATE snapshots SET token = ?1, revision = ?2, last = ?3 "
                    "WHERE namespace = ?4 AND model = ?5 AND token = ?6 AND revision <= ?2",
                    (token, built_from, data.last_key, namespace, model, current.token if current else ""),
                )
                if not connection.changes():
                    path.unlink()
                    return
                _trim_change_log(connection, namespace)
                tokens = self.tokens(connection)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if current:
            self.delete([current.token])
        for orphan in self._orphans(tokens):
            with suppress(OSError):  # another process may be faster
                orphan.unlink()

    def _copy_permissions(self, path: Path) -> None:
        """Give a file the owner and the permissions of the memory, as SQLite does with its own."""
        memory = self._connections.file.stat()
        with suppress(OSError, AttributeError):  # only an administrator may change the owner, and not on every system
            os.chown(path, memory.st_uid, memory.st_gid)
        path.chmod(memory.st_mode & 0o777)

    def _orphans(self, tokens: Set[str]) -> list[Path]:
        """Return the files without these tokens that are too old to be in progress."""
        with suppress(OSError):  # another process may delete one
            latest = time.time() - ORPHAN_AGE
            files = self._snapshot_files()
            return [path for path in files if _token_of(path) not in tokens and path.stat().st_mtime < latest]
        return []

    def _snapshot_files(self) -> list[Path]:
        """Return the files that have the name and the first line of a snapshot, or are empty."""
        files = []
        for path in self.files():
            with suppress(OSError), path.open("rb") as file:
                if file.read(len(_MAGIC)) in (_MAGIC, b""):
                    files.append(path)
        return files

    def _path(self, token: str) -> Path:
        path = self._connections.file
        return path.with_name(f"{path.name}-snapshot-{token}")


_SELECT = "SELECT token, revision, last FROM snapshots WHERE namespace = ? AND model = ?"


def _token_of(path: Path) -> str:
    return path.name.rpartition("-")[2]


def _trim_change_log(connection: apsw.Connection, namespace: int) -> None:
    """Delete the changes that every snapshot of a namespace includes."""
    connection.execute(
        "DELETE FROM word_changes WHERE namespace = ?1 "
        "AND revision <= coalesce((SELECT min(revision) FROM snapshots WHERE namespace = ?1), revision)",
        (namespace,),
    )


def changed_since(connection: apsw.Connection, namespace: int, last: int) -> list[int]:
    """Return the keys of the notes that were changed or deleted after a revision."""
    sql = "SELECT DISTINCT note FROM word_changes WHERE namespace = ? AND revision > ?"
    return [note for (note,) in fetch(connection, sql, (namespace, last))]


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


def load_arrays(path: Path) -> SnapshotArrays:
    """Map the arrays of a file into memory.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_arrays(Path(folder, "numbers"), {"ones": np.ones((2, 3), dtype=np.int8)}, {"version": 7})
    ...     snapshot = load_arrays(Path(folder, "numbers"))
    ...     snapshot.arrays["ones"].tolist(), snapshot.facts
    ([[1, 1, 1], [1, 1, 1]], {'version': 7})
    """
    return _load(path)[0]


def _load(path: Path) -> tuple[SnapshotArrays, Any]:
    """Return the arrays of a file, and the checksum that its header has."""
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
        head = content[:_MAX_HEADER].tobytes()
        magic, described, rest = head.split(b"\n", 2)
        if magic + b"\n" != _MAGIC:
            raise ValueError("the first line is not that of a snapshot")
        header, start = json.loads(described), -(-(len(head) - len(rest)) // _ALIGNMENT) * _ALIGNMENT
        arrays = {}
        for name, (kind, shape, offset) in header["arrays"].items():
            size = np.dtype(kind).itemsize * int(np.prod(shape, dtype=np.int64))
            if start + offset + size > len(content):
                raise ValueError("it is truncated")
            arrays[name] = np.asarray(content[start + offset : start + offset + size]).view(kind).reshape(shape)
        return SnapshotArrays(arrays, dict(header["facts"])), header["check"]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise StoreDamagedError(f"{path} is not a snapshot file ({error}); delete it") from error


def _is_intact(path: Path) -> bool:
    """Return whether every byte of the arrays is as it was written."""
    try:
        snapshot, expected = _load(path)
    except (StoreDamagedError, OSError):
        return False
    checksum = 0
    for array in snapshot.arrays.values():
        checksum = zlib.crc32(array.reshape(-1).view(np.uint8).data, checksum)
    return bool(checksum == expected)


def _is_snapshot(path: Path, token: str) -> bool:
    """Return whether a file is intact and was written under this token."""
    with suppress(StoreError, OSError):
        return load_arrays(path).facts.get("token") == token and _is_intact(path)
    return False
