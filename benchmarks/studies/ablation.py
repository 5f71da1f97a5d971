"""What each part of the default is worth: taken away one at a time, and its weights moved a little."""

from __future__ import annotations

from benchmarks.studies.laboratory import Laboratory, Values, default_with
from benchmarks.studies.tables import difference_table
from recollect.evaluation import System
from recollect.retrieval import StageRules, presets

__all__ = ["ablation", "variants"]

FOR_TURNS = ("stage `session` off", "stage `turns` off", "loans between neighbours as well")
"""What changes nothing where no note has a session."""


def variants() -> list[System]:
    """Return the default, and the default without each of its parts."""
    default = presets()["default"]
    edges = dict(default.graph.edges)
    weights = default.fusion.weights
    beside = {"previous": 0.3, "next": 0.3}

    def moved(name: str, by: float) -> System:
        changed = {"lexical": weights["lexical"] - by, "vector": weights["vector"] + by}
        return default_with(name, fusion={"weights": changed})

    return [
        System(default),
        default_with("every word in the vector (`query.common` 1)", query={"common": 1.0}),
        default_with("`context` off", context={"on": False}),
        default_with("`context.passage` 0", context={"passage": 0.0}),
        default_with("stage `session` off", without=["session"]),
        default_with("stage `turns` off", without=["turns"]),
        default_with("mentions off", graph={"edges": {**edges, "mention": 0.0}}),
        default_with("`graph.lift` 0", graph={"lift": 0.0}),
        default_with("`graph.hubs` 0", graph={"hubs": 0.0}),
        default_with("`graph.hubs` 0.25", graph={"hubs": 0.25}),
        default_with("loans between neighbours as well", graph={"edges": {**edges, **beside}}),
        default_with("`fusion.by_strength` off", fusion={"by_strength": False}),
        default_with("`fusion.least`: the worst", fusion={"least": {}}),
        moved("vectors + 0.1", 0.1),
        moved("vectors − 0.1", -0.1),
        default_with("stage `exact_match` 0.2 as well", stages=(*default.stages, StageRules("exact_match"))),
    ]


def ablation(lab: Laboratory) -> dict[str, str]:
    """Take the parts away, one at a time."""
    columns: dict[str, dict[str, Values]] = {}
    for name, material in lab.materials.items():
        sample = material.sample
        has_turns = any(note.session for each in material.dataset.collections.values() for note in each.notes)
        systems = [each for each in variants() if has_turns or each.name not in FOR_TURNS]
        found = lab.outcomes(sample, lab.encoder, systems)
        asked = len(sample.dataset.questions)
        columns[f"{name}, {material.measure} ({asked:,})"] = {
            system: outcome.values[material.measure] for system, outcome in found.items()
        }
    return {"ablation": difference_table("default with", columns, "default")}
