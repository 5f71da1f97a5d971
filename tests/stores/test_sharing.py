"""Work that is shared is done once and whole, and what goes wrong in a helper is told."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque

import pytest

from recollect.stores import sharing
from recollect.stores.sharing import shared


def test_an_error_of_a_helper_is_raised() -> None:
    here, begun = threading.current_thread(), threading.Event()

    def work() -> None:
        if threading.current_thread() is not here:
            begun.set()
            raise MemoryError("no room")
        begun.wait(30)

    with pytest.raises(MemoryError, match="no room"):
        shared(work, helpers=1)


def test_without_threads_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    sharing._crew.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", none)
    left, done = deque(range(50)), []

    def work() -> None:
        while left:
            done.append(left.popleft())

    shared(work, helpers=2)
    assert done == list(range(50))


def test_who_fails_here_waits_for_the_helpers() -> None:
    here, begun, ended = threading.current_thread(), threading.Event(), threading.Event()

    def work() -> None:
        if threading.current_thread() is here:
            begun.wait(30)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.1)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        shared(work, helpers=1)
    assert ended.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    script = """
import os, threading
from recollect.stores.sharing import shared
shared(lambda: None, helpers=1)
child = os.fork()
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
together = threading.Barrier(2)
shared(lambda: together.wait(30), helpers=1)  # neither ends without the other
os._exit(7)
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 7
