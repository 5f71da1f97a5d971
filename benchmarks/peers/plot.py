"""Latency against size, both logarithmic, as an SVG without a script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.peers.results import Results
from recollect.evaluation.report.drawing import cut, frame, number, words
from recollect.evaluation.report.markup import escaped

__all__ = ["PLOTS", "Line", "latency_plot", "lines_of"]

PLOTS = {
    "hybrid": "Both legs, 10 best at depth 60: median of a query",
    "words": "By words, 60 best: median of a query",
    "vectors": "By vectors, 60 best: median of a query",
}
"""What is drawn, and what stands above it."""

_WIDTH, _HEIGHT, _LEFT, _LEGEND = 720, 340, 64, 236
_COLOURS = 6
_DASHES = ("", "7 4", "2 4")
_SHAPES = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "m-4-4h8v8h-8z",
    "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "m0-5l5 9h-10z",
    "m0 5l5-9h-10z",
)


class Line(NamedTuple):
    """One engine: the median in milliseconds by the number of notes."""

    name: str
    points: Mapping[int, float]


def lines_of(results: Results, plot: str) -> list[Line]:
    """Return a line for each engine, and two for one that searches by both in two ways."""
    parts = ("hybrid_rrf", "hybrid_default") if plot == "hybrid" else (plot,)
    lines = []
    for about in dict.fromkeys(each["about"] for each in results.figures):
        of_engine = [each for each in results.figures if each["about"] == about]
        for part in parts:
            points = {each["notes"]: each[part]["p50_ms"] for each in of_engine if part in each}
            if points:
                name = about + (", default preset" if part == "hybrid_default" else "")
                lines.append(Line(name, dict(sorted(points.items()))))
    return lines


def _tick(decade: int) -> str:
    """Return a power of ten in milliseconds as people say it.

    >>> _tick(-1), _tick(2), _tick(4)
    ('0.1 ms', '100 ms', '10 s')
    """
    return f"{10.0 ** (decade - 3):g} s" if decade >= 3 else f"{10.0**decade:g} ms"


def latency_plot(title: str, lines: Sequence[Line]) -> str:
    """Draw lines over the number of notes; both axes are logarithmic, so that a straight line is a power law.

    >>> drawn = latency_plot("By words", [Line("Recollect", {10_000: 0.2, 100_000: 0.4})])
    >>> "Recollect: 10,000 notes 0.2 ms, 100,000 notes 0.4 ms" in drawn, drawn.count("<polyline")
    (True, 1)
    """
    sizes = sorted({size for line in lines for size in line.points})
    times = [time for line in lines for time in line.points.values()]
    top, bottom, right = 44, 44 + _HEIGHT, _WIDTH - _LEGEND
    decades = _decades(min(times), max(times))
    across = _places(sizes, _LEFT + 24, right - 24)

    def up(time: float) -> float:
        low, high = decades[0], decades[-1]
        return bottom - (math.log10(time) - low) / (high - low) * (bottom - top)

    body = [words(8, 20, cut(title, _WIDTH - 16, 14), "head")]
    for decade in decades:
        y = up(10.0**decade)
        body.append(f'<path class="grid" d="M{_LEFT} {number(y)}H{right}"/>')
        body.append(words(_LEFT - 8, y + 4, _tick(decade), "soft", "end"))
    for size, x in across.items():
        body.append(f'<path class="axis" d="M{number(x)} {bottom}v4"/>')
        body.append(words(x, bottom + 18, f"{size:,}", "soft", "middle"))
    body.append(words((_LEFT + right) / 2, bottom + 36, "notes", "strong", "middle"))
    for place, line in enumerate(lines):
        body += _drawn(place, line, [(across[size], up(time)) for size, time in line.points.items()])
        body += _named(place, line.name, right + 8, top + 8 + 20 * place)
    description = "; ".join(_told(line) for line in lines)
    height = max(bottom + 44, top + 20 * len(lines) + 16)
    return frame(_WIDTH, height, title, description, body)


def _told(line: Line) -> str:
    return f"{line.name}: " + ", ".join(f"{size:,} notes {time:.3g} ms" for size, time in line.points.items())


def _decades(low: float, high: float) -> list[int]:
    """Return the powers of ten from at or below the least to at or above the most, two at least."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return list(range(first, max(last, first + 1) + 1))


def _places(sizes: Sequence[int], left: float, right: float) -> dict[int, float]:
    """Return where each number of notes is drawn."""
    if len(sizes) == 1:
        return {sizes[0]: (left + right) / 2}
    span = math.log(sizes[-1] / sizes[0])
    return {size: left + math.log(size / sizes[0]) / span * (right - left) for size in sizes}


def _drawn(place: int, line: Line, points: Sequence[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return [
        f'<g class="s{place % _COLOURS + 1}"><title>{escaped(_told(line))}</title>',
        f'<polyline class="trace" points="{path}"{_dashes(place)}/>',
        *(_marker(place, x, y) for x, y in points),
        "</g>",
    ]


def _named(place: int, name: str, x: float, y: float) -> list[str]:
    """Return an entry of the legend: engines are told apart without their colours, too."""
    sample = f'<path class="trace" d="M{number(x)} {number(y - 4)}h24"{_dashes(place)}/>'
    return [
        f'<g class="s{place % _COLOURS + 1}">{sample}{_marker(place, x + 12, y - 4)}</g>',
        words(x + 30, y, cut(name, _LEGEND - 40)),
    ]


def _dashes(place: int) -> str:
    dashes = _DASHES[place // _COLOURS % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _marker(place: int, x: float, y: float) -> str:
    return f'<path class="dot" d="M{number(x)} {number(y)}{_SHAPES[place % len(_SHAPES)]}"/>'
