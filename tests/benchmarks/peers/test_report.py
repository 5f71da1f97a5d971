from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from benchmarks.peers.report import Line, Results, engine_lines, latency_plot, markdown, read_results

from recollect.errors import ArgumentError
from tests.benchmarks.peers.results import CHROMA, RECOLLECT, engine_result, latency

RESULT = {"engine": "chroma", "about": "Chroma", "corpus": "generated, seed 0", "notes": 500, "dimension": 384}


def test_results_are_saved_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    results = read_results(path)
    results.put({**RESULT, "first_answer_ms": 2})
    results.put({**RESULT, "notes": 600})
    results.put({**RESULT, "first_answer_ms": 3})
    results.save(path)
    again = read_results(path)
    assert again.to_dict() == results.to_dict()
    assert [result["notes"] for result in again.measurements] == [500, 600]
    assert again.measurements[0]["first_answer_ms"] == 3
    assert again.has("chroma", "generated, seed 0", 500)
    assert not again.has("chroma", "generated, seed 0", 700)


def test_results_of_another_machine_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    Results({"cpu": "Z80"}).save(path)
    with pytest.raises(ArgumentError, match="has results of another machine or Python; choose another file"):
        read_results(path)


@pytest.mark.parametrize(
    "text",
    [
        "tea",
        json.dumps([1]),
        json.dumps({"machine": {}}),
        json.dumps({"format": 99, "machine": {}, "figures": []}),
        json.dumps({"format": 1, "machine": {}, "figures": [5]}),
        json.dumps({"format": 1, "machine": {}, "figures": [{**RESULT, "notes": "many"}]}),
    ],
)
def test_other_files_are_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError, match="has no results of this benchmark; choose another file"):
        read_results(path)


MACHINE = {"cpu": "Z80", "cores": 2, "memory_bytes": 8e9, "system": "CP/M", "python": "3.11.2"}


def test_markdown_has_two_tables_for_each_size() -> None:
    small = engine_result("chroma", "Chroma", 500, vectors=latency(0.1))
    lines = markdown(Results(MACHINE, [RECOLLECT, CHROMA, small])).splitlines()
    assert lines[0] == "Z80, 2 cores, 8.0 GB of memory, CP/M, Python 3.11.2."
    assert [line for line in lines if line.startswith("###")] == [
        "### 500 notes (generated, seed 0, vectors of 384 numbers)",
        "### 10,000 notes (generated, seed 0, vectors of 384 numbers)",
    ]
    assert sum(line.startswith("| engine | hybrid p50 ms |") for line in lines) == 2
    assert (
        "| Recollect | 3.00 | 6.00 | 9.00 | 0.50 | 1.00 | 1.50 | 1.25 | 2.50 | 3.75 "
        "| 1.000 | 0.995 | – | – | 0.990 | 300 | 500 | 400 |" in lines
    )
    assert "| Recollect | 3,457 | 12 | 99 | – | – | 120 | 0.90 | 250 |" in lines


def test_markdown_shows_legs_once() -> None:
    lines = markdown(Results(MACHINE, [RECOLLECT])).splitlines()
    (line,) = [line for line in lines if line.startswith("| Recollect, default preset |")]
    assert line == "| Recollect, default preset | 40.0 | 80.0 | – |" + "  |" * 10 + " – | – | – | 97 / 400 |"


def test_markdown_of_missing_values() -> None:
    lines = markdown(Results({"cpu": "Z80", "cores": 1}, [CHROMA])).splitlines()
    assert lines[0] == "Z80, 1 core."
    begin = "| Chroma | – | – | – | – | – | – | 0.95 | 1.90 | 2.85 | – | – | 0.900 | – | – | – | – | 400 |"
    assert begin in lines


def test_lines_of_an_engine() -> None:
    large = engine_result("recollect", "Recollect", 1_000, hybrid_rrf=latency(1.5))
    results = Results({}, [RECOLLECT, large, CHROMA])
    assert engine_lines(results, "hybrid") == [
        Line("Recollect", {1_000: 1.5, 10_000: 3}),
        Line("Recollect, default preset", {10_000: 40}),
    ]
    assert [line.name for line in engine_lines(results, "vectors")] == ["Recollect", "Chroma"]


def test_latency_plot_axes_are_logarithmic() -> None:
    drawn = latency_plot("Lexical search", [Line("A", {1_000: 0.1, 10_000: 1, 100_000: 10})])
    root = ET.fromstring(drawn)  # noqa: S314 (our own plot)
    (line,) = [element for element in root.iter() if element.tag.endswith("polyline")]
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    (x1, y1), (x2, y2), (x3, y3) = points
    assert round(x3 - x2, 1) == round(x2 - x1, 1)
    assert round(y3 - y2, 1) == round(y2 - y1, 1) < 0


def test_latency_plot_of_many_engines() -> None:
    drawn = latency_plot("Both", [Line(f"Engine {number} <&>", {1_000: 1.0}) for number in range(20)])
    root = ET.fromstring(drawn)  # noqa: S314 (our own plot)
    assert drawn.count("stroke-dasharray") == 2 * 15 + 1  # 15 of 20 lines, in plot and legend, and one in the style
    assert float(root.attrib["height"]) > 340 + 44 + 3 * 20  # the legend wraps
    assert "Engine 3 &lt;&amp;&gt;" in drawn
