"""Work that is shared is done once and whole, and what goes wrong in a helper is told."""

from __future__ import annotations

import threading
from collections import deque

import pytest

from recollect.stores.sharing import shared


def test_an_error_of_a_helper_is_raised() -> None:
    here = threading.current_thread()

    def work() -> None:
        if threading.current_thread() is not here:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        shared(work, helpers=1)


def test_without_threads_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    left, done = deque(range(50)), []

    def work() -> None:
        while left:
            done.append(left.popleft())

    shared(work, helpers=2)
    assert done == list(range(50))
