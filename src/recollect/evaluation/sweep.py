"""Sweeps: a measure over the values of one constant of a preset's fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from recollect import arguments
from recollect.evaluation.outcome import Outcome, System
from recollect.evaluation.significance import interval
from recollect.retrieval.preset import changed_preset

SWEEP_VALUES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"k": (1, 2, 5, 10, 20, 40, 60, 100), "alpha": (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)}
)
"""The constants that can be swept, and their values."""


class SweepPoint(NamedTuple):
    """The mean of a measure at one value of the constant, and its 95 % interval."""

    x: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A measure over the values of one constant, for one or more series such as systems, datasets or embedders.

    >>> sweep = Sweep(title="LoCoMo, turns", parameter="k", measure="any@5",
    ...               series={"RRF": [(60, 0.56, 0.54, 0.58), (5, 0.61, 0.59, 0.63)]})
    >>> sweep.lines["RRF"][0]
    SweepPoint(x=5, mean=0.61, low=0.59, high=0.63)
    """

    title: str
    parameter: str
    """The constant, such as ``k`` or ``alpha``."""
    measure: str
    series: Mapping[str, Sequence[tuple[float, float, float, float]]]
    """By name: the points ``(x, mean, low, high)``."""

    @property
    def lines(self) -> dict[str, tuple[SweepPoint, ...]]:
        """The points of each series, in the order of the constant."""
        return {name: tuple(SweepPoint(*point) for point in sorted(points)) for name, points in self.series.items()}


def sweep_systems(system: System, parameter: str) -> dict[float, System]:
    """Return the systems of a sweep by the value of the constant.

    ``k`` is the constant of reciprocal rank fusion, ``alpha`` the weight of the vector leg in a convex combination;
    the preset fuses by that method and is otherwise unchanged.

    >>> [variant.rules.fusion.k for variant in sweep_systems(System("memini"), "k").values()][:3]
    [1.0, 2.0, 5.0]
    """
    arguments.choice("parameter", parameter, tuple(SWEEP_VALUES))
    systems = {}
    for value in SWEEP_VALUES[parameter]:
        weights = {**system.rules.fusion.weights, "lexical": 1 - value, "vector": value}
        fusion: dict[str, Any] = (
            {"method": "rrf", "k": value} if parameter == "k" else {"method": "convex", "weights": weights}
        )
        preset = changed_preset(system.rules, {"fusion": fusion})
        systems[value] = System(preset, system.mode, f"{system.name}, {parameter} {value:g}")
    return systems


def build_sweeps(
    dataset: str, parameter: str, system: System, outcomes: Sequence[Outcome], measures: Sequence[str]
) -> list[Sweep]:
    """Return a sweep for each measure; ``outcomes`` are those of :func:`sweep_systems`, in the same order.

    >>> build_sweeps("none", "k", System("memini"), [], [])
    []
    """
    sweeps = []
    for measure in measures:
        pairs = zip(SWEEP_VALUES[parameter], outcomes, strict=True)
        points = [(value, *interval(outcome.values[measure])) for value, outcome in pairs]
        title = f"{dataset}, {system.name}"
        sweeps.append(Sweep(title=title, parameter=parameter, measure=measure, series={system.name: points}))
    return sweeps
