"""The vectors of one namespace in memory, and exact search over them.

It is derived from the table ``vectors`` and never the only copy of anything. It grows by what the table has behind the
last key it knows. What was deleted from the table is found out when a search comes upon it: the table is asked for
every result, in the same transaction.

A row is scored in float32 to find the nearest, and those again in float64, so that a score depends on the two vectors
alone: not on where the row lies, nor on which process asks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import apsw
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.stores.base import Vector

__all__ = ["VectorIndex"]

BLOCK_ROWS = 8192
READ_ROWS = 1024
ROUNDING = 4e-6
"""More than float32 can be wrong by in the product of two vectors of unit length and a few thousand numbers."""


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
        self._dead: set[int] = set()

    def refresh(self, connection: apsw.Connection) -> None:
        """Take in what the table has behind the last key known here."""
        with self._lock:
            if len(self._dead) * 4 > len(self._keys) > READ_ROWS:
                self._blocks, self._keys, self._dead = [], self._keys[:0], set()
            last = int(self._keys[-1]) if len(self._keys) else 0
            rows = connection.execute(
                "SELECT key, vector FROM vectors WHERE namespace = ? AND model = ? AND key > ? ORDER BY key",
                (self._namespace, self._model, last),
            )
            for keys, vectors in self._read(rows):
                self._append(keys, vectors)

    def nearest(self, query: Vector, limit: int, allowed: NDArray[np.int64] | None = None) -> list[tuple[int, float]]:
        """Return keys and similarities of the nearest vectors, nearest first; more than ``limit`` where they tie.

        With ``allowed``, a sorted array of keys, only those count.
        """
        with self._lock:
            blocks, keys, dead = list(self._blocks), self._keys, sorted(self._dead)
        if not len(keys) or limit <= 0:
            return []
        parts = [block[: len(keys) - place * BLOCK_ROWS] @ query for place, block in enumerate(blocks)]
        scores = np.concatenate(parts)
        if dead:
            scores[np.searchsorted(keys, dead)] = -np.inf
        if allowed is not None:
            scores[~np.isin(keys, allowed, assume_unique=True)] = -np.inf
        if limit < len(scores):
            edge = np.partition(scores, len(scores) - limit)[len(scores) - limit] - ROUNDING
            places = np.flatnonzero((scores >= edge) & (scores > -np.inf))
        else:
            places = np.flatnonzero(scores > -np.inf)
        rows = np.stack([blocks[place // BLOCK_ROWS][place % BLOCK_ROWS] for place in places]) if len(places) else None
        if rows is None:
            return []
        exact = (rows.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        order = np.argsort(-exact, kind="stable")
        return [(int(keys[places[place]]), float(exact[place])) for place in order]

    def bury(self, keys: set[int], newest: int) -> None:
        """Remember that these keys are gone from the table, as far as a transaction that saw ``newest`` can tell."""
        with self._lock:
            self._dead.update(key for key in keys if key <= newest)

    def __len__(self) -> int:
        """Return how many vectors there are, those that are gone but not yet found out included."""
        return len(self._keys) - len(self._dead)

    def _read(self, rows: apsw.Cursor) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        while batch := list(islice(rows, READ_ROWS)):
            keys, vectors = zip(*batch, strict=True)
            matrix = np.frombuffer(b"".join(vectors), dtype=self._precision).reshape(len(keys), self._dimension)
            yield np.array(keys, dtype=np.int64), matrix.astype(np.float32, copy=False)

    def _append(self, keys: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Copy rows behind the last, into a new block where the last is full; a search going on does not mind."""
        start, taken = len(self._keys), 0
        while taken < len(keys):
            place, offset = divmod(start + taken, BLOCK_ROWS)
            if place == len(self._blocks):
                self._blocks.append(np.empty((BLOCK_ROWS, self._dimension), dtype=np.float32))
            count = min(BLOCK_ROWS - offset, len(keys) - taken)
            self._blocks[place][offset : offset + count] = vectors[taken : taken + count]
            taken += count
        self._keys = np.concatenate([self._keys, keys])
