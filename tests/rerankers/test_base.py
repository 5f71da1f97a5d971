from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import RerankerError
from recollect.rerankers.base import sorted_scores


@pytest.mark.parametrize(
    ("output", "pairs"),
    [
        ([0.1, 3, 2.5], [(1, 3.0), (2, 2.5), (0, 0.1)]),
        ((1, 1, 2), [(2, 2.0), (0, 1.0), (1, 1.0)]),
        (np.array([0.5, 0.25, 1.0], dtype=np.float32), [(2, 1.0), (0, 0.5), (1, 0.25)]),
        ([(2, 0.5), [0, -1]], [(2, 0.5), (0, -1.0)]),
        ([(np.int64(1), np.float32(0.5))], [(1, 0.5)]),
        (zip([2, 1], [0.5, 0.75], strict=True), [(1, 0.75), (2, 0.5)]),
        ([], []),
    ],
)
def test_sorted_scores_of_scores_or_pairs(output: Any, pairs: list[tuple[int, float]]) -> None:
    results = sorted_scores("toy", output, count=3)
    assert results == pairs
    assert all(type(index) is int and type(score) is float for index, score in results)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (None, "toy returned None, neither scores nor pairs of an index and a score"),
        ("[0]", "toy returned '\\[0\\]', neither scores nor pairs"),
        ({0: 0.5}, "neither scores nor pairs"),
        ({0.5}, "neither scores nor pairs"),
        (0.5, "toy returned 0.5, neither scores nor pairs"),
        ([0.1, 0.2], "toy returned 2 scores for 3 documents"),
        ([0.1, "0.2", 0.3], "toy returned 0.1 instead of a pair of an index and a score"),
        ([(0, "0.5")], r"toy returned \(0, '0.5'\) instead of a pair of an index and a score"),
        ([(0, None)], "instead of a pair"),
        ([(0, True)], "instead of a pair"),
        ([(True, 0.5)], "instead of a pair"),
        ([(1.0, 0.5)], "instead of a pair"),
        ([("1", 0.5)], "instead of a pair"),
        ([(0, 1, 2)], "instead of a pair"),
        (["a" * 999], r"toy returned 'a{56}\.\.\. instead of a pair"),
        (np.array([[0.5], [0.5], [0.5]]), "instead of a pair"),
        ([(3, 0.5)], "toy returned the index 3 for 3 documents"),
        ([(-1, 0.5)], "toy returned the index -1 for 3 documents"),
        ([(1, 0.5), (1, 0.5)], "toy returned the index 1 twice"),
        ([(1, float("nan"))], "toy returned the score nan, which is not finite, for document 1"),
        ([0.5, float("inf"), 0.5], "toy returned the score inf, which is not finite, for document 1"),
        ([(1, 10**400)], "toy returned the score inf, which is not finite, for document 1"),
    ],
)
def test_invalid_output_is_refused(output: Any, problem: str) -> None:
    with pytest.raises(RerankerError, match=problem) as caught:
        sorted_scores("toy", output, count=3)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 150


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_scores_and_pairs_are_equivalent(scores: list[float]) -> None:
    results = sorted_scores("toy", scores, count=len(scores))
    assert sorted_scores("toy", list(enumerate(scores))[::-1], count=len(scores)) == results
    assert dict(results) == dict(enumerate(scores))
    assert [-score for _, score in results] == sorted(-score for score in scores)
