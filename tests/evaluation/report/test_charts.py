"""Charts as SVG, with coordinates computed by hand."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given, settings

from recollect.evaluation.comparison import Comparison, ComparisonResult
from recollect.evaluation.report import Report, _environment, escape_markup, truncate_to_width
from recollect.evaluation.significance import Difference, Interval
from tests.evaluation.outcomes import dataset
from tests.strategies import any_text

BETTER = ComparisonResult(80, 0.6, Difference(0.1, 0.05, 0.15, p=0.001), adjusted_p=0.002)
INCONCLUSIVE = ComparisonResult(80, 0.6, Difference(0.1, -0.05, 0.25, p=0.2), adjusted_p=0.4)


def tree(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 (drawn here)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in tree(svg).iter("{http://www.w3.org/2000/svg}text")]


def rectangles(svg: str) -> list[dict[str, str]]:
    return [
        element.attrib for element in tree(svg).iter("{http://www.w3.org/2000/svg}rect") if "class" in element.attrib
    ]


def charts(rows: dict[str, tuple[Interval, ComparisonResult]], measure: str = "any@5") -> Any:
    """Return the macros of the charts, for a report with these bars."""
    comparison = Comparison(
        systems=tuple(rows),
        measures=(measure,),
        strata=("all",),
        results={(system, measure, "all"): result for system, (_, result) in rows.items()},
    )
    report = Report(
        dataset=dataset(1),
        outcomes=(),
        comparison=comparison,
        intervals={(system, measure): interval for system, (interval, _) in rows.items()},
        win_losses=(),
        date="",
        resamples=1,
    )
    template = _environment(escape_markup).get_template("charts.jinja")
    return template.make_module({"report": report, "comparison": comparison})


def test_bar_chart() -> None:
    bars = {
        "old": (Interval(0.5, 0.4, 0.6), ComparisonResult(80, 0.5)),
        "new": (Interval(0.75, 0.7, 0.8), BETTER),
        "odd": (Interval(0.25, 0.0, 1.0), INCONCLUSIVE),
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


def test_truncate_to_width() -> None:
    assert truncate_to_width("short", 100) == "short"
    assert truncate_to_width("anything", 0) == "a…"


@settings(max_examples=60)
@given(any_text, any_text)
def test_plots_escape_any_text(measure: str, label: str) -> None:
    tree(str(charts({label: (Interval(0.5, 0.4, 0.6), INCONCLUSIVE)}, measure=measure).bar_chart(measure)))
