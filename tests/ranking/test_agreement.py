from __future__ import annotations

import pytest

from recollect import ArgumentError, ArgumentTypeError
from recollect.ranking import Unanimity, unanimity


@pytest.mark.parametrize(
    ("lexical", "vector", "agree_min", "agreements"),
    [
        ("abcd", "abxy", 2, 2),
        ("abc", "abc", 2, 3),
        ("ab", "abc", 2, None),  # fewer than three
        ("", "", 2, None),
        ("abc", "bac", 2, None),  # the same notes in other places
        ("abc", "axy", 2, None),
        ("abc", "axy", 1, 1),
        ("abc", "xyz", 0, 0),
        ("xyza", "uvwa", 1, None),  # only the first three places count
    ],
)
def test_unanimity(lexical: str, vector: str, agree_min: int, agreements: int | None) -> None:
    expected = None if agreements is None else Unanimity(tuple(lexical[:3]), agreements)
    assert unanimity(list(lexical), list(vector), agree_min) == expected


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="^agree_min: must not be negative, got -1"):
        unanimity([], [], -1)
    with pytest.raises(ArgumentTypeError, match=r"^lexical_ids\[0\]: must be a string, got None"):
        unanimity([None] * 3, [None] * 3)  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="^vector_ids: must be a list, got 'abc'"):
        unanimity([], "abc")
