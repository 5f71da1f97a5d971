"""Plots of the median latency over the number of notes, with logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.peers.results import Results
from recollect.evaluation.report.plot import LinePoint, line_chart

__all__ = ["PLOTS", "Line", "latency_plot", "lines_of"]

PLOTS = {
    "hybrid": "Hybrid search, top 10 of 60 candidates: median latency of a query",
    "words": "Lexical search, top 60: median latency of a query",
    "vectors": "Vector search, top 60: median latency of a query",
}
"""The titles of the plots by the measured part."""

_WIDTH, _HEIGHT = 720, 340


class Line(NamedTuple):
    """One engine: the median latency in milliseconds by the number of notes."""

    name: str
    points: Mapping[int, float]


def lines_of(results: Results, plot: str) -> list[Line]:
    """Return a line for each engine, and two for an engine with two kinds of hybrid search."""
    parts = ("hybrid_rrf", "hybrid_default") if plot == "hybrid" else (plot,)
    lines = []
    for about in dict.fromkeys(figure["about"] for figure in results.figures):
        of_engine = [figure for figure in results.figures if figure["about"] == about]
        for part in parts:
            points = {figure["notes"]: figure[part]["p50_ms"] for figure in of_engine if part in figure}
            if points:
                name = about + (", default preset" if part == "hybrid_default" else "")
                lines.append(Line(name, dict(sorted(points.items()))))
    return lines


def latency_plot(title: str, lines: Sequence[Line]) -> str:
    """Draw a line for each engine; both axes are logarithmic, so that a straight line is a power law.

    >>> svg = latency_plot("Lexical search", [Line("Recollect", {10_000: 0.2, 100_000: 0.4})])
    >>> "Recollect, 100,000 notes: 0.4 ms" in svg, svg.count("<polyline")
    (True, 1)
    """
    series = {
        line.name: [
            LinePoint(size, time, f"{line.name}, {size:,} notes: {time:.3g} ms") for size, time in line.points.items()
        ]
        for line in lines
    }
    return line_chart(
        title,
        series,
        x_label="notes",
        x_format="{:,.0f}".format,
        y_format=_format_time,
        log_x=True,
        log_y=True,
        width=_WIDTH,
        height=_HEIGHT,
    )


def _format_time(milliseconds: float) -> str:
    """Return a latency with its unit.

    >>> _format_time(0.1), _format_time(100), _format_time(10_000)
    ('0.1 ms', '100 ms', '10 s')
    """
    return f"{milliseconds / 1000:g} s" if milliseconds >= 1000 else f"{milliseconds:g} ms"
