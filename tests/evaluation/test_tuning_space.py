from __future__ import annotations

from dataclasses import fields, replace

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation.tuning_space import STAGE_VALUES, Parameter, get_setting, search_space, with_setting
from recollect.ranking import STAGES, ImportancePrior
from recollect.retrieval import FusionRules, GraphRules, Preset, presets

UNTUNED = frozenset(
    (
        "composite.relevance",
        "temporal.relevance",
        "time_match.events",
        "importance.base",
        "exact_term.max_notes",
        "exact_term.lead",
    )
)
"""Constants of stages that change only speed, the scale of all scores, or few questions."""


def paths(preset: Preset) -> list[str]:
    return [path for parameter in search_space(preset) for path in parameter.paths]


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
def test_every_value_makes_a_valid_preset(preset: Preset) -> None:
    space = search_space(preset)
    assert len({path for parameter in space for path in parameter.paths}) == len(paths(preset))
    for parameter in space:
        for values in parameter.values:
            assert parameter.values_in(parameter.apply(preset, values)) == values


def test_search_space_has_only_what_the_preset_has() -> None:
    assert paths(presets()["trovella"]) == [
        "fusion.weights.lexical",
        "fusion.weights.vector",
        "fusion.method",
        "fusion.k",
    ]
    assert [path for path in paths(presets()["weighted-graph"]) if path.startswith(("graph.", "stages."))] == [
        "graph.edges.previous",
        "graph.edges.next",
        "graph.edges.mention",
        "graph.edges.link",
        "graph.edges.entity",
        "graph.seeds",
        "graph.degree_penalty",
        "stages.importance.slope",
    ]
    assert "fusion.weights.graph" in paths(presets()["weighted-graph"])
    assert {"stages.temporal.recency", "stages.temporal.boost"} <= set(paths(presets()["memini"]))
    assert not {"graph.edges.supersedes", "fusion.weights.graph"} & set(paths(presets()["default"]))
    context = ["query.max_document_frequency", "context.previous", "context.next", "context.passage"]
    assert [path for path in paths(presets()["default"]) if path.startswith(("query.", "context."))] == context
    assert "graph.max_lift" in paths(presets()["default"])
    assert not {*context, "graph.max_lift"} & set(paths(presets()["weighted-graph"]))


def test_leg_weights_keep_their_sum() -> None:
    (legs, *_) = search_space(Preset(name="steep", fusion=FusionRules(weights={"lexical": 3, "vector": 1})))
    assert {round(sum(values), 9) for values in legs.values} == {4.0}
    assert (0.0, 4.0) in legs.values
    assert (2.0, 2.0) in legs.values


def test_legs_without_weight_are_not_tuned() -> None:
    silent = Preset(name="silent", fusion=FusionRules(weights={"lexical": 0, "vector": 0}))
    assert paths(silent) == ["fusion.method", "fusion.k"]


def test_one_adjacent_edge_is_one_parameter() -> None:
    onward = replace(presets()["default"], graph=GraphRules(use="addition", edges={"next": 0.3, "session": 0.1}))
    assert [parameter.paths for parameter in search_space(onward)][6:8] == [
        ("graph.edges.next",),
        ("graph.edges.session",),
    ]
    alone = replace(presets()["default"], graph=GraphRules(use="multiplier", edges={"link": 1.0}))
    assert [parameter.paths for parameter in search_space(alone)][6] == ("graph.edges.link",)


def test_every_stage_constant_is_tuned_or_listed() -> None:
    numbers = {
        f"{name}.{setting.name}"
        for name, stage in STAGES.items()
        for setting in fields(stage)
        if isinstance(setting.default, (int, float))
    }
    assert set(STAGE_VALUES) | UNTUNED == numbers
    assert not set(STAGE_VALUES) & UNTUNED


def test_custom_parameter() -> None:
    both = Parameter(("graph.seeds", "graph.degree_penalty"), ((3, 1.0),))
    changed = both.apply(presets()["default"], (3, 1.0))
    assert (changed.graph.seeds, changed.graph.degree_penalty) == (3, 1.0)


DEFAULT = presets()["default"]


@pytest.mark.parametrize(
    ("preset", "path", "value"),
    [
        ("memini", "fusion.k", 5.0),
        ("memini", "fusion.weights.vector", 1.0),
        ("weighted-graph", "fusion.weights.graph", 0.35),
        ("weighted-graph", "graph.edges.session", 0.0),
        ("weighted-graph", "stages.importance.slope", 0.3),
        ("weighted-graph", "stages.importance.base", 0.7),
    ],
)
def test_get_setting_returns_defaults(preset: str, path: str, value: object) -> None:
    assert get_setting(presets()[preset], path) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [("fusion.method", "rrf"), ("graph.edges.custom.kind", 0.7), ("stages.superseded.factor", 0.25)],
)
def test_with_setting_round_trip(path: str, value: object) -> None:
    changed = with_setting(DEFAULT, path, value)
    assert get_setting(changed, path) == value
    assert with_setting(changed, path, get_setting(DEFAULT, path)).to_dict().keys() == DEFAULT.to_dict().keys()


def test_with_setting_changes_nothing_else() -> None:
    changed = with_setting(DEFAULT, "graph.edges.next", 0.1)
    assert changed == replace(DEFAULT, graph=changed.graph)
    assert dict(changed.graph.edges) == {**DEFAULT.graph.edges, "next": 0.1}
    assert [stage.name for stage in with_setting(DEFAULT, "stages.superseded.factor", 1.0).stages] == [
        stage.name for stage in DEFAULT.stages
    ]


def test_with_setting_changes_repeated_stages() -> None:
    twice = replace(DEFAULT, stages=(ImportancePrior(), ImportancePrior(slope=0.5)))
    assert get_setting(twice, "stages.importance.slope") == 0.3
    changed = with_setting(twice, "stages.importance.slope", 1.0)
    assert [stage.to_dict()["slope"] for stage in changed.stages] == [1.0, 1.0]


def test_get_setting_of_a_missing_stage() -> None:
    with pytest.raises(ArgumentError, match="the preset default has no stage 'importance'"):
        get_setting(DEFAULT, "stages.importance.slope")


def test_with_setting_refuses_invalid_values() -> None:
    with pytest.raises(ArgumentError, match="graph.edges.next"):
        with_setting(DEFAULT, "graph.edges.next", -1)
