"""Posting lists of one namespace as numpy arrays, how they are built, and MaxScore, which finds the best notes in them.

*Layout.* Row r is the note with the key ``keys[r]`` and ``lengths[r]`` tokens. A note that changed has a new row; its
old row is a tombstone, which no list has. Terms are stems in UTF-8, numbered in byte order. Term t has the bytes from
``term_ends[t - 1]`` to ``term_ends[t]`` of ``terms``. Its list is the range from ``offsets[t]`` to ``offsets[t + 1]``
of two parallel arrays: ``rows`` has the ascending rows of the notes that contain the term, and ``weights`` has its
weighted frequency in each of these notes (the sum of the field weights of all occurrences). ``max_saturations[t]`` is
the highest saturation in the list (see :func:`saturation`), for the average length at the time of building.

*Building.* Notes are indexed in parts, each sorted by term. Merging sorts no postings: the rows of a later part are
higher than the rows of an earlier part, so the merged list of a term is the concatenation of its lists in all parts.

*MaxScore* (Turtle and Flood, "Query Evaluation: Strategies and Optimizations", 1995) returns the notes that can be
among the k best for a disjunction of terms, without scoring every match:

1. Sort the lists by the most that each can add to a score, highest first.
2. Add the scores of one list after the other to the candidates. The threshold is the k-th best sum so far.
3. When all remaining lists together cannot lift a new note to the threshold, stop adding candidates. Look the existing
   candidates up in the remaining lists, and drop those that can no longer reach the threshold.

These scores are approximate, because they are float32 and not added in the order of the query. The caller computes the
exact scores of the returned notes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.tokens import BREAK, stem_stream

Rows = NDArray[np.int32]
_Integers = NDArray[np.int64]
_Lengths = NDArray[np.int32]
_Floats = NDArray[np.float32]
_Weights = NDArray[np.unsignedinteger[Any]]
NoteFields = Sequence[Any]  # the key of a note, and its indexed fields in the order of FIELD_WEIGHTS
PART_NOTES = 20_000  # notes in a part: few enough that indexing a part needs little memory
COPY_POSTINGS = 1 << 22  # postings that are copied at once, to limit the memory of temporary arrays
FIRST_POSTINGS = 4_096  # MaxScore adds the first lists, up to this many postings, at once: pruning would take longer
TOLERANCE = 1e-4  # an upper bound of the relative error of float32 sums of hundreds of terms
_K1, _B = np.float32(1.2), np.float32(0.75)  # the BM25 parameters of FTS5
_WEIGHT_OF_FIELD = np.array(list(FIELD_WEIGHTS.values()), dtype=np.int64)


class PostingLists(NamedTuple):
    """Posting lists as arrays; the module's docstring describes the layout. By default, there are no notes."""

    keys: _Integers = np.empty(0, np.int64)
    lengths: _Lengths = np.empty(0, np.int32)
    terms: NDArray[np.uint8] = np.empty(0, np.uint8)
    term_ends: _Integers = np.empty(0, np.int64)
    term_heads: NDArray[np.uint64] = np.empty(0, np.uint64)  # the first 8 bytes of each term, big-endian: for find()
    offsets: _Integers = np.zeros(1, np.int64)
    rows: Rows = np.empty(0, np.int32)
    weights: _Weights = np.empty(0, np.uint16)
    max_saturations: _Floats = np.empty(0, np.float32)
    tombstones: Rows = np.empty(0, np.int32)  # ascending
    average_length: float = 1.0  # the mean length in tokens for which max_saturations was computed

    def find(self, term: str) -> int | None:
        """Return the number of a term; ``None`` if no note contains it."""
        encoded = term.encode()
        head = np.uint64(_head(encoded))
        # The terms with this head have the numbers from ``low`` to ``high`` - 1.
        low, high = int(self.term_heads.searchsorted(head)), int(self.term_heads.searchsorted(head, "right"))
        number = bisect_left(range(high), encoded, low, key=self._term)
        return number if number < high and self._term(number) == encoded else None

    def _term(self, number: int) -> bytes:
        start = self.term_ends[number - 1] if number else 0
        return self.terms[start : self.term_ends[number]].tobytes()

    def decode_terms(self) -> list[bytes]:
        """Return all terms in UTF-8, in the order of their numbers."""
        blob, ends = self.terms.tobytes(), self.term_ends.tolist()
        return [blob[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def without_rows(self, rows: Rows) -> PostingLists:
        """Return the lists without these rows, which become tombstones; terms without any other row are removed."""
        is_row_kept = np.ones(len(self.keys), dtype=np.bool_)
        is_row_kept[rows] = False
        is_posting_kept = is_row_kept[self.rows]
        counts = np.add.reduceat(is_posting_kept, self.offsets[:-1], dtype=np.int64)
        is_term_kept = counts > 0
        term_sizes = np.diff(self.term_ends, prepend=0)
        lengths = self.lengths.copy()
        lengths[rows] = 0
        return self._replace(
            lengths=lengths,
            terms=self.terms[np.repeat(is_term_kept, term_sizes)],
            term_ends=np.cumsum(term_sizes[is_term_kept]),
            term_heads=self.term_heads[is_term_kept],
            offsets=np.concatenate(([0], np.cumsum(counts[is_term_kept]))),
            rows=self.rows[is_posting_kept],
            weights=self.weights[is_posting_kept],
            max_saturations=self.max_saturations[is_term_kept],
            tombstones=np.union1d(self.tombstones, rows).astype(np.int32),
        )


SNAPSHOT_ARRAYS = ("keys", "lengths", "words", "word_ends", "heads", "places", "rows", "weights", "peaks", "dead")
"""The names that the array fields of ``PostingLists`` have in a snapshot file, in the order of the fields."""
EMPTY = PostingLists()


def _encode_terms(terms: Sequence[bytes]) -> dict[str, Any]:
    """Return the fields of ``PostingLists`` that encode these terms; the terms must be sorted."""
    return {
        "terms": np.frombuffer(b"".join(terms), dtype=np.uint8),
        "term_ends": np.cumsum([len(term) for term in terms], dtype=np.int64),
        "term_heads": np.fromiter(map(_head, terms), dtype=np.uint64, count=len(terms)),
    }


def _head(term: bytes) -> int:
    return int.from_bytes(term[:8].ljust(8, b"\0"), "big")


def new_term_numbers() -> dict[str, int]:
    """Return an empty dictionary that numbers terms from 0: looking up a new term adds it with the next number."""
    return defaultdict(count().__next__)


def tokenize_notes(notes: Sequence[NoteFields], numbers: dict[str, int]) -> tuple[_Integers, ...]:
    """Return the postings of notes as three arrays, and a fourth array with the length of each note in tokens.

    The arrays of postings are parallel: the number of the term, the row (index in ``notes``) and the weight. They are
    sorted by term number, then row. New terms are added to ``numbers``.
    """
    field_count = len(_WEIGHT_OF_FIELD)
    tokens = stem_stream([text or "" for _, *texts in notes for text in texts])
    terms = np.fromiter(map(numbers.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    is_break = terms == numbers[BREAK]  # the stream has a BREAK between two fields
    fields = np.cumsum(is_break)[~is_break]  # the field of each token, numbered through all notes
    terms = terms[~is_break]
    rows = fields // field_count
    lengths = np.bincount(rows, minlength=len(notes))
    # A posting is a distinct pair of term and row, encoded as one number; postings[indices[i]] belongs to token i.
    postings, indices = np.unique(terms * len(notes) + rows, return_inverse=True)
    weights = np.bincount(indices, _WEIGHT_OF_FIELD[fields % field_count], minlength=len(postings)).astype(np.int64)
    return postings // len(notes), postings % len(notes), weights, lengths


class PostingsBuilder:
    """Builds posting lists from existing lists (``base``) and further notes."""

    def __init__(self, base: PostingLists = EMPTY) -> None:
        self._parts = [base]
        self._start_part()

    def add(self, notes: Sequence[NoteFields]) -> None:
        """Add notes, which get the next rows."""
        terms, rows, weights, lengths = tokenize_notes(notes, self._numbers)
        self._tokenized.append((terms, rows + len(self._keys), weights, lengths))
        self._keys += (key for key, *_ in notes)
        if len(self._keys) >= PART_NOTES:
            self._finish_part()

    def build(self) -> PostingLists:
        """Return the posting lists of all notes."""
        if self._keys:
            self._finish_part()
        return _merge(self._parts)

    def _start_part(self) -> None:
        self._numbers = new_term_numbers()
        self._keys: list[int] = []
        self._tokenized: list[tuple[_Integers, ...]] = []  # results of tokenize_notes, with row numbers in the part

    def _finish_part(self) -> None:
        """Renumber the terms of the part in byte order, and sort its postings by term, then row."""
        numbered_terms = sorted((term.encode(), number) for term, number in self._numbers.items() if term != BREAK)
        new_numbers = np.zeros(len(self._numbers), dtype=np.int32)
        new_numbers[[number for _, number in numbered_terms]] = np.arange(len(numbered_terms), dtype=np.int32)
        terms, rows, weights, lengths = map(np.concatenate, zip(*self._tokenized, strict=True))
        terms = new_numbers[terms]
        order = np.argsort(terms, kind="stable")  # the rows of a term are already in order
        fits_uint16 = not len(weights) or weights.max() <= np.iinfo(np.uint16).max
        self._parts.append(
            EMPTY._replace(
                keys=np.array(self._keys, dtype=np.int64),
                lengths=lengths.astype(np.int32),
                **_encode_terms([term for term, _ in numbered_terms]),
                offsets=np.concatenate(([0], np.cumsum(np.bincount(terms, minlength=len(numbered_terms))))),
                rows=rows[order].astype(np.int32),
                weights=weights[order].astype(np.uint16 if fits_uint16 else np.uint32),
            )
        )
        self._start_part()


def _merge(parts: Sequence[PostingLists]) -> PostingLists:
    """Return the posting lists of all parts together; the rows of each part follow the rows of the previous part."""
    part_terms = [part.decode_terms() for part in parts]
    terms = sorted(set().union(*part_terms))
    number_of = {term: number for number, term in enumerate(terms)}
    # For each part, an array with the merged number of each of its terms.
    part_numbers = [np.fromiter(map(number_of.__getitem__, stems), np.int64, len(stems)) for stems in part_terms]
    counts = np.zeros(len(terms), dtype=np.int64)
    for part, numbers in zip(parts, part_numbers, strict=True):
        counts[numbers] += np.diff(part.offsets)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    rows = np.empty(offsets[-1], dtype=np.int32)
    weights = np.empty(offsets[-1], dtype=np.result_type(*(part.weights.dtype for part in parts)))
    next_offsets, first_row, part_tombstones = offsets[:-1].copy(), 0, []
    for part, numbers in zip(parts, part_numbers, strict=True):
        shifts = next_offsets[numbers] - part.offsets[:-1]  # how far each list moves from its offset in the part
        sizes = np.diff(part.offsets)
        for first_term, end_term in _term_ranges(part.offsets):
            start, end = part.offsets[first_term], part.offsets[end_term]
            targets = np.repeat(shifts[first_term:end_term], sizes[first_term:end_term]) + np.arange(start, end)
            rows[targets] = part.rows[start:end] + np.int32(first_row)
            weights[targets] = part.weights[start:end]
        next_offsets[numbers] += sizes
        part_tombstones.append(part.tombstones + first_row)
        first_row += len(part.keys)
    lengths = np.concatenate([part.lengths for part in parts])
    tombstones = np.concatenate(part_tombstones).astype(np.int32)
    average_length = float(lengths.sum() / max(1, len(lengths) - len(tombstones))) or 1.0  # 0 would divide by 0
    max_saturations = np.empty(len(terms), dtype=np.float32)
    for first_term, end_term in _term_ranges(offsets):
        start, end = offsets[first_term], offsets[end_term]
        saturations = saturation(weights[start:end], lengths[rows[start:end]], average_length)
        max_saturations[first_term:end_term] = np.maximum.reduceat(saturations, offsets[first_term:end_term] - start)
    return PostingLists(
        keys=np.concatenate([part.keys for part in parts]),
        lengths=lengths,
        **_encode_terms(terms),
        offsets=offsets,
        rows=rows,
        weights=weights,
        max_saturations=max_saturations,
        tombstones=tombstones,
        average_length=average_length,
    )


def _term_ranges(offsets: _Integers) -> Iterator[tuple[int, int]]:
    """Yield ranges of term numbers (first, last + 1) whose lists together have about :data:`COPY_POSTINGS` postings."""
    first_term = 0
    while first_term < len(offsets) - 1:
        end_term = int(np.searchsorted(offsets, offsets[first_term] + COPY_POSTINGS))
        end_term = min(max(end_term, first_term + 1), len(offsets) - 1)
        yield first_term, end_term
        first_term = end_term


class TermList(NamedTuple):
    """The posting list of one term of a query."""

    rows: Rows
    weights: _Weights
    idf: float
    max_score: float  # the most that the term can add to a score: the idf times the highest saturation


def saturation(weights: _Weights, lengths: _Lengths, average_length: float) -> _Floats:
    """Return the BM25 term scores without the idf, in float32: w·(k1 + 1) / (w + k1·(1 - b + b·length / average))."""
    scores = weights.astype(np.float32)
    norm = lengths * np.float32(float(_K1 * _B) / average_length)
    norm += _K1 * (1 - _B)
    norm += scores
    scores *= _K1 + 1
    scores /= norm
    return scores


def top_candidates(
    lists: Sequence[TermList], lengths: _Lengths, average_length: float, limit: int, tombstones: Rows
) -> Rows:
    """Return the ascending rows, without ``tombstones``, that can be among the best ``limit`` or tie with the last."""
    if not lists:
        return np.empty(0, dtype=np.int32)
    ordered = sorted(lists, key=lambda term: -term.max_score)
    # remaining[i] is the most that the lists from index i on can add to a score.
    remaining = np.cumsum([0.0, *(term.max_score for term in reversed(ordered))])[::-1].tolist()
    sizes = [len(term.rows) for term in ordered]
    first_lists = ordered[: max(1, int(np.searchsorted(np.cumsum(sizes), FIRST_POSTINGS, side="right")))]
    rows = np.concatenate([term.rows for term in first_lists])
    weights = np.concatenate([term.weights for term in first_lists])
    scores = saturation(weights, lengths[rows], average_length)
    scores *= np.repeat(np.array([term.idf for term in first_lists], np.float32), sizes[: len(first_lists)])
    if len(first_lists) > 1:
        rows, indices = np.unique(rows, return_inverse=True)
        scores = np.bincount(indices, weights=scores).astype(np.float32)
    if len(tombstones):  # rows that were deleted after the lists were built
        is_alive = ~np.isin(rows, tombstones)
        rows, scores = rows[is_alive], scores[is_alive]
    accepts_new = True  # whether lists add candidates; false from step 3 of MaxScore on
    for index in range(len(first_lists), len(ordered)):
        term = ordered[index]
        accepts_new = accepts_new and _threshold(scores, limit) <= remaining[index] * (1 + TOLERANCE)
        if not accepts_new:
            rows, scores = _prune(rows, scores, limit, remaining[index])
        # ``members`` are the candidates in the list, by index in ``rows``; ``indices`` are their indices in the list.
        indices = np.minimum(np.searchsorted(term.rows, rows), len(term.rows) - 1)
        members = np.flatnonzero(term.rows[indices] == rows)
        indices = indices[members]
        if accepts_new:
            term_scores = saturation(term.weights, lengths[term.rows], average_length) * np.float32(term.idf)
            scores[members] += term_scores[indices]
            is_new = ~np.isin(term.rows, tombstones) if len(tombstones) else np.ones(len(term.rows), dtype=np.bool_)
            is_new[indices] = False
            rows = np.concatenate((rows, term.rows[is_new]))
            scores = np.concatenate((scores, term_scores[is_new]))
        else:
            term_scores = saturation(term.weights[indices], lengths[rows[members]], average_length)
            scores[members] += term_scores * np.float32(term.idf)
    rows, _ = _prune(rows, scores, limit, 0.0)
    return np.sort(rows)


def _threshold(scores: _Floats, limit: int) -> float:
    """Return the ``limit``-th best score; 0 if there are fewer than ``limit`` scores."""
    index = len(scores) - limit
    return 0.0 if index < 0 else float(np.partition(scores, index)[index])


def _prune(rows: Rows, scores: _Floats, limit: int, remaining: float) -> tuple[Rows, _Floats]:
    """Return the rows that can reach the threshold if the remaining lists add ``remaining``, and their scores."""
    # Both a row's score and the threshold may be wrong by the relative error TOLERANCE.
    can_reach = scores >= (_threshold(scores, limit) * (1 - TOLERANCE) - remaining) / (1 + TOLERANCE)
    return rows[can_reach], scores[can_reach]
