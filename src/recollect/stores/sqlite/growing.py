"""An array that grows at its end, and that who looks at it sees as it was."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Growing"]

T = TypeVar("T", bound=np.generic)


class Growing(Generic[T]):
    """Numbers, or rows of them, with room behind them, so that one more does not copy all.

    >>> numbers = Growing(np.array([1, 2]))
    >>> before = numbers.first(2)
    >>> numbers.put(2, np.array([3]))
    >>> before.tolist(), numbers.first(3).tolist()
    ([1, 2], [1, 2, 3])
    """

    def __init__(self, first: NDArray[T]) -> None:
        """Begin with what is there; it is copied when more comes."""
        self._room = first

    def first(self, count: int) -> NDArray[T]:
        """Return the first so many."""
        return self._room[:count]

    def put(self, count: int, more: NDArray[T]) -> None:
        """Put more behind the first so many, which stay as they are; what was there behind them is forgotten."""
        if count + len(more) > len(self._room):
            length = max(1024, 2 * count, count + len(more))
            room = np.empty((length, *self._room.shape[1:]), dtype=self._room.dtype)
            room[:count] = self._room[:count]
            self._room = room
        self._room[count : count + len(more)] = more
