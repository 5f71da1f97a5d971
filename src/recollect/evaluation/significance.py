"""Significance of differences between systems: paired bootstrap, randomisation test, Holm's correction.

These functions use numpy instead of scipy.stats, because a report needs hundreds of comparisons, and scipy.stats takes
two seconds for one comparison over 2,000 questions. These functions take a tenth of that time; tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollect import arguments
from recollect.errors import ArgumentError

RESAMPLES = 10_000  # the default number of bootstrap resamples, and of random assignments in the randomisation test
SIGNIFICANCE_LEVEL = 0.05
"""The p-value below which a difference is significant. Intervals have the matching confidence level, 95 %."""

Verdict: TypeAlias = Literal["better", "worse", "inconclusive"]

_BATCH_SIZE = 200_000  # the number of random draws in memory at once, small enough for a processor's cache
_MIN_QUESTIONS_PER_VALUE = 20
"""If there are on average at least this many questions per distinct value, drawing how often each value occurs is
faster than drawing single questions."""
_TOLERANCE = 1e-12  # an upper bound of the rounding error of one value


class Interval(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two systems' means, its 95 % interval, and the p-value of the hypothesis of no difference."""

    mean: float
    low: float
    high: float
    p: float

    @property
    def verdict(self) -> Verdict:
        """``better`` or ``worse`` if the interval excludes zero, else ``inconclusive``."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "inconclusive"


def paired_difference(
    values: ArrayLike, baseline: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Return the mean of ``values`` minus the mean of ``baseline``, with its interval and p-value.

    ``values`` and ``baseline`` have one value for each question, in the same order. Values are from 0 to 1.

    The interval is the percentile interval of the paired bootstrap: questions are resampled with replacement, each with
    both of its values (Efron and Tibshirani 1993, chapter 13). With a single question, it is −1 to 1. The p-value is
    that of the two-sided paired randomisation test: the probability that a mean difference is at least as far from zero
    as the observed one if each question swaps its two values at random (Smucker, Allan and Carterette 2007). If there
    are at most ``resamples`` ways to swap, all are enumerated. The same values and ``seed`` give the same result.

    >>> paired_difference([1, 1, 1, 0, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0, 0, 0])
    Difference(mean=0.75, low=0.375, high=1.0, p=0.03125)
    >>> paired_difference([0.5, 0.2], [0.5, 0.2])
    Difference(mean=0.0, low=0.0, high=0.0, p=1.0)
    """
    resamples = arguments.at_least_one("resamples", resamples)
    system_values, baseline_values = _fractions("values", values), _fractions("baseline", baseline)
    count = len(system_values)
    if len(baseline_values) != count:
        raise ArgumentError("baseline", f"must have {count} values, one for each question, got {len(baseline_values)}")
    differences = _rounded(system_values - baseline_values)
    if not differences.any():
        return Difference(0.0, 0.0, 0.0, p=1.0)
    mean, low, high = _bootstrap(differences, (-1.0, 1.0), resamples, seed)
    return Difference(mean, low, high, p=_randomisation_p(differences[differences != 0], resamples, seed))


def interval(values: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Return the mean of ``values``, one for each question, and its percentile bootstrap interval.

    The overlap of two intervals does not say whether two systems differ: use :func:`paired_difference`.

    >>> interval([0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5)
    >>> interval([1.0])
    Interval(mean=1.0, low=0.0, high=1.0)
    """
    resamples = arguments.at_least_one("resamples", resamples)
    return _bootstrap(_fractions("values", values), (0.0, 1.0), resamples, seed)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p-values corrected for the number of tests, in the same order (Holm 1979).

    The smallest of m p-values is multiplied by m, the next by m − 1 and so on. A product that is smaller than the
    previous one is raised to it, and a product above 1 becomes 1.

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ArgumentError("p_values", f"must be fractions of 1, got {p:g}")
    adjusted = [1.0] * len(p_values)
    previous = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        previous = max(previous, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = previous
    return tuple(adjusted)


def _fractions(argument: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return the values as an array; raise ``ArgumentError`` if it is empty or a value is not from 0 to 1."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ArgumentError(argument, f"must be a list with a value for each question, got shape {array.shape}")
    valid = (array > -_TOLERANCE) & (array < 1 + _TOLERANCE)  # false for NaN
    invalid = array[~valid]
    if len(invalid):
        raise ArgumentError(argument, f"must be fractions of 1, got {invalid[0]:g}")
    return array


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers rounded: those that differ only by rounding errors become equal, and −0.0 becomes 0.0."""
    return np.asarray(np.round(numbers, 12) + 0.0)


def _bootstrap(values: NDArray[np.float64], bounds: tuple[float, float], resamples: int, seed: int) -> Interval:
    """Return the mean and its percentile bootstrap interval; a single value has the interval ``bounds``."""
    if len(values) == 1:
        return Interval(float(_rounded(values)[0]), *bounds)
    means = _resampled_means(values, resamples, np.random.default_rng(seed))
    tail = SIGNIFICANCE_LEVEL / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(*(float(number) for number in _rounded(np.array([values.mean(), low, high]))))


def _resampled_means(values: NDArray[np.float64], resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the mean of each resample of the values, drawn with replacement."""
    count = len(values)
    distinct, first_indexes, counts = np.unique(values, return_index=True, return_counts=True)
    if len(distinct) * _MIN_QUESTIONS_PER_VALUE <= count:
        # Most measures have few distinct values: draw how often each value occurs instead of single questions. The
        # values are in order of first occurrence, not of size, so that swapping the two systems (which negates all
        # values) gives exactly the mirrored interval with the same seed.
        order = np.argsort(first_indexes)
        return np.asarray(rng.multinomial(count, counts[order] / count, size=resamples) @ distinct[order] / count)
    draws = (rng.integers(count, size=(rows, count), dtype=np.uint32) for rows in _batches(resamples, count))
    return np.concatenate([values[question_indexes].mean(axis=1) for question_indexes in draws])


def _randomisation_p(differences: NDArray[np.float64], resamples: int, seed: int) -> float:
    """Return the p-value: the fraction of swaps whose sum is at least as far from zero as the observed sum."""
    count = len(differences)
    min_extreme_sum = abs(differences.sum()) - _TOLERANCE * count  # minus the rounding errors that are possible
    if 2**count <= resamples:
        all_swaps = np.arange(2**count)[:, None] >> np.arange(count) & 1  # row i has the binary digits of i
        return float(np.mean(np.abs(_swapped_sums(all_swaps, differences)) >= min_extreme_sum))
    rng = np.random.default_rng(seed)
    extreme_count = 0
    for rows in _batches(resamples, count):
        random_bytes = np.frombuffer(rng.bytes(rows * ((count + 7) // 8)), dtype=np.uint8).reshape(rows, -1)
        swaps = np.unpackbits(random_bytes, axis=1, count=count)  # one random bit for each question
        extreme_count += int(np.count_nonzero(np.abs(_swapped_sums(swaps, differences)) >= min_extreme_sum))
    # The observed assignment counts as one of the random ones, so that no p-value is 0.
    return (extreme_count + 1) / (resamples + 1)


def _swapped_sums(swaps: NDArray[np.integer], differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row of swaps the sum of the differences after swapping: a 1 changes the sign of a difference."""
    # A difference d that becomes −d lowers the sum by 2 d.
    return np.asarray(differences.sum() - 2 * (swaps.astype(np.float64) @ differences))


def _batches(resamples: int, width: int) -> Iterator[int]:
    """Yield the sizes of batches of resamples with ``width`` draws each; the sizes add up to ``resamples``."""
    rows = max(1, _BATCH_SIZE // width)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)
