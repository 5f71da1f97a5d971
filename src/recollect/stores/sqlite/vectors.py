"""The vectors of one namespace in memory, and exact search over them.

The index is derived from the table ``vectors`` and never the only copy of anything. It grows by what the table has
behind the last key that it knows. What was deleted from the table is found out when a search comes upon it: the table
is asked for every result.

A search works on a view: the index as it was at one moment, and a transaction that began at the same moment. Who takes
a view begins its transaction while no other can, so that a view never lacks what its transaction sees.

A note has a row for each piece of its text, one behind the other under the same key, and is as near as the nearest.

A row is scored in float32 to find the nearest, and those again in float64, so that a score depends on the two vectors
alone: not on where the row lies, nor on which process asks.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError
from recollect.stores.units import nearness

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["VectorIndex", "View"]

BLOCK_ROWS = 8192
READ_ROWS = 1024
ROUNDING = 4e-6
"""More than float32 can be wrong by in the product of two vectors of unit length and a few thousand numbers."""


class View(NamedTuple):
    """The vectors of an index at one moment."""

    blocks: list[NDArray[np.float32]]
    keys: NDArray[np.int64]
    """The key of each note, rising."""
    ends: NDArray[np.int64]
    """Where the rows of each note end."""
    dead: frozenset[int]

    def nearest(self, query: Vector, limit: int, allowed: NDArray[np.int64] | None = None) -> list[tuple[int, float]]:
        """Return keys and similarities of the nearest notes, nearest first; more than ``limit`` where they tie.

        With ``allowed``, only those keys count.
        """
        count = len(self.keys)
        if not count:
            return []
        rows = int(self.ends[-1])
        scores = np.concatenate([block[: rows - place * BLOCK_ROWS] @ query for place, block in enumerate(self.blocks)])
        if rows > count:
            scores = np.maximum.reduceat(scores, np.concatenate(([0], self.ends[:-1])))
        if self.dead:
            scores[np.searchsorted(self.keys, sorted(self.dead))] = -np.inf
        if allowed is not None:
            scores[~np.isin(self.keys, allowed, assume_unique=True)] = -np.inf
        edge = np.partition(scores, count - limit)[count - limit] - ROUNDING if limit < count else -np.inf
        places = np.flatnonzero((scores >= edge) & (scores > -np.inf))
        wide = query.astype(np.float64)
        exact = np.array([nearness(self._rows(int(place)), wide) for place in places])
        order = np.argsort(-exact, kind="stable")
        return [(int(self.keys[places[place]]), float(exact[place])) for place in order]

    def _rows(self, note: int) -> NDArray[np.float32]:
        start = self.ends[note - 1] if note else 0
        return np.stack([self.blocks[row // BLOCK_ROWS][row % BLOCK_ROWS] for row in range(start, self.ends[note])])


class VectorIndex:
    """All vectors of a namespace and model that this process has seen."""

    def __init__(self, namespace: int, model: int, dimension: int, precision: str) -> None:
        """Begin with no vector."""
        self._namespace = namespace
        self._model = model
        self._dimension = dimension
        self._precision = np.dtype(precision)
        self._lock = threading.Lock()
        self._blocks: list[NDArray[np.float32]] = []
        self._keys = np.empty(0, dtype=np.int64)
        self._ends = np.empty(0, dtype=np.int64)
        self._dead: frozenset[int] = frozenset()
        self._counted = READ_ROWS
        """How many there were in the table when they were last counted."""

    def view(self, connection: apsw.Connection) -> View:
        """Begin the connection's transaction anew, take in what it sees, and return the index as it is then."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            if self._is_mostly_gone(connection):
                self._blocks, self._keys, self._ends, self._dead = [], self._keys[:0], self._ends[:0], frozenset()
            last = int(self._keys[-1]) if len(self._keys) else 0
            # Where there is no other namespace, the table is read quicker as it lies than by its index.
            alone = connection.execute("SELECT count(*) < 2 FROM (SELECT 1 FROM namespaces LIMIT 2)").get
            unindexed = "+" if alone else ""
            rows = connection.execute(
                f"SELECT key, vector FROM vectors WHERE {unindexed}namespace = ? "  # noqa: S608 (a sign of our own)
                f"AND {unindexed}model = ? AND key > ? ORDER BY key",
                (self._namespace, self._model, last),
            )
            for keys, pieces, vectors in self._read(rows):
                self._append(keys, pieces, vectors)
            return View(list(self._blocks), self._keys, self._ends, self._dead)

    def _is_mostly_gone(self, connection: apsw.Connection) -> bool:
        """Return whether it is time to begin anew: asked when many are known to be gone, or many came."""
        known = len(self._keys)
        if known < READ_ROWS or (len(self._dead) * 4 <= known and known < 2 * self._counted):
            return False
        counted: int = connection.execute(
            "SELECT count(*) FROM vectors WHERE namespace = ? AND model = ?", (self._namespace, self._model)
        ).get
        self._counted = counted
        return counted * 4 < known * 3

    def bury(self, keys: Collection[int]) -> None:
        """Remember that these keys, which a view held, are gone from the table."""
        with self._lock:
            # Since the view was taken, the index may have begun anew, without them.
            here = np.isin(np.fromiter(keys, dtype=np.int64), self._keys)
            self._dead = self._dead.union(key for key, known in zip(keys, here, strict=True) if known)

    def __len__(self) -> int:
        """Return how many notes have vectors, those that are gone but not yet found out included."""
        return len(self._keys) - len(self._dead)

    def _read(self, rows: apsw.Cursor) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
        """Yield the keys of some notes, how many rows each has, and the rows."""
        width = self._dimension * self._precision.itemsize
        while batch := list(islice(rows, READ_ROWS)):
            keys, vectors = zip(*batch, strict=True)
            if any(not vector or len(vector) % width for vector in vectors):
                raise StoreDamagedError("the store holds a vector of a wrong length; 'recollect doctor --repair' helps")
            matrix = np.frombuffer(b"".join(vectors), dtype=self._precision).reshape(-1, self._dimension)
            pieces = np.array([len(vector) // width for vector in vectors], dtype=np.int64)
            yield np.array(keys, dtype=np.int64), pieces, matrix.astype(np.float32, copy=False)

    def _append(self, keys: NDArray[np.int64], pieces: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Copy rows behind the last, into a new block where the last is full; a search going on does not mind."""
        start, taken = int(self._ends[-1]) if len(self._ends) else 0, 0
        while taken < len(vectors):
            place, offset = divmod(start + taken, BLOCK_ROWS)
            if place == len(self._blocks):
                self._blocks.append(np.empty((BLOCK_ROWS, self._dimension), dtype=np.float32))
            count = min(BLOCK_ROWS - offset, len(vectors) - taken)
            self._blocks[place][offset : offset + count] = vectors[taken : taken + count]
            taken += count
        self._keys = np.concatenate([self._keys, keys])
        self._ends = np.concatenate([self._ends, start + np.cumsum(pieces)])
