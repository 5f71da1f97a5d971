"""What is costly to make is made once in each process, when it is first asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["OncePerProcess"]

Thing = TypeVar("Thing")


class _Made(Generic[Thing]):
    """The thing of one process, and the lock under which it is made."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.things: list[Thing] = []


class OncePerProcess(Generic[Thing]):
    """Makes a thing when it is first asked for, once in a process, whichever threads ask.

    A forked child makes its own: threads and connections of its parent do not live on in it. What it inherited it
    keeps but never touches, because even letting go of a model would wait for threads that are not there.

    >>> made = OncePerProcess(lambda: object())
    >>> made.get() is made.get()
    True
    """

    def __init__(self, make: Callable[[], Thing]) -> None:
        """Remember how the thing is made."""
        self._make = make
        self._made: dict[int, _Made[Thing]] = {}

    def get(self) -> Thing:
        """Return the thing, made now if it was not yet; a failure is not remembered, and the next call tries again."""
        # setdefault is one step, so that a fork never meets a lock that nobody will open.
        made = self._made.setdefault(os.getpid(), _Made())
        if not made.things:
            with made.lock:
                made.things = made.things or [self._make()]
        return made.things[0]
