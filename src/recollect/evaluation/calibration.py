"""Calibration of confidence: reliability bins, expected calibration error, and trust metrics.

A query is the search for one question. A system is calibrated if 80 % of the first hits with a confidence of 0.8 are
relevant, and the same holds for every other confidence. A threshold on the highest confidence among the hits of a query
then separates queries with an answer from queries without one.
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
from recollect.evaluation.significance import SIGNIFICANCE_LEVEL, Interval

BINS = 10
"""The default number of bins. They have equal mass: each has about the same number of queries."""
_RESAMPLES = 2_000  # the number of bootstrap resamples for the interval of the calibration error


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The number of queries in a bin, their mean confidence, and the fraction of them whose first hit is relevant."""

    count: int
    confidence: float
    accuracy: float


def reliability_bins(confidences: ArrayLike, relevant: ArrayLike, *, bins: int = BINS) -> tuple[ReliabilityBin, ...]:
    """Return the points of a reliability diagram, in ascending order of confidence.

    ``confidences`` has the confidence of each query's first hit, ``relevant`` whether that hit is relevant. Queries are
    sorted by confidence and split into ``bins`` bins whose sizes differ by one at most; if there are fewer queries than
    ``bins``, each query is a bin. The order of queries with equal confidence has no effect.

    >>> reliability_bins([0.9, 0.1, 0.8, 0.2], [True, False, False, False], bins=2)[1]
    ReliabilityBin(count=2, confidence=0.85, accuracy=0.5)
    """
    first_confidences, labels = _checked_arrays(confidences, relevant)
    bin_count = min(arguments.at_least_one("bins", bins), len(first_confidences))
    counts, mean_confidences, accuracies = _bin_means(first_confidences, labels, bin_count)
    return tuple(
        ReliabilityBin(int(count), round(float(confidence), 12), round(float(accuracy), 12))
        for count, confidence, accuracy in zip(counts, mean_confidences, accuracies, strict=True)
    )


def expected_calibration_error(confidences: ArrayLike, relevant: ArrayLike, *, bins: int = BINS) -> float:
    """Return the expected calibration error over bins of equal mass.

    The error is ``Σ_b (n_b / N) · |accuracy_b − confidence_b|``, where bin b has n_b of the N queries, ``confidence_b``
    is the mean confidence of their first hits and ``accuracy_b`` the fraction of these hits that are relevant (Naeini,
    Cooper and Hauskrecht 2015; bins of equal mass as in Nguyen and O'Connor 2015). 0 is perfect. The estimate is biased
    upwards: with few queries, even a calibrated system has an error above 0.

    >>> expected_calibration_error([0.9, 0.1, 0.8, 0.2], [True, False, False, False], bins=2)
    0.25
    """
    first_confidences, labels = _checked_arrays(confidences, relevant)
    return round(_binned_error(first_confidences, labels, arguments.at_least_one("bins", bins)), 12)


