"""One query's look through a sieve: which rows can be among the nearest, and between what the score of each lies.

The heads of all rows are compared first. A few rows whose heads are nearest are compared as a whole. The last that
counts of them says how near a row must be to matter, and few others come up to that even by the bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sharing import HELPERS, shared
from recollect.stores.sqlite.codes import SLACK, products, wrong
from recollect.stores.sqlite.sieve import GATHERED, Sieve

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["Reach", "Scan", "edge_of"]

GROUP = 64
"""Of how many scores only the best is looked at, to see how good the last that counts is at least."""
AT_ONCE = 2048 * GROUP
"""How many rows are compared at once at the most: between two times, a thread waits for Python's lock."""
SHARED_FROM = 262_144
"""From how many rows on other processors help: below that, a search gains less by it than one beside it loses."""
SEEDS = 2
"""How many times as many rows as are wanted are compared as a whole to begin with."""
FEW = 2_048
"""So many rows are compared as a whole at once, and where no more count, no other way is better."""


class Reach(NamedTuple):
    """Rows, rising, and the least and the most that the product of each with a query can be."""

    rows: NDArray[np.intp]
    least: NDArray[np.float32]
    most: NDArray[np.float32]


class _Heads(NamedTuple):
    """What the heads of all rows say, by their bytes."""

    near: NDArray[np.float32]
    """The product of each with the query's."""
    most: NDArray[np.float32]
    """What the product as a whole can be at most, but for what bytes leave out."""
    tops: NDArray[np.float32]
    """The largest of ``near`` in each group."""


