"""Calibration of confidence: reliability bins, expected calibration error, and trust metrics.

A system is calibrated if 80 % of the first hits with a confidence of 0.8 are relevant. A threshold
on the best confidence then separates queries that have an answer from those that have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Question
from recollect.evaluation.outcome import Ranking
from recollect.evaluation.significance import SIGNIFICANT, Interval

BINS = 10
"""The number of bins of equal mass."""
_RESAMPLES = 2_000
"""The number of bootstrap resamples for the interval of the calibration error."""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The queries of one bin: how many, their mean confidence, and the fraction whose first hit is relevant."""

    count: int
    confidence: float
    accuracy: float


def reliability_bins(confidences: ArrayLike, relevant: ArrayLike, *, bins: int = BINS) -> tuple[ReliabilityBin, ...]:
    """Return the points of a reliability diagram, in ascending order of confidence.

    Queries are sorted by confidence and cut into ``bins`` parts of equal mass, whose sizes differ by one at most; there
    are as many parts as queries if there are fewer of these. Queries of the same confidence count with the mean of
    their labels, so that the result does not depend on their order.

    >>> reliability_bins([0.9, 0.1, 0.8, 0.2], [True, False, False, False], bins=2)[1]
    ReliabilityBin(count=2, confidence=0.85, accuracy=0.5)
    """
    scores, labels = _pairs(confidences, relevant)
    parts = min(arguments.at_least_one("bins", bins), len(scores))
    counts, mean_confidences, accuracies = _binned(scores, labels, parts)
    return tuple(
        ReliabilityBin(int(count), round(float(confidence), 12), round(float(accuracy), 12))
        for count, confidence, accuracy in zip(counts, mean_confidences, accuracies, strict=True)
    )


def expected_calibration_error(confidences: ArrayLike, relevant: ArrayLike, *, bins: int = BINS) -> float:
    """Return the expected calibration error over bins of equal mass.

    It is ``Σ_b (n_b / N) · |accuracy_b − confidence_b|``, where bin b holds n_b of N queries, ``confidence_b`` is the
    mean confidence of their first hits and ``accuracy_b`` the fraction of these that are relevant (Naeini, Cooper and
    Hauskrecht 2015; bins of equal mass as in Nguyen and O'Connor 2015). 0 is perfect. The estimate is biased upwards:
    with few queries, even a calibrated system has an error above 0.

    >>> expected_calibration_error([0.9, 0.1, 0.8, 0.2], [True, False, False, False], bins=2)
    0.25
    """
    scores, labels = _pairs(confidences, relevant)
    return round(_error(scores, labels, arguments.at_least_one("bins", bins)), 12)


