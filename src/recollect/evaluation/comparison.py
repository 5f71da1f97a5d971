"""Several systems against one of them, on every measure and every kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ArgumentError
from recollect.evaluation.outcome import Outcome, rounded_mean
from recollect.evaluation.significance import RESAMPLES, SIGNIFICANT, Difference, holm, paired_difference

__all__ = ["ALL", "Comparison", "ComparisonResult", "compare_outcomes"]

ALL = "all"
"""The stratum of all questions."""


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """How a system did on one measure over the questions of one stratum, and how that compares to the baseline.

    >>> ComparisonResult(200, 0.5, Difference(0.04, 0.01, 0.07, p=0.02), adjusted=0.06).difference.verdict
    'better'
    """

    questions: int
    value: float
    difference: Difference | None = None
    """To the baseline; ``None`` for the baseline itself."""
    adjusted: float = 1.0
    """The p-value of the difference after Holm's correction for the number of systems that were compared."""

    @property
    def significant(self) -> bool:
        """Whether the difference holds after the correction, too: its interval is off zero and ``adjusted`` below 0.05.

        >>> ComparisonResult(200, 0.5, Difference(0.04, 0.01, 0.07, p=0.02), adjusted=0.06).significant
        False
        """
        if self.difference is None or self.difference.verdict == "inconclusive":
            return False
        return self.adjusted < SIGNIFICANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Where every system stands on each measure and stratum, ``all`` first among the strata."""

    baseline: str
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    strata: tuple[str, ...]
    standings: Mapping[tuple[str, str, str], ComparisonResult]
    """By system, measure and stratum."""

    def of(self, system: str, measure: str, stratum: str = ALL) -> ComparisonResult:
        """Return where ``system`` stands on ``measure`` in ``stratum``."""
        return self.standings[system, measure, stratum]

    @property
    def compared_systems(self) -> tuple[str, ...]:
        """The systems that are held against the baseline, in order."""
        return tuple(system for system in self.systems if system != self.baseline)


def compare_outcomes(
    outcomes: Sequence[Outcome],
    *,
    baseline: str | None = None,
    measures: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare each system with ``baseline``, the first if it is not named, by their values for the same questions.

    ``measures`` and ``strata`` are all that the outcomes have, where they are not named; measures whose values are no
    fractions of 1, such as counts, and strata without a question are left out. For each measure and stratum the
    p-values of all systems are corrected together, after Holm.

    >>> import numpy as np
    >>> def outcome(system: str, *values: float) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings=dict.fromkeys("abcdef"[: len(values)]), values={"any@5": np.array(values)})
    >>> found = compare_outcomes([outcome("old", 0, 0, 0, 1, 0, 0), outcome("new", 1, 1, 1, 1, 1, 1)])
    >>> found.of("new", "any@5").value, found.of("new", "any@5").difference.verdict, found.of("new", "any@5").adjusted
    (1.0, 'better', 0.0625)
    """
    systems = _comparable(outcomes)
    first = baseline if baseline is not None else outcomes[0].system
    if first not in systems:
        raise ArgumentError("baseline", f"must be one of {', '.join(systems)}, got {first!r}")
    shared = _chosen("measures", measures, [name for name in outcomes[0].values if _comparable_by(name, outcomes)])
    if not shared:
        raise ArgumentError("outcomes", "must share a measure whose values are fractions of 1, got none")
    groups = _groups(outcomes[0], strata)
    standings = {}
    for measure in shared:
        for stratum, places in groups.items():
            family = _family(
                {name: outcome.values[measure][places] for name, outcome in systems.items()}, first, resamples
            )
            standings.update({(system, measure, stratum): standing for system, standing in family.items()})
    return Comparison(
        baseline=first, systems=tuple(systems), measures=shared, strata=tuple(groups), standings=standings
    )


def _family(values: Mapping[str, NDArray[np.float64]], baseline: str, resamples: int) -> dict[str, ComparisonResult]:
    """Return the standings of all systems on one measure in one stratum, their p-values corrected together."""
    differences = {
        system: paired_difference(found, values[baseline], resamples=resamples)
        for system, found in values.items()
        if system != baseline
    }
    adjusted = dict(zip(differences, holm([difference.p for difference in differences.values()]), strict=True))
    return {
        system: ComparisonResult(len(found), rounded_mean(found), differences.get(system), adjusted.get(system, 1.0))
        for system, found in values.items()
    }


def _comparable_by(measure: str, outcomes: Sequence[Outcome]) -> bool:
    found = [outcome.values[measure] for outcome in outcomes if measure in outcome.values]
    return len(found) == len(outcomes) and all(bool(((values >= 0) & (values <= 1)).all()) for values in found)


def _comparable(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """Return the outcomes by system if they are of the same questions and have names of their own."""
    if not outcomes or not outcomes[0].rankings:
        raise ArgumentError("outcomes", "must hold at least one outcome of at least one question")
    systems: dict[str, Outcome] = {}
    for outcome in outcomes:
        if outcome.system in systems:
            raise ArgumentError(
                "outcomes", f"must each be of a system with a name of its own, got {outcome.system!r} twice"
            )
        if outcome.dataset != outcomes[0].dataset or list(outcome.rankings) != list(outcomes[0].rankings):
            raise ArgumentError(
                "outcomes",
                f"must be of the same questions, but {outcome.system!r} was not asked those of {outcomes[0].system!r}",
            )
        systems[outcome.system] = outcome
    return systems


def _groups(outcome: Outcome, strata: Sequence[str] | None) -> dict[str, NDArray[np.intp]]:
    groups = {ALL: np.arange(len(outcome.rankings))}
    groups |= {name: places for name, places in outcome.strata.items() if len(places) and name != ALL}
    return {name: groups[name] for name in _chosen("strata", strata, list(groups))}


def _chosen(argument: str, names: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    for name in names or ():
        if name not in known:
            raise ArgumentError(argument, f"must be some of {', '.join(known)}, got {name!r}")
    return tuple(known if names is None else dict.fromkeys(names))
