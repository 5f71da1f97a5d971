from __future__ import annotations

from dataclasses import fields, replace

import pytest

from recollect.evaluation.tuning.space import LEFT_ALONE, STAGE_VALUES, Parameter, search_space
from recollect.ranking import STAGES
from recollect.retrieval import FusionRules, GraphRules, Preset, presets


def paths(preset: Preset) -> list[str]:
    return [path for parameter in search_space(preset) for path in parameter.paths]


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
def test_every_value_of_every_parameter_makes_a_preset(preset: Preset) -> None:
    space = search_space(preset)
    assert len({path for parameter in space for path in parameter.paths}) == len(paths(preset))
    for parameter in space:
        for values in parameter.values:
            assert parameter.of(parameter.applied(preset, values)) == values


def test_what_a_preset_has_is_tried_and_nothing_else() -> None:
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
    closely = ["query.max_document_frequency", "context.previous", "context.next", "context.passage"]
    assert [path for path in paths(presets()["default"]) if path.startswith(("query.", "context."))] == closely
    assert "graph.max_lift" in paths(presets()["default"])
    assert not {*closely, "graph.max_lift"} & set(paths(presets()["weighted-graph"]))


def test_words_and_meaning_share_what_they_had_together() -> None:
    (legs, *_) = search_space(Preset(name="steep", fusion=FusionRules(weights={"lexical": 3, "vector": 1})))
    assert {round(sum(values), 9) for values in legs.values} == {4.0}
    assert (0.0, 4.0) in legs.values
    assert (2.0, 2.0) in legs.values


def test_legs_that_count_for_nothing_stay_so() -> None:
    silent = Preset(name="silent", fusion=FusionRules(weights={"lexical": 0, "vector": 0}))
    assert paths(silent) == ["fusion.method", "fusion.k"]


def test_one_side_alone_is_one_parameter() -> None:
    onward = replace(presets()["default"], graph=GraphRules(use="addition", edges={"next": 0.3, "session": 0.1}))
    assert [parameter.paths for parameter in search_space(onward)][6:8] == [
        ("graph.edges.next",),
        ("graph.edges.session",),
    ]
    alone = replace(presets()["default"], graph=GraphRules(use="multiplier", edges={"link": 1.0}))
    assert [parameter.paths for parameter in search_space(alone)][6] == ("graph.edges.link",)


def test_every_number_of_a_stage_is_tried_or_left_alone_on_purpose() -> None:
    numbers = {
        f"{name}.{setting.name}"
        for name, stage in STAGES.items()
        for setting in fields(stage)
        if isinstance(setting.default, (int, float))
    }
    assert set(STAGE_VALUES) | LEFT_ALONE == numbers
    assert not set(STAGE_VALUES) & LEFT_ALONE


def test_a_parameter_of_ones_own() -> None:
    both = Parameter(("graph.seeds", "graph.degree_penalty"), ((3, 1.0),))
    made = both.applied(presets()["default"], (3, 1.0))
    assert (made.graph.seeds, made.graph.degree_penalty) == (3, 1.0)
