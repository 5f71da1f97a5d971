"""Queries one after another, by a clock, for as long as there is time; and by several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Generic, TypeVar

import numpy as np

__all__ = ["Asked", "Handed", "asked_in_turn", "latencies", "throughput"]

T = TypeVar("T")


@dataclass
class Asked:
    """What was found for each query that there was time for, and how many seconds each took."""

    found: list[list[int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class Handed(Generic[T]):
    """Hands things over, and keeps count of the time that it took to make them, which is nobody's but ours.

    >>> handed = Handed(iter("tea"))
    >>> list(handed), handed.seconds < 1
    (['t', 'e', 'a'], True)
    """

    def __init__(self, made: Iterable[T], told: Callable[[], None] = lambda: None) -> None:
        """Keep what makes them, and what to call after each."""
        self._made = iter(made)
        self._told = told
        self.seconds = 0.0

    def __iter__(self) -> Iterator[T]:
        """Hand over one after another."""
        while True:
            began = perf_counter()
            try:
                each = next(self._made)
            except StopIteration:
                return
            finally:
                self.seconds += perf_counter() - began
            yield each
            self._told()


def asked_in_turn(questions: Sequence[T], ask: Callable[[T], list[int]], budget: float) -> Asked:
    """Put questions one after another, at least one, until there are no more or ``budget`` seconds are over.

    >>> asked_in_turn([1, 2, 3], lambda number: [number], budget=0).found
    [[1]]
    """
    told = Asked()
    began = perf_counter()
    for question in questions:
        started = perf_counter()
        found = ask(question)
        told.seconds.append(perf_counter() - started)
        told.found.append(found)
        if perf_counter() - began > budget:
            break
    return told


def latencies(seconds: Sequence[float]) -> dict[str, float]:
    """Return what half, 95 and 99 of 100 queries take at most, in milliseconds, and how many there were.

    >>> latencies([0.001, 0.003])
    {'p50_ms': 2.0, 'p95_ms': 2.9, 'p99_ms': 2.98, 'queries': 2}
    """
    told = {f"p{share}_ms": round(1000 * float(np.percentile(seconds, share)), 4) for share in (50, 95, 99)}
    return {**told, "queries": len(seconds)}


def throughput(questions: Sequence[T], ask: Callable[[T], object], threads: int, budget: float) -> float:
    """Return how many questions so many threads together have answered in a second.

    >>> throughput([1, 2, 3], lambda number: number, threads=2, budget=0.01) > 100
    True
    """
    answered = [0] * threads
    began = perf_counter()

    def work(thread: int) -> None:
        place = thread
        while perf_counter() - began < budget:
            ask(questions[place % len(questions)])
            answered[thread] += 1
            place += threads

    started = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    return sum(answered) / (perf_counter() - began)
