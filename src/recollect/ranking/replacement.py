"""Replaced notes step back: what was written anew should be found instead of what it replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect import arguments
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import Effect, rescore, shown_name

__all__ = ["step_back"]


def step_back(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    replaced_by: Mapping[str, Sequence[str]],
    *,
    factor: float = 0.5,
) -> list[Candidate]:
    """Return ``candidates`` with replaced notes multiplied by ``factor``, and what replaced them in their place.

    ``replaced_by`` has for the id of each replaced note those that replaced it. A note that replaces others, itself or
    by way of notes in between, scores at least as well as the best of them did, and has at least their relevance.

    >>> notes = [{"id": "old", "score": 0.6}, {"id": "new", "score": 0.2}]
    >>> [(note.id, note.score) for note in step_back(notes, {"old": ["new"]})]
    [('new', 0.6), ('old', 0.3)]
    """
    found = as_candidates("candidates", candidates)
    share = arguments.number("factor", factor, at_least=0)
    inherited: dict[str, tuple[float, str]] = {}
    relevances: dict[str, float] = {}
    for candidate in found:
        for heir in _heirs(candidate.id, replaced_by):
            best = inherited.get(heir)
            relevances[heir] = max(relevances.get(heir, 0.0), candidate.relevance or 0.0)
            if best is None or candidate.score > best[0]:
                inherited[heir] = candidate.score, shown_name(candidate)
    names = {candidate.id: shown_name(candidate) for candidate in found}

    def effects_on(candidate: Candidate) -> list[Effect]:
        heirs = replaced_by.get(candidate.id)
        if heirs:
            return [Effect(f"replaced by {', '.join(repr(names.get(heir, heir)) for heir in heirs)}", share)]
        score, name = inherited.get(candidate.id, (candidate.score, ""))
        return [Effect(f"replaces {name!r}", addend=score - candidate.score)] if score > candidate.score else []

    rescored = rescore("replaced", found, effects_on)
    for candidate in rescored:
        relevance = relevances.get(candidate.id, 0.0)
        if not replaced_by.get(candidate.id) and relevance > (candidate.relevance or 0.0):
            candidate.inherited_relevance = relevance
    return rescored


def _heirs(note: str, replaced_by: Mapping[str, Sequence[str]]) -> set[str]:
    """Return all that replaced a note, and what replaced that in turn."""
    heirs: set[str] = set()
    waiting = [note]
    while waiting:
        for heir in replaced_by.get(waiting.pop(), ()):
            if heir not in heirs and heir != note:
                heirs.add(heir)
                waiting.append(heir)
    return heirs
