"""Heat maps and sweep charts of a report; bars and reliability diagrams are in ``templates/charts.jinja``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recollect.evaluation.comparison import ALL, Comparison, ComparisonResult
from recollect.evaluation.report.plot import LinePoint, line_chart
from recollect.evaluation.report.text import describe_difference, format_fraction, format_signed, verdict_mark
from recollect.evaluation.sweep import Sweep

_MIN_OPACITY, _MAX_OPACITY = 0.08, 0.42
"""The opacity of the weakest and the strongest cell: text stays readable on both, in light and in dark."""
_MIN_SCALE = 0.1
"""The strongest colour is a difference of at least this, so that small differences do not look large."""
_LOG_RATIO = 20
"""A constant whose values span this factor or more is drawn on a logarithmic axis."""


class Cell(NamedTuple):
    """A cell of a heat map."""

    css_class: str
    opacity: float
    text: str
    description: str


class HeatMap(NamedTuple):
    """A heat map of a system's results by stratum and measure."""

    system: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Cell]

    @property
    def labels(self) -> list[str]:
        """The description of each cell with its row and column."""
        return [f"{row}, {column}: {cell.description}" for (row, column), cell in self.cells.items()]


def heat_maps(comparison: Comparison) -> list[HeatMap]:
    """Return the values of the baseline, and the differences of the other systems, with one scale for all."""
    baseline, columns = comparison.baseline, comparison.measures
    labels = {}
    for stratum in comparison.strata:
        count = comparison.result(baseline, columns[0], stratum).questions
        labels[stratum] = f"{'all questions' if stratum == ALL else stratum} ({count:,})"
    results = comparison.results.values()
    significant = [abs(result.difference.mean) for result in results if result.difference and result.significant]
    scale = max(significant, default=0.0)
    maps = []
    for system in (baseline, *comparison.compared_systems):
        cells = {
            (label, measure): result_cell(comparison.result(system, measure, stratum), scale)
            for stratum, label in labels.items()
            for measure in columns
        }
        title = f"{system}: values" if system == baseline else f"{system}: differences to {baseline}"
        maps.append(HeatMap(system, title, list(labels.values()), columns, cells))
    return maps


def result_cell(result: ComparisonResult, scale: float) -> Cell:
    """Return a cell: the darker the higher the value, or the larger the difference; inconclusive ones are open."""
    difference = result.difference
    if difference is None:
        value = format_fraction(result.mean)
        return Cell("baseline", _MAX_OPACITY * result.mean, value, value)
    strength = min(1.0, abs(difference.mean) / max(scale, _MIN_SCALE))
    return Cell(
        css_class="open" if difference.verdict == "inconclusive" else difference.verdict,
        opacity=_MIN_OPACITY + (_MAX_OPACITY - _MIN_OPACITY) * strength,
        text=f"{verdict_mark(result)} {format_signed(difference.mean)}",
        description=describe_difference(result),
    )


def sweep_chart(sweep: Sweep, *, styled: bool = True) -> str:
    """Draw a measure over the values of a constant: a line for each series, with the band of its intervals."""
    series = {}
    for name, points in sweep.lines.items():
        line = []
        for x, mean, low, high in points:
            interval = f"{format_fraction(low)} to {format_fraction(high)}"
            label = f"{name}, {sweep.parameter} {x:g}: {format_fraction(mean)} ({interval})"
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
