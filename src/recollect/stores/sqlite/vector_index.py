"""The vector index of one namespace and model: exact nearest-neighbour search over quantised vectors.

*Layout.* The table ``vectors`` has one record for each note, under one key, with the vectors of all its chunks. The
index is a quantised copy with one row for each vector. The rows of a note are consecutive. The rows of the i-th note
end before ``ends[i]``, and the key of its record is ``keys[i]``. Keys ascend and are never used again. The rows are in
up to two parts: a memory-mapped snapshot, and in memory the rows of records that were added since (with higher keys).
The similarity of a note is the similarity of its best row.

*Search.* The quantised rows give bounds of each score (:mod:`recollect.stores.sqlite.vector_scan`), from which a search
selects the few notes that can be among the nearest. The caller reads their vectors from the table and compares them in
float64, so that a score depends on the two vectors alone. A note that is not in the table any more is marked as deleted
in the index (a tombstone), and the search is repeated.

*Consistency.* A search uses a view of the index, which later additions do not change. Taking a view restarts the
transaction under the index's lock, so that view and transaction have the same additions. Otherwise the transaction
would not see vectors that another thread has just added to the index, and the search would mark them as deleted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError
from recollect.stores.base import Model
from recollect.stores.sqlite.snapshots import NewSnapshot, SnapshotArrays, SnapshotIndex, SnapshotRef, Snapshots
from recollect.stores.sqlite.transaction import fetch
from recollect.stores.sqlite.vector_scan import (
    NO_ROTATION,
    SNAPSHOT_ARRAYS,
    Codes,
    PcaRotation,
    PrunedCodes,
    ScoreBounds,
    VectorScan,
    fit_rotation,
    kth_best,
    quantize,
)

if TYPE_CHECKING:
    from recollect.stores.base import Vector

READ_RECORDS = 1024  # how many records are read from the table at a time
MIN_REREAD_NOTES = 1024  # a smaller index is never read again because of deletions
SAMPLE_SIZE = 8_000  # about how many notes the rotation is fitted to
TYPICAL_LIMIT = 60  # how many results a search usually returns


class VectorView(NamedTuple):
    """The vectors of an index that a search uses; the module's docstring describes ``keys`` and ``ends``."""

    parts: list[PrunedCodes]
    keys: NDArray[np.int64]
    ends: NDArray[np.int64]
    tombstones: frozenset[int]  # keys

    def search(self, query: Vector, limit: int, allowed: NDArray[np.int64] | None = None) -> list[int]:
        """Return those keys in ``allowed`` (default: all) whose notes can be among the nearest ``limit``, or tie."""
        if not len(self.keys):
            return []
        rows, lower, upper = self._scan(query, limit, self._hidden(allowed))
        notes = rows  # the i-th note has row i, unless some notes have several rows
        if self.ends[-1] > len(self.ends):  # then the bounds of a note are the best bounds of its rows
            notes, indices = np.unique(np.searchsorted(self.ends, rows, side="right"), return_inverse=True)
            note_bounds = np.full((2, len(notes)), -np.inf, dtype=np.float32)
            np.maximum.at(note_bounds[0], indices, lower)
            np.maximum.at(note_bounds[1], indices, upper)
            lower, upper = note_bounds
        threshold = kth_best(lower, limit) if limit < len(lower) else -np.inf
        keys: list[int] = self.keys[notes[upper >= threshold]].tolist()
        return keys

    def without(self, keys: Collection[int]) -> VectorView:
        """Return a view in which the notes with these keys are deleted."""
        return self._replace(tombstones=self.tombstones.union(keys))

    def _scan(self, query: Vector, limit: int, hidden: NDArray[np.bool_] | None) -> ScoreBounds:
        """Return the candidate rows of all parts; ``hidden`` is a mask of notes."""
        if self.ends[-1] > len(self.ends):
            chunk_counts = np.diff(self.ends, prepend=0)
            limit *= int(chunk_counts.max())  # the best limit * max(chunk_counts) rows are from ``limit`` notes or more
            hidden = None if hidden is None else np.repeat(hidden, chunk_counts)
        bounds, start = [], 0
        for part in self.parts:
            end = start + len(part.scales)
            hidden_rows = None if hidden is None else hidden[start:end]
            rows, lower, upper = VectorScan(part, query).candidates(limit, hidden_rows)
            bounds.append(ScoreBounds(rows + start, lower, upper))
            start = end
        return bounds[0] if len(bounds) == 1 else ScoreBounds(*map(np.concatenate, zip(*bounds, strict=True)))

    def _hidden(self, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Return a mask of the notes that are deleted or not allowed; ``None`` if all notes are allowed."""
        if allowed is None and not self.tombstones:
            return None
        hidden = np.full(len(self.keys), allowed is not None)
        if allowed is not None:
            hidden[self._indices_of(allowed)] = False
        hidden[self._indices_of(np.array(sorted(self.tombstones), dtype=np.int64))] = True
        return hidden

    def _indices_of(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the indices of the notes with these keys; keys that the index does not have are ignored."""
        indices = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        present: NDArray[np.intp] = indices[self.keys[indices] == keys]
        return present


def _put(buffer: NDArray[Any], count: int, values: NDArray[Any]) -> NDArray[Any]:
    """Write values after the first ``count`` of a buffer; return the buffer, or a larger copy if it is too small."""
    if count + len(values) > len(buffer):  # the copy is at least twice as large, so that appending takes linear time
        larger = np.empty((max(1024, 2 * count, count + len(values)), *buffer.shape[1:]), dtype=buffer.dtype)
        larger[:count] = buffer[:count]
        buffer = larger
    buffer[count : count + len(values)] = values
    return buffer


class _LoadedVectors:
    """The vectors of a snapshot, and the vectors that were added since, in buffers that grow."""

    def __init__(self, dimension: int, ref: SnapshotRef | None = None, snapshot: SnapshotArrays | None = None) -> None:
        self.ref = ref
        self._keys = self._ends = np.empty(0, np.int64)
        self._snapshot_parts: list[PrunedCodes] = []
        if snapshot:
            self._keys, self._ends = snapshot.arrays["keys"], snapshot.arrays["ends"]
            self._snapshot_parts.append(PrunedCodes._make(snapshot.arrays[name] for name in SNAPSHOT_ARRAYS))
        self._added_codes: list[NDArray[Any]] = list(quantize(np.empty((0, dimension), np.float32)))
        self.tombstones: frozenset[int] = frozenset()
        self._sizes = len(self._keys), 0  # the number of all notes, and the number of added rows

    @property
    def keys(self) -> NDArray[np.int64]:
        return self._keys[: self._sizes[0]]

    @property
    def ends(self) -> NDArray[np.int64]:
        return self._ends[: self._sizes[0]]

    @property
    def last_key(self) -> int:
        return max(int(self.keys[-1]) if len(self.keys) else 0, self.ref.last_key if self.ref else 0)

    @property
    def added_rows(self) -> int:
        return self._sizes[1]

    def view(self) -> VectorView:
        parts = list(self._snapshot_parts)
        if self.added_rows:
            fields: list[Any] = [buffer[: self.added_rows] for buffer in self._added_codes]
            parts.append(PrunedCodes.split(NO_ROTATION, Codes(*fields)))
        return VectorView(parts, self.keys, self.ends, self.tombstones)

    def append(self, keys: NDArray[np.int64], chunk_counts: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add notes, with the vectors of all their chunks. Existing views do not change."""
        notes, rows = self._sizes
        codes: Any = quantize(vectors)
        self._added_codes = [_put(old, rows, new) for old, new in zip(self._added_codes, codes, strict=True)]
        last_end = int(self.ends[-1]) if notes else 0
        self._ends = _put(self._ends, notes, last_end + np.cumsum(chunk_counts))
        self._keys = _put(self._keys, notes, keys)
        self._sizes = notes + len(keys), rows + len(vectors)  # last: if an interrupt came before, nothing is added


class VectorIndex(SnapshotIndex):
    """The vectors of one namespace and model in this process, and how snapshots of them are built."""

    min_rows = 10_000  # fewer vectors are read from the table so quickly that a snapshot is not worth it
    added_rows_sql = "vectors WHERE namespace = ?1 AND model = ?2 AND key > ?3"

    def __init__(self, snapshots: Snapshots, namespace_id: int, model_key: int, model: Model) -> None:
        self._dimension = model.dimension
        super().__init__(snapshots, namespace_id, model_key)
        try:
            self._precision = np.dtype(model.precision)
        except TypeError as error:
            problem = f"the store has vectors of unknown precision {model.precision!r}; reindex the memory"
            raise StoreDamagedError(problem) from error
        self._vector_bytes = self._dimension * self._precision.itemsize
        self._table_size = MIN_REREAD_NOTES  # how many records the table had when they were counted last

    def view(self, connection: apsw.Connection) -> VectorView:
        """Restart the connection's transaction, read vectors that were added, and return a view of the index."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            ref = self._current(connection)
            if ref is not None and ref != self._ref:
                self._ref = ref
                snapshot = self._load_file(ref)
                if snapshot is not None:
                    self._loaded = _LoadedVectors(self._dimension, ref, snapshot)
                    self._table_size = max(self._table_size, len(self._loaded.keys))
            if self._has_many_deletions(connection):
                self._clear()
            return self._catch_up(connection)

    def rebuild(self, connection: apsw.Connection) -> VectorView:
        """Read all vectors from the table, without the snapshot, and return a view of the index."""
        with self._lock:
            self._clear()
            return self._catch_up(connection)

    def _clear(self) -> None:
        self._loaded = _LoadedVectors(self._dimension)

    def _catch_up(self, connection: apsw.Connection) -> VectorView:
        """Read the vectors after the last key from the table, and return a view of the index."""
        loaded = self._loaded
        for keys, chunk_counts, vectors in self._read(connection, loaded.last_key):
            loaded.append(keys, chunk_counts, vectors)
        if loaded.ref:
            self.needs_snapshot = loaded.added_rows > self.max_delta(len(loaded.keys))
        else:
            self.needs_snapshot = loaded.added_rows >= self.min_rows
        return loaded.view()

    def mark_deleted(self, keys: Collection[int]) -> None:
        """Add tombstones for keys that a view has, but not the table."""
        with self._lock:
            # Ignore keys that the index does not have any more: it may have been cleared after the view was taken.
            deleted = np.fromiter(keys, dtype=np.int64)
            self._loaded.tombstones |= frozenset(deleted[np.isin(deleted, self._loaded.keys)].tolist())

    def _has_many_deletions(self, connection: apsw.Connection) -> bool:
        """Return whether over a quarter of the notes in the index are deleted, so that it should be read again.

        The table is counted only if so many are tombstones, or if the index is twice as large as the last count.
        """
        size = len(self._loaded.keys)
        has_few_tombstones = len(self._loaded.tombstones) * 4 <= size
        if size < MIN_REREAD_NOTES or (has_few_tombstones and size < 2 * self._table_size):
            return False
        sql = "SELECT count(*) FROM vectors WHERE namespace = ? AND model = ?"
        self._table_size = connection.execute(sql, (self._namespace_id, self._model_key)).get
        return self._table_size * 4 < size * 3

    @staticmethod
    def _is_consistent(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> bool:
        rows, ends = len(arrays["heads"]), arrays["ends"]  # "axes" and "widest" (max_error) have no entries for rows
        return (
            arrays.keys() == {*SNAPSHOT_ARRAYS, "keys", "ends"}
            and "sampled" in facts
            and len(arrays["keys"]) == len(ends)
            and ends[-1:].tolist() in ([], [rows])  # there are no notes, or the last note has the last row
            and all(len(arrays[name]) == rows for name in SNAPSHOT_ARRAYS if name not in ("axes", "widest"))
        )

    def _read_snapshot(
        self, connection: apsw.Connection, ref: SnapshotRef | None, stopped: Callable[[], bool]
    ) -> NewSnapshot | None:
        sql = "SELECT key FROM vectors WHERE namespace = ? AND model = ? ORDER BY key"
        cursor = connection.execute(sql, (self._namespace_id, self._model_key))
        stored_keys = np.fromiter((key for (key,) in cursor), dtype=np.int64)
        snapshot = self._load_file(ref, verify=True) if ref else None
        notes_at_fit = snapshot.facts["sampled"] if snapshot else len(stored_keys)  # when the rotation was fitted
        if len(stored_keys) > 2 * notes_at_fit:  # read all vectors again, and fit a better rotation to them
            snapshot, notes_at_fit = None, len(stored_keys)
        loaded = _LoadedVectors(self._dimension, ref, snapshot) if snapshot else _LoadedVectors(self._dimension)
        parts = loaded.view().parts
        rotation = parts[0].rotation if parts else self._fit_rotation(connection, stored_keys)
        keys, chunk_counts = [loaded.keys], [np.diff(loaded.ends, prepend=0)]
        for new_keys, new_chunk_counts, vectors in self._read(connection, loaded.last_key):
            if stopped():
                return None
            keys.append(new_keys)
            chunk_counts.append(new_chunk_counts)
            parts.append(PrunedCodes.split(rotation, rotation.quantize(vectors)))
        if not parts:
            return None

        def build() -> SnapshotArrays:
            all_keys, all_counts = np.concatenate(keys), np.concatenate(chunk_counts)
            is_stored = np.isin(all_keys, stored_keys)  # false for notes that were deleted since the last snapshot
            codes = PrunedCodes.concatenate(parts, slice(None) if is_stored.all() else np.repeat(is_stored, all_counts))
            arrays: dict[str, Any] = dict(zip(SNAPSHOT_ARRAYS, codes, strict=True))
            arrays |= {"keys": all_keys[is_stored], "ends": np.cumsum(all_counts[is_stored])}
            return SnapshotArrays(arrays, {"sampled": notes_at_fit})

        return max([loaded.last_key, *stored_keys[-1:].tolist()]), build

    def _fit_rotation(self, connection: apsw.Connection, keys: NDArray[np.int64]) -> PcaRotation:
        """Fit a rotation to a sample of the notes with these keys; only the first vector of a note is used."""
        sample = json.dumps(keys[:: max(1, len(keys) // SAMPLE_SIZE)].tolist())
        sql = "SELECT vector FROM vectors WHERE key IN (SELECT value FROM json_each(?)) AND length(vector) >= ?"
        blobs = fetch(connection, sql, (sample, self._vector_bytes))
        vectors = [np.frombuffer(blob[: self._vector_bytes], dtype=self._precision) for (blob,) in blobs]
        matrix = np.array(vectors, dtype=np.float32).reshape(-1, self._dimension)
        return fit_rotation(matrix, TYPICAL_LIMIT / max(1, len(keys)))

    def _read(
        self, connection: apsw.Connection, last_key: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
        """Yield batches of the notes after a key: the keys, the numbers of chunks, and the vectors of all chunks."""
        # If there is only one namespace, reading the table in its own order is faster than reading it by its index.
        # A plus sign before a column keeps SQLite from using the index.
        is_single = connection.execute("SELECT count(*) < 2 FROM (SELECT 1 FROM namespaces LIMIT 2)").get
        unindexed = "+" if is_single else ""
        records = connection.execute(
            f"SELECT key, vector FROM vectors WHERE {unindexed}namespace = ? "  # noqa: S608 (a fixed sign)
            f"AND {unindexed}model = ? AND key > ? ORDER BY key",
            (self._namespace_id, self._model_key, last_key),
        )
        while batch := list(islice(records, READ_RECORDS)):
            keys, blobs = zip(*batch, strict=True)
            if any(not blob or len(blob) % self._vector_bytes for blob in blobs):
                raise StoreDamagedError("the store has a vector of a wrong length; run 'recollect doctor --repair'")
            matrix = np.frombuffer(b"".join(blobs), dtype=self._precision).reshape(-1, self._dimension)
            chunk_counts = np.array([len(blob) // self._vector_bytes for blob in blobs], dtype=np.int64)
            yield np.array(keys, dtype=np.int64), chunk_counts, matrix.astype(np.float32, copy=False)
