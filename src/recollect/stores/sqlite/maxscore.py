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
    if not lists:
        return np.empty(0, dtype=np.int32)
    ordered = sorted(lists, key=lambda term: -term.max_score)
    # What the lists from an index on can add together.
    remaining = np.cumsum([0.0, *(term.max_score for term in reversed(ordered))])[::-1].tolist()
    sizes = [len(term.rows) for term in ordered]
    taken = max(1, int(np.searchsorted(np.cumsum(sizes), FIRST_POSTINGS, side="right")))
    rows = np.concatenate([term.rows for term in ordered[:taken]])
    weights = np.concatenate([term.weights for term in ordered[:taken]])
    scores = saturation(weights, lengths[rows], average_length)
    scores *= np.repeat(np.array([term.idf for term in ordered[:taken]], np.float32), sizes[:taken])
    if taken > 1:
        rows, indices = np.unique(rows, return_inverse=True)
        scores = np.bincount(indices, weights=scores).astype(np.float32)
    if len(tombstones):
        alive = ~np.isin(rows, tombstones)
        rows, scores = rows[alive], scores[alive]
    grows = True
    for index in range(taken, len(ordered)):
        term = ordered[index]
        grows = grows and _threshold(scores, limit) <= remaining[index] * (1 + _TOLERANCE)
        if not grows:
            rows, scores = _prune(rows, scores, limit, remaining[index])
        indices = np.minimum(np.searchsorted(term.rows, rows), len(term.rows) - 1)
        members = np.flatnonzero(term.rows[indices] == rows)
        indices = indices[members]
        if grows:
            added = saturation(term.weights, lengths[term.rows], average_length) * np.float32(term.idf)
            scores[members] += added[indices]
            new = ~np.isin(term.rows, tombstones) if len(tombstones) else np.ones(len(term.rows), dtype=np.bool_)
            new[indices] = False
            rows, scores = np.concatenate((rows, term.rows[new])), np.concatenate((scores, added[new]))
        else:
            added = saturation(term.weights[indices], lengths[rows[members]], average_length)
            scores[members] += added * np.float32(term.idf)
    rows, _ = _prune(rows, scores, limit, 0.0)
    return np.sort(rows)


def _threshold(scores: NDArray[np.float32], limit: int) -> float:
    """Return the last of the best ``limit`` scores; 0 while there are fewer."""
    count = len(scores)
    return 0.0 if count < limit else float(np.partition(scores, count - limit)[count - limit])


def _prune(
    rows: NDArray[np.int32], scores: NDArray[np.float32], limit: int, remaining: float
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Drop the notes that cannot reach the threshold with what the remaining lists can add."""
    reaching = scores >= (_threshold(scores, limit) * (1 - _TOLERANCE) - remaining) / (1 + _TOLERANCE)
    return rows[reaching], scores[reaching]
