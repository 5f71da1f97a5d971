"""The vectors of one namespace in memory, as bytes, and which of them can be among the nearest to a query.

The index is derived from the table ``vectors`` and never the only copy of anything. It grows by what the table has
behind the last key that it knows. What was deleted from the table is found out when a search comes upon it: the table
is asked for every result.

A search works on a view: the index as it was at one moment, and a transaction that began at the same moment. Who takes
a view begins its transaction while no other can, so that a view never lacks what its transaction sees.

A note has a row for each piece of its text, one behind the other under the same key, and is as near as the nearest.

Bytes say of each row between what its score lies (:mod:`recollect.stores.sqlite.codes`). All that can be among the
nearest by that are few; the table has their vectors, which are compared in float64. So a score depends on the two
vectors alone, not on where a row lies, nor on which process asks, and nothing is missed.
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
from recollect.stores.sqlite.codes import Codes, Reach, encode, reaches

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["VectorIndex", "View"]

BLOCK_ROWS = 8192
READ_ROWS = 1024
GROUP = 64
"""Of how many scores only the best is looked at, to see how good the last that counts is at least."""


class View(NamedTuple):
    """The vectors of an index at one moment."""

    blocks: list[Codes]
    keys: NDArray[np.int64]
    """The key of each note, rising."""
    ends: NDArray[np.int64]
    """Where the rows of each note end."""
    dead: frozenset[int]

    def nearest(self, query: Vector, limit: int, allowed: NDArray[np.int64] | None = None) -> list[int]:
        """Return the keys of all notes that can be among the nearest ``limit``, or tie with the last of them.

        With ``allowed``, only those keys count.
        """
        count = len(self.keys)
        if not count:
            return []
        least, most = self._reaches(encode(query[np.newaxis]))
        out = self._hidden(allowed)
        if out is not None:
            least[out] = most[out] = -np.inf
        edge = _edge(least, limit) if limit < count else -np.inf
        found: list[int] = self.keys[(most >= edge) & (most > -np.inf)].tolist()
        return found

    def without(self, keys: Collection[int]) -> View:
        """Return the same without notes that turned out to be gone."""
        return self._replace(dead=self.dead.union(keys))

    def _reaches(self, query: Codes) -> Reach:
        """Return the least and the most that each note can score."""
        rows = int(self.ends[-1])
        parts = []
        for place, block in enumerate(self.blocks):
            full = min(BLOCK_ROWS, rows - place * BLOCK_ROWS)
            filled = Codes(block.rows[:full], block.scales[:full], block.errors[:full])
            parts.append(reaches(filled, query))
        least, most = (np.concatenate(each) for each in zip(*parts, strict=True))
        if rows > len(self.keys):
            starts = np.concatenate(([0], self.ends[:-1]))
            return Reach(np.maximum.reduceat(least, starts), np.maximum.reduceat(most, starts))
        return Reach(least, most)

    def _hidden(self, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Return which notes do not count; ``None`` where all do."""
        if allowed is None and not self.dead:
            return None
        hidden = np.full(len(self.keys), allowed is not None)
        for keys, value in ((allowed, False), (np.array(sorted(self.dead), dtype=np.int64), True)):
            if keys is not None:
                places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
                hidden[places[self.keys[places] == keys]] = value
        return hidden


def _edge(scores: NDArray[np.float32], limit: int) -> np.float32:
    """Return the last of the best so many scores."""
    if limit * GROUP < len(scores):
        # So many groups have a score as good as this, and few others do.
        best = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))
        scores = scores[scores >= np.partition(best, len(best) - limit)[len(best) - limit]]
    edge: np.float32 = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return edge


class VectorIndex:
    """All vectors of a namespace and model that this process has seen."""

    def __init__(self, namespace: int, model: int, dimension: int, precision: str) -> None:
        """Begin with no vector."""
        self._namespace = namespace
        self._model = model
        self._dimension = dimension
        self._precision = np.dtype(precision)
        self._lock = threading.Lock()
        self._blocks: list[Codes] = []
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
        codes = encode(vectors)
        while taken < len(vectors):
            place, offset = divmod(start + taken, BLOCK_ROWS)
            if place == len(self._blocks):
                self._blocks.append(_empty(self._dimension))
            count = min(BLOCK_ROWS - offset, len(vectors) - taken)
            block = self._blocks[place]
            block.rows[offset : offset + count] = codes.rows[taken : taken + count]
            block.scales[offset : offset + count] = codes.scales[taken : taken + count]
            block.errors[offset : offset + count] = codes.errors[taken : taken + count]
            taken += count
        self._keys = np.concatenate([self._keys, keys])
        self._ends = np.concatenate([self._ends, start + np.cumsum(pieces)])


def _empty(dimension: int) -> Codes:
    """Return room for the rows of a block."""
    return Codes(
        np.empty((BLOCK_ROWS, dimension), dtype=np.int8),
        np.empty(BLOCK_ROWS, dtype=np.float32),
        np.empty(BLOCK_ROWS, dtype=np.float32),
    )
