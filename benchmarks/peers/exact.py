"""What exact search finds, worked out from the corpus alone, and how much of it an engine found.

By vectors it is the dot product in float32 with every note. By words it is BM25 with k1 = 1.2 and b = 0.75::

    score(q, d) = sum over words w of q:  idf(w) · f · (k1 + 1) / (f + k1 · (1 − b + b · |d| / mean |d|))

with f how often d has w. There are two customs of idf, and an engine is held against its own: Lucene's
``ln(1 + (N − n + 0.5) / (n + 0.5))``, and that of Robertson and of FTS5, ``ln((N − n + 0.5) / (n + 0.5))`` where that
is positive, else next to nothing.

Scores are compared, not ids: which of two notes with the same score comes first is for each engine to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.corpus import Corpus, Query

__all__ = ["CUTS", "Exact", "Idf", "recall"]

Floats = NDArray[np.float32]
Idf: TypeAlias = Literal["lucene", "fts5"]

IDFS: tuple[Idf, ...] = ("lucene", "fts5")
K1, B = 1.2, 0.75
CUTS = (10, 60)
"""How deep recall is looked at."""
LEAST_IDF = 1e-6
"""What FTS5 gives a word that more than half of the notes have."""
SAME = 1e-5
"""Scores that differ by this share, and cosines that differ by so much, are the same: engines add in float32."""
BLOCK = 50_000


class _Postings(NamedTuple):
    notes: NDArray[np.int64]
    counts: NDArray[np.float64]


class Exact:
    """Exact search over a corpus, for its queries: which scores a note must have to be among the best 10 and 60."""

    def __init__(self, corpus: Corpus, queries: Sequence[Query]) -> None:
        """Look once at all words and all vectors."""
        self._corpus = corpus
        self._queries = queries
        self._mean = float(corpus.lengths.mean())
        postings = _postings(corpus, {word for query in queries for word in query.words})
        self._having = {word: len(posting.notes) for word, posting in postings.items()}
        self._vector_floors = self._nearest()
        # Both customs at once, so that the postings, which are large, need not be kept while engines are measured.
        self._word_floors = {idf: [self._best(query, idf, postings) for query in queries] for idf in IDFS}

    def vector_recall(self, place: int, found: Sequence[int], cut: int) -> float:
        """Return which share of the ``cut`` nearest notes of a query an engine found."""
        vectors = self._corpus.vectors()[list(found[:cut])] if found else np.zeros((0, self._corpus.dimension))
        scores = vectors @ self._queries[place].vector
        return recall(scores, found, self._vector_floors[place][cut] - SAME, min(cut, self._corpus.notes))

    def word_recall(self, place: int, found: Sequence[int], cut: int, idf: Idf) -> float:
        """Return which share of the ``cut`` best notes by BM25 an engine found for a query."""
        floors = self._word_floors[idf][place]
        scores = np.array([self.word_score(place, note, idf) for note in found[:cut]])
        return recall(scores, found, floors[cut] * (1 - SAME), min(cut, int(floors[0])))

    def word_score(self, place: int, note: int, idf: Idf) -> float:
        """Return the score of one note for a query, from the note's own words."""
        end, length = int(self._corpus.ends[note]), int(self._corpus.lengths[note])
        words = self._corpus.tokens()[end - length : end]
        damping = K1 * (1 - B + B * length / self._mean)
        total = 0.0
        for word in self._queries[place].words:
            held = int((words == word).sum())
            if held:
                total += self._idf(word, idf) * held * (K1 + 1) / (held + damping)
        return total

    def _nearest(self) -> list[dict[int, float]]:
        """Return for each query the similarities at each cut."""
        asked = np.array([query.vector for query in self._queries])
        vectors = self._corpus.vectors()
        best = np.zeros((len(asked), 0), dtype=np.float32)
        for start in range(0, self._corpus.notes, BLOCK):
            best = np.concatenate([best, asked @ vectors[start : start + BLOCK].T], axis=1)
            most = min(max(CUTS), best.shape[1])
            best = np.partition(best, -most, axis=1)[:, -most:]
        best = -np.sort(-best, axis=1)
        return [{cut: float(row[min(cut, len(row)) - 1]) for cut in CUTS} for row in best]

    def _best(self, query: Query, idf: Idf, postings: Mapping[int, _Postings]) -> dict[int, float]:
        """Return the scores at each cut, and, at 0, how many notes have a word of the query at all."""
        scores = np.zeros(self._corpus.notes)
        for word in query.words:
            notes, counts = postings[word]
            damping = K1 * (1 - B + B * self._corpus.lengths[notes] / self._mean)
            scores[notes] += self._idf(word, idf) * counts * (K1 + 1) / (counts + damping)
        held = -np.sort(-scores[scores > 0])
        floors = {cut: float(held[min(cut, len(held)) - 1]) if len(held) else 0.0 for cut in CUTS}
        return {0: float(len(held)), **floors}

    def _idf(self, word: int, custom: Idf) -> float:
        having = self._having[word]
        odds = (self._corpus.notes - having + 0.5) / (having + 0.5)
        if custom == "lucene":
            return float(np.log1p(odds))
        weight = float(np.log(odds))
        return weight if weight > 0 else LEAST_IDF


def recall(scores: Floats | NDArray[np.float64], found: Sequence[int], floor: float, possible: int) -> float:
    """Return which share of the best notes are among those that were found, told by their scores.

    >>> recall(np.array([0.9, 0.7, 0.7, 0.1]), [4, 2, 3, 9], floor=0.7, possible=4)
    0.75
    >>> recall(np.array([]), [], floor=0.0, possible=0)  # where there is nothing to find, nothing is missed
    1.0
    """
    if not possible:
        return 1.0
    good = {note for note, score in zip(found, scores, strict=False) if score >= floor}
    return min(len(good), possible) / possible


def _postings(corpus: Corpus, words: set[int]) -> dict[int, _Postings]:
    """Return for each of some words which notes have it, and how often."""
    wanted = np.zeros(len(corpus.vocabulary), dtype=bool)
    wanted[list(words)] = True
    tokens = corpus.tokens()
    places = np.flatnonzero(wanted[tokens])
    notes = np.searchsorted(corpus.ends, places, side="right")
    pairs, counts = np.unique(tokens[places].astype(np.int64) * corpus.notes + notes, return_counts=True)
    owners, held = pairs // corpus.notes, pairs % corpus.notes
    ordered = np.array(sorted(words), dtype=np.int64)
    starts, ends = np.searchsorted(owners, ordered), np.searchsorted(owners, ordered, side="right")
    return {
        int(word): _Postings(held[start:end], counts[start:end].astype(np.float64))
        for word, start, end in zip(ordered, starts, ends, strict=True)
    }
