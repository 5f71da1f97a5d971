from __future__ import annotations

import threading
from collections.abc import Iterator
from time import sleep

from benchmarks.peers.timing import Handed, asked_in_turn, throughput


def test_what_it_takes_to_make_things_is_known() -> None:
    def made() -> Iterator[int]:
        sleep(0.02)
        yield 1
        yield 2

    told: list[bool] = []
    handed = Handed(made(), lambda: told.append(True))
    for _ in handed:
        sleep(0.05)
    assert 0.02 <= handed.seconds < 0.07
    assert len(told) == 2


def test_all_are_asked_while_there_is_time() -> None:
    told = asked_in_turn([3, 1], lambda number: [number], budget=60)
    assert told.found == [[3], [1]]
    assert len(told.seconds) == 2


def test_as_many_threads_ask_as_one_says() -> None:
    seen: set[int] = set()

    def ask(_: int) -> None:
        seen.add(threading.get_ident())
        sleep(0.001)

    assert throughput([1, 2, 3], ask, threads=2, budget=0.05) > 0
    assert len(seen) == 2
