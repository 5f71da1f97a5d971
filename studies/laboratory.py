"""Where the study's searches are made: each once, whoever asks for its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from recollect.embedders import embedder_from
from recollect.evaluation import Outcome, Ranking, System, evaluate, measured
from recollect.model import Candidate
from recollect.progress import shown_progress
from recollect.retrieval import FusionRules, Preset, presets
from recollect.retrieval.options import Mode
from recollect.retrieval.preset import changed_preset
from studies.material import Material

__all__ = ["DEEPEST", "Chapter", "Laboratory", "Legs", "Values", "changed", "default_with"]

DEEPEST = 200
"""How deep the lists of single legs are that are fused outside of the pipeline."""

Values: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
"""What a measure gave for each question."""

_LEG = changed_preset(
    presets()["trovella"],
    {"name": "leg", "fusion": FusionRules(method="convex", least={"lexical": 0.0, "vector": 0.0})},
)
"""A leg alone, whose scores are shares of its best one: all that a convex combination asks of them."""


class Legs(NamedTuple):
    """What words and meaning found for one question, each the best first."""

    lexical: list[Candidate]
    vector: list[Candidate]


@dataclass(slots=True)
class Laboratory:
    """The collections, the embedders, and what was found so far."""

    materials: Mapping[str, Material]
    embedders: Sequence[str]
    cache: Path | None = None
    pictures: dict[str, str] = field(default_factory=dict)
    """The plots, each an SVG, by the name of their file."""
    _found: dict[tuple[object, ...], dict[str, Outcome]] = field(default_factory=dict)
    _legs: dict[tuple[object, ...], dict[str, Legs]] = field(default_factory=dict)

    @property
    def encoder(self) -> str:
        """The embedder for what is asked of one alone."""
        return self.embedders[0]

    def outcomes(
        self, material: Material, embedder: str | None, systems: Sequence[System], *, depth: int = 20
    ) -> dict[str, Outcome]:
        """Put all questions to the systems, and return what came of it by their names."""
        model = embedder or "none"
        known = self._found.setdefault((_asked(material), model, depth), {})
        missing = [each for each in systems if each.name not in known]
        if missing:
            with shown_progress(f"{material.name}, {model}") as progress:
                made = evaluate(
                    material.dataset,
                    missing,
                    embedder=embedder,
                    depth=depth,
                    measures=material.measures,
                    cache=self.cache,
                    remember_queries=True,
                    progress=progress,
                )
            known.update({outcome.system: outcome for outcome in made})
        return {each.name: known[each.name] for each in systems}

    def legs(self, material: Material, embedder: str) -> dict[str, Legs]:
        """Return, by question, what each leg alone finds, deep enough for every sweep."""
        key = (_asked(material), embedder)
        if key not in self._legs:
            words = System(_LEG, name="words alone")
            meaning = System(_LEG, "semantic", name="meaning alone")
            lexical = self.outcomes(material, None, [words], depth=DEEPEST)[words.name]
            vector = self.outcomes(material, embedder, [meaning], depth=DEEPEST)[meaning.name]
            self._legs[key] = {
                question.id: Legs(_listed(lexical.rankings[question.id]), _listed(vector.rankings[question.id]))
                for question in material.dataset.questions
            }
        return self._legs[key]

    def values(
        self,
        material: Material,
        embedder: str,
        rank: Callable[[Legs], Sequence[Candidate]],
        measures: Sequence[str] = (),
    ) -> dict[str, Values]:
        """Return what each question is worth, by measure, if ``rank`` makes one list of what the legs found."""
        legs = self.legs(material, embedder)
        rankings = {name: _ranking(rank(each)) for name, each in legs.items()}
        return measured(material.dataset.questions, rankings, tuple(measures) or (material.measure,))

    def model_name(self, embedder: str) -> str:
        """Return the full name of an embedder's model."""
        model = embedder_from(embedder)
        return model.name if model else "none"


Chapter: TypeAlias = Callable[[Laboratory], dict[str, str]]
"""Answers a question: tables and figures as Markdown, by the names of the places where they belong."""


def changed(base: str | Preset, name: str, mode: Mode = "auto", **sections: Any) -> System:
    """Return a preset with other settings, as a system."""
    preset = presets()[base] if isinstance(base, str) else base
    return System(changed_preset(preset, sections), mode, name=name)


def default_with(name: str, *, without: Sequence[str] = (), **sections: Any) -> System:
    """Return the default with other settings, and without some stages, as a system."""
    default = presets()["default"]
    if without:
        sections["stages"] = tuple(rules for rules in default.stages if rules.stage not in without)
    return changed(default, name, **sections)


def _asked(material: Material) -> tuple[object, ...]:
    """Return what tells the questions of one material from those of another."""
    return material.name, *((each.text, each.asked) for each in material.dataset.questions)


def _listed(ranking: Ranking) -> list[Candidate]:
    return [Candidate(note, score=score) for note, score in zip(ranking.ids, ranking.scores, strict=True)]


def _ranking(found: Sequence[Candidate]) -> Ranking:
    best = found[:20]
    return Ranking(tuple(each.id for each in best), tuple(each.score for each in best), 0.0)
