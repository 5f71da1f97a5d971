"""The comparison of two checkouts: its statistics, and a small run of this checkout against itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import checkouts


def test_summary_reports_the_ratio_of_medians_with_an_interval() -> None:
    row = checkouts.summary("search", [10.0, 10.0, 10.0], [11.0, 12.0, 13.0])
    assert (row["base_ms"], row["new_ms"], row["ratio"]) == (10.0, 12.0, 1.2)
    assert (row["low"], row["high"]) == (1.1, 1.3)


def test_checkout_compared_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "ratios.json"
    root = str(checkouts.ROOT)
    assert (
        checkouts.main(["--base", root, "--rounds", "1", "--only", "query", "--limit", "1000", "--json", str(out)]) == 0
    )
    (row,) = json.loads(out.read_text(encoding="utf-8"))
    assert row["name"] == "query"
    assert row["ratio"] > 0
    assert "ratio" in capsys.readouterr().out
