from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect import ArgumentError, Filters


def test_filters_from_a_mapping() -> None:
    filters = Filters.of({"tags": "tea", "created_after": "2026-01-01", "session": None, "metadata": {"a": 1}})
    assert filters == Filters(tags=("tea",), created_after=datetime(2026, 1, 1, tzinfo=UTC), metadata={"a": 1})
    assert filters
    assert Filters.of(filters) is filters


def test_filters_without_condition_are_false() -> None:
    assert not Filters.of(None)
    assert not Filters.of({})
    assert Filters(session="")  # notes without a session


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (7, "filters: must be Filters or a mapping, got int"),
        ({"tag": "x"}, "filters: has no condition 'tag'; there are path_prefix, tags"),
        ({"path_prefix": 7}, "filters.path_prefix: must be a string"),
        ({"created_before": "soon"}, "filters.created_before: must be an ISO-8601"),
        ({"metadata": {"x": object()}}, "filters.metadata: must be JSON data"),
    ],
)
def test_filters_reject_invalid_values(value: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{problem}"):
        Filters.of(value)