class Scan:
    """A query, and what is known of the rows of a sieve with regard to it."""

    def __init__(self, sieve: Sieve, query: Vector) -> None:
        """Keep both; nothing is compared yet."""
        self._rows = sieve
        self._asked = sieve.turn.encode(query[np.newaxis])
        self._head, self._tail = map(np.ascontiguousarray, np.hsplit(self._asked.rows, [sieve.heads.shape[1]]))

    def reach(self, limit: int, hidden: NDArray[np.bool_] | None) -> Reach:
        """Return what the rows can score that can be among the best ``limit`` of those that are not hidden."""
        if hidden is not None and len(hidden) - np.count_nonzero(hidden) <= max(limit, FEW):
            rows = np.flatnonzero(~hidden)
        else:
            rows, least, most = self._rough(limit, hidden)
            if limit < len(rows):
                rows = rows[most >= edge_of(least, limit)]
        parts = [self._closely(rows[at : at + FEW]) for at in range(0, max(1, len(rows)), FEW)]
        return Reach(rows, *map(np.concatenate, zip(*parts, strict=True)))

    def _heads(self, hidden: NDArray[np.bool_] | None) -> _Heads:
        """Compare all heads; those of rows that are hidden say nothing."""
        count = len(self._rows.heads)
        near, most, tops = (np.empty(size, np.float32) for size in (count, count, -(-count // GROUP)))
        length = np.linalg.norm(self._tail.astype(np.float32)) * self._asked.scales[0]

        def compare(some: slice) -> None:
            self._compare(self._rows.heads, self._head, some, near)
            if hidden is not None:
                near[some][hidden[some]] = -np.inf
            np.multiply(self._rows.rests[some], length, out=most[some])
            most[some] += near[some]
            tops[some.start // GROUP : -(-some.stop // GROUP)] = _tops(near[some])

        _in_turn(compare, count)
        return _Heads(near, most, tops)

    def _rough(self, limit: int, hidden: NDArray[np.bool_] | None) -> Reach:
        """Return the same as :meth:`reach` by the bytes alone, without what they leave out."""
        near, most, tops = self._heads(hidden)
        edge = np.float32(-np.inf)
        if limit < len(near):
            seeds = best_of(near, min(len(near), SEEDS * limit), tops)
            seeds = seeds if hidden is None else seeds[near[seeds] > -np.inf]
            edge = edge_of(self._whole(seeds, near).least, limit)
        # First with what the bytes of any row can leave out, then with what those of each do.
        lowest = edge - wrong(self._rows.widest[0], self._asked)
        rows = np.flatnonzero(most >= lowest)
        if GATHERED * len(rows) >= len(near):
            if self._tail.size:
                near += self._tails()
            rows = np.flatnonzero(near >= lowest)
            return self._reach(rows, near[rows])
        rows = rows[most[rows] + wrong(self._rows.errors[rows], self._asked) >= edge]
        return self._whole(rows, near)

    def _whole(self, rows: NDArray[np.intp], near: NDArray[np.float32]) -> Reach:
        """Return what the products of some rows can be, tails and all; ``near`` has what their heads say."""
        found = near[rows]
        if len(rows) and self._tail.size:
            found += products(self._rows.tails[rows], self._tail) * (self._rows.scales[rows] * self._asked.scales[0])
        return self._reach(rows, found)

    def _reach(self, rows: NDArray[np.intp], found: NDArray[np.float32]) -> Reach:
        doubt = wrong(self._rows.errors[rows], self._asked)
        return Reach(rows, found - doubt, found + doubt)

    def _tails(self) -> NDArray[np.float32]:
        """Return what the tails of all rows add."""
        found = np.empty(len(self._rows.tails), np.float32)
        _in_turn(lambda some: self._compare(self._rows.tails, self._tail, some, found), len(found))
        return found

    def _compare(
        self, part: NDArray[np.int8], query: NDArray[np.int8], some: slice, found: NDArray[np.float32]
    ) -> None:
        """Fill in what a part of some rows and the same part of the query come to."""
        scales = self._rows.scales[some] * self._asked.scales[0]
        np.multiply(products(part[some], query), scales, out=found[some])

    def _closely(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the least and the most that some rows can score, with what their bytes and the query's leave out.

        All that is missing is the product of what both leave out, and what is left out even then.
        """
        if not len(rows):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        held, asked = self._rows, self._asked
        codes, scales = np.concatenate((held.heads[rows], held.tails[rows]), axis=1), held.scales[rows]
        found = products(codes, asked.rows) * (scales * asked.scales[0])
        found += products(codes, asked.fines) * (scales * asked.fine_scales[0])
        found += products(held.fines[rows], asked.rows) * (held.fine_scales[rows] * asked.scales[0])
        finest, query_finest = held.fine_errors[rows], asked.fine_errors[0]
        doubt = (held.errors[rows] + finest) * (asked.errors[0] + query_finest)
        doubt += finest + query_finest * (1 + finest) + np.float32(SLACK)
        return found - doubt, found + doubt


def _in_turn(compare: Callable[[slice], None], count: int) -> None:
    """Compare so many rows, some at once; many are shared by several processors."""
    helpers = HELPERS if count >= SHARED_FROM else 0
    groups = max(1, -(-count // GROUP))
    size = min(AT_ONCE, -(-groups // (helpers + 1)) * GROUP)
    tasks = deque(range(0, count, size))

    def work() -> None:
        while True:
            try:
                start = tasks.popleft()
            except IndexError:  # another took the last
                return
            compare(slice(start, min(count, start + size)))

    shared(work, helpers)


def _tops(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the best score of each group."""
    tops: NDArray[np.float32] = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))
    return tops


def best_of(scores: NDArray[np.float32], limit: int, tops: NDArray[np.float32] | None = None) -> NDArray[np.intp]:
    """Return where the best so many scores are, and those that are as good as the last of them.

    ``tops`` is the best score of each group, where that is known.

    >>> best_of(np.array([3, 9, 5, 9, 1], dtype=np.float32), 3).tolist()
    [1, 2, 3]
    """
    if limit * GROUP < len(scores):
        # So many groups have a score as good as this, and few others do.
        tops = _tops(scores) if tops is None else tops
        places = np.flatnonzero(scores >= np.partition(tops, len(tops) - limit)[len(tops) - limit])
    else:
        places = np.arange(len(scores))
    some = scores[places]
    found: NDArray[np.intp] = places[some >= np.partition(some, len(some) - limit)[len(some) - limit]]
    return found


def edge_of(scores: NDArray[np.float32], limit: int) -> np.float32:
    """Return the last of the best so many scores."""
    edge: np.float32 = scores[best_of(scores, limit)].min()
    return edge
