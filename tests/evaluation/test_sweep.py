"""Sweeps over a constant of the fusion."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import SWEEP_VALUES, System, build_sweeps, evaluate, load_dataset, sweep_systems
from recollect.evaluation.sweep import Sweep, SweepPoint
from tests.evaluation.samples import KITCHEN


def test_sweep_lines_are_sorted() -> None:
    sweep = Sweep(title="t", parameter="k", measure="mrr", series={"a": [(60, 0.5, 0.4, 0.6), (5, 0.7, 0.6, 0.8)]})
    assert sweep.lines == {"a": (SweepPoint(5, 0.7, 0.6, 0.8), SweepPoint(60, 0.5, 0.4, 0.6))}


def test_sweep_k_uses_rrf() -> None:
    systems = sweep_systems(System("default", "bm25"), "k")
    assert tuple(systems) == SWEEP_VALUES["k"]
    assert [system.rules.fusion.k for system in systems.values()] == list(SWEEP_VALUES["k"])
    assert {system.rules.fusion.method for system in systems.values()} == {"rrf"}
    assert systems[5].mode == "bm25"
    assert systems[5].name == "default bm25, k 5"
    assert systems[5].rules.graph == System("default").rules.graph


def test_sweep_alpha_uses_convex_combination() -> None:
    systems = sweep_systems(System("weighted-graph"), "alpha")
    assert systems[0.3].rules.fusion.method == "convex"
    assert dict(systems[0.3].rules.fusion.weights) == {"lexical": 0.7, "vector": 0.3, "graph": 0.35}


def test_sweep_unknown_parameter() -> None:
    with pytest.raises(ArgumentError, match="^parameter: must be one of k, alpha, got 'beta'"):
        sweep_systems(System("default"), "beta")


def test_build_sweeps(tmp_path: Path) -> None:
    dataset, system = load_dataset(KITCHEN), System("trovella")
    outcomes = evaluate(dataset, list(sweep_systems(system, "k").values()), embedder=None, cache=tmp_path)
    sweeps = build_sweeps("kitchen", "k", system, outcomes, ["any@5", "mrr"])
    assert [(sweep.title, sweep.parameter, sweep.measure) for sweep in sweeps] == [
        ("kitchen, trovella", "k", "any@5"),
        ("kitchen, trovella", "k", "mrr"),
    ]
    line = sweeps[1].lines["trovella"]
    assert [point.x for point in line] == list(SWEEP_VALUES["k"])
    assert [point.mean for point in line] == pytest.approx([outcome.mean("mrr") for outcome in outcomes])
    assert all(point.low <= point.mean <= point.high for point in line)
