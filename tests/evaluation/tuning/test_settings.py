from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation.tuning.settings import setting, with_setting
from recollect.ranking import ExactMatch
from recollect.retrieval import presets

DEFAULT = presets()["default"]


@pytest.mark.parametrize(
    ("preset", "path", "value"),
    [
        ("memini", "fusion.k", 5.0),
        ("memini", "fusion.weights.vector", 1.0),
        ("weighted-graph", "fusion.weights.graph", 0.35),
        ("weighted-graph", "graph.edges.session", 0.0),
        ("weighted-graph", "stages.importance.slope", 0.3),
        ("jeffs-brain", "stages.intent.characters", 0),
    ],
)
def test_a_setting_is_read_as_it_counts_where_nothing_is_said(preset: str, path: str, value: object) -> None:
    assert setting(presets()[preset], path) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [("fusion.method", "rrf"), ("graph.edges.custom.kind", 0.7), ("stages.superseded.factor", 0.25)],
)
def test_what_is_written_is_read(path: str, value: object) -> None:
    changed = with_setting(DEFAULT, path, value)
    assert setting(changed, path) == value
    assert with_setting(changed, path, setting(DEFAULT, path)).to_dict().keys() == DEFAULT.to_dict().keys()


def test_all_else_stays() -> None:
    changed = with_setting(DEFAULT, "graph.edges.next", 0.1)
    assert changed == replace(DEFAULT, graph=changed.graph)
    assert dict(changed.graph.edges) == {**DEFAULT.graph.edges, "next": 0.1}
    assert [stage.name for stage in with_setting(DEFAULT, "stages.superseded.factor", 1.0).stages] == [
        stage.name for stage in DEFAULT.stages
    ]


def test_a_stage_that_is_there_twice_changes_twice() -> None:
    twice = replace(DEFAULT, stages=(ExactMatch(), ExactMatch(bonus=0.5)))
    assert setting(twice, "stages.exact_match.bonus") == 0.2
    changed = with_setting(twice, "stages.exact_match.bonus", 1.0)
    assert [stage.to_dict()["bonus"] for stage in changed.stages] == [1.0, 1.0]


def test_a_stage_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match="the preset default has no stage 'importance'"):
        setting(DEFAULT, "stages.importance.slope")


def test_a_value_that_cannot_be() -> None:
    with pytest.raises(ArgumentError, match="graph.edges.next"):
        with_setting(DEFAULT, "graph.edges.next", -1)
