from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retrieval.lines import bar, change_bar, hanging, one_line, shortened
from tests.strategies import any_text


@given(any_text, st.integers(1, 50))
def test_one_line_is_one_line(text: str, longest: int) -> None:
    shown = one_line(text, longest)
    assert shown.isprintable()
    assert len(shown) <= longest + 1


@pytest.mark.parametrize(
    ("start", "end", "drawn"),
    [
        (0.0, 1.0, "██████████"),
        (0.0, 0.0, ""),
        (0.5, 0.4, ""),
        (0.0, 1e-9, "▏"),
        (1.0, 1.1, "         █"),  # what lies beyond the scale is drawn at its end
        (-1.0, 0.25, "██▌"),
        (0.37, 0.5, "    █"),  # from the nearest whole cell
    ],
)
def test_bars(start: float, end: float, drawn: str) -> None:
    assert bar(start, end, 10) == drawn


@given(st.floats(-1, 2), st.floats(-1, 2), st.integers(1, 40))
def test_no_bar_is_longer_than_its_scale(one: float, other: float, cells: int) -> None:
    assert len(bar(one, other, cells)) <= cells
    assert len(change_bar(one, other, cells)) <= cells


def test_a_text_hangs_below_its_beginning() -> None:
    assert hanging("tea  ", "", 20) == ["tea"]
    assert hanging("tea  ", "cool", 2) == ["tea  c", "     o", "     o", "     l"]


def test_shortened() -> None:
    assert shortened("tea", 3) == "tea"
    assert shortened("a tea", 3) == "a…"
