"""Where the work is done that blocks: in threads, so that other requests need not wait for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from anyio import to_thread

__all__ = ["Threads", "in_thread"]

T = TypeVar("T")


class Threads(Protocol):
    """Does some work in a thread and returns what it returns."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Return what ``work`` returns."""
        ...


async def in_thread(work: Callable[[], T], /) -> T:
    """Do some work as soon as there is a thread for it.

    >>> import asyncio
    >>> asyncio.run(in_thread(lambda: 6 * 7))
    42
    """
    return await to_thread.run_sync(work)
