"""The posting lists of a namespace as one transaction sees them: a snapshot, its tombstones, and the notes added since.

A view answers disjunctions of single terms, with the same BM25 scores as FTS5, bit for bit.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.query.expressions import AnyOf, Expression, Match
from recollect.stores.bm25 import Scores, idf, length_norms, saturation
from recollect.stores.sqlite.maxscore import TermList, max_saturation, top_candidates
from recollect.stores.sqlite.posting_lists import Fields, PostingLists, TermNumbers, tokenize_notes
from recollect.stores.tokens import BREAK, stems_of

MAX_TERM_LENGTH = 8_000
"""Longer terms are left to FTS5, which truncates them."""


class TermQuery(NamedTuple):
    """A disjunction of single terms."""

    node: Expression
    terms: tuple[str, ...]
    """One stem for each operand; "" for an operand without letters or digits."""


def term_query(node: Expression) -> TermQuery | None:
    """Return an expression as a disjunction of single terms; ``None`` if it is anything else.

    >>> term_query(AnyOf((Match("term", "Teas"), Match("term", "milk"), Match("term", "?!")))).terms
    ('tea', 'milk', '')
    >>> term_query(AnyOf((Match("term", "tea"), Match("prefix", "mil")))) is None
    True
    """
    terms = []
    for leaf in node.parts if isinstance(node, AnyOf) else (node,):
        if not isinstance(leaf, Match) or leaf.kind == "prefix":
            return None
        stems = stems_of(leaf.text)
        if len(stems) > 1 or any(BREAK in stem or len(stem) > MAX_TERM_LENGTH for stem in stems):
            return None
        terms.append("".join(stems))
    return TermQuery(node, tuple(terms))


class DeltaList(NamedTuple):
    """The ascending delta rows that have a term, and its weight in each."""

    rows: NDArray[np.int64]
    weights: NDArray[np.int64]


class DeltaPostings:
    """Append-only posting lists of the notes that were added since a snapshot.

    A reader that only looks at the first ``count`` notes always sees the same, while others append.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys = array("q")
        self._lengths = array("q")
        self._lists: dict[str, tuple[array[int], array[int]]] = {}
        self._complete = True

    def is_complete(self, count: int) -> bool:
        """Return whether there are ``count`` notes, and no ``append`` was interrupted."""
        return self._complete and len(self._keys) == count

    def append(self, keys: Sequence[int], notes: Sequence[Fields]) -> int:
        """Add notes, and return their number of tokens."""
        numbers = TermNumbers()
        postings = tokenize_notes(notes, numbers)
        terms = list(numbers)
        with self._lock:
            self._complete = False
            first = len(self._keys)
            for term, row, weight in zip(*map(np.ndarray.tolist, postings[:3]), strict=True):
                rows, weights = self._lists.setdefault(terms[term], (array("q"), array("q")))
                rows.append(first + row)
                weights.append(weight)
            self._lengths.extend(postings.lengths.tolist())
            self._keys.extend(keys)
            self._complete = True
        return int(postings.lengths.sum())

    def keys(self, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
        """Return the keys of some rows."""
        with self._lock:  # an array cannot grow while it is copied
            return np.array(self._keys, dtype=np.int64)[rows]

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of tokens of some rows."""
        with self._lock:
            return np.array(self._lengths, dtype=np.int64)[rows]

    def postings(self, term: str, count: int) -> DeltaList:
        """Return the posting list of a term among the first ``count`` notes."""
        with self._lock:
            rows, weights = (np.array(column, dtype=np.int64) for column in self._lists.get(term, ((), ())))
        end = int(np.searchsorted(rows, count))
        return DeltaList(rows[:end], weights[:end])


class KeyIndex:
    """Finds rows of a snapshot by the keys of their notes.

    Keys ascend, except those of notes that changed since an earlier snapshot, which have a new row at the end. The
    first call sorts the keys if necessary; threads that sort at the same time get the same result.
    """

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self._keys = keys
        self._sorted: tuple[NDArray[np.int64], NDArray[np.intp] | None] | None = None

    def rows_of(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the last row of each known key, in ascending order.

        >>> KeyIndex(np.array([3, 5, 8, 9, 5])).rows_of(np.array([9, 5, 4])).tolist()
        [3, 4]
        """
        known, order = self._sorted or self._sort()
        positions = np.searchsorted(known, keys, side="right") - 1
        positions = positions[(positions >= 0) & (known[positions] == keys)] if len(known) else positions[:0]
        return np.sort(positions if order is None else order[positions]).astype(np.int32)

    def _sort(self) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
        keys = self._keys
        if bool((keys[1:] > keys[:-1]).all()):
            self._sorted = keys, None
        else:
            order = np.argsort(keys, kind="stable")
            self._sorted = keys[order], order
        return self._sorted


class _TermPostings(NamedTuple):
    """The postings of a term in the snapshot and in the delta."""

    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    delta: DeltaList
    document_frequency: int
    max_saturation: float


_NO_SCORES = Scores(np.empty(0, np.int64), np.empty(0))


class PostingsView(NamedTuple):
    """What a search reads."""

    lists: PostingLists
    key_index: KeyIndex
    """The rows of ``lists`` by their keys."""
    tombstones: NDArray[np.int32]
    """Ascending rows of ``lists`` that were changed or deleted since the snapshot."""
    delta: DeltaPostings
    delta_size: int
    """How many notes of the delta belong to the view."""
    delta_tombstones: NDArray[np.int64]
    """Ascending rows of the delta that were changed or deleted again."""
    notes: int
    tokens: int

    @property
    def changes(self) -> int:
        """How many notes were added, changed or deleted since the snapshot."""
        return self.delta_size + len(self.tombstones)

    def document_frequency(self, term: str) -> int:
        """Return how many notes have a term."""
        return self._postings(term).document_frequency

    def search(self, query: TermQuery, limit: int) -> Scores:
        """Return the best ``limit`` notes, and all that tie with the last of them."""
        if not self.tokens:
            return _NO_SCORES
        average_length = self.tokens / self.notes
        postings = {term: self._postings(term) for term in dict.fromkeys(query.terms)}
        idfs = {term: idf(self.notes, entry.document_frequency) for term, entry in postings.items()}
        term_lists = []
        for term in query.terms:
            entry = postings[term]
            if len(entry.rows):
                bound = max_saturation(entry.max_saturation, self.lists.average_length, average_length)
                term_lists.append(TermList(entry.rows, entry.weights, idfs[term], idfs[term] * bound))
        rows = top_candidates(term_lists, self.lists.lengths, average_length, limit, self.tombstones)
        delta_rows = np.unique(np.concatenate([entry.delta.rows for entry in postings.values()]))
        return self._score(query, postings, idfs, rows, delta_rows).best(limit)

    def scores(self, query: TermQuery, keys: NDArray[np.int64]) -> Scores:
        """Return the notes with these keys that match, with the scores that ``search`` gives them.

        The time is linear in the number of keys and terms, and logarithmic in the number of notes.
        """
        if not self.tokens:
            return _NO_SCORES
        rows = self.key_index.rows_of(keys)
        rows = rows[~np.isin(rows, self.tombstones)] if len(self.tombstones) else rows
        delta_rows = np.empty(0, np.int64)
        if self.delta_size:
            delta_rows = np.flatnonzero(np.isin(self.delta.keys(slice(self.delta_size)), keys))
            if len(self.delta_tombstones):
                delta_rows = delta_rows[~np.isin(delta_rows, self.delta_tombstones)]
        postings, idfs = {}, {}
        for term in dict.fromkeys(query.terms):
            entry = self._postings(term)
            if len(entry.rows) and entry.rows[-1] >= len(self.lists.keys):
                raise LookupError(f"the posting list of {term!r} ends after the last row")
            if len(entry.delta.rows):
                members = np.isin(entry.delta.rows, delta_rows)
                entry = entry._replace(delta=DeltaList(entry.delta.rows[members], entry.delta.weights[members]))
            postings[term] = entry
            idfs[term] = idf(self.notes, entry.document_frequency)
        scores = self._score(query, postings, idfs, rows, delta_rows)
        matching = scores.scores > 0  # every matching term adds a positive score
        return Scores(scores.notes[matching], scores.scores[matching])

    def _score(
        self,
        query: TermQuery,
        postings: Mapping[str, _TermPostings],
        idfs: Mapping[str, float],
        rows: NDArray[np.int32],
        delta_rows: NDArray[np.int64],
    ) -> Scores:
        """Return the exact scores of rows of the snapshot, followed by those of the delta."""
        keys, lengths = self.lists.keys[rows], self.lists.lengths[rows].astype(np.float64)
        if len(delta_rows):
            keys = np.concatenate((keys, self.delta.keys(delta_rows)))
            lengths = np.concatenate((lengths, self.delta.lengths(delta_rows)))
        norms = length_norms(lengths, self.tokens / self.notes)
        scores = np.zeros(len(norms))
        # Term by term in the order of the query: floating-point sums in another order differ in the last bits.
        for term in query.terms:
            members, weights = _weights(postings[term], rows, delta_rows)
            scores[members] += idfs[term] * saturation(weights, norms[members])
        return Scores(keys, scores)

    def _postings(self, term: str) -> _TermPostings:
        lists = self.lists
        number = lists.find(term) if term else None
        delta = self.delta.postings(term, self.delta_size)
        if len(self.delta_tombstones):
            alive = ~np.isin(delta.rows, self.delta_tombstones)
            delta = DeltaList(delta.rows[alive], delta.weights[alive])
        if number is None:
            return _TermPostings(lists.rows[:0], lists.weights[:0], delta, len(delta.rows), 0.0)
        start, end = lists.offsets[number : number + 2].tolist()
        rows = lists.rows[start:end]
        deleted = int(np.isin(self.tombstones, rows).sum()) if len(self.tombstones) else 0
        frequency = len(rows) - deleted + len(delta.rows)
        return _TermPostings(rows, lists.weights[start:end], delta, frequency, float(lists.max_saturations[number]))


def _weights(
    postings: _TermPostings, rows: NDArray[np.int32], delta_rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which of these rows (snapshot, then delta) have a term, and its weight in each."""
    members, weights = np.empty(0, np.int64), np.empty(0)
    if len(postings.rows):
        indices = np.minimum(np.searchsorted(postings.rows, rows), len(postings.rows) - 1)
        members = np.flatnonzero(postings.rows[indices] == rows)
        weights = postings.weights[indices[members]].astype(np.float64)
    if len(postings.delta.rows):
        members = np.concatenate((members, len(rows) + np.searchsorted(delta_rows, postings.delta.rows)))
        weights = np.concatenate((weights, postings.delta.weights))
    return members, weights
