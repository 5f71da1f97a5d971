"""Work that several processors do together, for what takes a millisecond or more outside of Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

__all__ = ["shared"]


def shared(work: Callable[[], None], helpers: int) -> None:
    """Do ``work`` here and in so many other threads at once; each takes what no other took, and ends when none is left.

    Threads live for a call: one that waits for the next would not be there any more in a process that was forked.

    >>> left, done = list(range(100)), []
    >>> def work():
    ...     while left:
    ...         done.append(left.pop())
    >>> shared(work, helpers=2)
    >>> sorted(done) == list(range(100))
    True
    """
    errors: list[BaseException] = []

    def help_out() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (raised below, where somebody waits for it)
            errors.append(error)

    threads = [Thread(target=help_out, name="recollect-helper", daemon=True) for _ in range(helpers)]
    started = []
    with suppress(RuntimeError):  # where no more threads are to be had, it only takes longer
        for thread in threads:
            thread.start()
            started.append(thread)
    help_out()
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]
