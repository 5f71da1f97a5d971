"""The stages by the names that presets call them: what each is given of a search, and which constants it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import signature
from typing import Any, Protocol

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.fusion import deduplicate
from recollect.model import Candidate
from recollect.ranking import (
    DEFAULT_TEMPORAL_BOOST,
    DEFAULT_TIME_BOOST,
    CompositeWeights,
    boost_time_matches,
    composite,
    exact_match,
    importance_prior,
    lift_exact_term,
    lift_sessions,
    reweight_by_intent,
    step_back,
    temporal,
    temporal_boost,
    weigh_turns,
)

LARGEST = 1_000_000
"""More than any constant of a stage need be."""

__all__ = ["STAGES", "Connections", "Scene", "check_stage", "run_stage"]


class Connections(Protocol):
    """What a stage may ask about how notes are connected."""

    def replacements(self, candidates: list[Candidate]) -> tuple[list[Candidate], Mapping[str, list[str]]]:
        """Return the candidates with what replaced any of them, and for each replaced one the ids of what did."""
        ...


class _Unconnected:
    """Notes without connections."""

    def replacements(self, candidates: list[Candidate]) -> tuple[list[Candidate], Mapping[str, list[str]]]:
        return candidates, {}


@dataclass(frozen=True, slots=True)
class Scene:
    """What a stage may know of the search that it is part of."""

    query: str
    now: datetime
    connections: Connections
    forms: tuple[str, ...] = ()
    """The other forms in which the query's only term was searched for."""
    time_only: bool = False
    """Whether the query asks for nothing but a time."""


_DEFAULT = CompositeWeights()


def _intent(found: list[Candidate], scene: Scene, *, characters: int = 0) -> list[Candidate]:
    return reweight_by_intent(scene.query, found, characters=characters)


def _composite(
    found: list[Candidate],
    scene: Scene,
    *,
    relevance: float = _DEFAULT.relevance,
    recency: float = _DEFAULT.recency,
    importance: float = _DEFAULT.importance,
) -> list[Candidate]:
    return composite(found, now=scene.now, weights=CompositeWeights(relevance, recency, importance))


def _temporal(
    found: list[Candidate],
    scene: Scene,
    *,
    relevance: float = _DEFAULT.relevance,
    recency: float = _DEFAULT.recency,
    importance: float = _DEFAULT.importance,
    boost: float = DEFAULT_TEMPORAL_BOOST,
    combine: Any = "add",
) -> list[Candidate]:
    weights = CompositeWeights(relevance, recency, importance)
    return temporal(found, query=scene.query, now=scene.now, weights=weights, boost=boost, combine=combine)


def _temporal_boost(
    found: list[Candidate], scene: Scene, *, boost: float = DEFAULT_TEMPORAL_BOOST, combine: Any = "multiply"
) -> list[Candidate]:
    return temporal_boost(found, query=scene.query, now=scene.now, boost=boost, combine=combine)


def _time_match(
    found: list[Candidate],
    scene: Scene,
    *,
    boost: float = DEFAULT_TIME_BOOST,
    events: bool = True,
    combine: Any = "multiply",
) -> list[Candidate]:
    return boost_time_matches(
        found,
        query=scene.query,
        now=scene.now,
        boost=boost,
        events=events,
        combine=combine,
        time_only=scene.time_only,
    )


def _importance(found: list[Candidate], _: Scene, *, base: float = 0.7, slope: float = 0.3) -> list[Candidate]:
    return importance_prior(found, base=base, slope=slope)


def _exact_match(found: list[Candidate], scene: Scene, *, bonus: float = 0.2) -> list[Candidate]:
    return exact_match(found, query=scene.query, bonus=bonus)


def _exact_term(found: list[Candidate], scene: Scene, *, most: int = 10, lead: float = 0.25) -> list[Candidate]:
    return lift_exact_term(found, query=scene.query, forms=scene.forms, most=most, lead=lead)


def _session(found: list[Candidate], _: Scene, *, weight: float = 0.33) -> list[Candidate]:
    return lift_sessions(found, weight=weight)


def _turns(
    found: list[Candidate], scene: Scene, *, speaker: float = 0.1, asks: float = 0.2, length: float = 0.1
) -> list[Candidate]:
    return weigh_turns(found, query=scene.query, speaker=speaker, asks=asks, length=length)


def _replaced(found: list[Candidate], scene: Scene, *, factor: float = 0.5) -> list[Candidate]:
    with_replacements, replaced_by = scene.connections.replacements(found)
    return step_back(with_replacements, replaced_by, factor=factor) if replaced_by or not found else found


def _duplicates(found: list[Candidate], _: Scene) -> list[Candidate]:
    return deduplicate(found)


STAGES: dict[str, Callable[..., list[Candidate]]] = {
    "intent": _intent,
    "composite": _composite,
    "temporal": _temporal,
    "temporal_boost": _temporal_boost,
    "time_match": _time_match,
    "importance": _importance,
    "exact_match": _exact_match,
    "exact_term": _exact_term,
    "session": _session,
    "turns": _turns,
    "replaced": _replaced,
    "duplicates": _duplicates,
}


def run_stage(stage: str, settings: Mapping[str, Any], found: list[Candidate], scene: Scene) -> list[Candidate]:
    """Return the candidates after a stage."""
    return STAGES[stage](found, scene, **settings)


def check_stage(argument: str, stage: str, settings: Mapping[str, Any]) -> None:
    """Raise an error that says what is wrong if there is no such stage, or it cannot work with these constants."""
    arguments.choice(f"{argument}.stage", stage, tuple(STAGES))
    _, _, *known = signature(STAGES[stage]).parameters
    for name in settings:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "it has none"
            raise ArgumentError(argument, f"the stage {stage} has no setting {name!r}; {there}")
        value = settings[name]
        if isinstance(value, (int, float)) and abs(value) > LARGEST:
            raise ArgumentError(f"{argument}.{name}", f"must lie between -{LARGEST} and {LARGEST}, got {value:g}")
    try:
        run_stage(stage, settings, [], _NOWHERE)
    except ArgumentError as error:
        raise ArgumentError(f"{argument}.{error.argument}", error.problem) from None


_NOWHERE = Scene("", datetime(2000, 1, 1, tzinfo=UTC), _Unconnected())
