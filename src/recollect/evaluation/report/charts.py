"""The plots of a report: bars with intervals, heat maps by stratum, sweeps and reliability diagrams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from recollect.evaluation.calibration import TrustMetrics
from recollect.evaluation.comparison import ALL, ComparisonResult
from recollect.evaluation.report.content import Report
from recollect.evaluation.report.plot import (
    LinePoint,
    escape_markup,
    format_coordinate,
    line_chart,
    svg_document,
    svg_text,
    text_width,
    truncate_to_width,
)
from recollect.evaluation.report.text import (
    describe_difference,
    format_fraction,
    format_number,
    format_signed,
    verdict_mark,
    verdict_text,
)
from recollect.evaluation.significance import Interval
from recollect.evaluation.sweep import Sweep

__all__ = [
    "Bar",
    "Plots",
    "bar_chart",
    "difference_map",
    "draw_plots",
    "reliability_diagram",
    "sweep_chart",
    "value_map",
    "write_plots",
]

_BAR_WIDTH, _BAR_HEIGHT = 340, 42
_CELL_WIDTH, _CELL_HEIGHT, _NAME_WIDTH = 82, 30, 190
_MIN_OPACITY, _MAX_OPACITY = 0.08, 0.42
"""The opacity of the weakest and the strongest cell: text stays readable on both, in light and in dark."""
_MIN_SCALE = 0.1
"""The strongest colour is a difference of at least this, so that small differences do not look large."""
_DIAGRAM_WIDTH, _DIAGRAM_SIDE, _DIAGRAM_LEFT, _DIAGRAM_TOP = 340, 260, 56, 40
_LOG_RATIO = 20
"""A constant whose values span this factor or more is drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Plots:
    """The plots of a report, as SVG."""

    bars: Mapping[str, str]
    """By measure."""
    strata: Mapping[str, str]
    """By system, the baseline first; empty if there is one stratum."""
    sweeps: Mapping[str, str]
    """By number and title."""
    reliability: Mapping[str, str]
    """By system whose confidences are known."""


def draw_plots(report: Report, *, styled: bool = True) -> Plots:
    """Draw all plots of a report; without their style (``styled``) they are for a page that has it."""
    comparison = report.comparison
    return Plots(
        bars={
            measure: bar_chart(
                measure,
                {
                    system: Bar(report.intervals[system, measure], comparison.result(system, measure))
                    for system in comparison.systems
                },
                styled=styled,
            )
            for measure in comparison.measures
        },
        strata=_strata_maps(report, styled=styled) if len(comparison.strata) > 1 else {},
        sweeps={
            f"{number} {sweep.title}": sweep_chart(sweep, styled=styled)
            for number, sweep in enumerate(report.sweeps, 1)
        },
        reliability={
            outcome.system: reliability_diagram(outcome.system, outcome.trust, styled=styled)
            for outcome in report.outcomes
            if outcome.trust
        },
    )


def write_plots(folder: str | PathLike[str], report: Report) -> list[Path]:
    """Write each plot as an SVG file into ``folder``, which is created if it is missing, and return the paths.

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from recollect.evaluation import Dataset, Outcome, Ranking, build_report
    >>> outcome = Outcome(dataset="tiny", system="default", preset="default", mode="auto", embedder="none",
    ...     rankings={"q": Ranking((), (), 1.0)}, values={"any@5": np.array([0.0])}, strata={"exact": np.array([0])})
    >>> report = build_report([outcome], Dataset(name="tiny", collections={}, questions=()))
    >>> with TemporaryDirectory() as folder:
    ...     print([path.name for path in write_plots(folder, report)])
    ['bars-any-5.svg', 'strata-default.svg']
    """
    plots = draw_plots(report)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    kinds = {"bars": plots.bars, "strata": plots.strata, "sweep": plots.sweeps, "reliability": plots.reliability}
    for kind, by_name in kinds.items():
        for number, (name, svg) in enumerate(by_name.items(), 1):
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or str(number)
            path = target / f"{kind}-{slug}.svg"
            if path in written:
                path = target / f"{kind}-{slug}-{number}.svg"
            path.write_text(svg, encoding="utf-8")
            written.append(path)
    return written


