"""Which systems a sweep puts side by side: one preset, with one constant of its fusion turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from recollect import arguments
from recollect.evaluation.outcome import Outcome
from recollect.evaluation.significance import interval
from recollect.evaluation.sweep import Sweep
from recollect.evaluation.system import System
from recollect.retrieval.preset import changed_preset

__all__ = ["SWEEP_VALUES", "build_sweeps", "sweep_systems"]

SWEEP_VALUES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"k": (1, 2, 5, 10, 20, 40, 60, 100), "alpha": (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)}
)
"""The constants that can be turned, and the values that they take."""


def sweep_systems(system: System, parameter: str) -> dict[float, System]:
    """Return the systems of a sweep by the value of the constant.

    ``k`` damps reciprocal ranks, and ``alpha`` is the share of the vector leg in a convex combination; both make the
    preset fuse by that method, and leave the rest of it as it is.

    >>> [each.rules.fusion.k for each in sweep_systems(System("memini"), "k").values()][:3]
    [1.0, 2.0, 5.0]
    """
    values = SWEEP_VALUES[arguments.choice("parameter", parameter, tuple(SWEEP_VALUES))]
    return {value: _turned(system, parameter, value) for value in values}


def build_sweeps(
    dataset: str, parameter: str, system: System, outcomes: Sequence[Outcome], measures: Sequence[str]
) -> list[Sweep]:
    """Return a sweep for each measure; ``outcomes`` are those of :func:`sweep_systems`, in the same order.

    >>> build_sweeps("none", "k", System("memini"), [], [])
    []
    """
    values = SWEEP_VALUES[parameter]
    return [
        Sweep(
            title=f"{dataset}, {system.name}",
            parameter=parameter,
            measure=measure,
            series={
                system.name: [
                    (value, *interval(outcome.values[measure])) for value, outcome in zip(values, outcomes, strict=True)
                ]
            },
        )
        for measure in measures
    ]


def _turned(system: System, parameter: str, value: float) -> System:
    fusion = (
        {"method": "rrf", "k": value}
        if parameter == "k"
        else {"method": "convex", "weights": {**system.rules.fusion.weights, "lexical": 1 - value, "vector": value}}
    )
    turned = changed_preset(system.rules, {"fusion": fusion})
    return System(turned, system.mode, f"{system.name}, {parameter} {value:g}")
