"""What came of putting every question of a dataset to one system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.evaluation.calibration import TrustMetrics

__all__ = ["Outcome", "Ranking", "rounded_mean"]

SETTLED = 12
"""To so many digits a mean does not depend on the order in which values were added."""


def rounded_mean(values: NDArray[np.float64]) -> float:
    """Return the mean of some values, the same wherever it is taken.

    >>> rounded_mean(np.array([0.1, 0.2, 0.3]))
    0.2
    """
    return round(float(values.mean()), SETTLED)


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system answered to one question: the ids and scores of notes, best first, and how long that took.

    >>> Ranking(("n1", "n2"), (0.9, 0.4), 1.5, confidences=(0.6, 0.7)).best_confidence
    0.7
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    milliseconds: float
    warnings: tuple[str, ...] = ()
    """What the search had to do without."""
    confidences: tuple[float, ...] | None = None
    """The confidence of each hit, from 0 to 1; ``None`` if unknown, as in runs of other systems."""

    @property
    def best_confidence(self) -> float | None:
        """The highest confidence among the hits, 0 if there is no hit; ``None`` if unknown."""
        return None if self.confidences is None else max(self.confidences, default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The rankings of one system for all questions of a dataset, and what each is worth.

    >>> outcome = Outcome(dataset="tiny", system="default", preset="default", mode="auto", embedder="none",
    ...     rankings={"q1": Ranking(("n1",), (0.5,), 2.0), "q2": Ranking((), (), 4.0)},
    ...     values={"any@5": np.array([1.0, 0.0])}, strata={"exact": np.array([0])})
    >>> outcome.mean("any@5"), outcome.mean("any@5", "exact"), outcome.latency(50)
    (0.5, 1.0, 3.0)
    """

    dataset: str
    system: str
    """What to call it in a table: the preset's name, with the mode where that is not ``auto``."""
    preset: str
    mode: str
    embedder: str
    rankings: Mapping[str, Ranking]
    """By question that has an answer, in the order of the dataset."""
    values: Mapping[str, NDArray[np.float64]]
    """By measure: the value of each question that has an answer, in the order of the dataset."""
    strata: Mapping[str, NDArray[np.intp]]
    """By stratum: which places of ``values`` are its questions."""
    synthetic: bool = False
    """Whether questions and judgements were made by rule."""
    unanswerable: Mapping[str, Ranking] = field(default_factory=dict)
    """By question that has no answer; these do not count in ``values``."""
    trust: TrustMetrics | None = None
    """How far the confidences can be trusted; ``None`` where they are unknown."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What searches had to do without, each once."""
        rankings = (*self.rankings.values(), *self.unanswerable.values())
        return tuple(dict.fromkeys(warning for ranking in rankings for warning in ranking.warnings))

    def mean(self, measure: str, stratum: str | None = None) -> float:
        """Return the mean of a measure over all questions, or those of a stratum."""
        values = self.values[measure]
        return rounded_mean(values if stratum is None else values[self.strata[stratum]])

    def latency(self, percentile: float) -> float:
        """Return within how many milliseconds so many percent of the searches were done."""
        return float(np.percentile([ranking.milliseconds for ranking in self.rankings.values()], percentile))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-ready data; values are fractions of 1."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "preset": self.preset,
            "mode": self.mode,
            "embedder": self.embedder,
            "queries": len(self.rankings),
            "unanswerable_queries": len(self.unanswerable),
            "synthetic": self.synthetic,
            "metrics": {measure: self.mean(measure) for measure in self.values},
            "trust": self.trust.to_dict() if self.trust else None,
            "strata": {
                stratum: {measure: self.mean(measure, stratum) for measure in self.values} for stratum in self.strata
            },
            "latency_ms": {"p50": round(self.latency(50), 3), "p95": round(self.latency(95), 3)},
        }
