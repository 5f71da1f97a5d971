"""Every plot is a picture that stands alone, says in words what it shows, and keeps to its frame."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.evaluation.comparison import ComparisonResult
from recollect.evaluation.report.drawing import STYLE, cut, ticks
from recollect.evaluation.report.plots import Bar, bars, difference_map, sweep_lines, value_map
from recollect.evaluation.significance import Difference, Interval
from recollect.evaluation.sweep import Sweep
from tests.strategies import any_text

BETTER = ComparisonResult(80, 0.6, Difference(0.1, 0.05, 0.15, p=0.001), adjusted=0.002)
UNSURE = ComparisonResult(80, 0.6, Difference(-0.1, -0.15, -0.05, p=0.03), adjusted=0.06)
UNKNOWN = ComparisonResult(80, 0.6, Difference(0.1, -0.05, 0.25, p=0.2), adjusted=0.4)


def tree(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 (drawn here)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in tree(svg).iter("{http://www.w3.org/2000/svg}text")]


def rectangles(svg: str) -> list[dict[str, str]]:
    return [
        element.attrib for element in tree(svg).iter("{http://www.w3.org/2000/svg}rect") if "class" in element.attrib
    ]


def test_bars_reach_from_zero_to_the_mean() -> None:
    rows = {
        "old": Bar(Interval(0.5, 0.4, 0.6), ComparisonResult(80, 0.5)),
        "new": Bar(Interval(0.75, 0.7, 0.8), BETTER),
        "odd": Bar(Interval(0.25, 0.0, 1.0), UNKNOWN),
    }
    svg = bars("any@5", rows)
    assert [(bar["class"], bar["x"], bar["width"]) for bar in rectangles(svg)] == [
        ("bar baseline", "8", "162"),
        ("bar better", "8", "243"),
        ("bar open", "8", "81"),
    ]
    assert [text for text in texts(svg) if "0." in text and len(text) > 4] == ["0.500", "▲ 0.750", "≈ 0.250"]
    label = tree(svg).attrib["aria-label"]
    assert label == (
        "any@5. old: 0.500 (0.400 to 0.600), baseline; new: 0.750 (0.700 to 0.800), better; "
        "odd: 0.250 (0.000 to 1.000), inconclusive"
    )
    assert "M170 63" not in svg
    assert "M137.6 63H202.4" in svg  # 8 + 324 × 0.4 and 8 + 324 × 0.6


def test_differences_that_are_inconclusive_are_open() -> None:
    found = {
        ("a", "mrr"): BETTER,
        ("a", "any@5"): UNSURE,
        ("b", "mrr"): UNKNOWN,
        ("b", "any@5"): ComparisonResult(80, 0.6),
    }
    svg = difference_map("new", ["a", "b"], ["mrr", "any@5"], found, scale=0.2)
    assert [(cell["class"], cell.get("fill-opacity")) for cell in rectangles(svg)] == [
        ("better cell", "0.25"),  # half way from 0.08 to 0.42
        ("worse cell", "0.25"),
        ("open", None),
    ]
    assert texts(svg) == ["new", "mrr", "any@5", "a", "▲ +0.100", "▽ −0.100", "b", "≈ +0.100"]
    assert "b, mrr: +0.100 (−0.050 to +0.250), inconclusive" in tree(svg).attrib["aria-label"]


def test_what_is_beyond_the_scale_is_as_strong_as_it_gets() -> None:
    svg = difference_map(
        "new", ["a"], ["mrr"], {("a", "mrr"): ComparisonResult(9, 0.9, Difference(0.9, 0.8, 1.0, 0.01), 0.01)}
    )
    assert rectangles(svg)[0]["fill-opacity"] == "0.42"


def test_values_are_the_darker_the_higher() -> None:
    svg = value_map("old", ["a", "b"], ["mrr"], {("a", "mrr"): 1.0, ("b", "mrr"): 0.0})
    assert [cell["fill-opacity"] for cell in rectangles(svg)] == ["0.42", "0"]
    assert texts(svg) == ["old", "mrr", "a", "1.000", "b", "0.000"]


def sweep(*xs: float, names: tuple[str, ...] = ("a",)) -> Sweep:
    return Sweep(
        title="Fusion", parameter="k", measure="mrr", series={name: [(x, 0.5, 0.4, 0.6) for x in xs] for name in names}
    )


def places(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'class="axis" d="M([\d.]+) ', svg)]


def test_a_constant_over_a_small_range_is_on_a_straight_axis() -> None:
    assert places(sweep_lines(sweep(0, 0.25, 1))) == [66, 66 + 324 / 4, 390]


def test_a_constant_over_a_wide_range_is_on_a_logarithmic_axis() -> None:
    assert places(sweep_lines(sweep(1, 10, 100))) == [66, 228, 390]


def test_a_single_point_is_in_the_middle() -> None:
    svg = sweep_lines(sweep(60))
    assert places(svg) == [228]
    assert "a, k 60: 0.500 (0.400 to 0.600)" in tree(svg).attrib["aria-label"]


def test_numbers_below_the_axis_do_not_run_into_each_other() -> None:
    svg = sweep_lines(sweep(100, 100.5, 101, 200, 300))
    assert len(places(svg)) == 5
    assert [text for text in texts(svg) if text.startswith(("1", "2", "3"))] == ["100", "200", "300"]


def test_many_series_have_lines_of_their_own_in_the_legend() -> None:
    names = tuple(f"a series with a long name, {place}" for place in range(8))
    svg = sweep_lines(sweep(1, 2, names=names))
    assert [text for text in texts(svg) if text in names] == list(names)
    assert svg.count('class="band"') == 8
    tall, short = (float(tree(drawn).attrib["height"]) for drawn in (svg, sweep_lines(sweep(1, 2))))
    assert tall == short + 7 * 20


def test_a_picture_brings_its_style_unless_the_page_has_it() -> None:
    assert STYLE in sweep_lines(sweep(1))
    assert "<style>" not in sweep_lines(sweep(1), styled=False)


def test_text_is_cut_where_there_is_no_room() -> None:
    assert cut("short", 100) == "short"
    assert cut("anything", 0) == "a…"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.7, 0.7, [0.7, 0.702, 0.704, 0.706, 0.708, 0.71]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_ticks(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


@given(st.floats(-1, 1), st.floats(0, 2))
def test_ticks_are_few_and_hold_what_is_drawn(low: float, width: float) -> None:
    found = ticks(low, low + width)
    assert found[0] <= low + 1e-9
    assert found[-1] >= low + width - 1e-9
    assert 2 <= len(found) <= 8


@settings(max_examples=60)
@given(any_text, any_text)
def test_any_name_can_be_drawn(one: str, other: str) -> None:
    tree(bars(one, {other: Bar(Interval(0.5, 0.4, 0.6), UNKNOWN)}))
    tree(difference_map(one, [other], [one], {(other, one): UNSURE}))
    drawn = Sweep(title=one, parameter=other, measure=one, series={other: [(1, 0.5, 0.4, 0.6), (90, 0.5, 0.4, 0.6)]})
    tree(sweep_lines(drawn))