def calibration_error_interval(confidences: ArrayLike, relevant: ArrayLike, *, bins: int = BINS) -> Interval:
    """Return the expected calibration error, as ``mean``, with its 95 % percentile bootstrap interval over queries.

    Each resample is split into bins anew. The interval has the same upward bias as the estimate.

    >>> error = calibration_error_interval([0.9, 0.1, 0.8, 0.2], [True, False, False, False], bins=2)
    >>> error.mean, error.low <= error.mean <= error.high
    (0.25, True)
    """
    first_confidences, labels = _checked_arrays(confidences, relevant)
    bin_count = arguments.at_least_one("bins", bins)
    rng = np.random.default_rng(0)
    resampled_errors = []
    for _ in range(_RESAMPLES):
        indexes = rng.integers(len(first_confidences), size=len(first_confidences))
        resampled_errors.append(_binned_error(first_confidences[indexes], labels[indexes], bin_count))
    tail = SIGNIFICANCE_LEVEL / 2
    low, high = np.quantile(resampled_errors, [tail, 1 - tail])
    error = _binned_error(first_confidences, labels, bin_count)
    return Interval(*(round(float(number), 12) for number in (error, low, high)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustMetrics:
    """How far a system's confidence can be trusted, over the queries of a dataset.

    ``queries`` is the number of answerable queries, ``unanswerable_queries`` the number of the others. The best
    confidence of a query is the highest confidence of its hits, or 0 if it has no hits. If the best confidence is below
    ``threshold``, the system reports that there is no answer.
    """

    threshold: float
    queries: int
    unanswerable_queries: int
    right_first: float
    """The fraction of answerable queries whose first hit is relevant, as ``any@1``."""
    answered_right_first_below_threshold: float | None
    """Of the answerable queries (``answered`` in the name) whose first hit is relevant, the fraction whose best
    confidence is below the threshold: right answers that are not shown. ``None`` if there are none. Lower is better."""
    unanswerable_recognised: float | None
    """The fraction of unanswerable queries whose best confidence is below the threshold; ``None`` if no query is
    unanswerable. Higher is better."""
    ece: Interval
    """The expected calibration error of the first hit's confidence, with its 95 % interval; the first hit of an
    unanswerable query counts as not relevant."""
    bins: tuple[ReliabilityBin, ...]
    """The points of the reliability diagram, over the same bins as ``ece``."""

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as JSON-ready data."""
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
    threshold = arguments.number("answer_threshold", threshold, at_least=0, at_most=1)
    if not questions or any(rankings[question.id].confidences is None for question in questions):
        return None
    answerable = np.array([bool(question.relevant) for question in questions])
    confidences = [rankings[question.id].confidences or (0.0,) for question in questions]  # 0 if there are no hits
    first_confidences = np.array([hit_confidences[0] for hit_confidences in confidences])
    below_threshold = np.array([max(hit_confidences) for hit_confidences in confidences]) < threshold
    right_first = np.array([bool(question.relevant.keys() & rankings[question.id].ids[:1]) for question in questions])
    return TrustMetrics(
        threshold=threshold,
        queries=int(answerable.sum()),
        unanswerable_queries=int((~answerable).sum()),
        right_first=_fraction(right_first, answerable) or 0.0,
        answered_right_first_below_threshold=_fraction(below_threshold, right_first),
        unanswerable_recognised=_fraction(below_threshold, ~answerable),
        ece=calibration_error_interval(first_confidences, right_first),
        bins=reliability_bins(first_confidences, right_first),
    )


def _fraction(condition: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    """Return the fraction of the queries in ``among`` that meet a condition; ``None`` if ``among`` has none."""
    return round(float(condition[among].mean()), 12) if among.any() else None


def _checked_arrays(confidences: ArrayLike, relevant: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return arrays with the confidence and the label of each query; the label is 1 if the first hit is relevant."""
    values, labels = np.asarray(confidences, dtype=np.float64), np.asarray(relevant, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ArgumentError("confidences", f"must be a list with one value for each query, got shape {values.shape}")
    if not ((values >= 0) & (values <= 1)).all():
        raise ArgumentError("confidences", "must be from 0 to 1")
    if labels.shape != values.shape:
        raise ArgumentError("relevant", f"must have a label for each of the {len(values)} queries, got {labels.shape}")
    return values, labels


def _binned_error(confidences: NDArray[np.float64], labels: NDArray[np.float64], bins: int) -> float:
    counts, mean_confidences, accuracies = _bin_means(confidences, labels, min(bins, len(confidences)))
    return float(np.abs(accuracies - mean_confidences) @ counts / len(confidences))


def _bin_means(
    confidences: NDArray[np.float64], labels: NDArray[np.float64], bins: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return three arrays with one element for each bin: its count, mean confidence and accuracy."""
    distinct, distinct_indexes, sizes = np.unique(confidences, return_inverse=True, return_counts=True)
    # Each label is replaced by the mean label of all queries with the same confidence, whose order then has no effect.
    mean_labels = np.bincount(distinct_indexes, weights=labels) / sizes
    sorted_confidences, sorted_labels = np.repeat(distinct, sizes), np.repeat(mean_labels, sizes)
    starts = np.array([index * len(confidences) // bins for index in range(bins)])
    counts = np.diff(np.append(starts, len(confidences)))
    mean_confidences = np.add.reduceat(sorted_confidences, starts) / counts
    return counts, mean_confidences, np.add.reduceat(sorted_labels, starts) / counts
