"""A date in the question, added to the score or multiplied with it.

LoCoMo's questions hardly name relative times. So each of a sample is asked again with one, made by rule: "12 days ago",
counted from a day on which that is right, and from one on which it points at another session.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from benchmarks.studies.laboratory import Laboratory, Values, changed
from benchmarks.studies.material import Material
from benchmarks.studies.tables import difference_table, share
from recollect.evaluation import Dataset, Question, System
from recollect.ranking.anchors import RegexAnchorExtractor
from recollect.retrieval import StageRules, presets

__all__ = ["dated_questions", "temporal_boosts"]

ASKED = 200
FAR = timedelta(days=10)
"""Further off than the boost reaches for a number of days."""
NONE = "no boost"


def _systems() -> list[System]:
    default = presets()["default"]

    def boosted(name: str, **settings: Any) -> System:
        stages = [rules for rules in default.stages if rules.stage not in ("temporal_boost", "time_match")]
        if settings:
            stages.append(StageRules("temporal_boost", settings))
        return changed(default, name, stages=tuple(stages))

    return [
        boosted(NONE),
        *(boosted(f"add {boost:g}", boost=boost, combine="add") for boost in (0.1, 0.4)),
        *(boosted(f"multiply by 1 + {boost:g}", boost=boost, combine="multiply") for boost in (0.1, 0.4, 1.0)),
    ]


def dated_questions(dataset: Dataset, *, right: bool) -> Dataset:
    """Return questions with a time in them: that of their first answer, or (not ``right``) of another session."""
    chance = random.Random(7)  # noqa: S311 (a draw)
    questions = []
    for question in dataset.questions:
        dates = {note.id: note.created_at for note in dataset.collections[question.collection].notes}
        answered = {found for note in question.relevant if (found := dates[note])}
        others = sorted({each for each in dates.values() if each and all(abs(each - one) > FAR for one in answered)})
        days = chance.randint(3, 40)
        if not answered or not others:
            continue
        meant = min(answered) if right else chance.choice(others)
        questions.append(
            replace(question, text=f"{question.text} {days} days ago", asked=_written(meant + timedelta(days=days)))
        )
    return replace(dataset, questions=tuple(questions), synthetic=True)


def _written(moment: datetime) -> str:
    return moment.strftime("%Y/%m/%d (%a) %H:%M")


def temporal_boosts(lab: Laboratory) -> dict[str, str]:
    """Compare both forms at several sizes: on questions that name a time, on right dates and on wrong ones."""
    told = {}
    material = lab.materials["LoCoMo turns"]
    anchored = _anchored(material.dataset)
    everyone = len(material.dataset.questions)
    told["anchored"] = share(len(anchored), everyone)
    judged: dict[str, Material] = {}
    if anchored:
        named = replace(material.dataset, questions=anchored)
        judged[f"a time in the question ({len(anchored)})"] = replace(material, name="named times", dataset=named)
    sample = material.dataset.sample(ASKED)
    for name, right in (("right date", True), ("wrong date", False)):
        dated = dated_questions(sample, right=right)
        judged[f"{name} ({len(dated.questions)})"] = replace(material, name=name, dataset=dated)
    for embedder in lab.embedders:
        columns: dict[str, dict[str, Values]] = {}
        for name, each in judged.items():
            found = lab.outcomes(each, embedder, _systems())
            columns[f"{name}, {each.measure}"] = {one: held.values[each.measure] for one, held in found.items()}
        told[f"dates {embedder}"] = difference_table("boost", columns, NONE)
    return told


def _anchored(dataset: Dataset) -> tuple[Question, ...]:
    extractor = RegexAnchorExtractor()
    return tuple(question for question in dataset.questions if extractor.anchor(question.text))
