"""Exact search over a corpus, and the recall of an engine's results against it.

Vector search is the float32 dot product with every note. Lexical search is BM25 with k1 = 1.2 and b = 0.75::

    score(q, d) = sum over terms t of q:  idf(t) · f · (k1 + 1) / (f + k1 · (1 − b + b · |d| / mean |d|))

where f is the frequency of t in d and |d| the number of terms of d. An engine is compared by its own definition of idf.
Lucene's is ``ln(1 + (N − n + 0.5) / (n + 0.5))``, where n of the N notes contain t. FTS5's is
``ln((N − n + 0.5) / (n + 0.5))`` if that is positive, else almost 0.

Scores are compared, not ids: the order of notes with equal scores is not defined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.corpus import Corpus, Query

__all__ = ["CUTOFFS", "ExactSearch", "Idf", "recall"]

Floats = NDArray[np.float32]
Idf: TypeAlias = Literal["lucene", "fts5"]

IDFS: tuple[Idf, ...] = ("lucene", "fts5")
K1, B = 1.2, 0.75
CUTOFFS = (10, 60)
MIN_IDF = 1e-6
"""FTS5's idf of a term that at least half of the notes contain."""
TOLERANCE = 1e-5
"""The allowed difference of scores, relative for BM25 and absolute for cosine: engines add in float32."""
BLOCK = 50_000
"""The number of notes whose similarities are computed at once."""


class _Postings(NamedTuple):
    notes: NDArray[np.int64]
    frequencies: NDArray[np.float64]


class _LexicalThresholds(NamedTuple):
    matching: int
    """The number of notes that contain a term of the query."""
    min_scores: dict[int, float]
    """For each cutoff, the score of the last note of the exact results."""


class ExactSearch:
    """The lowest scores of exact results at each cutoff, for the queries of a corpus; queries are numbered from 0."""

    def __init__(self, corpus: Corpus, queries: Sequence[Query]) -> None:
        self._corpus = corpus
        self._queries = queries
        self._mean_length = float(corpus.lengths.mean())
        postings = _postings(corpus, {word for query in queries for word in query.words})
        self._document_frequency = {word: len(posting.notes) for word, posting in postings.items()}
        self._min_similarity = self._similarities_at_cutoffs()
        # For both definitions of idf now: the large postings must not stay in memory while engines are measured.
        self._lexical = {idf: [self._lexical_thresholds(query, idf, postings) for query in queries] for idf in IDFS}

    def vector_recall(self, query: int, ids: Sequence[int], cutoff: int) -> float:
        """Return the recall of an engine's vector results."""
        vectors = self._corpus.vectors()[list(ids[:cutoff])] if ids else np.zeros((0, self._corpus.dimension))
        scores = vectors @ self._queries[query].vector
        return recall(scores, ids, self._min_similarity[query][cutoff] - TOLERANCE, min(cutoff, self._corpus.notes))

    def lexical_recall(self, query: int, ids: Sequence[int], cutoff: int, idf: Idf) -> float:
        """Return the recall of an engine's lexical results."""
        thresholds = self._lexical[idf][query]
        scores = np.array([self.bm25(query, note, idf) for note in ids[:cutoff]])
        minimum = thresholds.min_scores[cutoff] * (1 - TOLERANCE)
        return recall(scores, ids, minimum, min(cutoff, thresholds.matching))

    def bm25(self, query: int, note: int, idf: Idf) -> float:
        """Return the BM25 score of a note."""
        end, length = int(self._corpus.ends[note]), int(self._corpus.lengths[note])
        words = self._corpus.tokens()[end - length : end]
        damping = K1 * (1 - B + B * length / self._mean_length)
        total = 0.0
        for word in self._queries[query].words:
            frequency = int((words == word).sum())
            if frequency:
                total += self._idf(word, idf) * frequency * (K1 + 1) / (frequency + damping)
        return total

    def _similarities_at_cutoffs(self) -> list[dict[int, float]]:
        """Return for each query the similarity of the last exact result at each cutoff."""
        queries = np.array([query.vector for query in self._queries])
        vectors = self._corpus.vectors()
        best = np.zeros((len(queries), 0), dtype=np.float32)
        for start in range(0, self._corpus.notes, BLOCK):
            best = np.concatenate([best, queries @ vectors[start : start + BLOCK].T], axis=1)
            count = min(max(CUTOFFS), best.shape[1])
            best = np.partition(best, -count, axis=1)[:, -count:]
        best = -np.sort(-best, axis=1)
        return [{cutoff: float(row[min(cutoff, len(row)) - 1]) for cutoff in CUTOFFS} for row in best]

    def _lexical_thresholds(self, query: Query, idf: Idf, postings: Mapping[int, _Postings]) -> _LexicalThresholds:
        scores = np.zeros(self._corpus.notes)
        for word in query.words:
            notes, frequencies = postings[word]
            damping = K1 * (1 - B + B * self._corpus.lengths[notes] / self._mean_length)
            scores[notes] += self._idf(word, idf) * frequencies * (K1 + 1) / (frequencies + damping)
        matching = -np.sort(-scores[scores > 0])
        if not len(matching):
            return _LexicalThresholds(0, dict.fromkeys(CUTOFFS, 0.0))
        min_scores = {cutoff: float(matching[min(cutoff, len(matching)) - 1]) for cutoff in CUTOFFS}
        return _LexicalThresholds(len(matching), min_scores)

    def _idf(self, word: int, definition: Idf) -> float:
        frequency = self._document_frequency[word]
        odds = (self._corpus.notes - frequency + 0.5) / (frequency + 0.5)
        if definition == "lucene":
            return float(np.log1p(odds))
        weight = float(np.log(odds))
        return weight if weight > 0 else MIN_IDF


def recall(scores: Floats | NDArray[np.float64], ids: Sequence[int], minimum: float, possible: int) -> float:
    """Return the fraction of the ``possible`` best notes in the results: those with at least the minimum score.

    >>> recall(np.array([0.9, 0.7, 0.7, 0.1]), [4, 2, 3, 9], minimum=0.7, possible=4)
    0.75
    >>> recall(np.array([]), [], minimum=0.0, possible=0)
    1.0
    """
    if not possible:
        return 1.0
    relevant = {note for note, score in zip(ids, scores, strict=False) if score >= minimum}
    return min(len(relevant), possible) / possible


def _postings(corpus: Corpus, words: set[int]) -> dict[int, _Postings]:
    """Return the posting list of each of some terms: the notes that contain it, and its frequency in each."""
    selected = np.zeros(len(corpus.vocabulary), dtype=bool)
    selected[list(words)] = True
    tokens = corpus.tokens()
    positions = np.flatnonzero(selected[tokens])
    notes = np.searchsorted(corpus.ends, positions, side="right")
    # A (term, note) pair as one number: pairs sorted by term, then by note.
    pairs, counts = np.unique(tokens[positions].astype(np.int64) * corpus.notes + notes, return_counts=True)
    pair_words, pair_notes = pairs // corpus.notes, pairs % corpus.notes
    ordered = np.array(sorted(words), dtype=np.int64)
    starts, ends = np.searchsorted(pair_words, ordered), np.searchsorted(pair_words, ordered, side="right")
    return {
        int(word): _Postings(pair_notes[start:end], counts[start:end].astype(np.float64))
        for word, start, end in zip(ordered, starts, ends, strict=True)
    }
