from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ArgumentError
from recollect.evaluation import (
    Question,
    Ranking,
    ReliabilityBin,
    calibration_error_interval,
    expected_calibration_error,
    reliability_bins,
    trust_metrics,
)

CONFIDENCES = [0.9, 0.1, 0.8, 0.2, 0.5]
RELEVANT = [True, False, False, False, True]


def test_reliability_bins() -> None:
    # Sorted: 0.1 no, 0.2 no | 0.5 yes, 0.8 no, 0.9 yes
    assert reliability_bins(CONFIDENCES, RELEVANT, bins=2) == (
        ReliabilityBin(2, 0.15, 0.0),
        ReliabilityBin(3, 0.733333333333, 0.666666666667),
    )


def test_reliability_bins_of_few_queries() -> None:
    assert [reliability_bin.count for reliability_bin in reliability_bins(CONFIDENCES, RELEVANT)] == [1, 1, 1, 1, 1]


def test_expected_calibration_error() -> None:
    # (2 · |0 − 0.15| + 3 · |0.6667 − 0.7333|) / 5 = (0.3 + 0.2) / 5
    assert expected_calibration_error(CONFIDENCES, RELEVANT, bins=2) == pytest.approx(0.1)
    # One bin: mean confidence 0.5, accuracy 0.4
    assert expected_calibration_error(CONFIDENCES, RELEVANT, bins=1) == pytest.approx(0.1)
    assert expected_calibration_error([1.0, 0.0], [True, False]) == 0.0
    assert expected_calibration_error([0.0, 1.0], [True, False]) == 1.0


def test_equal_confidences_share_labels() -> None:
    # Otherwise one of two bins would contain the relevant query, and the error would depend on the order.
    assert reliability_bins([0.5] * 4, [True, False, False, False], bins=2) == (ReliabilityBin(2, 0.5, 0.25),) * 2
    assert expected_calibration_error([0.5] * 4, [True, False, False, False], bins=2) == 0.25


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.3, 0.7, 1.0]), st.booleans()), min_size=1, max_size=40), st.data()
)
def test_calibration_error_ignores_order(pairs: list[tuple[float, bool]], data: st.DataObject) -> None:
    permuted = data.draw(st.permutations(pairs))
    errors = [expected_calibration_error(*zip(*sample, strict=True), bins=4) for sample in (pairs, permuted)]
    assert errors[0] == pytest.approx(errors[1])
    assert 0 <= errors[0] <= 1


def test_calibration_error_interval() -> None:
    result = calibration_error_interval([0.6] * 50, [True] * 30 + [False] * 20, bins=1)
    # With one bin, the error is |share of relevant queries − 0.6|; the share has a standard error
    # of √(0.24 / 50) = 0.069, so that 97.5 % of the resampled errors are below 2.24 · 0.069 = 0.155.
    assert result.mean == 0.0
    assert result.low == pytest.approx(0.0, abs=0.005)
    assert result.high == pytest.approx(0.155, abs=0.015)
    assert calibration_error_interval([0.25], [True]) == (0.75, 0.75, 0.75)


@pytest.mark.parametrize(
    ("confidences", "relevant", "message"),
    [
        ([], [], "confidences: must be a list with one value for each query"),
        ([0.5, 1.5], [True, False], "confidences: must be from 0 to 1"),
        ([0.5, float("nan")], [True, False], "confidences: must be from 0 to 1"),
        ([0.5, 0.5], [True], "relevant: must have a label for each of the 2 queries"),
    ],
)
def test_calibration_argument_errors(confidences: Any, relevant: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        reliability_bins(confidences, relevant)


def question(name: str, *relevant: str) -> Question:
    strata = () if relevant else ("unanswerable",)
    return Question(id=name, text=name, collection="", relevant=dict.fromkeys(relevant, 1), strata=strata)


def ranking(ids: str, *confidences: float) -> Ranking:
    return Ranking(tuple(ids), tuple(confidences), 1.0, confidences=confidences)


QUESTIONS = [
    question("a", "x"),
    question("b", "x"),
    question("c", "x"),
    question("d"),
    question("e"),
    question("f", "x"),
]
RANKINGS = {
    "a": ranking("xy", 0.9, 0.1),  # right and confident
    "b": ranking("xy", 0.2, 0.3),  # right, but below the threshold
    "c": ranking("yx", 0.7, 0.4),  # wrong and confident
    "d": ranking("xy", 0.1, 0.2),  # no answer, recognised
    "e": ranking("xy", 0.1, 0.6),  # no answer; the second hit is above the threshold
    "f": ranking(""),  # nothing found
}


def test_trust_metrics() -> None:
    trust = trust_metrics(QUESTIONS, RANKINGS, 0.5)
    assert trust is not None
    assert (trust.queries, trust.unanswerable_queries, trust.threshold) == (4, 2, 0.5)
    assert trust.right_first == 0.5  # a and b of a, b, c, f
    assert trust.answered_right_first_below_threshold == 0.5  # b of a and b
    assert trust.unanswerable_recognised == 0.5  # d of d and e
    # First hits, sorted: f 0 no, d 0.1 no, e 0.1 no, b 0.2 yes, c 0.7 no, a 0.9 yes; a bin for each
    assert trust.bins == tuple(
        ReliabilityBin(1, *pair) for pair in [(0, 0), (0.1, 0), (0.1, 0), (0.2, 1), (0.7, 0), (0.9, 1)]
    )
    assert trust.ece.mean == pytest.approx((0.1 + 0.1 + 0.8 + 0.7 + 0.1) / 6)
    assert trust.ece.low <= trust.ece.mean <= trust.ece.high


def test_trust_metrics_at_the_threshold() -> None:
    trust = trust_metrics(QUESTIONS, RANKINGS, 0.3)
    assert trust is not None
    assert trust.answered_right_first_below_threshold == 0.0
    assert trust.unanswerable_recognised == 0.5


def test_trust_metrics_without_such_queries() -> None:
    trust = trust_metrics([question("c", "x")], RANKINGS)
    assert trust is not None
    assert (trust.right_first, trust.answered_right_first_below_threshold, trust.unanswerable_recognised) == (
        0,
        None,
        None,
    )
    assert trust_metrics([], {}) is None


def test_trust_metrics_without_confidences() -> None:
    rankings = RANKINGS | {"b": replace(RANKINGS["b"], confidences=None)}
    assert trust_metrics(QUESTIONS, rankings) is None


def test_trust_metrics_to_dict() -> None:
    trust = trust_metrics(QUESTIONS[:1], RANKINGS, 0.5)
    assert trust is not None
    assert trust.to_dict() == {
        "threshold": 0.5,
        "right_first": 1.0,
        "answered_right_first_below_threshold": 0.0,
        "unanswerable_recognised": None,
        "ece": pytest.approx(0.1),
        "ece_interval": [trust.ece.low, trust.ece.high],
        "queries": 1,
        "unanswerable_queries": 0,
        "reliability": [{"count": 1, "confidence": 0.9, "accuracy": 1.0}],
    }


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_answer_threshold_range(threshold: float) -> None:
    with pytest.raises(ArgumentError, match="answer_threshold: must be"):
        trust_metrics(QUESTIONS, RANKINGS, threshold)


def test_calibration_accepts_arrays() -> None:
    assert expected_calibration_error(np.array([0.5]), np.array([1.0])) == 0.5
