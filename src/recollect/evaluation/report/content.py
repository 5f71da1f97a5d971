"""The numbers of a report, computed once for all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.errors import ArgumentError
from recollect.evaluation.comparison import Comparison, WinLoss, compare_outcomes, win_loss
from recollect.evaluation.dataset import Dataset
from recollect.evaluation.outcome import Outcome
from recollect.evaluation.report.text import format_fraction, verdict_text
from recollect.evaluation.significance import RESAMPLES, Interval, interval

_GRADED_MEASURES = ("ndcg@10", "mrr")
"""Measures with more than two values, by which wins and losses are counted if possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A dataset, the outcomes of systems on it, and all numbers of a report."""

    dataset: Dataset
    outcomes: tuple[Outcome, ...]
    comparison: Comparison
    intervals: Mapping[tuple[str, str], Interval]
    """By system and measure: the mean over all questions, with its own interval."""
    win_losses: tuple[WinLoss, ...]
    """Each system but the baseline against it, question by question."""
    date: str
    resamples: int

    @property
    def questions(self) -> int:
        """The number of answerable questions."""
        return len(self.outcomes[0].rankings)

    @property
    def depth(self) -> int:
        """The length of the longest ranking."""
        return max(len(ranking.ids) for outcome in self.outcomes for ranking in outcome.rankings.values())

    @property
    def embedders(self) -> list[str]:
        """The embedders of the systems, each once."""
        return list(dict.fromkeys(outcome.embedder for outcome in self.outcomes))

    def bar_labels(self, measure: str) -> dict[str, str]:
        """Return the label of each system's bar: mean, interval and verdict."""
        labels = {}
        for system in self.comparison.systems:
            mean, low, high = map(format_fraction, self.intervals[system, measure])
            verdict = verdict_text(self.comparison.result(system, measure))
            labels[system] = f"{system}: {mean} ({low} to {high}), {verdict}"
        return labels


def build_report(
    outcomes: Sequence[Outcome], dataset: Dataset, *, date: str = "", resamples: int = RESAMPLES
) -> Report:
    """Compute all numbers of a report; the first outcome is the baseline of the others, ``date`` is printed as it is.

    >>> import numpy as np
    >>> from recollect.evaluation import Question, Ranking
    >>> question = Question(id="q", text="which tea?", collection="tea", relevant={"n7": 1})
    >>> dataset = Dataset(name="tiny", collections={}, questions=(question,))
    >>> def outcome(system: str, mrr: float, *ids: str) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings={"q": Ranking(ids, (1.0,) * len(ids), 1.0)}, values={"mrr": np.array([mrr])})
    >>> report = build_report([outcome("old", 0.5, "n3", "n7"), outcome("new", 1.0, "n7")], dataset)
    >>> report.comparison.result("new", "mrr").difference.mean
    0.5
    """
    comparison = compare_outcomes(outcomes, resamples=resamples)
    if outcomes[0].dataset != dataset.name:
        raise ArgumentError("dataset", f"must be that of the outcomes, {outcomes[0].dataset!r}, got {dataset.name!r}")
    graded = (name for name in _GRADED_MEASURES if name in comparison.measures)
    measure = next(graded, comparison.measures[0])
    return Report(
        dataset=dataset,
        outcomes=tuple(outcomes),
        comparison=comparison,
        intervals={
            (outcome.system, name): interval(outcome.values[name], resamples=resamples)
            for outcome in outcomes
            for name in comparison.measures
        },
        win_losses=tuple(win_loss(outcome, outcomes[0], dataset.questions, measure) for outcome in outcomes[1:]),
        date=date,
        resamples=resamples,
    )
