"""Systems and outcomes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import MEASURES, Outcome, Ranking, System


def test_outcome_to_dict() -> None:
    outcome = Outcome(
        dataset="tiny",
        system="default bm25",
        preset="default",
        mode="bm25",
        embedder="none",
        rankings={f"q{index}": Ranking(("n1",), (1.0,), float(index), ("no vectors",)) for index in range(1, 5)},
        values={measure: np.array([1.0, 0.0, 0.5, 0.5]) for measure in MEASURES},
        strata={"exact": np.array([0, 2])},
        unanswerable={"q5": Ranking(("n1",), (1.0,), 9.0, ("no vectors", "no graph"))},
    )
    reported = outcome.to_dict()
    assert json.loads(json.dumps(reported)) == reported
    assert reported == {
        "dataset": "tiny",
        "system": "default bm25",
        "preset": "default",
        "mode": "bm25",
        "embedder": "none",
        "queries": 4,
        "unanswerable_queries": 1,
        "synthetic": False,
        "metrics": dict.fromkeys(MEASURES, 0.5),
        "trust": None,
        "strata": {"exact": dict.fromkeys(MEASURES, 0.75)},
        "latency_ms": {"p50": 2.5, "p95": pytest.approx(3.85)},
    }
    assert outcome.warnings == ("no vectors", "no graph")


def test_system_loads_its_preset_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[fusion]\nk = 7\n")
    system = System(path, "bm25")
    path.unlink()
    assert (system.name, system.loaded_preset.fusion.k) == ("mine bm25", 7)


def test_system_errors() -> None:
    with pytest.raises(ArgumentError, match="mode: must be one of auto, hybrid, bm25, semantic"):
        System("default", "fast")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="preset: must be one of default"):
        System("best")
    with pytest.raises(ArgumentError, match="name: must be one line"):
        System("default", name="two\nlines")
