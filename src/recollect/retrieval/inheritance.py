"""The current note takes over the confidence of the notes that it supersedes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from recollect.model import Candidate, Hit

__all__ = ["inherit_confidence"]


def inherit_confidence(
    hits: Sequence[Hit], superseded: Iterable[Candidate], confidence_of: Callable[[Candidate], float | None]
) -> tuple[Hit, ...]:
    """Return the hits, each with at least the confidence of every note that it supersedes.

    The current note, which nothing supersedes, answers what the superseded notes would have answered, even if it holds
    other words. Its confidence is therefore the maximum of its own and of those of ``superseded``, the superseded
    candidates of the search, shown or not. So no superseded note has more confidence than the current one.

    >>> old, new = Candidate("old", superseded_by=("new",)), Candidate("new", confidence=0.25)
    >>> (hit,) = inherit_confidence([Hit(1, new)], [old], lambda _: 0.75)
    >>> hit.confidence, hit.candidate.inherited_confidence
    (0.75, 0.75)
    """
    best: dict[str, float] = {}
    for candidate in superseded:
        confidence = confidence_of(candidate) or 0.0
        for successor in candidate.superseded_by:
            best[successor] = max(best.get(successor, 0.0), confidence)
    return tuple(_inheriting(hit, best.get(hit.id, 0.0)) for hit in hits) if best else tuple(hits)


def _inheriting(hit: Hit, confidence: float) -> Hit:
    if hit.superseded_by or confidence <= (hit.confidence or 0.0):
        return hit
    candidate = hit.candidate.copy()
    candidate.confidence = candidate.inherited_confidence = confidence
    return replace(hit, candidate=candidate)
