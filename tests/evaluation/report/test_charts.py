"""Charts as SVG, with coordinates computed by hand."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.evaluation.comparison import Comparison, ComparisonResult
from recollect.evaluation.report.charts import HeatMap, result_cell, sweep_chart
from recollect.evaluation.report.plot import (
    LinePoint,
    escape_markup,
    line_chart,
    nice_ticks,
    read_template,
    truncate_to_width,
)
from recollect.evaluation.report.render import _environment
from recollect.evaluation.significance import Difference, Interval
from recollect.evaluation.sweep import Sweep
from tests.strategies import any_text

BETTER = ComparisonResult(80, 0.6, Difference(0.1, 0.05, 0.15, p=0.001), adjusted_p=0.002)
UNSURE = ComparisonResult(80, 0.6, Difference(-0.1, -0.15, -0.05, p=0.03), adjusted_p=0.06)
UNKNOWN = ComparisonResult(80, 0.6, Difference(0.1, -0.05, 0.25, p=0.2), adjusted_p=0.4)


def tree(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 (drawn here)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in tree(svg).iter("{http://www.w3.org/2000/svg}text")]


def rectangles(svg: str) -> list[dict[str, str]]:
    return [
        element.attrib for element in tree(svg).iter("{http://www.w3.org/2000/svg}rect") if "class" in element.attrib
    ]


def charts(bars: dict[str, tuple[Interval, ComparisonResult]] | None = None, measure: str = "any@5") -> Any:
    """Return the macros of the charts, for a report with these bars."""
    rows = bars or {}
    comparison = Comparison(
        baseline="old",
        systems=tuple(rows),
        measures=(measure,),
        strata=("all",),
        results={(system, measure, "all"): result for system, (_, result) in rows.items()},
    )
    report = SimpleNamespace(
        comparison=comparison, intervals={(system, measure): interval for system, (interval, _) in rows.items()}
    )
    template = _environment(escape_markup).get_template("charts.jinja")
    return template.make_module({"report": report, "comparison": comparison})


def heat_map(results: dict[tuple[str, str], ComparisonResult], scale: float = 0.1) -> str:
    cells = {position: result_cell(result, scale) for position, result in results.items()}
    rows, columns = (list(dict.fromkeys(names)) for names in zip(*results, strict=True))
    return str(charts().heat_map(HeatMap("new", "new", rows, columns, cells)))


def test_bar_chart() -> None:
    bars = {
        "old": (Interval(0.5, 0.4, 0.6), ComparisonResult(80, 0.5)),
        "new": (Interval(0.75, 0.7, 0.8), BETTER),
        "odd": (Interval(0.25, 0.0, 1.0), UNKNOWN),
    }
    svg = str(charts(bars).bar_chart("any@5"))
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
    assert "M137.6 63H202.4" in svg  # 8 + 324 × 0.4 and 8 + 324 × 0.6


def test_heat_map_draws_inconclusive_cells_open() -> None:
    results = {("a", "mrr"): BETTER, ("a", "any@5"): UNSURE, ("b", "mrr"): UNKNOWN, ("b", "any@5"): UNKNOWN}
    svg = heat_map(results, scale=0.2)
    assert [(cell["class"], cell.get("fill-opacity")) for cell in rectangles(svg)] == [
        ("better cell", "0.25"),  # half way from 0.08 to 0.42
        ("worse cell", "0.25"),
        ("open", None),
        ("open", None),
    ]
    assert texts(svg) == ["new", "mrr", "any@5", "a", "▲ +0.100", "▽ −0.100", "b", "≈ +0.100", "≈ +0.100"]
    assert "b, mrr: +0.100 (−0.050 to +0.250), inconclusive" in tree(svg).attrib["aria-label"]


def test_heat_map_limits_opacity() -> None:
    svg = heat_map({("a", "mrr"): ComparisonResult(9, 0.9, Difference(0.9, 0.8, 1.0, 0.01), 0.01)})
    assert rectangles(svg)[0]["fill-opacity"] == "0.42"


def test_heat_map_of_values() -> None:
    svg = heat_map({("a", "mrr"): ComparisonResult(9, 1.0), ("b", "mrr"): ComparisonResult(9, 0.0)})
    assert [cell["fill-opacity"] for cell in rectangles(svg)] == ["0.42", "0"]
    assert texts(svg) == ["new", "mrr", "a", "1.000", "b", "0.000"]


def sweep(*xs: float, names: tuple[str, ...] = ("a",)) -> Sweep:
    return Sweep(
        title="Fusion", parameter="k", measure="mrr", series={name: [(x, 0.5, 0.4, 0.6) for x in xs] for name in names}
    )


def tick_positions(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'class="axis" d="M([\d.]+) ', svg)]


def test_sweep_chart_linear_axis() -> None:
    assert tick_positions(sweep_chart(sweep(0, 0.25, 1))) == [66, 66 + 324 / 4, 390]


def test_sweep_chart_logarithmic_axis() -> None:
    assert tick_positions(sweep_chart(sweep(1, 10, 100))) == [66, 228, 390]


def test_sweep_chart_of_one_point() -> None:
    svg = sweep_chart(sweep(60))
    assert tick_positions(svg) == [228]
    assert "a, k 60: 0.500 (0.400 to 0.600)" in tree(svg).attrib["aria-label"]


def test_sweep_chart_labels_do_not_overlap() -> None:
    svg = sweep_chart(sweep(100, 100.5, 101, 200, 300))
    assert len(tick_positions(svg)) == 5
    assert [text for text in texts(svg) if text.startswith(("1", "2", "3"))] == ["100", "200", "300"]


def test_sweep_chart_legend_wraps() -> None:
    names = tuple(f"a series with a long name, {index}" for index in range(8))
    svg = sweep_chart(sweep(1, 2, names=names))
    assert [text for text in texts(svg) if text in names] == list(names)
    assert svg.count('class="band"') == 8
    tall, short = (float(tree(drawn).attrib["height"]) for drawn in (svg, sweep_chart(sweep(1, 2))))
    assert tall == short + 7 * 20


def test_line_chart_logarithmic_y_axis() -> None:
    points = [LinePoint(x, 10.0**-x, f"{x}") for x in (1, 2, 3)]
    svg = line_chart("Latency", {"a": points}, x_label="x", y_format="{:g}".format, log_y=True)
    (line,) = re.findall(r'<polyline class="trace" points="([^"]*)"', svg)
    heights = [float(point.split(",")[1]) for point in line.split()]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1])
    assert {"0.001", "0.01", "0.1"} <= set(texts(svg))
    assert "band" not in re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)


def test_plots_have_a_style_of_their_own() -> None:
    assert read_template("plot.css") in sweep_chart(sweep(1))
    assert "<style>" not in sweep_chart(sweep(1), styled=False)


def test_truncate_to_width() -> None:
    assert truncate_to_width("short", 100) == "short"
    assert truncate_to_width("anything", 0) == "a…"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.7, 0.7, [0.7, 0.702, 0.704, 0.706, 0.708, 0.71]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_ticks(low: float, high: float, expected: list[float]) -> None:
    assert nice_ticks(low, high) == expected


@given(st.floats(-1, 1), st.floats(0, 2))
def test_ticks_cover_the_range(low: float, width: float) -> None:
    actual = nice_ticks(low, low + width)
    assert actual[0] <= low + 1e-9
    assert actual[-1] >= low + width - 1e-9
    assert 2 <= len(actual) <= 8


@settings(max_examples=60)
@given(any_text, any_text)
def test_plots_escape_any_text(one: str, other: str) -> None:
    tree(str(charts({other: (Interval(0.5, 0.4, 0.6), UNKNOWN)}, measure=one).bar_chart(one)))
    tree(heat_map({(other, one): UNSURE}))
    drawn = Sweep(title=one, parameter=other, measure=one, series={other: [(1, 0.5, 0.4, 0.6), (90, 0.5, 0.4, 0.6)]})
    tree(sweep_chart(drawn))
