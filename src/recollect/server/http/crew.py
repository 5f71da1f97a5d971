"""Threads that do what blocks: so many at once, so many waiting, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from recollect.server.http.problems import ProblemError

__all__ = ["Crew"]

T = TypeVar("T")


class Crew:
    """A fixed number of threads, and a queue before them that is not endless.

    Python cannot stop a thread. Work that takes too long goes on until it is done and keeps its thread for so long; who
    asked is told at once. Work that nobody waits for any more before it began is never begun.
    """

    def __init__(self, name: str, *, threads: int, waiting: int, seconds: float) -> None:
        """Hire threads, which are started when they are needed."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{name}")
        self._room = threads + waiting
        self._seconds = seconds
        self._lock = Lock()
        self.busy = 0
        """How many pieces of work are waiting or under way."""

    async def run(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, or raise what it raises, or a problem if there is no room or no time."""
        with self._lock:
            if self.busy >= self._room:
                raise ProblemError("overloaded", headers={"Retry-After": "1"})
            self.busy += 1
        future = self._pool.submit(work)
        future.add_done_callback(self._done)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ProblemError("timed-out", f"it took longer than {self._seconds:g} seconds") from None

    def close(self) -> None:
        """Wait for what is under way, and take on nothing more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _done(self, _: Future[T]) -> None:
        with self._lock:
            self.busy -= 1
