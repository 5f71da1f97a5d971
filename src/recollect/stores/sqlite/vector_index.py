"""Exact nearest-neighbour search over the quantised vectors of one namespace.

The index is a copy of the table ``vectors``: a memory-mapped snapshot, and in memory the rows with higher keys. A
search detects deleted vectors when it reads the results from the table; they become tombstones.

A search works on a view of the index. Taking a view restarts the transaction under the index's lock, so that the view
has every vector that the transaction sees.

A note has one row for each chunk of its text, consecutive under one key; its similarity is that of its best chunk.

The quantised rows give bounds on each score (:mod:`recollect.stores.sqlite.vector_scan`). The caller reads the vectors
of the few candidates from the table and compares them in float64, so that a score depends on the two vectors alone.
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
from recollect.stores.sqlite.snapshots import (
    NewSnapshot,
    SnapshotArrays,
    SnapshotIndex,
    SnapshotRef,
    Snapshots,
    max_delta,
)
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

READ_ROWS = 1024
SAMPLE_SIZE = 8_000
"""The number of vectors from which the rotation is fitted."""
TYPICAL_LIMIT = 60
"""How many results a search usually returns."""


class VectorView(NamedTuple):
    """The vectors of an index at one moment."""

    parts: list[PrunedCodes]
    keys: NDArray[np.int64]
    """The key of each note, ascending."""
    ends: NDArray[np.int64]
    """The end of each note's rows."""
    tombstones: frozenset[int]

    def search(self, query: Vector, limit: int, allowed: NDArray[np.int64] | None = None) -> list[int]:
        """Return the keys of all (allowed) notes that can be among the nearest ``limit`` or tie with the last."""
        if not len(self.keys):
            return []
        rows, lower, upper = self._scan(query, limit, self._hidden(allowed))
        if self.ends[-1] > len(self.ends):
            notes, indices = np.unique(np.searchsorted(self.ends, rows, side="right"), return_inverse=True)
            bounds = np.full((2, len(notes)), -np.inf, dtype=np.float32)
            np.maximum.at(bounds[0], indices, lower)
            np.maximum.at(bounds[1], indices, upper)
            rows, (lower, upper) = notes, bounds
        threshold = kth_best(lower, limit) if limit < len(lower) else -np.inf
        keys: list[int] = self.keys[rows[upper >= threshold]].tolist()
        return keys

    def without(self, keys: Collection[int]) -> VectorView:
        """Return the view without notes that turned out to be deleted."""
        return self._replace(tombstones=self.tombstones.union(keys))

    def _scan(self, query: Vector, limit: int, hidden: NDArray[np.bool_] | None) -> ScoreBounds:
        """Return the candidate rows of each part."""
        if self.ends[-1] > len(self.ends):
            chunks = np.diff(self.ends, prepend=0)
            limit *= int(chunks.max())  # this many rows belong to at least ``limit`` notes
            hidden = None if hidden is None else np.repeat(hidden, chunks)
        bounds, start = [], 0
        for part in self.parts:
            end = start + len(part.scales)
            rows, lower, upper = VectorScan(part, query).candidates(
                limit, None if hidden is None else hidden[start:end]
            )
            bounds.append(ScoreBounds(rows + start, lower, upper))
            start = end
        return bounds[0] if len(bounds) == 1 else ScoreBounds(*map(np.concatenate, zip(*bounds, strict=True)))

    def _hidden(self, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Return a mask of the notes that are deleted or not allowed; ``None`` if there are none."""
        if allowed is None and not self.tombstones:
            return None
        hidden = np.full(len(self.keys), allowed is not None)
        for keys, value in ((allowed, False), (np.array(sorted(self.tombstones), dtype=np.int64), True)):
            if keys is not None:
                indices = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
                hidden[indices[self.keys[indices] == keys]] = value
        return hidden


def _put(buffer: NDArray[Any], count: int, values: NDArray[Any]) -> NDArray[Any]:
    """Write values after the first ``count`` of a buffer; return it, or a larger copy. Earlier slices stay valid."""
    if count + len(values) > len(buffer):
        larger = np.empty((max(1024, 2 * count, count + len(values)), *buffer.shape[1:]), dtype=buffer.dtype)
        larger[:count] = buffer[:count]
        buffer = larger
    buffer[count : count + len(values)] = values
    return buffer


class _Rows:
    """The rows of a snapshot, and those that were added since."""

    def __init__(self, dimension: int, ref: SnapshotRef | None = None, snapshot: SnapshotArrays | None = None) -> None:
        self.ref = ref
        none = np.empty(0, np.int64)
        keys, ends = (snapshot.arrays["keys"], snapshot.arrays["ends"]) if snapshot else (none, none)
        self._keys, self._ends = keys, ends
        self._snapshot = [PrunedCodes._make(snapshot.arrays[name] for name in SNAPSHOT_ARRAYS)] if snapshot else []
        self._added: list[NDArray[Any]] = list(quantize(np.empty((0, dimension), np.float32)))
        self.tombstones: frozenset[int] = frozenset()
        self._sizes = len(keys), 0
        """The number of notes, and the number of rows that are in no snapshot."""

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
    def added(self) -> int:
        """How many rows are in no snapshot."""
        return self._sizes[1]

    def view(self) -> VectorView:
        parts = list(self._snapshot)
        if self.added:
            columns: list[Any] = [column[: self.added] for column in self._added]
            parts.append(PrunedCodes.split(NO_ROTATION, Codes(*columns)))
        return VectorView(parts, self.keys, self.ends, self.tombstones)

    def append(self, keys: NDArray[np.int64], chunks: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add rows. Existing views do not change, and after an interrupt the rows are unchanged."""
        notes, rows = self._sizes
        codes: Any = quantize(vectors)
        self._added = [_put(column, rows, values) for column, values in zip(self._added, codes, strict=True)]
        self._ends = _put(self._ends, notes, sum(self.ends[-1:].tolist()) + np.cumsum(chunks))
        self._keys = _put(self._keys, notes, keys)
        self._sizes = notes + len(keys), rows + len(vectors)


class VectorIndex(SnapshotIndex):
    """The vectors of one namespace and model that this process has read."""

    min_rows = 10_000
    added_rows = "vectors WHERE namespace = ?1 AND model = ?2 AND key > ?3"

    def __init__(self, snapshots: Snapshots, namespace: int, key: int, model: Model) -> None:
        self._dimension = model.dimension
        super().__init__(snapshots, namespace, key)
        try:
            self._precision = np.dtype(model.precision)
        except TypeError as error:
            problem = f"the store has vectors of unknown precision {model.precision!r}; reindex"
            raise StoreDamagedError(problem) from error
        self._width = self._dimension * self._precision.itemsize
        """The bytes of a vector."""
        self._counted = READ_ROWS
        """How many rows the table had when they were counted last."""

    def view(self, connection: apsw.Connection) -> VectorView:
        """Restart the connection's transaction, add the rows that it sees, and return a view of the index."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            ref = self._current(connection)
            if ref is not None and ref != self._ref:
                self._ref = ref
                snapshot = self._load_file(ref)
                if snapshot is not None:
                    self._rows = _Rows(self._dimension, ref, snapshot)
                    self._counted = max(self._counted, len(self._rows.keys))
            if self._is_mostly_deleted(connection):
                self._clear()
            return self._catch_up(connection)

    def rebuild(self, connection: apsw.Connection) -> VectorView:
        """Read the index again without the snapshot, and return a view of it."""
        with self._lock:
            self._clear()
            return self._catch_up(connection)

    def _clear(self) -> None:
        self._rows = _Rows(self._dimension)

    def _catch_up(self, connection: apsw.Connection) -> VectorView:
        """Read the rows of the table after the last key."""
        for keys, chunks, vectors in self._read(connection, self._rows.last_key):
            self._rows.append(keys, chunks, vectors)
        rows = self._rows
        self.needs_snapshot = rows.added > max_delta(len(rows.keys)) if rows.ref else rows.added >= self.min_rows
        return rows.view()

    def mark_deleted(self, keys: Collection[int]) -> None:
        """Add tombstones for keys that a view has, but not the table."""
        with self._lock:
            # Since the view was taken, the index may have been cleared.
            deleted = np.fromiter(keys, dtype=np.int64)
            self._rows.tombstones |= frozenset(deleted[np.isin(deleted, self._rows.keys)].tolist())

    def _is_mostly_deleted(self, connection: apsw.Connection) -> bool:
        """Return whether to read the index again; rows are only counted if many are tombstones or new."""
        known = len(self._rows.keys)
        if known < READ_ROWS or (len(self._rows.tombstones) * 4 <= known and known < 2 * self._counted):
            return False
        sql = "SELECT count(*) FROM vectors WHERE namespace = ? AND model = ?"
        self._counted = connection.execute(sql, (self._namespace, self._model)).get
        return self._counted * 4 < known * 3

    @staticmethod
    def _is_consistent(arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> bool:
        rows, ends = len(arrays["heads"]), arrays["ends"]
        return (
            arrays.keys() == {*SNAPSHOT_ARRAYS, "keys", "ends"}
            and "sampled" in facts
            and len(arrays["keys"]) == len(ends)
            and ends[-1:].tolist() == [rows] * (len(ends) > 0)
            and all(len(arrays[name]) == rows for name in SNAPSHOT_ARRAYS if name not in ("axes", "widest"))
        )

    def _read_snapshot(
        self, connection: apsw.Connection, ref: SnapshotRef | None, stopped: Callable[[], bool]
    ) -> NewSnapshot | None:
        sql = "SELECT key FROM vectors WHERE namespace = ? AND model = ? ORDER BY key"
        rows_of_table = connection.execute(sql, (self._namespace, self._model))
        stored = np.fromiter((key for (key,) in rows_of_table), dtype=np.int64)
        snapshot = self._load_file(ref, verify=True) if ref else None
        if snapshot and len(stored) > 2 * snapshot.facts["sampled"]:
            snapshot = None  # a rotation that is fitted to the many new vectors may be better
        rows = _Rows(self._dimension, ref, snapshot) if snapshot else _Rows(self._dimension)
        sampled = snapshot.facts["sampled"] if snapshot else len(stored)
        parts = rows.view().parts
        rotation = parts[0].rotation if parts else self._fit_rotation(connection, stored)
        keys, chunks = [rows.keys], [np.diff(rows.ends, prepend=0)]
        for new_keys, new_chunks, vectors in self._read(connection, rows.last_key):
            if stopped():
                return None
            keys.append(new_keys)
            chunks.append(new_chunks)
            parts.append(PrunedCodes.split(rotation, rotation.quantize(vectors)))
        if not parts:
            return None

        def build() -> SnapshotArrays:
            all_keys, all_chunks = np.concatenate(keys), np.concatenate(chunks)
            alive = np.isin(all_keys, stored)
            codes = PrunedCodes.concatenate(parts, slice(None) if alive.all() else np.repeat(alive, all_chunks))
            arrays: dict[str, Any] = dict(zip(SNAPSHOT_ARRAYS, codes, strict=True))
            arrays |= {"keys": all_keys[alive], "ends": np.cumsum(all_chunks[alive])}
            return SnapshotArrays(arrays, {"sampled": sampled})

        return max(rows.last_key, *stored[-1:].tolist(), 0), build

    def _fit_rotation(self, connection: apsw.Connection, keys: NDArray[np.int64]) -> PcaRotation:
        sample = json.dumps(keys[:: max(1, len(keys) // SAMPLE_SIZE)].tolist())
        sql = "SELECT vector FROM vectors WHERE key IN (SELECT value FROM json_each(?)) AND length(vector) >= ?"
        blobs = fetch(connection, sql, (sample, self._width))
        vectors = [np.frombuffer(blob[: self._width], dtype=self._precision) for (blob,) in blobs]
        matrix = np.array(vectors, dtype=np.float32).reshape(-1, self._dimension)
        return fit_rotation(matrix, TYPICAL_LIMIT / max(1, len(keys)))

    def _read(
        self, connection: apsw.Connection, last_key: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
        """Yield batches of the rows after a key: keys, the number of chunks of each note, and the vectors."""
        # With a single namespace, the table is read faster in its own order than by its index.
        single = connection.execute("SELECT count(*) < 2 FROM (SELECT 1 FROM namespaces LIMIT 2)").get
        unindexed = "+" if single else ""
        rows = connection.execute(
            f"SELECT key, vector FROM vectors WHERE {unindexed}namespace = ? "  # noqa: S608 (a fixed sign)
            f"AND {unindexed}model = ? AND key > ? ORDER BY key",
            (self._namespace, self._model, last_key),
        )
        while batch := list(islice(rows, READ_ROWS)):
            keys, vectors = zip(*batch, strict=True)
            if any(not vector or len(vector) % self._width for vector in vectors):
                raise StoreDamagedError("the store has a vector of a wrong length; run 'recollect doctor --repair'")
            matrix = np.frombuffer(b"".join(vectors), dtype=self._precision).reshape(-1, self._dimension)
            chunks = np.array([len(vector) // self._width for vector in vectors], dtype=np.int64)
            yield np.array(keys, dtype=np.int64), chunks, matrix.astype(np.float32, copy=False)
