"""The exact-match bonus: on questions as people put them, and on titles as questions, which it is made for."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.studies.laboratory import Laboratory, Values, changed
from benchmarks.studies.material import Material
from benchmarks.studies.tables import difference_table
from recollect.evaluation import Question, System
from recollect.retrieval import StageRules, presets

__all__ = ["exact_bonus", "titles_as_questions"]

BONUSES = (0.05, 0.2, 0.5, 1.0)
KNOWN_ITEMS = 150
COLLECTIONS = ("SciFact", "MuSiQue")
"""Those whose notes have titles."""


def _systems() -> list[System]:
    default = presets()["default"]
    return [
        System(default),
        *(
            changed(default, f"bonus {bonus:g}", stages=(*default.stages, StageRules("exact_match", {"bonus": bonus})))
            for bonus in BONUSES
        ),
    ]


def titles_as_questions(material: Material) -> Material:
    """Return a collection whose questions are titles that only one of its notes has; that note is the answer."""
    questions = []
    for name, collection in material.dataset.collections.items():
        titles = [note.title for note in collection.notes]
        questions += [
            Question(id=f"title-{note.id}", text=note.title, collection=name, relevant={note.id: 1})
            for note in collection.notes
            if note.id and note.title and titles.count(note.title) == 1
        ]
    dataset = replace(material.dataset, questions=tuple(questions), synthetic=True)
    return replace(
        material, name=f"{material.name} titles", dataset=dataset.sample(KNOWN_ITEMS), measures=("any@1", "mrr")
    )


def exact_bonus(lab: Laboratory) -> dict[str, str]:
    """Add the stage to the default at several sizes."""
    systems = _systems()
    told = {}
    columns: dict[str, dict[str, Values]] = {}
    judged = [lab.materials[name].sample for name in COLLECTIONS]
    judged += [titles_as_questions(lab.materials[name]) for name in COLLECTIONS]
    for material in judged:
        found = lab.outcomes(material, lab.encoder, systems)
        columns[f"{material.name}, {material.measure}"] = {
            name: each.values[material.measure] for name, each in found.items()
        }
    told["exact"] = difference_table("default with", columns, "default")
    return told
