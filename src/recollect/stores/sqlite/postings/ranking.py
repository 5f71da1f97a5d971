"""Which notes can be among the best for any of several words, without a look at every note that holds one of them.

MaxScore (Turtle and Flood, "Query Evaluation: Strategies and Optimizations", 1995), a list at a time: lists are taken
by what they can add at the most, which is those of rare words first. As soon as the lists that are left cannot lift a
note of their own above the last that counts, no more notes come in; what is left is looked up for those that are in,
and those that fall behind for good are let go of.

Scores here are rough (float32, in another order than the query's): what comes through is scored anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Postings", "contenders", "peak", "saturation"]

_K1, _B = np.float32(1.2), np.float32(0.75)
AT_ONCE = 4_096
"""How many postings of the first lists are taken together, without a look at whether some would be enough."""
_ROUGH = 1e-4
"""A share of a score that is more than float32 can be wrong by in a sum of hundreds."""


class Postings(NamedTuple):
    """The notes that hold a word."""

    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    idf: float
    most: float
    """What it can add to a note at the most."""


def saturation(
    weights: NDArray[np.unsignedinteger[Any]], lengths: NDArray[np.int32], average: float
) -> NDArray[np.float32]:
    """Return what a word adds to notes of these lengths in which it counts so much, but for its idf."""
    counted = weights.astype(np.float32)
    norm = lengths * np.float32(float(_K1 * _B) / average)
    norm += _K1 * (1 - _B)
    norm += counted
    counted *= _K1 + 1
    counted /= norm
    return counted


def peak(then: float, average_then: float, average: float) -> float:
    """Return an upper bound of a list's saturation, from what it was when notes had another average length.

    The longer notes are on average, the less a long one counts as long: by the quotient of both at the most.
    """
    return then * max(1.0, average / average_then) * (1 + _ROUGH)


def contenders(
    lists: Sequence[Postings], lengths: NDArray[np.int32], average: float, limit: int, dead: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the rows of all notes that can be among the best ``limit`` or tie with the last, by rising rows.

    ``lengths`` has the length of every row, ``dead`` rows do not count.
    """
    ordered = sorted(lists, key=lambda each: -each.most)
    left = np.cumsum([0.0, *(each.most for each in reversed(ordered))])[::-1].tolist()
    """What the lists from here on can add together."""
    if not ordered:
        return np.empty(0, dtype=np.int32)
    sizes = np.cumsum([len(each.rows) for each in ordered])
    taken = max(1, int(np.searchsorted(sizes, AT_ONCE, side="right")))
    inside = _Inside(ordered[:taken], lengths, average, dead)
    while taken < len(ordered) and inside.edge(limit) <= left[taken] * (1 + _ROUGH):
        inside.take(ordered[taken])
        taken += 1
    for place in range(taken, len(ordered)):
        inside.keep(limit, left[place])
        inside.look_up(ordered[place])
    inside.keep(limit, 0.0)
    return np.sort(inside.rows)


class _Inside:
    """The notes that are in, in any order, and what they have so far."""

    def __init__(
        self, first: Sequence[Postings], lengths: NDArray[np.int32], average: float, dead: NDArray[np.int32]
    ) -> None:
        """Begin with short lists, all at once."""
        self._lengths, self._average, self._dead = lengths, average, dead
        rows = np.concatenate([each.rows for each in first])
        parts = saturation(np.concatenate([each.weights for each in first]), lengths[rows], average)
        parts *= np.repeat(np.array([each.idf for each in first], np.float32), [len(each.rows) for each in first])
        if len(first) > 1:
            rows, places = np.unique(rows, return_inverse=True)
            parts = np.bincount(places, weights=parts).astype(np.float32)
        alive = self._alive(rows)
        self.rows, self._scores = (rows, parts) if alive is None else (rows[alive], parts[alive])

    def take(self, each: Postings) -> None:
        """Let all notes of a list in."""
        parts = self._parts(each.rows, each.weights, each.idf)
        held, places = self._found(each)
        self._scores[held] += parts[places]
        new = self._alive(each.rows)
        new = np.ones(len(each.rows), dtype=np.bool_) if new is None else new
        new[places] = False
        self.rows = np.concatenate((self.rows, each.rows[new]))
        self._scores = np.concatenate((self._scores, parts[new]))

    def look_up(self, each: Postings) -> None:
        """Add what a list has for the notes that are in."""
        held, places = self._found(each)
        self._scores[held] += self._parts(self.rows[held], each.weights[places], each.idf)

    def edge(self, limit: int) -> float:
        """Return the last of the best so many; nothing while there are fewer."""
        count = len(self._scores)
        return 0.0 if count < limit else float(np.partition(self._scores, count - limit)[count - limit])

    def keep(self, limit: int, left: float) -> None:
        """Let go of those that cannot come up to the edge any more."""
        edge = self.edge(limit)
        kept = self._scores >= (edge * (1 - _ROUGH) - left) / (1 + _ROUGH)
        self.rows, self._scores = self.rows[kept], self._scores[kept]

    def _found(self, each: Postings) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which of the notes that are in a list holds, and where."""
        places = np.minimum(np.searchsorted(each.rows, self.rows), len(each.rows) - 1)
        held = np.flatnonzero(each.rows[places] == self.rows)
        return held, places[held]

    def _parts(self, rows: NDArray[np.int32], weights: NDArray[Any], idf: float) -> NDArray[np.float32]:
        return saturation(weights, self._lengths[rows], self._average) * np.float32(idf)

    def _alive(self, rows: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Return which of rising rows count; ``None`` where all do."""
        return None if not len(self._dead) else ~np.isin(rows, self._dead)
