"""Composite re-ranking: relevance first, with recency and importance to decide between near equals."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import Effect, clamp, rescore

__all__ = ["CompositeWeights", "composite"]

_RECENCY_SCALE = timedelta(days=7)


class CompositeWeights(NamedTuple):
    """How much each signal counts.

    >>> CompositeWeights()
    CompositeWeights(relevance=0.8, recency=0.05, importance=0.15)
    """

    relevance: float = 0.80
    recency: float = 0.05
    importance: float = 0.15


def composite(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    now: datetime,
    weights: CompositeWeights | Mapping[str, float] | Sequence[float] = CompositeWeights(),  # noqa: B008 (immutable)
) -> list[Candidate]:
    """Return ``candidates`` by a blend of relevance, recency and importance, the best first.

    The score becomes ``0.80·score/max + 0.05·exp(−age / 7 days) + 0.15·importance``. Age counts from the last
    access; one that is unknown adds nothing, one in the future counts as now. Importance is kept within 0 and 1.
    Where no score is above 0, relevance is 0.

    >>> from datetime import datetime
    >>> notes = [{"id": "a", "score": 0.50, "importance": 0.0}, {"id": "b", "score": 0.48, "importance": 1.0}]
    >>> [(note.id, round(note.score, 3)) for note in composite(notes, now=datetime(2026, 4, 18))]
    [('b', 0.918), ('a', 0.8)]
    """
    found = as_candidates("candidates", candidates)
    moment = arguments.instant("now", now)
    share = _weights(weights)
    best = max((candidate.score for candidate in found), default=0.0)
    factor = share.relevance / best if best >= sys.float_info.min else 0.0  # dividing by less overflows

    def effects_on(candidate: Candidate) -> list[Effect]:
        importance = clamp(candidate.importance)
        return [
            Effect(f"relevance: its share of the best score × {share.relevance:g}", factor),
            _recency_effect(candidate.last_accessed_at, moment, share.recency),
            Effect(f"importance {importance:.2f} × {share.importance:g}", addend=share.importance * importance),
        ]

    return rescore("composite", found, effects_on)


def _recency_effect(accessed: datetime | None, now: datetime, share: float) -> Effect:
    if accessed is None:
        return Effect("recency: never accessed, as far as is known")
    age = max(now - arguments.instant("last_accessed_at", accessed), timedelta())
    days = age / timedelta(days=1)
    return Effect(
        f"recency: last accessed {days:.1f} days ago × {share:g}", addend=share * math.exp(-age / _RECENCY_SCALE)
    )


def _weights(weights: CompositeWeights | Mapping[str, float] | Sequence[float]) -> CompositeWeights:
    try:
        chosen = CompositeWeights(**weights) if isinstance(weights, Mapping) else CompositeWeights(*weights)
    except TypeError:
        names = ", ".join(CompositeWeights._fields)
        raise ArgumentTypeError("weights", f"must hold {names} and nothing else, got {weights!r}") from None
    return CompositeWeights(*(arguments.number(f"weights.{name}", value) for name, value in chosen._asdict().items()))
