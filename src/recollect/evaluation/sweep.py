"""How a measure moves as one constant is turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recollect.errors import ArgumentError

__all__ = ["Sweep", "SweepPoint"]


class SweepPoint(NamedTuple):
    """The mean of a measure at one value of the constant, and its 95 % interval."""

    x: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A measure at several values of one constant, for one or more series such as systems, datasets or embedders.

    >>> sweep = Sweep(title="LoCoMo, turns", parameter="k", measure="any@5",
    ...               series={"RRF": [(60, 0.56, 0.54, 0.58), (5, 0.61, 0.59, 0.63)]})
    >>> sweep.lines["RRF"][0]
    SweepPoint(x=5, mean=0.61, low=0.59, high=0.63)
    """

    title: str
    parameter: str
    """The constant that is turned, such as ``k`` or ``alpha``."""
    measure: str
    series: Mapping[str, Sequence[tuple[float, float, float, float]]]
    """By name: the points ``(x, mean, low, high)``."""

    def __post_init__(self) -> None:
        """Make sure that there is something to draw."""
        if not self.series:
            raise ArgumentError("series", f"must not be empty, got none for the sweep {self.title!r}")
        for name, points in self.series.items():
            if not points:
                raise ArgumentError("series", f"must each have a point, got none for {name!r}")

    @property
    def lines(self) -> dict[str, tuple[SweepPoint, ...]]:
        """The points of each series, in the order of the constant."""
        return {name: tuple(SweepPoint(*point) for point in sorted(points)) for name, points in self.series.items()}
