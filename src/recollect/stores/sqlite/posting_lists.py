"""Posting lists of a namespace as arrays, as a snapshot file has them, and how they are built.

A row is the index of a note in ``keys``. For each term, in byte order, ``offsets`` delimits its list: the ascending
rows of the notes that have it, and its weight in each, the sum of its field weights over all occurrences.
``max_saturations`` has the highest saturation in each list, for the average length at the time of building.

Lists are built in parts of some thousand notes, each sorted by term. Merging sorts nothing: the rows of a later part
follow those of an earlier one, so that a merged list is the lists of all parts one after the other.

MaxScore (Turtle and Flood, "Query Evaluation: Strategies and Optimizations", 1995), term at a time, returns the notes
that can be among the k best for a disjunction, without scoring every match: lists are taken in descending order of the
most that they can add to a score. Once the remaining lists together cannot lift a new note above the k-th best, no more
notes enter; the remaining lists are only looked up for the notes that are in, and notes that can no longer reach the
k-th best are dropped. Its scores are approximate (float32, and not in the order of the query): the caller scores the
result exactly.
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
NoteFields = Sequence[Any]
"""The key of a note, and its indexed fields in the order of ``FIELD_WEIGHTS``."""
PART_NOTES = 20_000
"""Notes in a part: few enough that a part needs little memory beside the whole."""
COPY_POSTINGS = 1 << 22
"""Postings that are copied at once."""
_K1, _B = np.float32(1.2), np.float32(0.75)
FIRST_POSTINGS = 4_096
"""How many postings of the first lists are merged at once, without checking whether fewer would suffice."""
TOLERANCE = 1e-4
"""An upper bound of the relative error of float32 sums of hundreds of terms."""
_WEIGHTS = np.array(list(FIELD_WEIGHTS.values()), dtype=np.int64)


class PostingLists(NamedTuple):
    """Posting lists as arrays."""

    keys: NDArray[np.int64]
    """The key of each row's note. A note that changed has a new row; its old row is a tombstone."""
    lengths: NDArray[np.int32]
    """The number of tokens of each note."""
    terms: NDArray[np.uint8]
    """All terms in UTF-8, concatenated."""
    term_ends: NDArray[np.int64]
    term_heads: NDArray[np.uint64]
    """The first eight bytes of each term as a big-endian number, for the first step of a binary search."""
    offsets: NDArray[np.int64]
    """The start of each term's list, and the end of the last."""
    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    max_saturations: NDArray[np.float32]
    tombstones: NDArray[np.int32]
    """Ascending rows of notes that were changed or deleted; no list has them."""
    average_length: float
    """The average number of tokens for which ``max_saturations`` was computed."""

    def find(self, term: str) -> int | None:
        """Return the number of a term, if a note has it."""
        encoded = term.encode()
        head = np.uint64(_head(encoded))
        low, high = int(self.term_heads.searchsorted(head)), int(self.term_heads.searchsorted(head, "right"))
        number = bisect_left(range(high), encoded, low, key=self._term)
        return number if number < high and self._term(number) == encoded else None

    def _term(self, number: int) -> bytes:
        return self.terms[self.term_ends[number - 1] if number else 0 : self.term_ends[number]].tobytes()

    def decode_terms(self) -> list[bytes]:
        """Return all terms in UTF-8."""
        blob, ends = self.terms.tobytes(), self.term_ends.tolist()
        return [blob[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def without_rows(self, rows: NDArray[np.int32]) -> PostingLists:
        """Return the lists without these rows, which become tombstones, and without terms that no other row has."""
        alive = np.ones(len(self.keys), dtype=np.bool_)
        alive[rows] = False
        remaining = alive[self.rows]
        counts = np.add.reduceat(remaining, self.offsets[:-1], dtype=np.int64)
        used = counts > 0
        sizes = np.diff(self.term_ends, prepend=0)
        lengths = self.lengths.copy()
        lengths[rows] = 0
        return self._replace(
            lengths=lengths,
            terms=self.terms[np.repeat(used, sizes)],
            term_ends=np.cumsum(sizes[used]),
            term_heads=self.term_heads[used],
            offsets=np.concatenate(([0], np.cumsum(counts[used]))),
            rows=self.rows[remaining],
            weights=self.weights[remaining],
            max_saturations=self.max_saturations[used],
            tombstones=np.union1d(self.tombstones, rows).astype(np.int32),
        )


SNAPSHOT_ARRAYS = ("keys", "lengths", "words", "word_ends", "heads", "places", "rows", "weights", "peaks", "dead")
"""The names of the fields in a snapshot file."""

EMPTY = PostingLists(
    keys=np.empty(0, np.int64),
    lengths=np.empty(0, np.int32),
    terms=np.empty(0, np.uint8),
    term_ends=np.empty(0, np.int64),
    term_heads=np.empty(0, np.uint64),
    offsets=np.zeros(1, np.int64),
    rows=np.empty(0, np.int32),
    weights=np.empty(0, np.uint16),
    max_saturations=np.empty(0, np.float32),
    tombstones=np.empty(0, np.int32),
    average_length=1.0,
)


def _encode_terms(terms: Sequence[bytes]) -> dict[str, Any]:
    """Return sorted terms as arrays."""
    return {
        "terms": np.frombuffer(b"".join(terms), dtype=np.uint8),
        "term_ends": np.cumsum([len(term) for term in terms], dtype=np.int64),
        "term_heads": np.fromiter(map(_head, terms), dtype=np.uint64, count=len(terms)),
    }


def _head(term: bytes) -> int:
    return int.from_bytes(term[:8].ljust(8, b"\0"), "big")


def term_numbers() -> dict[str, int]:
    """Return a dictionary that numbers terms in the order of first access, including the break between fields."""
    return defaultdict(count().__next__)


def tokenize_notes(
    notes: Sequence[NoteFields], numbers: dict[str, int]
) -> tuple[_Integers, _Integers, _Integers, _Integers]:
    """Return the postings of notes (terms, rows, weights), and their lengths; new terms are added to ``numbers``."""
    fields = len(_WEIGHTS)
    tokens = stem_stream([text or "" for _, *texts in notes for text in texts])
    terms = np.fromiter(map(numbers.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    breaks = terms == numbers[BREAK]
    texts = np.cumsum(breaks)[~breaks]
    terms = terms[~breaks]
    rows = texts // fields
    lengths = np.bincount(rows, minlength=len(notes))
    pairs, indices = np.unique(terms * len(notes) + rows, return_inverse=True)
    weights = np.bincount(indices, weights=_WEIGHTS[texts % fields], minlength=len(pairs)).astype(np.int64)
    return pairs // len(notes), pairs % len(notes), weights, lengths


class PostingsBuilder:
    """Builds posting lists from existing ones and further notes."""

    def __init__(self, base: PostingLists = EMPTY) -> None:
        self._parts = [base]
        self._start_part()

    def add(self, notes: Sequence[NoteFields]) -> None:
        """Add notes."""
        terms, rows, weights, lengths = tokenize_notes(notes, self._numbers)
        self._postings.append((terms, rows + len(self._keys), weights, lengths))
        self._keys += (key for key, *_ in notes)
        if len(self._keys) >= PART_NOTES:
            self._finish_part()

    def build(self) -> PostingLists:
        """Return the posting lists of all notes."""
        if self._keys:
            self._finish_part()
        return _merge(self._parts)

    def _start_part(self) -> None:
        self._numbers = term_numbers()
        self._keys: list[int] = []
        self._postings: list[tuple[_Integers, ...]] = []

    def _finish_part(self) -> None:
        """Sort the postings of the part, which are sorted by row, by term."""
        encoded = sorted((term.encode(), number) for term, number in self._numbers.items() if term != BREAK)
        rank = np.zeros(len(self._numbers), dtype=np.int32)
        rank[[number for _, number in encoded]] = np.arange(len(encoded), dtype=np.int32)
        terms, rows, weights, lengths = map(np.concatenate, zip(*self._postings, strict=True))
        ranks = rank[terms]
        order = np.argsort(ranks, kind="stable")
        small = not len(weights) or weights.max() <= np.iinfo(np.uint16).max
        self._parts.append(
            EMPTY._replace(
                keys=np.array(self._keys, dtype=np.int64),
                lengths=lengths.astype(np.int32),
                **_encode_terms([term for term, _ in encoded]),
                offsets=np.concatenate(([0], np.cumsum(np.bincount(ranks, minlength=len(encoded))))),
                rows=rows[order].astype(np.int32),
                weights=weights[order].astype(np.uint16 if small else np.uint32),
            )
        )
        self._start_part()


def _merge(parts: Sequence[PostingLists]) -> PostingLists:
    """Return the concatenated lists of all parts; the rows of each part follow those of the previous one."""
    terms_of = [part.decode_terms() for part in parts]
    terms = sorted(set().union(*terms_of))
    number = {term: index for index, term in enumerate(terms)}
    ranks = [np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words)) for words in terms_of]
    counts = np.zeros(len(terms), dtype=np.int64)
    for part, rank in zip(parts, ranks, strict=True):
        counts[rank] += np.diff(part.offsets)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    rows = np.empty(offsets[-1], dtype=np.int32)
    weights = np.empty(offsets[-1], dtype=np.result_type(*(part.weights.dtype for part in parts)))
    free, first_row, tombstones = offsets[:-1].copy(), 0, []
    for part, rank in zip(parts, ranks, strict=True):
        shifts = free[rank] - part.offsets[:-1]
        sizes = np.diff(part.offsets)
        for first, last in _batches(part.offsets):
            start, end = part.offsets[first], part.offsets[last]
            targets = np.repeat(shifts[first:last], sizes[first:last]) + np.arange(start, end)
            rows[targets] = part.rows[start:end] + np.int32(first_row)
            weights[targets] = part.weights[start:end]
        free[rank] += sizes
        tombstones.append(part.tombstones + first_row)
        first_row += len(part.keys)
    lengths = np.concatenate([part.lengths for part in parts])
    dead = np.concatenate(tombstones).astype(np.int32)
    average_length = float(lengths.sum() / max(1, len(lengths) - len(dead))) or 1.0
    max_saturations = np.empty(len(terms), dtype=np.float32)
    for first, last in _batches(offsets):
        start, end = offsets[first], offsets[last]
        saturations = saturation(weights[start:end], lengths[rows[start:end]], average_length)
        max_saturations[first:last] = np.maximum.reduceat(saturations, offsets[first:last] - start)
    return PostingLists(
        keys=np.concatenate([part.keys for part in parts]),
        lengths=lengths,
        **_encode_terms(terms),
        offsets=offsets,
        rows=rows,
        weights=weights,
        max_saturations=max_saturations,
        tombstones=dead,
        average_length=average_length,
    )


def _batches(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of terms whose lists are processed together."""
    first = 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + COPY_POSTINGS))
        last = min(max(last, first + 1), len(offsets) - 1)
        yield first, last
        first = last


class TermList(NamedTuple):
    """The posting list of a term."""

    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    idf: float
    max_score: float
    """The maximum that the term can add to the score of a note."""


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


def top_candidates(
    lists: Sequence[TermList], lengths: NDArray[np.int32], average_length: float, limit: int, tombstones: Rows
) -> Rows:
    """Return the ascending rows of all notes that can be among the best ``limit`` or tie with the last."""
    if not lists:
        return np.empty(0, dtype=np.int32)
    ordered = sorted(lists, key=lambda term: -term.max_score)
    # The maximum that all lists from an index on can add to a score.
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
        grows = grows and _threshold(scores, limit) <= remaining[index] * (1 + TOLERANCE)
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


def _prune(rows: Rows, scores: NDArray[np.float32], limit: int, remaining: float) -> tuple[Rows, NDArray[np.float32]]:
    """Drop the notes that cannot reach the threshold even if the remaining lists add their maximum."""
    reaching = scores >= (_threshold(scores, limit) * (1 - TOLERANCE) - remaining) / (1 + TOLERANCE)
    return rows[reaching], scores[reaching]
