from __future__ import annotations

import json

import numpy as np
import pytest

from recollect.evaluation import MEASURES, Outcome, Ranking


def test_what_is_told_of_an_outcome() -> None:
    outcome = Outcome(
        dataset="tiny",
        system="default bm25",
        preset="default",
        mode="bm25",
        embedder="none",
        rankings={f"q{place}": Ranking(("n1",), (1.0,), float(place), ("no vectors",)) for place in range(1, 5)},
        values={measure: np.array([1.0, 0.0, 0.5, 0.5]) for measure in MEASURES},
        strata={"exact": np.array([0, 2])},
        unanswerable={"q5": Ranking(("n1",), (1.0,), 9.0, ("no vectors", "no graph"))},
    )
    told = outcome.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told == {
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
