"""The notes that were written since a snapshot, in memory."""

from __future__ import annotations

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
    """Notes that only become more: who looks at the first so many sees what it saw before."""

    def __init__(self) -> None:
        """Begin with none."""
        self.keys = array("q")
        self.lengths = array("q")
        self._lists: dict[str, tuple[array[int], array[int]]] = {}

    def append(self, keys: Sequence[int], notes: Sequence[Texts]) -> None:
        """Take in notes."""
        words = Words()
        found = read(notes, words)
        spelt, first = list(words), len(self.keys)
        for word, row, weight in zip(found.words.tolist(), found.rows.tolist(), found.weights.tolist(), strict=True):
            rows, weights = self._lists.setdefault(spelt[word], (array("q"), array("q")))
            rows.append(first + row)
            weights.append(weight)
        self.lengths.extend(found.lengths.tolist())
        self.keys.extend(keys)

    def holding(self, word: str, count: int) -> Few:
        """Return which of the first ``count`` notes hold a word."""
        rows, weights = self._lists.get(word, (array("q"), array("q")))
        # Copies, which nobody adds to; weights come after rows, so there may be one less for a moment.
        held, counted = np.array(rows, dtype=np.int64), np.array(weights, dtype=np.int64)
        inside = int(np.searchsorted(held, count))
        return Few(held[:inside], counted[:inside])
