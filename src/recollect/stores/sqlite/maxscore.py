"""MaxScore: the notes that can be among the k best for a disjunction of terms, without scoring every match.

Turtle and Flood, "Query Evaluation: Strategies and Optimizations" (1995), term at a time: lists are taken in descending
order of the most that they can add to a score. Once the remaining lists together cannot lift a new note above the k-th
best, no more notes enter; the remaining lists are only looked up for the notes that are in, and notes that can no
longer reach the k-th best are dropped.

Scores here are approximate (float32, and not in the order of the query): the caller scores the result exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_K1, _B = np.float32(1.2), np.float32(0.75)
FIRST_POSTINGS = 4_096
"""How many postings of the first lists are merged at once, without checking whether fewer are enough."""
_TOLERANCE = 1e-4
"""A relative error that float32 sums of hundreds of parts stay below."""


class TermList(NamedTuple):
    """The posting list of a term."""

    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    idf: float
    max_score: float
    """The most that the term can add to the score of a note."""


def saturation(
    weights: NDArray[np.unsignedinteger[Any]], lengths: NDArray[np.int32], average_length: float
) -> NDArray[np.float32]:
    """Return the BM25 term scores of notes without the idf: w·(k1 + 1) / (w + k1·(1 - b + b·length / average))."""
    scores = weights.astype(np.float32)
    norm = lengths * np.float32(float(_K1 * _B) / average_length)
    norm += _K1 * (1 - _B)
    norm += scores
    scores *= _K1 + 1
    scores /= norm
    return scores


def max_saturation(old: float, old_average: float, average: float) -> float:
    """Return an upper bound of a list's saturation, from the one that was computed with another average length.

    A higher average length lowers the norm of a long note: by the quotient of the two averages at most.
    """
    return old * max(1.0, average / old_average) * (1 + _TOLERANCE)


def top_candidates(
    lists: Sequence[TermList],
    lengths: NDArray[np.int32],
    average_length: float,
    limit: int,
    tombstones: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the ascending rows of all notes that can be among the best ``limit`` or tie with the last.

    ``lengths`` has the length of every row.
    """
    ordered = sorted(lists, key=lambda term: -term.max_score)
    remaining = np.cumsum([0.0, *(term.max_score for term in reversed(ordered))])[::-1].tolist()
    """What the lists from an index on can add together."""
    if not ordered:
        return np.empty(0, dtype=np.int32)
    sizes = np.cumsum([len(term.rows) for term in ordered])
    taken = max(1, int(np.searchsorted(sizes, FIRST_POSTINGS, side="right")))
    candidates = _Accumulator(ordered[:taken], lengths, average_length, tombstones)
    while taken < len(ordered) and candidates.threshold(limit) <= remaining[taken] * (1 + _TOLERANCE):
        candidates.merge(ordered[taken])
        taken += 1
    for index in range(taken, len(ordered)):
        candidates.prune(limit, remaining[index])
        candidates.look_up(ordered[index])
    candidates.prune(limit, 0.0)
    return np.sort(candidates.rows)


class _Accumulator:
    """The candidates, in any order, with their scores so far."""

    def __init__(
        self,
        first: Sequence[TermList],
        lengths: NDArray[np.int32],
        average_length: float,
        tombstones: NDArray[np.int32],
    ) -> None:
        self._lengths, self._average_length, self._tombstones = lengths, average_length, tombstones
        rows = np.concatenate([term.rows for term in first])
        scores = saturation(np.concatenate([term.weights for term in first]), lengths[rows], average_length)
        scores *= np.repeat(np.array([term.idf for term in first], np.float32), [len(term.rows) for term in first])
        if len(first) > 1:
            rows, indices = np.unique(rows, return_inverse=True)
            scores = np.bincount(indices, weights=scores).astype(np.float32)
        alive = self._alive(rows)
        self.rows, self._scores = (rows, scores) if alive is None else (rows[alive], scores[alive])

    def merge(self, term: TermList) -> None:
        """Add all notes of a list."""
        scores = self._term_scores(term.rows, term.weights, term.idf)
        members, indices = self._intersect(term)
        self._scores[members] += scores[indices]
        new = self._alive(term.rows)
        new = np.ones(len(term.rows), dtype=np.bool_) if new is None else new
        new[indices] = False
        self.rows = np.concatenate((self.rows, term.rows[new]))
        self._scores = np.concatenate((self._scores, scores[new]))

    def look_up(self, term: TermList) -> None:
        """Add the scores of a list to the notes that are in."""
        members, indices = self._intersect(term)
        self._scores[members] += self._term_scores(self.rows[members], term.weights[indices], term.idf)

    def threshold(self, limit: int) -> float:
        """Return the last of the best ``limit`` scores; 0 while there are fewer."""
        count = len(self._scores)
        return 0.0 if count < limit else float(np.partition(self._scores, count - limit)[count - limit])

    def prune(self, limit: int, remaining: float) -> None:
        """Drop the notes that cannot reach the threshold with what the remaining lists can add."""
        reaching = self._scores >= (self.threshold(limit) * (1 - _TOLERANCE) - remaining) / (1 + _TOLERANCE)
        self.rows, self._scores = self.rows[reaching], self._scores[reaching]

    def _intersect(self, term: TermList) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which candidates a list has, and where it has them."""
        indices = np.minimum(np.searchsorted(term.rows, self.rows), len(term.rows) - 1)
        members = np.flatnonzero(term.rows[indices] == self.rows)
        return members, indices[members]

    def _term_scores(self, rows: NDArray[np.int32], weights: NDArray[Any], idf: float) -> NDArray[np.float32]:
        return saturation(weights, self._lengths[rows], self._average_length) * np.float32(idf)

    def _alive(self, rows: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Return a mask of the rows that are no tombstones; ``None`` if there are none."""
        return None if not len(self._tombstones) else ~np.isin(rows, self._tombstones)