def _strata_maps(report: Report, *, styled: bool) -> dict[str, str]:
    """Draw the values of the baseline, and the differences of the other systems, by stratum and measure."""
    comparison = report.comparison
    baseline, columns = comparison.baseline, comparison.measures
    labels = {}
    for stratum in comparison.strata:
        count = comparison.result(baseline, columns[0], stratum).questions
        labels[stratum] = f"{'all questions' if stratum == ALL else stratum} ({count:,})"
    rows = list(labels.values())
    significant = [
        abs(result.difference.mean)
        for result in comparison.results.values()
        if result.difference and result.significant
    ]
    maps = {}
    for system in (baseline, *comparison.compared_systems):
        results = {
            (labels[stratum], measure): comparison.result(system, measure, stratum)
            for stratum in comparison.strata
            for measure in columns
        }
        if system == baseline:
            values = {cell: result.mean for cell, result in results.items()}
            maps[system] = value_map(f"{system}: values", rows, columns, values, styled=styled)
        else:
            title = f"{system}: differences to {baseline}"
            scale = max(significant, default=0.0)
            maps[system] = difference_map(title, rows, columns, results, scale=scale, styled=styled)
    return maps


class Bar(NamedTuple):
    """A bar: a mean with its interval, and its comparison with the baseline."""

    interval: Interval
    result: ComparisonResult


def bar_chart(measure: str, bars: Mapping[str, Bar], *, styled: bool = True) -> str:
    """Draw one measure: a bar from 0 to 1 for each system, with the interval of its mean.

    >>> bar = Bar(Interval(0.61, 0.59, 0.63), ComparisonResult(200, 0.61))
    >>> "default: 0.610 (0.590 to 0.630), baseline" in bar_chart("any@5", {"default": bar})
    True
    """
    left, right, top = 8, _BAR_WIDTH - 8, 36
    bottom = top + _BAR_HEIGHT * len(bars)
    tops = range(top, bottom, _BAR_HEIGHT)
    body = [svg_text(left, 20, truncate_to_width(measure, right - left, 14), "head")]
    for tick, anchor in ((0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1, "end")):
        x = left + tick * (right - left)
        body.append(f'<path class="grid" d="{"".join(f"M{format_coordinate(x)} {y + 18}v18" for y in tops)}"/>')
        body.append(svg_text(x, bottom + 14, format_number(tick), "soft", anchor))
    for y, (system, bar) in zip(tops, bars.items(), strict=True):
        body += _bar(system, bar, y, left, right)
    description = "; ".join(_describe_bar(system, bar) for system, bar in bars.items())
    return svg_document(_BAR_WIDTH, bottom + 26, measure, description, body, styled=styled)


def _describe_bar(system: str, bar: Bar) -> str:
    mean, low, high = map(format_fraction, bar.interval)
    return f"{system}: {mean} ({low} to {high}), {verdict_text(bar.result)}"


def _bar(system: str, bar: Bar, top: float, left: float, right: float) -> list[str]:
    width, low, high = (value * (right - left) for value in bar.interval)
    low_x, high_x = format_coordinate(left + low), format_coordinate(left + high)
    middle = top + 27
    value = f"{verdict_mark(bar.result)} {format_fraction(bar.interval.mean)}".strip()
    return [
        f"<g><title>{escape_markup(_describe_bar(system, bar))}</title>",
        svg_text(left, top + 15, truncate_to_width(system, right - left - text_width(value) - 12)),
        svg_text(right, top + 15, value, "strong", "end"),
        f'<rect class="bar {_css_class(bar.result)}" x="{format_coordinate(left)}" y="{middle - 5}" '
        f'width="{format_coordinate(width)}" height="10"/>',
        f'<path class="whisker" d="M{low_x} {middle}H{high_x}M{low_x} {middle - 4}v8M{high_x} {middle - 4}v8"/></g>',
    ]


def _css_class(result: ComparisonResult) -> str:
    """Return the class of a bar or cell: an inconclusive one has an outline alone."""
    if result.difference is None:
        return "baseline"
    return "open" if result.difference.verdict == "inconclusive" else result.difference.verdict


