"""The importance prior: what matters more counts a little more, whatever the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recollect import arguments
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import Effect, clamp, rescore

__all__ = ["importance_prior"]


def importance_prior(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    base: float = 0.7,
    slope: float = 0.3,
) -> list[Candidate]:
    """Return ``candidates`` with each score multiplied by ``base + slope·importance``, the best first.

    Importance is kept within 0 and 1. It is a prior, not one more fused list.

    >>> notes = [{"id": "a", "score": 1.0, "importance": 0.0}, {"id": "b", "score": 0.9, "importance": 1.0}]
    >>> [(note.id, note.score) for note in importance_prior(notes)]
    [('b', 0.9), ('a', 0.7)]
    """
    start, rise = arguments.number("base", base), arguments.number("slope", slope)

    def effects_on(candidate: Candidate) -> list[Effect]:
        importance = clamp(candidate.importance)
        return [Effect(f"importance {importance:.2f}", factor=start + rise * importance)]

    return rescore("importance", as_candidates("candidates", candidates), effects_on)
