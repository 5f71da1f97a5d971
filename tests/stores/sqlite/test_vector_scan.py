"""``run_parallel`` does all work once, and raises the errors of its helper threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque

import pytest

from recollect.stores.sqlite import vector_scan
from recollect.stores.sqlite.vector_scan import run_parallel


def test_run_parallel_raises_the_error_of_a_helper() -> None:
    main, started = threading.current_thread(), threading.Event()

    def work() -> None:
        if threading.current_thread() is not main:
            started.set()
            raise MemoryError("no room")
        started.wait(30)

    with pytest.raises(MemoryError, match="no room"):
        run_parallel(work, helpers=1)


def test_run_parallel_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    vector_scan._thread_pool.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", fail)
    tasks, done = deque(range(50)), []

    def work() -> None:
        while tasks:
            done.append(tasks.popleft())

    run_parallel(work, helpers=2)
    assert done == list(range(50))


def test_run_parallel_waits_for_helpers_after_an_error() -> None:
    main, started, ended = threading.current_thread(), threading.Event(), threading.Event()

    def work() -> None:
        if threading.current_thread() is main:
            started.wait(30)
            raise KeyboardInterrupt
        started.set()
        time.sleep(0.1)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_parallel(work, helpers=1)
    assert ended.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_process_has_its_own_thread_pool() -> None:
    script = """
import os, threading
from recollect.stores.sqlite.vector_scan import run_parallel
run_parallel(lambda: None, helpers=1)
child = os.fork()
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
together = threading.Barrier(2)
run_parallel(lambda: together.wait(30), helpers=1)  # neither ends without the other
os._exit(7)
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 7