class _Cell(NamedTuple):
    css_class: str
    opacity: float
    text: str
    description: str


def difference_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    results: Mapping[tuple[str, str], ComparisonResult],
    *,
    scale: float = _MIN_SCALE,
    styled: bool = True,
) -> str:
    """Draw differences to the baseline by row and column: filled if the interval excludes zero, else open.

    A difference of ``scale`` or more has the strongest colour; maps side by side should have the same scale.

    >>> from recollect.evaluation.significance import Difference
    >>> results = {("multi-hop", "mrr"): ComparisonResult(80, 0.5, Difference(0.04, 0.01, 0.07, p=0.01), 0.01)}
    >>> "▲ +0.040" in difference_map("default", ["multi-hop"], ["mrr"], results)
    True
    """
    cells = {}
    for position, result in results.items():
        if result.difference is not None:
            strength = min(1.0, abs(result.difference.mean) / max(scale, _MIN_SCALE))
            cells[position] = _Cell(
                css_class=_css_class(result),
                opacity=_MIN_OPACITY + (_MAX_OPACITY - _MIN_OPACITY) * strength,
                text=f"{verdict_mark(result)} {format_signed(result.difference.mean)}",
                description=describe_difference(result),
            )
    return _grid(title, rows, columns, cells, styled=styled)


def value_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float],
    *,
    styled: bool = True,
) -> str:
    """Draw values from 0 to 1 by row and column, the higher the darker.

    >>> "0.712" in value_map("default", ["multi-hop"], ["mrr"], {("multi-hop", "mrr"): 0.712})
    True
    """
    cells = {
        position: _Cell("baseline", _MAX_OPACITY * value, format_fraction(value), format_fraction(value))
        for position, value in values.items()
    }
    return _grid(title, rows, columns, cells, styled=styled)


def _grid(
    title: str, rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[str, str], _Cell], *, styled: bool
) -> str:
    left, top = _NAME_WIDTH, 64
    width, height = left + _CELL_WIDTH * len(columns) + 8, top + _CELL_HEIGHT * len(rows) + 8
    body = [svg_text(8, 20, truncate_to_width(title, width - 16, 14), "head")]
    for number, column in enumerate(columns):
        x = left + (number + 0.5) * _CELL_WIDTH
        body.append(svg_text(x, top - 10, truncate_to_width(column, _CELL_WIDTH), "soft", "middle"))
    for line, row in enumerate(rows):
        y = top + line * _CELL_HEIGHT
        body.append(f'<path class="grid" d="M8 {y}H{width - 8}"/>')
        body.append(svg_text(8, y + 20, truncate_to_width(row, _NAME_WIDTH - 14)))
        for number, column in enumerate(columns):
            if cell := cells.get((row, column)):
                body += _cell(f"{row}, {column}", cell, left + number * _CELL_WIDTH, y)
    description = "; ".join(f"{row}, {column}: {cell.description}" for (row, column), cell in cells.items())
    return svg_document(width, height, title, description, body, styled=styled)


def _cell(name: str, cell: _Cell, x: float, y: float) -> list[str]:
    is_open = cell.css_class == "open"
    inset = 3.5 if is_open else 1
    position = f'x="{format_coordinate(x + inset)}" y="{format_coordinate(y + inset)}"'
    width, height = format_coordinate(_CELL_WIDTH - 2 * inset), format_coordinate(_CELL_HEIGHT - 2 * inset)
    css_class = "open" if is_open else f"{cell.css_class} cell"
    opacity = "" if is_open else f' fill-opacity="{format_coordinate(cell.opacity)}"'
    text_class = "soft" if is_open else "strong"
    return [
        f"<g><title>{escape_markup(f'{name}: {cell.description}')}</title>",
        f'<rect class="{css_class}" {position} width="{width}" height="{height}" rx="2"{opacity}/>',
        svg_text(x + _CELL_WIDTH / 2, y + 19, cell.text, text_class, "middle") + "</g>",
    ]


