"""SVG plots without scripts: a frame that works alone and inside a page, in light and dark, and a line chart."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

from recollect.text import well_formed

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
"""Characters that XML does not allow or that browsers warn of."""

_CHARACTER_WIDTH = 6.4
"""The approximate width of a character of 12 pixels."""

_COLOURS = 6
_DASHES = ("", "7 4", "2 4", "10 4 2 4")
_MARKERS = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "m-4-4h8v8h-8z",
    "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "m0-5l5 9h-10z",
    "m0 5l5-9h-10z",
)
"""Circle, square, diamond and triangles: series differ in more than colour."""


def read_template(name: str) -> str:
    """Return the text of a file in ``templates``."""
    return files("recollect.evaluation.report").joinpath("templates", name).read_text(encoding="utf-8")


def clean_text(text: str) -> str:
    """Return a text with characters that neither XML nor UTF-8 allows replaced by U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", well_formed(text))


def escape_markup(text: str) -> str:
    """Return a text escaped for HTML and SVG, in elements and in quoted attributes."""
    return html.escape(clean_text(text))


def format_coordinate(value: float) -> str:
    """Return a coordinate with at most two digits."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(text: str, size: float = 12) -> float:
    """Return the approximate width of a text in pixels at a font size."""
    return len(text) * _CHARACTER_WIDTH * size / 12


def truncate_to_width(text: str, width: float, size: float = 12) -> str:
    """Return a text truncated to a width in pixels, with an ellipsis."""
    max_length = max(2, int(width / (_CHARACTER_WIDTH * size / 12)))
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def svg_text(x: float, y: float, text: str, css_class: str = "", anchor: str = "start") -> str:
    """Return a text element with its base line at ``y``."""
    classes = f' class="{css_class}"' if css_class else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{format_coordinate(x)}" y="{format_coordinate(y)}"{classes}{side}>{escape_markup(text)}</text>'


def svg_document(
    width: float, height: float, title: str, description: str, body: Sequence[str], *, styled: bool = True
) -> str:
    r"""Return a whole SVG; without its style (``styled``) it is for a page that has ``plot.css``."""
    w, h = format_coordinate(width), format_coordinate(height)
    label = escape_markup(f"{title}. {description}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
        f'role="img" aria-label="{label}">',
        f"<title>{escape_markup(title)}</title>",
        f"<desc>{escape_markup(description)}</desc>",
    ]
    if styled:  # a file of its own needs a background
        lines += [
            f"<style>\n{read_template('plot.css')}</style>",
            '<rect width="100%" height="100%" style="fill:var(--paper)"/>',
        ]
    return "\n".join([*lines, *body, "</svg>"]) + "\n"


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about ``count`` round numbers from at or below ``low`` to at or above ``high``."""
    if high - low < 0.001:
        high = low + 0.01
    raw = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


class LinePoint(NamedTuple):
    """A point of a line chart, its tooltip, and the ends of its interval, if any."""

    x: float
    y: float
    label: str
    low: float | None = None
    high: float | None = None


