"""Notes become posting lists: read chunk by chunk, sorted by word, and put together in the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.base import FIELD_WEIGHTS
from recollect.stores.sqlite.postings.merging import merged
from recollect.stores.sqlite.postings.snapshot import EMPTY, Snapshot, lay_out
from recollect.stores.tokens import BREAK, stems

__all__ = ["Builder", "Texts", "Words", "read"]

Texts = tuple[str | None, ...]
"""The fields of a note that the word index takes, in the order of their weights."""
PART_NOTES = 20_000
"""Of how many notes the lists are made at once: few enough that they are small beside those of all."""
_WEIGHTS = np.array(list(FIELD_WEIGHTS.values()), dtype=np.int64)


class Words(dict[str, int]):
    """A number for each word, in the order in which they first come; what stands between texts is one."""

    def __missing__(self, word: str) -> int:
        """Give a new word the next number."""
        number = self[word] = len(self)
        return number


class Read(NamedTuple):
    """The postings of some notes, by word and then row, and how long each note is."""

    words: NDArray[np.int64]
    rows: NDArray[np.int64]
    weights: NDArray[np.int64]
    lengths: NDArray[np.int64]


def read(notes: Sequence[Texts], words: Words) -> Read:
    """Read notes; ``words`` learns those that it does not know.

    >>> words = Words()
    >>> found = read([(None, "Tea", "", "", "tea and milk"), ("milk.md", "", "", "", "Milk.")], words)
    >>> [(list(words)[word], int(row), int(weight)) for word, row, weight in zip(*found[:3], strict=True)]
    [('tea', 0, 11), ('and', 0, 1), ('milk', 0, 1), ('milk', 1, 4), ('md', 1, 3)]
    >>> found.lengths.tolist()
    [4, 3]
    """
    fields = len(_WEIGHTS)
    tokens = stems(["" if text is None else text for text in chain.from_iterable(notes)])
    numbers = np.fromiter(map(words.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    breaks = numbers == words[BREAK]
    texts = np.cumsum(breaks)[~breaks]
    numbers = numbers[~breaks]
    rows = texts // fields
    lengths = np.bincount(rows, minlength=len(notes))
    pairs, places = np.unique(numbers * len(notes) + rows, return_inverse=True)
    weights = np.bincount(places, weights=_WEIGHTS[texts % fields], minlength=len(pairs)).astype(np.int64)
    return Read(pairs // len(notes), pairs % len(notes), weights, lengths)


class Builder:
    """Collects the postings of notes behind those that there are."""

    def __init__(self, base: Snapshot = EMPTY) -> None:
        """Begin behind the notes of a snapshot."""
        self._parts = [base]
        self._begin_part()

    def add(self, keys: Sequence[int], notes: Sequence[Texts]) -> None:
        """Take in some notes."""
        found = read(notes, self._words)
        self._read.append(found._replace(rows=found.rows + len(self._keys)))
        self._keys += keys
        if len(self._keys) >= PART_NOTES:
            self._close_part()

    def finish(self) -> Snapshot:
        """Return the posting lists of all."""
        if self._keys:
            self._close_part()
        return merged(self._parts)

    def _begin_part(self) -> None:
        self._words = Words()
        self._keys: list[int] = []
        self._read: list[Read] = []

    def _close_part(self) -> None:
        """Sort what was read by word; by row it is already."""
        encoded = sorted((word.encode(), number) for word, number in self._words.items() if word != BREAK)
        rank = np.zeros(len(self._words), dtype=np.int32)
        rank[[number for _, number in encoded]] = np.arange(len(encoded), dtype=np.int32)
        words, rows, weights, lengths = map(np.concatenate, zip(*self._read, strict=True))
        ranks = rank[words]
        order = np.argsort(ranks, kind="stable")
        small = not len(weights) or weights.max() <= np.iinfo(np.uint16).max
        self._parts.append(
            EMPTY._replace(
                keys=np.array(self._keys, dtype=np.int64),
                lengths=lengths.astype(np.int32),
                **lay_out([word for word, _ in encoded])._asdict(),
                places=np.concatenate(([0], np.cumsum(np.bincount(ranks, minlength=len(encoded))))),
                rows=rows[order].astype(np.int32),
                weights=weights[order].astype(np.uint16 if small else np.uint32),
            )
        )
        self._begin_part()
