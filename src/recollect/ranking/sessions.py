"""Sessions: where one note fits well, the others of its conversation or document are more likely to.

What answers a question seldom stands alone: a conversation stays with its subject for a while, and so does a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import Effect, rescore, shown_name

__all__ = ["lift_sessions"]


def lift_sessions(candidates: Iterable[Candidate | Mapping[str, Any]], *, weight: float = 0.33) -> list[Candidate]:
    """Return ``candidates`` with each score moved towards the best of its session, by ``weight`` of the way.

    The best of a session, and a note without one, keeps its score; the order within a session does not change.

    >>> notes = [{"id": "a", "score": 0.8, "session": "s1"}, {"id": "b", "score": 0.7, "session": "s2"},
    ...          {"id": "c", "score": 0.6, "session": "s1"}]
    >>> [(note.id, round(note.score, 3)) for note in lift_sessions(notes, weight=0.75)]
    [('a', 0.8), ('c', 0.75), ('b', 0.7)]
    """
    found = as_candidates("candidates", candidates)
    share = arguments.number("weight", weight, at_least=0)
    if share > 1:
        raise ArgumentError("weight", f"must be at most 1, got {share:g}")
    best: dict[str, Candidate] = {}
    for candidate in found:
        if candidate.session and candidate.score > best.get(candidate.session, _NONE).score:
            best[candidate.session] = candidate

    def effects_on(candidate: Candidate) -> list[Effect]:
        leader = best.get(candidate.session, candidate)
        distance = leader.score - candidate.score
        return [Effect(f"in the session of {shown_name(leader)!r}", addend=share * distance)] if distance > 0 else []

    return rescore("session", found, effects_on) if best and share else found


_NONE = Candidate("")
