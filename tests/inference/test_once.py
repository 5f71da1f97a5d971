from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from recollect.inference.once import OncePerProcess


def test_threads_that_ask_at_once_make_it_once() -> None:
    made: list[object] = []
    barrier = Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    once = OncePerProcess(make)

    def ask(_: int) -> object:
        barrier.wait()
        return once.get()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == set(made)
    assert len(made) == 1


def test_a_failure_is_not_remembered() -> None:
    outcomes = [ValueError("not yet"), None]

    def make() -> str:
        outcome = outcomes.pop(0)
        if outcome:
            raise outcome
        return "made"

    once = OncePerProcess(make)
    with pytest.raises(ValueError, match="not yet"):
        once.get()
    assert once.get() == "made"


def test_another_process_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    once = OncePerProcess(object)
    here = once.get()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert once.get() is not here
    assert once.get() is here
