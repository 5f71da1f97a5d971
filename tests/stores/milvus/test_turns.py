"""Who waits for whom."""

from __future__ import annotations

import threading

import pytest

from recollect.errors import StoreBusyError
from recollect.stores.milvus.turns import Turns


def test_one_writes_while_others_read() -> None:
    turns = Turns()
    with turns.writing(), turns.reading(), turns.reading():
        with pytest.raises(StoreBusyError, match="others kept the store busy; nothing was written after 0 seconds"):
            turns.writing(0).__enter__()
        with pytest.raises(StoreBusyError, match="after 0 seconds"):
            turns.writing(0.01).__enter__()
    with turns.writing(0):
        pass


def test_nobody_reads_what_is_half_written() -> None:
    turns, order = Turns(), list[str]()
    reading, written = threading.Event(), threading.Event()

    def write() -> None:
        reading.wait()
        with turns.writing(), turns.alone():
            order.append("written")
        written.set()

    def read() -> None:
        with turns.reading():
            order.append("read after")

    writer = threading.Thread(target=write)
    writer.start()
    with turns.reading():
        reading.set()
        while not turns._closing_in:
            threading.Event().wait(0.001)
        late = threading.Thread(target=read)
        late.start()
        late.join(0.05)
        order.append("read before")
    written.wait()
    writer.join()
    late.join()
    assert order == ["read before", "written", "read after"]


def test_who_is_interrupted_while_waiting_lets_others_read(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns()
    with turns.reading():
        with monkeypatch.context() as patched:
            patched.setattr(turns._changed, "wait_for", interrupt)
            with pytest.raises(KeyboardInterrupt):
                turns.alone().__enter__()
        with turns.reading():
            pass


def interrupt(_: object) -> None:
    raise KeyboardInterrupt
