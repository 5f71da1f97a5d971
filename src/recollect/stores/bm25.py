"""BM25 scores of notes, computed from the postings of each leaf (term or phrase) of a query tree.

The scores equal those of FTS5 bit for bit, with one exception (below). f is the sum of the field weights of a leaf's
occurrences in a note. N is the number of notes in the namespace, n the number of notes that match the leaf, T the
number of tokens in the namespace and D the number of tokens in the note::

    idf = ln((N - n + 0.5) / (n + 0.5)), or 0.000001 if the logarithm is not positive
    score = sum over leaves: idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * D / (T / N)))

A leaf adds to a note's score only if all nodes above it match the note. FTS5 sometimes counts other leaves, too: for
the query ``a OR (b AND c)`` and a note with a and b, but without c, it may count b; this module counts only a.
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
_MAX_KEY_GAP = 16  # if the average gap between keys is below this, _union marks keys in an array; else it sorts them


class Occurrences(NamedTuple):
    """The postings of a leaf, by ascending note keys."""

    notes: NDArray[np.int64]
    weights: NDArray[np.float64]  # the sum of the field weights of the leaf's occurrences in each note
    tokens: NDArray[np.float64]  # how many tokens each note has
    document_frequency: int  # n: the number of notes that match the leaf


class Scores(NamedTuple):
    """The keys of the notes that match, in ascending order, and their scores."""

    notes: NDArray[np.int64]
    scores: NDArray[np.float64]

    def best(self, limit: int) -> Scores:
        """Return the ``limit`` best notes, and all notes that tie with the last of them, sorted by score, then key."""
        notes, scores = self
        if len(notes) > limit:
            lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            notes, scores = notes[scores >= lowest], scores[scores >= lowest]
        order = np.lexsort((notes, -scores))
        return Scores(notes[order], scores[order])


def leaves_of(node: Expression) -> list[Match]:
    """Return the leaves of a tree from left to right; a leaf that occurs twice is returned twice."""
    if isinstance(node, Match):
        return [node]
    parts = (node.included, node.excluded) if isinstance(node, Except) else node.parts
    return [leaf for part in parts for leaf in leaves_of(part)]


def matching_notes(node: Expression, lists: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the notes that match ``node``, by ascending keys.

    ``lists`` has the notes that match each leaf, in the order of :func:`leaves_of`.
    """
    return render(node, _MatchRenderer(lists)).notes


def score_notes(node: Expression, lists: Sequence[Occurrences], notes: int, tokens: int) -> Scores:
    """Return the notes that match ``node``, with their BM25 scores.

    ``lists`` has the postings of each leaf, in the order of :func:`leaves_of`; ``notes`` and ``tokens`` are N and T.
    """
    matching = render(node, _MatchRenderer([occurrences.notes for occurrences in lists]))
    scores = np.zeros(len(matching.notes))
    # Leaf by leaf, in the order of the tree: floating-point sums depend on the order.
    for index, scored_notes in matching.scored_notes:
        if not len(scored_notes):
            continue
        keys, weights, lengths, document_frequency = lists[index]
        if len(scored_notes) < len(keys):
            rows = np.searchsorted(keys, scored_notes)
            weights, lengths = weights[rows], lengths[rows]
        term_frequencies = saturation(weights, length_norms(lengths, tokens / notes))
        scores[np.searchsorted(matching.notes, scored_notes)] += idf(notes, document_frequency) * term_frequencies
    return Scores(matching.notes, scores)


def idf(total_notes: int, matching_notes: int) -> float:
    """Return the inverse document frequency of a leaf that matches ``matching_notes`` of ``total_notes`` notes."""
    logarithm = math.log((total_notes - matching_notes + 0.5) / (matching_notes + 0.5))
    return logarithm if logarithm > 0 else _MIN_IDF


def length_norms(lengths: NDArray[np.float64], average: float) -> NDArray[np.float64]:
    """Return ``1.2 * (0.25 + 0.75 * D / (T / N))`` for notes with these numbers of tokens D; ``average`` is T / N."""
    return _K1 * (1 - _B + _B * lengths / average)


def saturation(weights: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the saturated term frequency of a leaf in each note: its addend to the score, divided by its idf."""
    return (weights * (_K1 + 1.0)) / (weights + norms)


class _Matches(NamedTuple):
    """The notes that match a node of the tree."""

    notes: NDArray[np.int64]
    scored_notes: list[tuple[int, NDArray[np.int64]]]
    """For each leaf below the node, its index in :func:`leaves_of`, and the notes to whose scores it adds."""

    def scored_within(self, notes: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
        """Return :attr:`scored_notes` without the notes that are not in ``notes``."""
        return [(index, np.intersect1d(scored, notes, assume_unique=True)) for index, scored in self.scored_notes]


class _MatchRenderer:
    """Computes the notes that match a tree from the notes that match each leaf, in the order of :func:`leaves_of`."""

    def __init__(self, leaf_notes: Sequence[NDArray[np.int64]]) -> None:
        self._leaf_notes = leaf_notes
        self._next_leaf = 0

    def match(self, kind: Kind, text: str) -> _Matches:  # noqa: ARG002 (leaves are identified by their order)
        index, self._next_leaf = self._next_leaf, self._next_leaf + 1
        return _Matches(self._leaf_notes[index], [(index, self._leaf_notes[index])])

    def any_of(self, parts: Sequence[_Matches]) -> _Matches:
        notes = _union([part.notes for part in parts])
        return _Matches(notes, [leaf for part in parts for leaf in part.scored_notes])

    def all_of(self, parts: Sequence[_Matches]) -> _Matches:
        notes = parts[0].notes
        for part in parts[1:]:
            notes = np.intersect1d(notes, part.notes, assume_unique=True)
        return _Matches(notes, [leaf for part in parts for leaf in part.scored_within(notes)])

    def without(self, included: _Matches, excluded: _Matches) -> _Matches:
        notes = np.setdiff1d(included.notes, excluded.notes, assume_unique=True)
        return _Matches(notes, included.scored_within(notes))


def _union(lists: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the distinct keys of several lists in ascending order."""
    keys = np.concatenate(lists)
    if not len(keys):
        return keys
    first, last = int(keys.min()), int(keys.max())
    if last - first >= _MAX_KEY_GAP * len(keys):
        return np.unique(keys)
    is_present = np.zeros(last - first + 1, np.bool_)  # a flag for each possible key: faster than sorting
    is_present[keys - first] = True
    return np.flatnonzero(is_present) + first
