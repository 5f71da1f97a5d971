"""Comparisons of evaluated systems with a baseline: by measure and stratum, and question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Question
from recollect.evaluation.outcome import Outcome, Ranking, rounded_mean
from recollect.evaluation.significance import RESAMPLES, SIGNIFICANCE_LEVEL, Difference, holm, paired_difference

ALL_QUESTIONS = "all"  # the name of the stratum that contains all questions


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """A system's mean for one measure over the questions of one stratum, and its difference to the baseline's mean."""

    questions: int
    mean: float
    difference: Difference | None = None
    """The difference to the baseline; ``None`` for the baseline itself."""
    adjusted_p: float = 1.0
    """The p-value of the difference after Holm's correction for the number of compared systems."""

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference excludes zero and ``adjusted_p`` is below 0.05."""
        if self.difference is None or self.difference.verdict == "inconclusive":
            return False
        return self.adjusted_p < SIGNIFICANCE_LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The results of all systems on each measure and stratum; the first stratum is ``all``."""

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    strata: tuple[str, ...]
    results: Mapping[tuple[str, str, str], ComparisonResult]
    """The result for each (system, measure, stratum)."""

    def result(self, system: str, measure: str, stratum: str = ALL_QUESTIONS) -> ComparisonResult:
        """Return the result of ``system`` on ``measure`` in ``stratum``."""
        return self.results[system, measure, stratum]

    @property
    def baseline(self) -> str:
        """The first system, with which the others are compared."""
        return self.systems[0]

    @property
    def compared_systems(self) -> tuple[str, ...]:
        """The systems other than the baseline, in order."""
        return self.systems[1:]


def compare_outcomes(outcomes: Sequence[Outcome], *, resamples: int = RESAMPLES) -> Comparison:
    """Compare each system with the first, the baseline, on the same questions, by measure and stratum.

    Measures with values outside 0 to 1, such as counts, are left out, and so are empty strata. For each measure and
    stratum the p-values of all systems are corrected together by Holm's method.

    >>> import numpy as np
    >>> def outcome(system: str, *values: float) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings=dict.fromkeys("abcdef"[: len(values)]), values={"any@5": np.array(values)})
    >>> comparison = compare_outcomes([outcome("old", 0, 0, 0, 1, 0, 0), outcome("new", 1, 1, 1, 1, 1, 1)])
    >>> result = comparison.result("new", "any@5")
    >>> result.mean, result.difference.verdict, result.adjusted_p
    (1.0, 'better', 0.0625)
    """
    systems = _outcomes_by_system(outcomes)
    shared_measures = [name for name in outcomes[0].values if all(name in outcome.values for outcome in outcomes)]
    all_values = {name: np.concatenate([outcome.values[name] for outcome in outcomes]) for name in shared_measures}
    measures = tuple(name for name, values in all_values.items() if values.min() >= 0 and values.max() <= 1)
    if not measures:
        raise ArgumentError("outcomes", "must share a measure whose values are from 0 to 1, got none")
    strata = {ALL_QUESTIONS: np.arange(len(outcomes[0].rankings))}
    strata |= {name: indexes for name, indexes in outcomes[0].strata.items() if len(indexes) and name != ALL_QUESTIONS}
    results = {}
    for measure in measures:
        for stratum, indexes in strata.items():
            values = {name: outcome.values[measure][indexes] for name, outcome in systems.items()}
            for system, result in _compare_systems(values, resamples).items():
                results[system, measure, stratum] = result
    return Comparison(systems=tuple(systems), measures=measures, strata=tuple(strata), results=results)


def _compare_systems(values: Mapping[str, NDArray[np.float64]], resamples: int) -> dict[str, ComparisonResult]:
    """Return the result of each system from its values on one measure and stratum; the first system is the baseline."""
    baseline, *others = values
    differences = {name: paired_difference(values[name], values[baseline], resamples=resamples) for name in others}
    adjusted = dict(zip(others, holm([difference.p for difference in differences.values()]), strict=True))
    return {
        name: ComparisonResult(len(array), rounded_mean(array), differences.get(name), adjusted.get(name, 1.0))
        for name, array in values.items()
    }


