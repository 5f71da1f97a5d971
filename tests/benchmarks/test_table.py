from __future__ import annotations

from benchmarks.peers.results import Results
from benchmarks.peers.table import markdown

from tests.benchmarks.figures import CHROMA, RECOLLECT, figure, latency

MACHINE = {"cpu": "Z80", "cores": 2, "memory_bytes": 8e9, "system": "CP/M", "python": "3.11.2"}


def test_two_tables_for_each_size() -> None:
    small = figure("chroma", "Chroma", 500, vectors=latency(0.1))
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


def test_the_legs_of_a_second_way_are_not_told_twice() -> None:
    lines = markdown(Results(MACHINE, [RECOLLECT])).splitlines()
    (line,) = [line for line in lines if line.startswith("| Recollect, default preset |")]
    assert line == "| Recollect, default preset | 40.0 | 80.0 | – |" + "  |" * 10 + " – | – | – | 97 / 400 |"


def test_what_an_engine_lacks_is_left_open() -> None:
    lines = markdown(Results({"cpu": "Z80", "cores": 1}, [CHROMA])).splitlines()
    assert lines[0] == "Z80, 1 core."
    begin = "| Chroma | – | – | – | – | – | – | 0.95 | 1.90 | 2.85 | – | – | 0.900 | – | – | – | – | 400 |"
    assert begin in lines
