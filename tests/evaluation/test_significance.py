"""Differences and intervals: by hand, by property, and against scipy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recollect import ArgumentError
from recollect.evaluation.significance import Difference, Interval, holm, interval, paired_difference

fractions = st.floats(0, 1)
pairs = st.lists(st.tuples(fractions, fractions), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.2, "better"),
        (-0.2, -0.01, "worse"),
        (-0.1, 0.1, "inconclusive"),
        (0.0, 0.1, "inconclusive"),
        (-0.1, 0.0, "inconclusive"),
        (0.0, 0.0, "inconclusive"),
    ],
)
def test_difference_verdict(low: float, high: float, verdict: str) -> None:
    assert Difference((low + high) / 2, low, high, p=0.5).verdict == verdict


def test_equal_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        difference = paired_difference([0.3, 1.0, 0.0], [0.3, 1.0, 0.0])
    assert difference == Difference(0.0, 0.0, 0.0, p=1.0)
    assert difference.verdict == "inconclusive"


def test_rounding_noise_is_no_difference() -> None:
    assert paired_difference([0.1 + 0.2] * 9, [0.3] * 9) == Difference(0.0, 0.0, 0.0, p=1.0)


def test_single_question() -> None:
    assert paired_difference([1.0], [0.0]) == Difference(1.0, -1.0, 1.0, p=1.0)
    assert paired_difference([1.0], [1.0]) == Difference(0.0, 0.0, 0.0, p=1.0)
    assert interval([0.25]) == Interval(0.25, 0.0, 1.0)


def test_constant_difference() -> None:
    # Every resample has the same mean; of 2 ** 7 sign flips, only all + and all − are as far from zero.
    assert paired_difference([0.7] * 7, [0.2] * 7) == Difference(0.5, 0.5, 0.5, p=2 / 128)
    assert interval([0.7] * 7) == Interval(0.7, 0.7, 0.7)


def test_randomisation_enumerates_all_swaps() -> None:
    # 0.5, 0.25 and 0.25 sum to 1, 0.5, 0.5, 0 and the same below zero: 2 of 8 are as far from zero as 1.
    assert paired_difference([0.5, 0.25, 0.25], [0, 0, 0]).p == 2 / 8
    # 0.5, 0.25 and −0.25 sum to 0.5: all but 0.5 − 0.25 − 0.25 = 0 and its mirror are as far.
    assert paired_difference([0.5, 0.25, 0.0], [0, 0, 0.25]).p == 6 / 8


def test_equal_questions_do_not_change_p() -> None:
    few = paired_difference([1.0] * 6, [0.0] * 6)
    many = paired_difference([1.0] * 6 + [0.5] * 500, [0.0] * 6 + [0.5] * 500)
    assert few.p == many.p == 2 / 64


def test_bootstrap_of_two_questions() -> None:
    # Draws are (a, a), (a, b), (b, a), (b, b), a quarter each: both tails of 2.5 % lie in the outer two.
    assert paired_difference([1.0, 0.0], [0.0, 0.5]) == Difference(0.25, -0.5, 1.0, p=1.0)
    assert interval([0.0, 1.0]) == Interval(0.5, 0.0, 1.0)


def test_smallest_p_is_not_zero() -> None:
    assert paired_difference([1.0] * 40, [0.0] * 40).p == 1 / 10_001
    assert paired_difference([1.0] * 40, [0.0] * 40, resamples=99).p == 1 / 100


def _example(kind: str, count: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(count)
    if kind == "hits":
        return draw.choice([0.0, 1.0], count, p=[0.4, 0.6]), draw.choice([0.0, 1.0], count)
    return draw.random(count) ** 2, draw.random(count) ** 1.6


@pytest.mark.parametrize("count", [8, 40, 500])
@pytest.mark.parametrize("kind", ["hits", "grades"])
def test_agrees_with_scipy(kind: str, count: int) -> None:
    values, baseline = _example(kind, count)
    result = paired_difference(values, baseline)
    differences = values - baseline
    expected = stats.bootstrap(
        (differences,), np.mean, n_resamples=10_000, method="percentile", rng=1
    ).confidence_interval
    width = expected.high - expected.low
    assert result.low == pytest.approx(expected.low, abs=0.06 * width)
    assert result.high == pytest.approx(expected.high, abs=0.06 * width)
    swaps = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, vectorized=True, rng=1
    )
    assert result.p == pytest.approx(swaps.pvalue, abs=1e-12 if count == 8 else 0.02)
    assert result.mean == pytest.approx(differences.mean(), abs=1e-12)
    mean, low, high = interval(values)
    expected = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
    width = expected.high - expected.low
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.06 * width)
    assert mean == pytest.approx(values.mean(), abs=1e-12)


@settings(max_examples=50)
@given(pairs | st.lists(st.sampled_from([(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)]), min_size=60, max_size=90))
def test_swapped_systems_give_the_mirror_image(values: list[tuple[float, float]]) -> None:
    values_a, values_b = zip(*values, strict=True)
    difference, mirrored = (
        paired_difference(values_a, values_b, resamples=500),
        paired_difference(values_b, values_a, resamples=500),
    )
    assert difference.p == mirrored.p
    assert (difference.mean, difference.low, difference.high) == pytest.approx(
        (-mirrored.mean, -mirrored.high, -mirrored.low), abs=1e-11
    )


@settings(max_examples=50)
@given(pairs)
def test_difference_properties(values: list[tuple[float, float]]) -> None:
    system, baseline = zip(*values, strict=True)
    result = paired_difference(system, baseline, resamples=500)
    assert result == paired_difference(system, baseline, resamples=500)
    assert -1 <= result.low <= result.high <= 1
    assert 0 < result.p <= 1
    mean, low, high = interval(system, resamples=500)
    assert 0 <= low <= high <= 1
    assert mean == pytest.approx(sum(system) / len(system), abs=1e-11)


def test_holm() -> None:
    # In order 0.005 × 4, 0.01 × 3, 0.03 × 2, 0.04 × 1; the last is not below the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.5, 0.6]) == (1.0, 1.0)
    assert holm([0.2]) == (0.2,)
    assert holm([]) == ()


@given(st.lists(fractions, max_size=12))
def test_holm_properties(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert len(adjusted) == len(p_values)
    for i, p in enumerate(p_values):
        assert p <= adjusted[i] <= 1
        for j, q in enumerate(p_values):
            if p <= q:
                assert adjusted[i] <= adjusted[j]
    if p_values:
        assert min(adjusted) == min(1.0, min(p_values) * len(p_values))
    assert holm(list(reversed(p_values))) == tuple(reversed(adjusted))


@pytest.mark.parametrize(
    ("values", "baseline", "message"),
    [
        ([], [], "values: must be a list with a value for each question, got shape (0,)"),
        ([[0.5]], [0.5], "values: must be a list with a value for each question, got shape (1, 1)"),
        ([0.5, 1.5], [0.5, 0.5], "values: must be fractions of 1, got 1.5"),
        ([0.5], [-2], "baseline: must be fractions of 1, got -2"),
        ([0.5], [float("nan")], "baseline: must be fractions of 1, got nan"),
        ([0.5, 0.5], [0.5], "baseline: must have 2 values, one for each question, got 1"),
    ],
)
def test_significance_argument_errors(values: Any, baseline: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        paired_difference(values, baseline)
    assert str(caught.value) == message


def test_resamples_must_be_positive() -> None:
    with pytest.raises(ArgumentError, match="resamples: must be at least 1, got 0"):
        paired_difference([0.5], [0.5], resamples=0)
    with pytest.raises(ArgumentError, match="resamples: must be at least 1, got 0"):
        interval([0.5], resamples=0)
    with pytest.raises(ArgumentError, match="p_values: must be fractions of 1, got 1.2"):
        holm([0.1, 1.2])
