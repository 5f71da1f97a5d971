"""BM25 as FTS5 computes it, bit for bit, over the postings of each leaf of a query tree.

f is the sum of the field weights of a leaf's occurrences in a note. N is the number of notes in the namespace, n how
many of them match the leaf, T the number of tokens in the namespace and D that in the note::

    idf = ln((N - n + 0.5) / (n + 0.5)), or 0.000001 where that is not positive
    score = sum over leaves: idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * D / (T / N)))

A leaf adds to a note's score only if all nodes above it match the note. (FTS5 also counts some leaves of an alternative
that does not match as a whole; this implementation does not.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.query.expressions import Except, Expression, Match, render
from recollect.query.parser import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1, _B = 1.2, 0.75
_MIN_IDF = 1e-6
_SPARSE = 16  # keys with a larger mean distance are sorted


class Occurrences(NamedTuple):
    """The postings of a leaf, by ascending note keys."""

    notes: NDArray[np.int64]
    weights: NDArray[np.float64]
    """The sum of the field weights of the leaf's occurrences in each note."""
    tokens: NDArray[np.float64]
    """How many tokens each note has."""
    note_count: int
    """The number of notes of the namespace that match the leaf."""


class Scores(NamedTuple):
    """The notes that match, by ascending keys, and their scores."""

    notes: NDArray[np.int64]
    scores: NDArray[np.float64]

    def best(self, limit: int) -> Scores:
        """Return the best ``limit`` notes and all that tie with the last of them, by score, then key."""
        notes, scores = self
        if len(notes) > limit:
            lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            notes, scores = notes[scores >= lowest], scores[scores >= lowest]
        order = np.lexsort((notes, -scores))
        return Scores(notes[order], scores[order])


def leaves_of(node: Expression) -> list[Match]:
    """Return the leaves of a tree in their order, with duplicates."""
    if isinstance(node, Match):
        return [node]
    parts = (node.included, node.excluded) if isinstance(node, Except) else node.parts
    return [leaf for part in parts for leaf in leaves_of(part)]


def matching_notes(node: Expression, lists: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the notes that match ``node``, by ascending keys; ``lists`` has the notes that match each leaf."""
    return render(node, _Matching(lists)).notes


def score_notes(node: Expression, lists: Sequence[Occurrences], notes: int, tokens: int) -> Scores:
    """Return the notes that match ``node``, with their BM25 scores.

    ``lists`` has the postings of each leaf of :func:`leaves_of`; ``notes`` and ``tokens`` are totals of the namespace.

    >>> from recollect.query import expression, parse
    >>> tea = Occurrences(np.array([3, 8]), np.array([10.0, 1.0]), np.array([4.0, 4.0]), note_count=2)
    >>> score_notes(expression(parse("tea")), [tea], notes=10, tokens=40).scores.round(2).tolist()
    [2.4, 1.22]
    """
    matching = render(node, _Matching([occurrences.notes for occurrences in lists]))
    scores = np.zeros(len(matching.notes))
    # Leaf by leaf, in the order of the tree: floating-point sums depend on the order.
    for index, counted in matching.counted:
        if not len(counted):
            continue
        keys, weights, lengths, note_count = lists[index]
        if len(counted) < len(keys):
            rows = np.searchsorted(keys, counted)
            weights, lengths = weights[rows], lengths[rows]
        parts = saturation(weights, length_norms(lengths, tokens / notes))
        scores[np.searchsorted(matching.notes, counted)] += idf(notes, note_count) * parts
    return Scores(matching.notes, scores)


def idf(notes: int, note_count: int) -> float:
    """Return the inverse document frequency of a leaf that matches ``note_count`` of ``notes`` notes."""
    rarity = math.log((notes - note_count + 0.5) / (note_count + 0.5))
    return rarity if rarity > 0 else _MIN_IDF


def length_norms(lengths: NDArray[np.float64], average: float) -> NDArray[np.float64]:
    """Return the length normalisation of notes, given by their number of tokens."""
    return _K1 * (1 - _B + _B * lengths / average)


def saturation(weights: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the term frequency factors of a leaf: its part of the score, divided by its idf."""
    return (weights * (_K1 + 1.0)) / (weights + norms)


class _Matches(NamedTuple):
    """The notes that a node matches, and for each leaf, by its index, the notes to whose score it adds."""

    notes: NDArray[np.int64]
    counted: list[tuple[int, NDArray[np.int64]]]

    def within(self, notes: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        return [(index, np.intersect1d(counted, notes, assume_unique=True)) for index, counted in self.counted]


class _Matching:
    """Computes the notes that match a tree; ``leaves`` are in the order of :func:`leaves_of`."""

    def __init__(self, leaves: Sequence[NDArray[np.int64]]) -> None:
        self._leaves = leaves
        self._next = 0

    def match(self, kind: Kind, text: str) -> _Matches:  # noqa: ARG002 (its postings were read)
        index, self._next = self._next, self._next + 1
        return _Matches(self._leaves[index], [(index, self._leaves[index])])

    def any_of(self, parts: Sequence[_Matches]) -> _Matches:
        notes = _union([part.notes for part in parts])
        return _Matches(notes, [leaf for part in parts for leaf in part.counted])

    def all_of(self, parts: Sequence[_Matches]) -> _Matches:
        notes = parts[0].notes
        for part in parts[1:]:
            notes = np.intersect1d(notes, part.notes, assume_unique=True)
        return _Matches(notes, [leaf for part in parts for leaf in part.within(notes)])

    def without(self, wanted: _Matches, excluded: _Matches) -> _Matches:
        notes = np.setdiff1d(wanted.notes, excluded.notes, assume_unique=True)
        return _Matches(notes, wanted.within(notes))


def _union(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the distinct keys in ascending order."""
    every = np.concatenate(keys)
    if not len(every):
        return every
    first, last = int(every.min()), int(every.max())
    if last - first >= _SPARSE * len(every):
        return np.unique(every)
    present = np.zeros(last - first + 1, np.bool_)  # for dense keys, a flag for each is faster than sorting
    present[every - first] = True
    return np.flatnonzero(present) + first
