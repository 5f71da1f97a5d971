"""Work that several processors do together, for what takes a millisecond or more outside of Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache

__all__ = ["HELPERS", "shared"]

HELPERS = min(3, (os.cpu_count() or 1) - 1)
"""How many other threads help at the most."""


def shared(work: Callable[[], None], helpers: int) -> None:
    """Do ``work`` here and in so many other threads at once; each takes what no other took, and ends when none is left.

    >>> left, done = list(range(100)), []
    >>> def work():
    ...     while left:
    ...         done.append(left.pop())
    >>> shared(work, helpers=2)
    >>> sorted(done) == list(range(100))
    True
    """
    others: list[Future[None]] = []
    with suppress(RuntimeError):  # where no threads are to be had, it only takes longer
        others += (_crew(os.getpid()).submit(work) for _ in range(helpers))
    try:
        work()
    finally:
        begun = [other for other in others if not other.cancel()]
        errors = [other.exception() for other in begun]
    for error in filter(None, errors):
        raise error


@lru_cache(maxsize=1)
def _crew(_process: int) -> ThreadPoolExecutor:
    """Return the threads of a process; one that was forked has none of its parent's."""
    return ThreadPoolExecutor(max(1, HELPERS), thread_name_prefix="recollect-helper")
