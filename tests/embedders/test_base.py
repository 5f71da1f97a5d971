from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embedders.base import unit_rows
from recollect.errors import EmbedderError


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ([[1.0, 2.0]], r"an array of shape \(1, 2\) instead of 2 vectors"),
        ([1.0, 2.0], r"an array of shape \(2,\) instead of 2 vectors"),
        ([[1.0], [1.0]], "vectors of 1 dimensions instead of 2"),
        ([[1.0, 2.0], [1.0]], "something that is not one list of numbers for each text"),
        ([["a", "b"], ["c", "d"]], "something that is not one list of numbers for each text"),
        (None, r"an array of shape \(\) instead of 2 vectors"),
        ([[1.0, float("nan")], [1.0, 1.0]], "numbers that are not finite"),
        ([[1.0, float("inf")], [1.0, 1.0]], "numbers that are not finite"),
        ([[10**400, 1], [1, 1]], "something that is not one list of numbers for each text"),
    ],
)
def test_invalid_response_is_refused(output: Any, problem: str) -> None:
    with pytest.raises(EmbedderError, match=f"^toy returned {problem}$"):
        unit_rows("toy", output, count=2, dimension=2)


def test_empty_vectors_are_refused() -> None:
    with pytest.raises(EmbedderError, match="vectors of 0 dimensions instead of at least 1"):
        unit_rows("toy", [[]], count=1, dimension=None)


def test_message_singular_vector() -> None:
    with pytest.raises(EmbedderError, match=r"an array of shape \(2, 1\) instead of 1 vector"):
        unit_rows("toy", [[1.0], [2.0]], count=1, dimension=None)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1))
def test_unit_rows_have_unit_length(output: list[tuple[float, float, float]]) -> None:
    rows = unit_rows("toy", output, count=len(output), dimension=3)
    assert rows.dtype == np.float32
    for row, output_row in zip(rows, output, strict=True):
        assert float(np.linalg.norm(row)) == pytest.approx(1.0 if any(output_row) else 0.0, abs=1e-6)
