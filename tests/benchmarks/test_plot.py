from __future__ import annotations

import xml.etree.ElementTree as ET

from benchmarks.peers.plot import Line, latency_plot, lines_of
from benchmarks.peers.results import Results

from tests.benchmarks.figures import CHROMA, RECOLLECT, figure, latency


def test_lines_of_an_engine() -> None:
    large = figure("recollect", "Recollect", 1_000, hybrid_rrf=latency(1.5))
    results = Results({}, [RECOLLECT, large, CHROMA])
    assert lines_of(results, "hybrid") == [
        Line("Recollect", {1_000: 1.5, 10_000: 3}),
        Line("Recollect, default preset", {10_000: 40}),
    ]
    assert [line.name for line in lines_of(results, "vectors")] == ["Recollect", "Chroma"]


def test_latency_plot_axes_are_logarithmic() -> None:
    drawn = latency_plot("Lexical search", [Line("A", {1_000: 0.1, 10_000: 1, 100_000: 10})])
    (line,) = [element for element in ET.fromstring(drawn).iter() if element.tag.endswith("polyline")]  # noqa: S314 (our own)
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    (x1, y1), (x2, y2), (x3, y3) = points
    assert round(x3 - x2, 1) == round(x2 - x1, 1)
    assert round(y3 - y2, 1) == round(y2 - y1, 1) < 0


def test_latency_plot_of_many_engines() -> None:
    drawn = latency_plot("Both", [Line(f"Engine {number} <&>", {1_000: 1.0}) for number in range(20)])
    root = ET.fromstring(drawn)  # noqa: S314 (our own)
    assert drawn.count("stroke-dasharray") == 2 * 15 + 1  # 15 of 20, in the legend too, and one in the style
    assert float(root.attrib["height"]) > 340 + 44 + 3 * 20  # the legend wraps
    assert "Engine 3 &lt;&amp;&gt;" in drawn
