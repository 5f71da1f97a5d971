"""The pictures of a report, each an SVG without a script: bars with intervals, heat maps, and lines with bands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recollect.evaluation.comparison import ComparisonResult
from recollect.evaluation.report.drawing import cut, frame, number, ticks, width_of, words
from recollect.evaluation.report.markup import escaped
from recollect.evaluation.report.text import (
    describe_difference,
    format_fraction,
    format_number,
    format_signed,
    verdict_mark,
    verdict_text,
)
from recollect.evaluation.significance import Interval
from recollect.evaluation.sweep import Sweep, SweepPoint

__all__ = ["Bar", "bars", "difference_map", "sweep_lines", "value_map"]

_BAR_WIDTH, _BAR_ROW = 340, 42
_CELL_WIDTH, _CELL_HEIGHT, _NAME_WIDTH = 82, 30, 190
_LINES_WIDTH, _LINES_HEIGHT = 420, 250
_FAINT, _FULL = 0.08, 0.42
"""How opaque the weakest and the strongest cell are: text in ink stays readable on both, in light and in dark."""
_LEAST_SCALE = 0.1
"""Differences that are all tiny do not look large: the strongest colour stands for at least this."""

_COLOURS = 6
_DASHES = ("", "7 4", "2 4", "10 4 2 4")
_SHAPES = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "m-4-4h8v8h-8z",
    "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "m0-5l5 9h-10z",
    "m0 5l5-9h-10z",
)


class _Cell(NamedTuple):
    kind: str
    opacity: float
    text: str
    detail: str


class Bar(NamedTuple):
    """What a bar shows: a mean with its interval, and where it stands against the baseline."""

    found: Interval
    standing: ComparisonResult


def bars(measure: str, rows: Mapping[str, Bar], *, styled: bool = True) -> str:
    """Draw one measure: a bar for each system from 0 to 1, with the interval of its mean.

    >>> bar = Bar(Interval(0.61, 0.59, 0.63), ComparisonResult(200, 0.61))
    >>> "default: 0.610 (0.590 to 0.630), baseline" in bars("any@5", {"default": bar})
    True
    """
    left, right, top = 8, _BAR_WIDTH - 8, 36
    bottom = top + _BAR_ROW * len(rows)
    tops = range(top, bottom, _BAR_ROW)
    body = [words(left, 20, cut(measure, right - left, 14), "head")]
    for tick, anchor in ((0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1, "end")):
        x = left + tick * (right - left)
        body.append(f'<path class="grid" d="{"".join(f"M{number(x)} {y + 18}v18" for y in tops)}"/>')
        body.append(words(x, bottom + 14, format_number(tick), "soft", anchor))
    for y, (system, bar) in zip(tops, rows.items(), strict=True):
        body += _bar(system, bar, y, left, right)
    description = "; ".join(_said(system, bar) for system, bar in rows.items())
    return frame(_BAR_WIDTH, bottom + 26, measure, description, body, styled=styled)


def _said(system: str, bar: Bar) -> str:
    mean, low, high = map(format_fraction, bar.found)
    return f"{system}: {mean} ({low} to {high}), {verdict_text(bar.standing)}"


def _bar(system: str, bar: Bar, top: float, left: float, right: float) -> list[str]:
    mean, low, high = (left + value * (right - left) for value in bar.found)
    middle = top + 27
    whisker = f"M{number(low)} {middle}H{number(high)}M{number(low)} {middle - 4}v8M{number(high)} {middle - 4}v8"
    value = f"{verdict_mark(bar.standing)} {format_fraction(bar.found.mean)}".strip()
    return [
        f"<g><title>{escaped(_said(system, bar))}</title>",
        words(left, top + 15, cut(system, right - left - width_of(value) - 12)),
        words(right, top + 15, value, "strong", "end"),
        f'<rect class="bar {_kind(bar.standing)}" x="{number(left)}" y="{middle - 5}" '
        f'width="{number(mean - left)}" height="10"/>',
        f'<path class="whisker" d="{whisker}"/></g>',
    ]


def _kind(standing: ComparisonResult) -> str:
    """Return the look of what is drawn: colour is for what is known, what is inconclusive has an outline alone."""
    if standing.difference is None:
        return "baseline"
    return "open" if standing.difference.verdict == "inconclusive" else standing.difference.verdict


def difference_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    found: Mapping[tuple[str, str], ComparisonResult],
    *,
    scale: float = _LEAST_SCALE,
    styled: bool = True,
) -> str:
    """Draw differences to the baseline by row and column: filled where the interval is off zero, open where not.

    A difference of ``scale`` or more has the strongest colour; maps that stand side by side should have the same.

    >>> from recollect.evaluation.significance import Difference
    >>> found = {("multi-hop", "mrr"): ComparisonResult(80, 0.5, Difference(0.04, 0.01, 0.07, p=0.01), adjusted=0.01)}
    >>> "▲ +0.040" in difference_map("default", ["multi-hop"], ["mrr"], found)
    True
    """
    cells = {
        place: _Cell(
            kind=_kind(standing),
            opacity=_FAINT + (_FULL - _FAINT) * min(1.0, abs(standing.difference.mean) / max(scale, _LEAST_SCALE)),
            text=f"{verdict_mark(standing)} {format_signed(standing.difference.mean)}",
            detail=describe_difference(standing),
        )
        for place, standing in found.items()
        if standing.difference is not None
    }
    return _grid(title, rows, columns, cells, styled=styled)


def value_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    found: Mapping[tuple[str, str], float],
    *,
    styled: bool = True,
) -> str:
    """Draw values from 0 to 1 by row and column, the higher the darker.

    >>> "0.712" in value_map("default", ["multi-hop"], ["mrr"], {("multi-hop", "mrr"): 0.712})
    True
    """
    cells = {
        place: _Cell(kind="baseline", opacity=_FULL * value, text=format_fraction(value), detail=format_fraction(value))
        for place, value in found.items()
    }
    return _grid(title, rows, columns, cells, styled=styled)


def _grid(
    title: str, rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[str, str], _Cell], *, styled: bool
) -> str:
    """Draw named rows and columns of cells; a cell that there is nothing to say of stays empty."""
    left, top = _NAME_WIDTH, 64
    width, height = left + _CELL_WIDTH * len(columns) + 8, top + _CELL_HEIGHT * len(rows) + 8
    body = [words(8, 20, cut(title, width - 16, 14), "head")]
    for place, column in enumerate(columns):
        x = left + (place + 0.5) * _CELL_WIDTH
        body.append(words(x, top - 10, cut(column, _CELL_WIDTH), "soft", "middle"))
    for line, row in enumerate(rows):
        y = top + line * _CELL_HEIGHT
        body.append(f'<path class="grid" d="M8 {y}H{width - 8}"/>')
        body.append(words(8, y + 20, cut(row, _NAME_WIDTH - 14)))
        for place, column in enumerate(columns):
            if cell := cells.get((row, column)):
                body += _cell(f"{row}, {column}", cell, left + place * _CELL_WIDTH, y)
    description = "; ".join(f"{row}, {column}: {cell.detail}" for (row, column), cell in cells.items())
    return frame(width, height, title, description, body, styled=styled)


def _cell(name: str, cell: _Cell, x: float, y: float) -> list[str]:
    open_ = cell.kind == "open"
    inset = 3.5 if open_ else 1
    place = f'x="{number(x + inset)}" y="{number(y + inset)}"'
    size = f'width="{number(_CELL_WIDTH - 2 * inset)}" height="{number(_CELL_HEIGHT - 2 * inset)}" rx="2"'
    opacity = "" if open_ else f' fill-opacity="{number(cell.opacity)}"'
    return [
        f"<g><title>{escaped(f'{name}: {cell.detail}')}</title>",
        f'<rect class="{"open" if open_ else f"{cell.kind} cell"}" {place} {size}{opacity}/>',
        words(x + _CELL_WIDTH / 2, y + 19, cell.text, "soft" if open_ else "strong", "middle") + "</g>",
    ]


def sweep_lines(sweep: Sweep, *, styled: bool = True) -> str:
    """Draw a measure over the values of a constant: a line for each series, with the band of its intervals.

    A constant that spans a factor of 20 or more is drawn on a logarithmic axis.

    >>> points = [(5, 0.61, 0.59, 0.63), (60, 0.56, 0.54, 0.58)]
    >>> sweep = Sweep(title="LoCoMo", parameter="k", measure="any@5", series={"RRF": points})
    >>> sweep_lines(sweep).count('class="band"')
    1
    """
    lines = sweep.lines
    legend, top = _legend(list(lines))
    left, right, bottom = 52, _LINES_WIDTH - 16, top + _LINES_HEIGHT
    every = [point for points in lines.values() for point in points]
    across = _axis(sorted({point.x for point in every}), left + 14, right - 14)
    levels = ticks(min(point.low for point in every), max(point.high for point in every))
    digits = max(len(format_number(level).partition(".")[2]) for level in levels)

    def up(value: float) -> float:
        return bottom - (value - levels[0]) / (levels[-1] - levels[0]) * (bottom - top)

    heading = f"{sweep.title}: {sweep.measure} by {sweep.parameter}"
    body = [words(8, 20, cut(heading, _LINES_WIDTH - 16, 14), "head"), *legend]
    for level in levels:
        body.append(f'<path class="grid" d="M{left} {number(up(level))}H{right}"/>')
        body.append(words(left - 8, up(level) + 4, f"{level:.{digits}f}", "soft", "end"))
    body += _marks_below(across, bottom, sweep.parameter, (left + right) / 2)
    for place, points in enumerate(lines.values()):
        body += _line(place, [(across[point.x], up(point.mean), up(point.low), up(point.high)) for point in points])
    body += [
        f'<circle cx="{number(across[point.x])}" cy="{number(up(point.mean))}" r="9" fill="none" pointer-events="all">'
        f"<title>{escaped(_told(name, sweep.parameter, point))}</title></circle>"
        for name, points in lines.items()
        for point in points
    ]
    description = "; ".join(_told(name, sweep.parameter, point) for name, points in lines.items() for point in points)
    return frame(_LINES_WIDTH, bottom + 44, heading, description, body, styled=styled)


def _told(name: str, parameter: str, point: SweepPoint) -> str:
    range_ = f"{format_fraction(point.low)} to {format_fraction(point.high)}"
    return f"{name}, {parameter} {format_number(point.x)}: {format_fraction(point.mean)} ({range_})"


def _axis(values: Sequence[float], left: float, right: float) -> dict[float, float]:
    """Return where each value of the constant is drawn."""
    first, last = values[0], values[-1]
    if first == last:
        return {first: (left + right) / 2}
    if first > 0 and last / first >= 20:
        return {x: left + math.log(x / first) / math.log(last / first) * (right - left) for x in values}
    return {x: left + (x - first) / (last - first) * (right - left) for x in values}


def _marks_below(across: Mapping[float, float], bottom: float, parameter: str, middle: float) -> list[str]:
    """Return a tick for every value, numbers that do not run into each other, and the constant's name."""
    body, free = [], -math.inf
    for x, place in across.items():
        body.append(f'<path class="axis" d="M{number(place)} {number(bottom)}v4"/>')
        half = width_of(format_number(x)) / 2
        if place - half >= free:
            body.append(words(place, bottom + 18, format_number(x), "soft", "middle"))
            free = place + half + 6
    return [*body, words(middle, bottom + 36, parameter, "strong", "middle")]


