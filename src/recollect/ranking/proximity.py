"""Temporal re-ranking: a note dated near the time that the query speaks of climbs.

Recency favours what is near *now*; a question about three weeks ago wants what is near *then*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, as_candidates
from recollect.ranking.anchors import AnchorExtractor, RegexAnchorExtractor, TimeAnchor
from recollect.ranking.blend import CompositeWeights, composite
from recollect.ranking.stage import Effect, clamp, rescore

__all__ = ["DEFAULT_TEMPORAL_BOOST", "temporal", "temporal_boost"]

DEFAULT_TEMPORAL_BOOST = 0.40
"""What a note dated exactly then gains."""

_Combine = Literal["add", "multiply"]
_REGEX_EXTRACTOR = RegexAnchorExtractor()


def temporal(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    now: datetime,
    weights: CompositeWeights | Mapping[str, float] | Sequence[float] = CompositeWeights(),  # noqa: B008 (immutable)
    extractor: AnchorExtractor | None = _REGEX_EXTRACTOR,
    boost: float = DEFAULT_TEMPORAL_BOOST,
    combine: _Combine = "add",
) -> list[Candidate]:
    """Return ``candidates`` re-ranked by :func:`composite`, then by :func:`temporal_boost`.

    With no time in the query, no extractor, or a boost of 0 or less it is the composite alone.

    >>> from datetime import datetime
    >>> notes = [{"id": "fresh", "score": 0.5, "created_at": "2026-05-31"},
    ...          {"id": "then", "score": 0.5, "created_at": "2026-05-11"}]
    >>> [note.id for note in temporal(notes, query="what did I decide 3 weeks ago", now=datetime(2026, 6, 1))]
    ['then', 'fresh']
    """
    ranked = composite(candidates, now=now, weights=weights)
    return temporal_boost(ranked, query=query, now=now, extractor=extractor, boost=boost, combine=combine)


def temporal_boost(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    now: datetime,
    extractor: AnchorExtractor | None = _REGEX_EXTRACTOR,
    boost: float = DEFAULT_TEMPORAL_BOOST,
    combine: _Combine = "add",
) -> list[Candidate]:
    """Return ``candidates`` with those lifted that were created near the time that ``query`` speaks of.

    Proximity is 1 within the anchor's tolerance and falls linearly to 0 at three times the tolerance, on both sides.
    ``combine="add"`` adds ``boost·proximity`` to the score; ``"multiply"`` multiplies the score by
    ``1 + boost·proximity``, so that a date cannot lift a note that has nothing to do with the query.

    >>> from datetime import datetime
    >>> note = {"id": "a", "score": 1.0, "created_at": "2026-05-11"}
    >>> temporal_boost([note], query="3 weeks ago", now=datetime(2026, 6, 1), combine="multiply")[0].score
    1.4
    """
    found = as_candidates("candidates", candidates)
    moment = arguments.instant("now", now)
    strength = arguments.number("boost", boost)
    arguments.choice("combine", combine, ("add", "multiply"))
    arguments.text("query", query)
    anchor = _anchor(extractor, query) if strength > 0 else None
    target = None if anchor is None else _before(moment, anchor)
    if anchor is None or target is None:
        return found

    def effects_on(candidate: Candidate) -> list[Effect]:
        if candidate.created_at is None:
            return []
        created = arguments.instant("created_at", candidate.created_at)
        near = _proximity(abs(created - target), anchor)
        if near == 0:
            return []
        reason = f"created {created.date()}, proximity {near:.2f} to {target.date()}"
        gain = strength * near
        return [Effect(reason, addend=gain) if combine == "add" else Effect(reason, factor=1 + gain)]

    return rescore("temporal", found, effects_on)


def _anchor(extractor: AnchorExtractor | None, query: str) -> TimeAnchor | None:
    """Return what an extractor, which may be the caller's own, reads from the query."""
    if extractor is None:
        return None
    if isinstance(extractor, type) or not callable(getattr(extractor, "anchor", None)):
        raise ArgumentTypeError("extractor", f"must be an object with a method anchor(query), got {extractor!r}")
    found = extractor.anchor(query)
    if found is None or isinstance(found, TimeAnchor):
        return found
    raise ArgumentTypeError("extractor", f"must return None or a TimeAnchor, got {type(found).__name__}")


def _before(now: datetime, anchor: TimeAnchor) -> datetime | None:
    days = arguments.number("extractor's days", anchor.days)
    arguments.number("extractor's tolerance", anchor.tolerance, at_least=0)
    try:
        return now - timedelta(days=days)
    except OverflowError:  # further back than the calendar goes
        return None


def _proximity(distance: timedelta, anchor: TimeAnchor) -> float:
    days = distance / timedelta(days=1)
    if days <= anchor.tolerance:
        return 1.0
    return clamp((3 * anchor.tolerance - days) / (2 * anchor.tolerance)) if anchor.tolerance else 0.0