def line_chart(
    title: str,
    series: Mapping[str, Sequence[LinePoint]],
    *,
    x_label: str,
    x_format: Callable[[float], str] = "{:g}".format,
    y_format: Callable[[float], str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    width: float = 420,
    height: float = 250,
    styled: bool = True,
) -> str:
    """Draw a line for each series, with a band where points have intervals, and the legend above.

    Logarithmic axes need values above 0; ticks of a logarithmic y axis are powers of ten.
    """
    legend, top = _legend(list(series), width)
    left, right, bottom = 52.0, width - 16, top + height
    points = [point for line in series.values() for point in line]
    lows = [point.y if point.low is None else point.low for point in points]
    highs = [point.y if point.high is None else point.high for point in points]
    ticks = _decades(min(lows), max(highs)) if log_y else nice_ticks(min(lows), max(highs))
    if y_format is None:
        digits = max(len(f"{tick:g}".partition(".")[2]) for tick in ticks)
        y_format = f"{{:.{digits}f}}".format
    x_of = _scale(min(point.x for point in points), max(point.x for point in points), left + 14, right - 14, log=log_x)
    y_of = _scale(ticks[0], ticks[-1], bottom, top, log=log_y)
    body = [svg_text(8, 20, truncate_to_width(title, width - 16, 14), "head"), *legend]
    for tick in ticks:
        y = y_of(tick)
        body.append(
            f'<path class="grid" d="M{format_coordinate(left)} {format_coordinate(y)}H{format_coordinate(right)}"/>'
        )
        body.append(svg_text(left - 8, y + 4, y_format(tick), "soft", "end"))
    free_from = -math.inf
    for x_value in sorted({point.x for point in points}):
        x, text = x_of(x_value), x_format(x_value)
        body.append(f'<path class="axis" d="M{format_coordinate(x)} {format_coordinate(bottom)}v4"/>')
        half = text_width(text) / 2
        if x - half >= free_from:  # labels must not overlap
            body.append(svg_text(x, bottom + 18, text, "soft", "middle"))
            free_from = x + half + 6
    body.append(svg_text((left + right) / 2, bottom + 36, x_label, "strong", "middle"))
    for number, line in enumerate(series.values()):
        body += _line(number, line, x_of, y_of)
    body += [  # tooltips are above all lines
        f'<circle cx="{format_coordinate(x_of(point.x))}" cy="{format_coordinate(y_of(point.y))}" r="9" fill="none" '
        f'pointer-events="all"><title>{escape_markup(point.label)}</title></circle>'
        for point in points
    ]
    description = "; ".join(point.label for point in points)
    return svg_document(width, bottom + 44, title, description, body, styled=styled)


def _scale(first: float, last: float, start: float, end: float, *, log: bool) -> Callable[[float], float]:
    """Return a function from values to coordinates; if there is one value, it is in the middle."""
    if first == last:
        return lambda _: (start + end) / 2
    if log:
        return lambda value: start + math.log(value / first) / math.log(last / first) * (end - start)
    return lambda value: start + (value - first) / (last - first) * (end - start)


def _decades(low: float, high: float) -> list[float]:
    """Return the powers of ten from at or below ``low`` to at or above ``high``, at least two."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**exponent for exponent in range(first, max(last, first + 1) + 1)]


def _line(
    number: int, line: Sequence[LinePoint], x_of: Callable[[float], float], y_of: Callable[[float], float]
) -> list[str]:
    def coordinates(points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{format_coordinate(x_of(x))},{format_coordinate(y_of(y))}" for x, y in points)

    lower = [(point.x, point.low) for point in line if point.low is not None]
    upper = [(point.x, point.high) for point in line if point.high is not None]
    band = [f'<polygon class="band" points="{coordinates([*lower, *reversed(upper)])}"/>'] if lower else []
    return [
        f'<g class="s{number % _COLOURS + 1}">',
        *band,
        f'<polyline class="trace" points="{coordinates([(point.x, point.y) for point in line])}"{_dashes(number)}/>',
        *(_marker(number, x_of(point.x), y_of(point.y)) for point in line),
        "</g>",
    ]


def _dashes(number: int) -> str:
    dashes = _DASHES[number % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _marker(number: int, x: float, y: float) -> str:
    shape = _MARKERS[number % len(_MARKERS)]
    return f'<path class="dot" d="M{format_coordinate(x)} {format_coordinate(y)}{shape}"/>'


def _legend(names: Sequence[str], width: float) -> tuple[list[str], float]:
    """Return the names of the series with their lines and markers, row by row, and the top of the plot below them."""
    body, x, y = [], 8.0, 44.0
    for number, name in enumerate(names):
        text = truncate_to_width(name, width - 60)
        if x > 8 and x + 34 + text_width(text) > width - 8:
            x, y = 8.0, y + 20
        sample = f'<path class="trace" d="M{format_coordinate(x)} {format_coordinate(y - 4)}h24"{_dashes(number)}/>'
        body.append(f'<g class="s{number % _COLOURS + 1}">{sample}{_marker(number, x + 12, y - 4)}</g>')
        body.append(svg_text(x + 30, y, text))
        x += 30 + text_width(text) + 18
    return body, y + 20
