"""An array that grows at its end, and that who looks at it sees as it was."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Growing"]

T = TypeVar("T", bound=np.generic)


class Growing(Generic[T]):
    """Numbers, or rows of them, with room behind them, so that one more does not copy all.

    >>> numbers = Growing(np.array([1, 2]))
    >>> before = numbers.held
    >>> numbers.append(np.array([3]))
    >>> before.tolist(), numbers.held.tolist()
    ([1, 2], [1, 2, 3])
    """

    def __init__(self, first: NDArray[T]) -> None:
        """Begin with what is there; it is copied when more comes."""
        self._room: NDArray[Any] = first
        self.held: NDArray[T] = first

    def append(self, more: NDArray[T]) -> None:
        """Put numbers behind the last; those that are held stay as they are."""
        count = len(self.held)
        if count + len(more) > len(self._room):
            length = max(1024, 2 * count, count + len(more))
            room = np.empty((length, *self.held.shape[1:]), dtype=self.held.dtype)
            room[:count] = self.held
            self._room = room
        self._room[count : count + len(more)] = more
        self.held = self._room[: count + len(more)]