def _line(place: int, points: Sequence[tuple[float, float, float, float]]) -> list[str]:
    colour = f"s{place % _COLOURS + 1}"
    band = [(x, low) for x, _, low, _ in points] + [(x, high) for x, _, _, high in reversed(points)]
    outline = " ".join(f"{number(x)},{number(y)}" for x, y in band)
    path = " ".join(f"{number(x)},{number(mean)}" for x, mean, _, _ in points)
    return [
        f'<g class="{colour}"><polygon class="band" points="{outline}"/>',
        f'<polyline class="trace" points="{path}"{_dashes(place)}/>',
        *(_marker(place, x, mean) for x, mean, _, _ in points),
        "</g>",
    ]


def _dashes(place: int) -> str:
    dashes = _DASHES[place % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _marker(place: int, x: float, y: float) -> str:
    """Return a dot, square, diamond or triangle: series are told apart without their colours."""
    shape = _SHAPES[place % len(_SHAPES)]
    return f'<path class="dot" d="M{number(x)} {number(y)}{shape}"/>'


def _legend(names: Sequence[str]) -> tuple[list[str], float]:
    """Return the names of the series with their signs, row by row, and where the plot may begin below them."""
    body, x, y = [], 8.0, 44
    for place, name in enumerate(names):
        shown = cut(name, _LINES_WIDTH - 60)
        if x > 8 and x + 34 + width_of(shown) > _LINES_WIDTH - 8:
            x, y = 8.0, y + 20
        sample = f'<path class="trace" d="M{number(x)} {y - 4}h24"{_dashes(place)}/>'
        body.append(f'<g class="s{place % _COLOURS + 1}">{sample}{_marker(place, x + 12, y - 4)}</g>')
        body.append(words(x + 30, y, shown))
        x += 30 + width_of(shown) + 18
    return body, y + 20
