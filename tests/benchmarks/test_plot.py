from __future__ import annotations

import xml.etree.ElementTree as ET

from benchmarks.peers.plot import Line, latency_plot, lines_of
from benchmarks.peers.results import Results

from tests.benchmarks.figures import CHROMA, RECOLLECT, figure, latency


def test_an_engine_has_a_line_for_each_way() -> None:
    large = figure("recollect", "Recollect", 1_000, hybrid_rrf=latency(1.5))
    results = Results({}, [RECOLLECT, large, CHROMA])
    assert lines_of(results, "hybrid") == [
        Line("Recollect", {1_000: 1.5, 10_000: 3}),
        Line("Recollect, default preset", {10_000: 40}),
    ]
    assert [line.name for line in lines_of(results, "vectors")] == ["Recollect", "Chroma"]


def test_both_axes_are_logarithmic() -> None:
    drawn = latency_plot("By words", [Line("A", {1_000: 0.1, 10_000: 1, 100_000: 10})])
    (line,) = [each for each in ET.fromstring(drawn).iter() if each.tag.endswith("polyline")]  # noqa: S314 (our own)
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    (x1, y1), (x2, y2), (x3, y3) = points
    assert round(x3 - x2, 1) == round(x2 - x1, 1)
    assert round(y3 - y2, 1) == round(y2 - y1, 1) < 0


def test_many_engines_are_told_apart_without_colours() -> None:
    drawn = latency_plot("Both", [Line(f"Engine {place} <&>", {1_000: 1.0}) for place in range(20)])
    root = ET.fromstring(drawn)  # noqa: S314 (our own)
    assert drawn.count("stroke-dasharray") == 2 * 12 + 1  # each beside its name too, and one in the style
    assert float(root.attrib["height"]) >= 44 + 20 * 20
    assert "Engine 3 &lt;&amp;&gt;" in drawn