def sweep_chart(sweep: Sweep, *, styled: bool = True) -> str:
    """Draw a measure over the values of a constant: a line for each series, with the band of its intervals.

    >>> points = [(5, 0.61, 0.59, 0.63), (60, 0.56, 0.54, 0.58)]
    >>> sweep = Sweep(title="LoCoMo", parameter="k", measure="any@5", series={"RRF": points})
    >>> sweep_chart(sweep).count('class="band"')
    1
    """
    series = {}
    for name, points in sweep.lines.items():
        line = []
        for x, mean, low, high in points:
            interval = f"{format_fraction(low)} to {format_fraction(high)}"
            label = f"{name}, {sweep.parameter} {format_number(x)}: {format_fraction(mean)} ({interval})"
            line.append(LinePoint(x, mean, label, low, high))
        series[name] = line
    xs = [point.x for line in series.values() for point in line]
    return line_chart(
        f"{sweep.title}: {sweep.measure} by {sweep.parameter}",
        series,
        x_label=sweep.parameter,
        log_x=min(xs) > 0 and max(xs) / min(xs) >= _LOG_RATIO,
        styled=styled,
    )


def reliability_diagram(system: str, trust: TrustMetrics, *, styled: bool = True) -> str:
    """Draw the accuracy of each bin over its mean confidence; a calibrated system is on the diagonal.

    The dashed line is the threshold below which the system reports no answer.

    >>> from recollect.evaluation.calibration import ReliabilityBin
    >>> bins = (ReliabilityBin(10, 0.9, 0.8),)
    >>> trust = TrustMetrics(threshold=0.5, queries=10, unanswerable_queries=0, right_first=0.8, bins=bins,
    ...     ece=Interval(0.1, 0, 0.3), answered_right_first_below_threshold=0.0, unanswerable_recognised=None)
    >>> "confidence 0.900: 0.800 of 10 relevant" in reliability_diagram("default", trust)
    True
    """
    title = f"{system}: reliability, ECE {format_fraction(trust.ece.mean)}"
    left, top = _DIAGRAM_LEFT, _DIAGRAM_TOP
    bottom, right = top + _DIAGRAM_SIDE, left + _DIAGRAM_SIDE

    def x_of(value: float) -> str:
        return format_coordinate(left + value * _DIAGRAM_SIDE)

    def y_of(value: float) -> str:
        return format_coordinate(bottom - value * _DIAGRAM_SIDE)

    body = [svg_text(8, 20, truncate_to_width(title, _DIAGRAM_WIDTH - 16, 14), "head")]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        y = bottom - tick * _DIAGRAM_SIDE
        body.append(f'<path class="grid" d="M{left} {y_of(tick)}H{right}"/>')
        body.append(svg_text(left - 8, y + 4, format_number(tick), "soft", "end"))
        body.append(svg_text(left + tick * _DIAGRAM_SIDE, bottom + 18, format_number(tick), "soft", "middle"))
    labels = [
        f"confidence {format_fraction(bin_.confidence)}: {format_fraction(bin_.accuracy)} of {bin_.count:,} relevant"
        for bin_ in trust.bins
    ]
    body += [
        f'<path class="axis" d="M{left} {bottom}L{right} {top}"/>',
        f'<path class="axis" stroke-dasharray="4 4" d="M{x_of(trust.threshold)} {top}V{bottom}"/>',
        '<g class="s1"><polyline class="trace" points="'
        + " ".join(f"{x_of(bin_.confidence)},{y_of(bin_.accuracy)}" for bin_ in trust.bins)
        + '"/>',
        *(
            f'<circle class="dot" cx="{x_of(bin_.confidence)}" cy="{y_of(bin_.accuracy)}" r="4.5">'
            f"<title>{escape_markup(label)}</title></circle>"
            for bin_, label in zip(trust.bins, labels, strict=True)
        ),
        "</g>",
        svg_text((left + right) / 2, bottom + 36, "confidence of the first hit", "strong", "middle"),
        svg_text(left + 6, top + 12, "fraction relevant", "soft"),
    ]
    return svg_document(_DIAGRAM_WIDTH, bottom + 46, title, "; ".join(labels), body, styled=styled)
