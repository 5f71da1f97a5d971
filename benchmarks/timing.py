"""Compare the speed of two functions: in turns, in the same run, the fastest round of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns

Work = Callable[[], object]

_ROUNDS = 15
_ROUND_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Our cost, that of a peer, and the largest ratio allowed; times, unless ``unit`` says otherwise."""

    name: str
    ours: float
    peer: str
    theirs: float
    at_most: float
    unit: str = "µs"

    @property
    def ratio(self) -> float:
        """Our cost over the peer's."""
        return self.ours / self.theirs

    @property
    def holds(self) -> bool:
        """Whether the ratio is within the target."""
        return self.ratio <= self.at_most

    def __str__(self) -> str:
        """Return a line of a table."""
        verdict = "holds" if self.holds else "MISSED"
        return (
            f"{self.name:<42} {self.ours:>10.1f} {self.unit}   {self.peer:<32} {self.theirs:>10.1f} {self.unit}"
            f"   ratio {self.ratio:>6.2f}, at most {self.at_most:g}: {verdict}"
        )


def compare(name: str, ours: Work, peer: str, theirs: Work, *, at_most: float) -> Comparison:
    """Time both in turns, so that a slow moment of the machine affects both; use the fastest round of each."""
    calls = [_calls(work) for work in (ours, theirs)]
    best = [float("inf"), float("inf")]
    for _ in range(_ROUNDS):
        for which, work in enumerate((ours, theirs)):
            best[which] = min(best[which], _nanoseconds(work, calls[which]) / calls[which])
    return Comparison(name, best[0] / 1000, peer, best[1] / 1000, at_most)


def _calls(work: Work) -> int:
    """Return the number of calls that fill a round, after a warm-up call."""
    work()
    return max(1, _ROUND_NS // max(1, _nanoseconds(work, 1)))


def _nanoseconds(work: Work, calls: int) -> int:
    start = perf_counter_ns()
    for _ in range(calls):
        work()
    return perf_counter_ns() - start
