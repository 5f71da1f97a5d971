"""What a report says, worked out once, however it is then written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recollect.errors import ArgumentError
from recollect.evaluation.comparison import Comparison, compare_outcomes
from recollect.evaluation.dataset import Dataset
from recollect.evaluation.outcome import Outcome
from recollect.evaluation.significance import RESAMPLES, Interval, interval
from recollect.evaluation.sweep import Sweep
from recollect.evaluation.win_loss import WinLoss, win_loss

__all__ = ["SHOWN", "Latency", "Report", "build_report"]

SHOWN = 50
"""How many won and how many lost questions a report lists for each system."""

_GRADED = ("ndcg@10", "mrr")
"""Measures that tell questions apart by more than found or not found, the best known first."""


class Latency(NamedTuple):
    """How many milliseconds half of the searches took at most, and 95 of 100."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A dataset, the systems that were put to it, and all figures of a report."""

    dataset: Dataset
    outcomes: tuple[Outcome, ...]
    comparison: Comparison
    intervals: Mapping[tuple[str, str], Interval]
    """By system and measure: the mean over all questions, with its own interval."""
    contests: tuple[WinLoss, ...]
    """Each system but the baseline against it, question by question."""
    latencies: Mapping[str, Latency]
    sweeps: tuple[Sweep, ...]
    date: str
    resamples: int

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        return len(self.outcomes[0].rankings)

    @property
    def depth(self) -> int:
        """How many notes the longest ranking holds."""
        return max(len(ranking.ids) for outcome in self.outcomes for ranking in outcome.rankings.values())

    @property
    def embedders(self) -> list[str]:
        """The embedders of the systems, each once."""
        return list(dict.fromkeys(outcome.embedder for outcome in self.outcomes))


def build_report(
    outcomes: Sequence[Outcome],
    dataset: Dataset,
    *,
    sweeps: Sequence[Sweep] = (),
    baseline: str | None = None,
    measure: str | None = None,
    date: str = "",
    resamples: int = RESAMPLES,
) -> Report:
    """Work out all figures of a report; ``measure`` is the one by which single questions are won and lost.

    >>> import numpy as np
    >>> from recollect.evaluation import Collection, Question, Ranking
    >>> asked = Question(id="q", text="which tea?", collection="home", relevant={"n7": 1})
    >>> dataset = Dataset(name="tiny", collections={"home": Collection(id="home", notes=())}, questions=(asked,))
    >>> def outcome(system: str, mrr: float, *ids: str) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings={"q": Ranking(ids, (1.0,) * len(ids), 1.0)}, values={"mrr": np.array([mrr])})
    >>> report = build_report([outcome("old", 0.5, "n3", "n7"), outcome("new", 1.0, "n7")], dataset)
    >>> report.comparison.of("new", "mrr").difference.mean, report.latencies["new"].p95
    (0.5, 1.0)
    """
    comparison = compare_outcomes(outcomes, baseline=baseline, resamples=resamples)
    if outcomes[0].dataset != dataset.name:
        raise ArgumentError("dataset", f"must be that of the outcomes, {outcomes[0].dataset!r}, got {dataset.name!r}")
    systems = {outcome.system: outcome for outcome in outcomes}
    measured = measure if measure is not None else _telling(comparison.measures)
    return Report(
        dataset=dataset,
        outcomes=tuple(outcomes),
        comparison=comparison,
        intervals={
            (name, each): interval(outcome.values[each], resamples=resamples)
            for name, outcome in systems.items()
            for each in comparison.measures
        },
        contests=tuple(
            win_loss(systems[name], systems[comparison.baseline], dataset.questions, measured)
            for name in comparison.compared_systems
        ),
        latencies={name: _latency(outcome) for name, outcome in systems.items()},
        sweeps=tuple(sweeps),
        date=date,
        resamples=resamples,
    )


def _telling(measures: Sequence[str]) -> str:
    return next((name for name in _GRADED if name in measures), measures[0])


def _latency(outcome: Outcome) -> Latency:
    p50, p95 = np.percentile([ranking.milliseconds for ranking in outcome.rankings.values()], [50, 95])
    return Latency(float(p50), float(p95))
