from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.peers.results import Results, read_results

from recollect.errors import ArgumentError

FIGURE = {"engine": "chroma", "about": "Chroma", "corpus": "generated, seed 0", "notes": 500, "dimension": 384}


def test_figures_are_kept_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    results = read_results(path)
    results.put({**FIGURE, "first_answer_ms": 2})
    results.put({**FIGURE, "notes": 600})
    results.put({**FIGURE, "first_answer_ms": 3})
    results.save(path)
    again = read_results(path)
    assert again.to_dict() == results.to_dict()
    assert [each["notes"] for each in again.figures] == [500, 600]
    assert again.figures[0]["first_answer_ms"] == 3
    assert again.has("chroma", "generated, seed 0", 500)
    assert not again.has("chroma", "generated, seed 0", 700)


def test_figures_of_another_machine_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    Results({"cpu": "Z80"}).save(path)
    with pytest.raises(ArgumentError, match="holds figures of another machine or Python; name another file"):
        read_results(path)


@pytest.mark.parametrize(
    "text",
    [
        "tea",
        json.dumps([1]),
        json.dumps({"machine": {}}),
        json.dumps({"format": 99, "machine": {}, "figures": []}),
        json.dumps({"format": 1, "machine": {}, "figures": [5]}),
        json.dumps({"format": 1, "machine": {}, "figures": [{**FIGURE, "notes": "many"}]}),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError, match="holds no figures of bench; name another file"):
        read_results(path)
