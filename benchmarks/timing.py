"""Compare the speed of two functions in alternating rounds of the same run; the fastest round of each counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns

Work = Callable[[], object]

_ROUNDS = 15
_ROUND_NS = 20_000_000
"""The approximate duration of a round in nanoseconds; a round has as many calls as fit."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cost of Recollect (``ours``) and of a peer (``theirs``), both in ``unit``, and the largest allowed ratio."""

    name: str
    ours: float
    peer: str
    theirs: float
    at_most: float
    unit: str = "µs"

    @property
    def ratio(self) -> float:
        """The cost of Recollect divided by the cost of the peer."""
        return self.ours / self.theirs

    @property
    def holds(self) -> bool:
        """Whether the ratio is within the target."""
        return self.ratio <= self.at_most

    def __str__(self) -> str:
        """Return the comparison as a line of a table."""
        verdict = "holds" if self.holds else "MISSED"
        return (
            f"{self.name:<42} {self.ours:>10.1f} {self.unit}   {self.peer:<32} {self.theirs:>10.1f} {self.unit}"
            f"   ratio {self.ratio:>6.2f}, at most {self.at_most:g}: {verdict}"
        )


def compare(name: str, ours: Work, peer: str, theirs: Work, *, at_most: float) -> Comparison:
    """Time both functions in turns, so that a slow moment of the machine affects both; return microseconds per call."""
    calls = [_calls_per_round(work) for work in (ours, theirs)]
    fastest_ns = [float("inf"), float("inf")]
    for _ in range(_ROUNDS):
        for index, work in enumerate((ours, theirs)):
            fastest_ns[index] = min(fastest_ns[index], _nanoseconds(work, calls[index]) / calls[index])
    return Comparison(name, fastest_ns[0] / 1000, peer, fastest_ns[1] / 1000, at_most)


def _calls_per_round(work: Work) -> int:
    """Return the number of calls that fill a round; call once before, as a warm-up."""
    work()
    return max(1, _ROUND_NS // max(1, _nanoseconds(work, 1)))


def _nanoseconds(work: Work, calls: int) -> int:
    """Return the duration of a number of calls together."""
    start = perf_counter_ns()
    for _ in range(calls):
        work()
    return perf_counter_ns() - start