def _outcomes_by_system(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """Return the outcomes by system name; raise ``ArgumentError`` if two have the same name or different questions."""
    if not outcomes or not outcomes[0].rankings:
        raise ArgumentError("outcomes", "must have at least one outcome of at least one question")
    systems: dict[str, Outcome] = {}
    first = outcomes[0]
    for outcome in outcomes:
        if outcome.system in systems:
            raise ArgumentError("outcomes", f"must be of systems with different names, got {outcome.system!r} twice")
        if outcome.dataset != first.dataset or list(outcome.rankings) != list(first.rankings):
            problem = f"must be of the same questions, but those of {outcome.system!r} and {first.system!r} differ"
            raise ArgumentError("outcomes", problem)
        systems[outcome.system] = outcome
    return systems


@dataclass(frozen=True, slots=True)
class QuestionDifference:
    """The values of a system and of the baseline for one question, with the ranks of the first relevant note."""

    question: Question
    value: float
    baseline: float
    """The baseline's value."""
    rank: int | None
    """The rank of the first relevant note in the system's ranking, from 1; ``None`` if there is none."""
    baseline_rank: int | None
    """The rank of the first relevant note in the baseline's ranking; ``None`` if there is none."""

    @property
    def gain(self) -> float:
        """The system's value minus the baseline's, rounded so that rounding errors do not count as a gain or loss."""
        return round(self.value - self.baseline, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinLoss:
    """The questions on which a system is better than the baseline, worse than it, or equal to it."""

    system: str
    baseline: str
    measure: str
    wins: tuple[QuestionDifference, ...]
    """The questions with a higher value than the baseline's, the largest gain first; equal gains in dataset order."""
    losses: tuple[QuestionDifference, ...]
    """The questions with a lower value, the largest loss first."""
    ties: tuple[QuestionDifference, ...]


def win_loss(outcome: Outcome, baseline: Outcome, questions: Iterable[Question], measure: str) -> WinLoss:
    """Compare two systems question by question, by their values on ``measure``.

    >>> import numpy as np
    >>> question = Question(id="q", text="which tea?", collection="tea", relevant={"n7": 1})
    >>> def outcome(system: str, mrr: float, *ids: str) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings={"q": Ranking(ids, (1.0,) * len(ids), 1.0)}, values={"mrr": np.array([mrr])})
    >>> result = win_loss(outcome("new", 1.0, "n7"), outcome("old", 0.5, "n3", "n7"), [question], "mrr")
    >>> [(win.question.text, win.baseline_rank, win.rank, win.gain) for win in result.wins]
    [('which tea?', 2, 1, 0.5)]
    """
    if list(outcome.rankings) != list(baseline.rankings):
        problem = f"must have the same questions as {outcome.system!r}, but those of {baseline.system!r} differ"
        raise ArgumentError("baseline", problem)
    by_id = {question.id: question for question in questions}

    def first_relevant_rank(ranking: Ranking, question: Question) -> int | None:
        return next((rank for rank, note_id in enumerate(ranking.ids, 1) if note_id in question.relevant), None)

    differences = []
    for index, question_id in enumerate(outcome.rankings):
        question = by_id[question_id]
        value, baseline_value = float(outcome.values[measure][index]), float(baseline.values[measure][index])
        rank = first_relevant_rank(outcome.rankings[question_id], question)
        baseline_rank = first_relevant_rank(baseline.rankings[question_id], question)
        differences.append(QuestionDifference(question, value, baseline_value, rank, baseline_rank))
    by_ascending_gain = sorted(differences, key=lambda difference: difference.gain)
    by_descending_gain = sorted(differences, key=lambda difference: -difference.gain)
    return WinLoss(
        system=outcome.system,
        baseline=baseline.system,
        measure=measure,
        wins=tuple(difference for difference in by_descending_gain if difference.gain > 0),
        losses=tuple(difference for difference in by_ascending_gain if difference.gain < 0),
        ties=tuple(difference for difference in differences if difference.gain == 0),
    )
