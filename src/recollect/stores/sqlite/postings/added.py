"""The notes that were written since a snapshot, in memory."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.postings.building import Texts, Words, read

__all__ = ["Added", "Few"]


class Few(NamedTuple):
    """The rows that hold a word, rising, and what it counts in each."""

    rows: NDArray[np.int64]
    weights: NDArray[np.int64]


class Added:
    """Notes that only become more: who looks at the first so many sees what it saw before, also while more come."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._keys = array("q")
        self._lengths = array("q")
        self._lists: dict[str, tuple[array[int], array[int]]] = {}
        self._is_whole = True

    def is_whole(self, count: int) -> bool:
        """Return whether it has just so many notes, and was not interrupted when it took them in."""
        return self._is_whole and len(self._keys) == count

    def append(self, keys: Sequence[int], notes: Sequence[Texts]) -> int:
        """Take in notes, and return how many words they have."""
        words = Words()
        found = read(notes, words)
        spelt = list(words)
        with self._lock:
            self._is_whole = False
            first = len(self._keys)
            for word, row, weight in zip(*map(np.ndarray.tolist, found[:3]), strict=True):
                rows, weights = self._lists.setdefault(spelt[word], (array("q"), array("q")))
                rows.append(first + row)
                weights.append(weight)
            self._lengths.extend(found.lengths.tolist())
            self._keys.extend(keys)
            self._is_whole = True
        return int(found.lengths.sum())

    def keys(self, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
        """Return the keys of some notes."""
        with self._lock:  # an array that is being copied cannot grow
            return np.array(self._keys, dtype=np.int64)[rows]

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many words some notes have."""
        with self._lock:
            return np.array(self._lengths, dtype=np.int64)[rows]

    def holding(self, word: str, count: int) -> Few:
        """Return which of the first ``count`` notes hold a word."""
        with self._lock:
            rows, weights = (np.array(each, dtype=np.int64) for each in self._lists.get(word, ((), ())))
        inside = int(np.searchsorted(rows, count))
        return Few(rows[:inside], weights[:inside])
