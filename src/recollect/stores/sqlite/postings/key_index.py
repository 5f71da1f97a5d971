"""Row numbers of a snapshot by the keys of their notes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["KeyIndex"]


class KeyIndex:
    """Finds the rows of notes by binary search.

    The keys of a snapshot ascend, except those of notes that changed since an earlier snapshot: these have another row
    at the end. The first call sorts the keys if necessary; threads that sort at the same time get the same result.
    """

    def __init__(self, keys: NDArray[np.int64]) -> None:
        """Keep the keys, one for each row."""
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
