"""Line charts as SVG, with logarithmic axes and colours for light and dark mode, without scripts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from recollect.evaluation.report import (
    escape_markup,
    format_coordinate,
    read_template,
    text_width,
    truncate_to_width,
)

WIDTH, HEIGHT = 720, 340

_COLOURS = 6
_DASHES = ("", "7 4", "2 4", "10 4 2 4")
_MARKERS = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "m-4-4h8v8h-8z",
    "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "m0-5l5 9h-10z",
    "m0 5l5-9h-10z",
)
"""SVG paths of a circle, a square, a diamond and two triangles: series differ in more than colour."""


class Point(NamedTuple):
    """A point of a line; ``label`` is its tooltip."""

    x: float
    y: float
    label: str


def line_chart(
    title: str,
    series: Mapping[str, Sequence[Point]],
    *,
    x_label: str,
    x_format: Callable[[float], str],
    y_format: Callable[[float], str],
) -> str:
    """Draw a line for each series, with the legend above; all values must be above 0."""
    legend, top = _legend(list(series))
    left, right, bottom = 52.0, float(WIDTH - 16), top + HEIGHT
    points = [point for line in series.values() for point in line]
    ticks = _decades(min(point.y for point in points), max(point.y for point in points))
    x_of = _log_scale(min(point.x for point in points), max(point.x for point in points), left + 14, right - 14)
    y_of = _log_scale(ticks[0], ticks[-1], bottom, top)
    body = [_text(8, 20, truncate_to_width(title, WIDTH - 16, 14), "head"), *legend]
    for tick in ticks:
        y = y_of(tick)
        body.append(
            f'<path class="grid" d="M{format_coordinate(left)} {format_coordinate(y)}H{format_coordinate(right)}"/>'
        )
        body.append(_text(left - 8, y + 4, y_format(tick), "soft", "end"))
    next_free_x = -math.inf
    for x_value in sorted({point.x for point in points}):
        x, label = x_of(x_value), x_format(x_value)
        body.append(f'<path class="axis" d="M{format_coordinate(x)} {format_coordinate(bottom)}v4"/>')
        half_width = text_width(label) / 2
        if x - half_width >= next_free_x:  # labels must not overlap
            body.append(_text(x, bottom + 18, label, "soft", "middle"))
            next_free_x = x + half_width + 6
    body.append(_text((left + right) / 2, bottom + 36, x_label, "strong", "middle"))
    for number, line in enumerate(series.values()):
        coordinates = [(x_of(point.x), y_of(point.y)) for point in line]
        trace = " ".join(f"{format_coordinate(x)},{format_coordinate(y)}" for x, y in coordinates)
        body.append(f'<g class="s{number % _COLOURS + 1}">')
        body.append(f'<polyline class="trace" points="{trace}"{_dashes(number)}/>')
        body += [*(_marker(number, x, y) for x, y in coordinates), "</g>"]
    body += [  # tooltips are above all lines
        f'<circle cx="{format_coordinate(x_of(point.x))}" cy="{format_coordinate(y_of(point.y))}" r="9" fill="none" '
        f'pointer-events="all"><title>{escape_markup(point.label)}</title></circle>'
        for point in points
    ]
    return _document(bottom + 44, title, "; ".join(point.label for point in points), body)


def _document(height: float, title: str, description: str, body: Sequence[str]) -> str:
    size = f'width="{WIDTH}" height="{format_coordinate(height)}" viewBox="0 0 {WIDTH} {format_coordinate(height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} '
        f'role="img" aria-label="{escape_markup(f"{title}. {description}")}">',
        f"<title>{escape_markup(title)}</title>",
        f"<desc>{escape_markup(description)}</desc>",
        f"<style>\n{read_template('plot.css')}</style>",
        '<rect width="100%" height="100%" style="fill:var(--paper)"/>',
    ]
    return "\n".join([*lines, *body, "</svg>"]) + "\n"


def _text(x: float, y: float, content: str, css_class: str = "", anchor: str = "start") -> str:
    """Return a text element with its base line at ``y``."""
    classes = f' class="{css_class}"' if css_class else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{format_coordinate(x)}" y="{format_coordinate(y)}"{classes}{side}>{escape_markup(content)}</text>'


def _log_scale(first: float, last: float, start: float, end: float) -> Callable[[float], float]:
    """Return a function from values to coordinates; a single value is in the middle."""
    if first == last:
        return lambda _: (start + end) / 2
    return lambda value: start + math.log(value / first) / math.log(last / first) * (end - start)


def _decades(low: float, high: float) -> list[float]:
    """Return the powers of ten that enclose ``low`` and ``high``, at least two."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**exponent for exponent in range(first, max(last, first + 1) + 1)]


def _dashes(number: int) -> str:
    dashes = _DASHES[number % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _marker(number: int, x: float, y: float) -> str:
    shape = _MARKERS[number % len(_MARKERS)]
    return f'<path class="dot" d="M{format_coordinate(x)} {format_coordinate(y)}{shape}"/>'


def _legend(names: Sequence[str]) -> tuple[list[str], float]:
    """Return the SVG elements of the legend, in rows, and the y coordinate of the top of the plot below it."""
    body, x, y = [], 8.0, 44.0
    for number, name in enumerate(names):
        label = truncate_to_width(name, WIDTH - 60)
        if x > 8 and x + 34 + text_width(label) > WIDTH - 8:
            x, y = 8.0, y + 20
        sample = f'<path class="trace" d="M{format_coordinate(x)} {format_coordinate(y - 4)}h24"{_dashes(number)}/>'
        body.append(f'<g class="s{number % _COLOURS + 1}">{sample}{_marker(number, x + 12, y - 4)}</g>')
        body.append(_text(x + 30, y, label))
        x += 30 + text_width(label) + 18
    return body, y + 20