def calibration_error_interval(confidences: ArrayLike, relevant: ArrayLike, *, bins: int = BINS) -> Interval:
    """Return the expected calibration error, as ``mean``, with its 95 % percentile bootstrap interval over queries.

    Each resample is sorted into bins anew. The upward bias of the estimate is in the interval as well: its upper end is
    cautious.

    >>> error = calibration_error_interval([0.9, 0.1, 0.8, 0.2], [True, False, False, False], bins=2)
    >>> error.mean, error.low <= error.mean <= error.high
    (0.25, True)
    """
    scores, labels = _pairs(confidences, relevant)
    parts = arguments.at_least_one("bins", bins)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(_RESAMPLES):
        chosen = rng.integers(len(scores), size=len(scores))
        errors.append(_error(scores[chosen], labels[chosen], parts))
    tail = SIGNIFICANT / 2
    low, high = np.quantile(errors, [tail, 1 - tail])
    return Interval(*(round(float(number), 12) for number in (_error(scores, labels, parts), low, high)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustMetrics:
    """How far a system's confidence can be trusted, over the queries of a dataset.

    ``queries`` of these have an answer, ``unanswerable_queries`` have none. The best confidence of a query is the
    highest among its hits, 0 if there is none; below ``threshold`` the system reports no answer.
    """

    threshold: float
    queries: int
    unanswerable_queries: int
    right_first: float
    """The fraction of answerable queries whose first hit is relevant, as ``any@1``."""
    answered_right_first_below_threshold: float | None
    """Of the queries whose first hit is relevant, the fraction whose best confidence is below the threshold; ``None``
    if there is no such query. Lower is better."""
    unanswerable_recognised: float | None
    """The fraction of unanswerable queries whose best confidence is below the threshold; ``None`` if there are none.
    Higher is better."""
    ece: Interval
    """The expected calibration error of the first hit's confidence, with its 95 % interval; the first hit of an
    unanswerable query is not relevant."""
    bins: tuple[ReliabilityBin, ...]
    """The reliability diagram behind ``ece``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON-ready data."""
        return {
            "threshold": self.threshold,
            "right_first": self.right_first,
            "answered_right_first_below_threshold": self.answered_right_first_below_threshold,
            "unanswerable_recognised": self.unanswerable_recognised,
            "ece": self.ece.mean,
            "ece_interval": [self.ece.low, self.ece.high],
            "queries": self.queries,
            "unanswerable_queries": self.unanswerable_queries,
            "reliability": [asdict(reliability_bin) for reliability_bin in self.bins],
        }


def trust_metrics(
    questions: Sequence[Question], rankings: Mapping[str, Ranking], threshold: float = 0.5
) -> TrustMetrics | None:
    """Return the trust metrics of one system's rankings, or ``None`` if a ranking has no confidences.

    >>> questions = [Question(id="q1", text="which tea?", collection="", relevant={"n1": 1}),
    ...     Question(id="q2", text="who is king?", collection="", relevant={}, strata=("unanswerable",))]
    >>> rankings = {"q1": Ranking(("n1", "n2"), (0.9, 0.1), 1.5, confidences=(0.8, 0.1)),
    ...     "q2": Ranking(("n2",), (0.3,), 1.5, confidences=(0.2,))}
    >>> trust = trust_metrics(questions, rankings, 0.5)
    >>> trust.right_first, trust.answered_right_first_below_threshold, trust.unanswerable_recognised, trust.ece.mean
    (1.0, 0.0, 1.0, 0.2)
    """
    limit = arguments.number("answer_threshold", threshold, at_least=0, at_most=1)
    if not questions or any(rankings[question.id].confidences is None for question in questions):
        return None
    answerable = np.array([bool(question.relevant) for question in questions])
    confidences = [rankings[question.id].confidences or (0.0,) for question in questions]
    first = np.array([of_hits[0] for of_hits in confidences])
    below = np.array([max(of_hits) for of_hits in confidences]) < limit
    right = np.array([bool(question.relevant.keys() & rankings[question.id].ids[:1]) for question in questions])
    return TrustMetrics(
        threshold=limit,
        queries=int(answerable.sum()),
        unanswerable_queries=int((~answerable).sum()),
        right_first=_fraction(right, answerable) or 0.0,
        answered_right_first_below_threshold=_fraction(below, right),
        unanswerable_recognised=_fraction(below, ~answerable),
        ece=calibration_error_interval(first, right),
        bins=reliability_bins(first, right),
    )


def _fraction(condition: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return round(float(condition[among].mean()), 12) if among.any() else None


def _pairs(confidences: ArrayLike, relevant: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scores, labels = np.asarray(confidences, dtype=np.float64), np.asarray(relevant, dtype=np.float64)
    if scores.ndim != 1 or not len(scores):
        raise ArgumentError("confidences", f"must be a list with one value for each query, got shape {scores.shape}")
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ArgumentError("confidences", "must be from 0 to 1")
    if labels.shape != scores.shape:
        raise ArgumentError("relevant", f"must have a label for each of the {len(scores)} queries, got {labels.shape}")
    return scores, labels


def _error(scores: NDArray[np.float64], labels: NDArray[np.float64], bins: int) -> float:
    counts, confidences, accuracies = _binned(scores, labels, min(bins, len(scores)))
    return float(np.abs(accuracies - confidences) @ counts / len(scores))


def _binned(
    scores: NDArray[np.float64], labels: NDArray[np.float64], bins: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the count, the mean confidence and the accuracy of each bin."""
    distinct, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    mean_labels = np.bincount(group, weights=labels) / sizes
    ordered, ordered_labels = np.repeat(distinct, sizes), np.repeat(mean_labels, sizes)
    starts = np.array([index * len(scores) // bins for index in range(bins)])
    counts = np.diff(np.append(starts, len(scores)))
    return counts, np.add.reduceat(ordered, starts) / counts, np.add.reduceat(ordered_labels, starts) / counts
