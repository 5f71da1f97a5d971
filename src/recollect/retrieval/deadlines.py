"""Work beside the search, whose answer one waits for only so long."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import copy_context
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

__all__ = ["Task", "Workers"]

Answer = TypeVar("Answer")

MOST_ABANDONED = 32
"""How many calls of one part may be left behind, still running, before no new one is begun."""


class Workers:
    """The calls of one embedder or reranker that were waited for in vain and have not returned yet.

    A forked child has none of its parent's threads, and begins to count anew.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._of: dict[int, _Count] = {}

    def count(self) -> _Count:
        """Return the count of this process; setdefault is one step, so that a fork never meets a lock that is held."""
        return self._of.setdefault(os.getpid(), _Count())


class _Count:
    def __init__(self) -> None:
        self.lock = Lock()
        self.abandoned = 0


class Task(Generic[Answer]):
    """A call in a thread of its own, so that nothing can hold up a search for ever.

    Python cannot stop a thread: a call that is waited for in vain goes on in the background until it returns.

    >>> Task(lambda: 6 * 7, Workers()).result(seconds=5)
    42
    """

    def __init__(self, work: Callable[[], Answer], workers: Workers) -> None:
        """Begin, or raise ``TimeoutError`` where too many earlier calls hang, or no thread is to be had."""
        self._count = workers.count()
        if self._count.abandoned >= MOST_ABANDONED:
            raise TimeoutError(f"{self._count.abandoned} earlier calls have not returned yet")
        self._work = work
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._done = Event()
        self._left = False
        thread = Thread(target=copy_context().run, args=(self._run,), daemon=True, name="recollect-task")
        try:
            thread.start()
        except RuntimeError as error:
            raise TimeoutError(f"it could not be asked: {error}") from error

    def result(self, seconds: float) -> Answer:
        """Return the answer, or raise what the work raised, or ``TimeoutError`` after ``seconds``."""
        if not self._done.wait(seconds):
            self._leave()
            raise TimeoutError(f"no answer within {seconds:g} seconds")
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def _run(self) -> None:
        try:
            self._answer.append(self._work())
        except BaseException as error:  # noqa: BLE001 (raised where the answer is asked for)
            self._error = error
        with self._count.lock:
            self._done.set()
            if self._left:
                self._count.abandoned -= 1

    def _leave(self) -> None:
        with self._count.lock:
            if not self._done.is_set():
                self._left = True
                self._count.abandoned += 1
