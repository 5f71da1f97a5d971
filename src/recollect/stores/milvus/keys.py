"""The keys of notes and of entries in the journal: they grow with time, and no two processes make the same one.

From the top: 43 bits count quarters of a millisecond since 2020, which is enough until 2089; 10 bits tell processes
that write to one cluster apart; 10 bits count the rows of a note.
"""

from __future__ import annotations

import threading
import time

__all__ = ["Keys", "made_at"]

_BEGINNING = 1_577_836_800
_TICKS = 4000  # in a second
_BELOW = 20
_WRITER = 10


class Keys:
    """Makes keys, each higher than the one before.

    >>> keys = Keys(writer=7)
    >>> first, second = keys.new(), keys.new()
    >>> first < second, first % 1024, (first >> 10) % 1024
    (True, 0, 7)
    """

    def __init__(self, *, writer: int = 0, last: int = 0) -> None:
        """Make keys higher than ``last``; each process that writes to the same store has a ``writer`` of its own."""
        self._writer = writer
        self._tick = last >> _BELOW
        self._lock = threading.Lock()

    @property
    def last(self) -> int:
        """A number that no key so far is higher than."""
        return (self._tick + 1) << _BELOW

    def new(self) -> int:
        """Return a key."""
        with self._lock:
            self._tick = max(self._tick + 1, _ticks(time.time()))
            return self._tick << _BELOW | self._writer << _WRITER


def made_at(moment: float) -> int:
    """Return the lowest key that could be made at an instant, in seconds since 1970."""
    return _ticks(moment) << _BELOW


def _ticks(moment: float) -> int:
    return int((moment - _BEGINNING) * _TICKS)
