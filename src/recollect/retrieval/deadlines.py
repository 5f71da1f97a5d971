"""Work beside the search, whose answer one waits for only so long."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

__all__ = ["Task"]

Answer = TypeVar("Answer")

MOST_ABANDONED = 32
"""How many tasks may be left behind, still running, before no new one is begun."""

_abandoned = 0
_lock = Lock()


class Task(Generic[Answer]):
    """A call in a thread of its own, so that two legs can run at once and none can hold up a search for ever.

    Python cannot stop a thread: a task that is waited for in vain goes on in the background until it returns.

    >>> Task(lambda: 6 * 7).result(seconds=5)
    42
    """

    def __init__(self, work: Callable[[], Answer]) -> None:
        """Begin."""
        if _abandoned >= MOST_ABANDONED:
            raise TimeoutError(f"{_abandoned} earlier calls have not returned yet")
        self._work = work
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._done = Event()
        self._left = False
        Thread(target=copy_context().run, args=(self._run,), daemon=True, name="recollect-task").start()

    def result(self, seconds: float) -> Answer:
        """Return the answer, or raise what the work raised, or ``TimeoutError`` after ``seconds``."""
        if not self._done.wait(seconds):
            self._leave()
            raise TimeoutError(f"no answer within {seconds:g} seconds")
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def _run(self) -> None:
        global _abandoned  # noqa: PLW0603 (one count for all tasks of the process)
        try:
            self._answer.append(self._work())
        except BaseException as error:  # noqa: BLE001 (raised where the answer is asked for)
            self._error = error
        with _lock:
            self._done.set()
            if self._left:
                _abandoned -= 1

    def _leave(self) -> None:
        global _abandoned  # noqa: PLW0603
        with _lock:
            if not self._done.is_set():
                self._left = True
                _abandoned += 1
