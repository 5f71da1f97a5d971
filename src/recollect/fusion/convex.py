"""Convex combination: a weighted sum of scores, each list scaled so that its best is 1 and its worst 0.

Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023. Unlike a fusion of
ranks it keeps how far a list's best hit stands above its second.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.fusion.pool import RankedLists, finite_ceiling, fuse, read_legs, read_lists, read_weights
from recollect.model import Candidate

__all__ = ["convex_combination"]


def convex_combination(
    lists: RankedLists,
    *,
    weights: Sequence[float] | None = None,
    limit: int | None = None,
    legs: Sequence[str] | None = None,
    least: Sequence[float | None] | None = None,
    highest: Sequence[float | None] | None = None,
) -> list[Candidate]:
    """Return the candidates of all lists by the weighted sum of their scores, each list's scaled to 0–1.

    A list's best score becomes 1 and its worst 0; with ``least``, the score that becomes 0 is given for each list
    instead (``None``: the worst), so that the last of a list that is good throughout does not count for nothing. With
    ``highest``, the score that becomes 1 is given (``None``: the best), so that a list that has nothing good does not
    count in full.

    A list whose scores are all equal gives 1 to each of its candidates; a list that lacks a candidate gives it
    nothing; a list of weight 0 still brings its candidates in. A missing weight is 1. Equal scores stay in the order
    first seen. A ``limit`` of ``None`` or 0 keeps all. ``legs`` names the lists as for reciprocal rank fusion.

    >>> keyword = [{"id": "a", "score": 9.0}, {"id": "b", "score": 3.0}]
    >>> semantic = [{"id": "b", "score": 0.8}, {"id": "c", "score": 0.4}]
    >>> [(hit.id, hit.score) for hit in convex_combination([keyword, semantic], weights=[0.5, 0.5])]
    [('a', 0.5), ('b', 0.5), ('c', 0.0)]
    """
    read = read_lists(lists)
    shares = read_weights(weights, len(read))
    zeros, ones = _read_scores("least", least, len(read)), _read_scores("highest", highest, len(read))
    return fuse(
        read,
        [
            _scaled(number, each, share, zero, one)
            for number, (each, share, zero, one) in enumerate(zip(read, shares, zeros, ones, strict=True))
        ],
        legs=read_legs(legs, len(read)),
        ceiling=finite_ceiling([share for share, each in zip(shares, read, strict=True) if each]),
        ties="first_seen",
        limit=arguments.limit("limit", limit),
    )


def _read_scores(argument: str, scores: Sequence[float | None] | None, count: int) -> list[float | None]:
    if scores is None:
        return [None] * count
    given = [
        None if score is None else arguments.number(f"{argument}[{number}]", score)
        for number, score in enumerate(arguments.sequence(argument, scores))
    ]
    if len(given) != count:
        raise ArgumentError(argument, f"must hold a score or None for each list: {len(given)} for {count} lists")
    return given


def _scaled(
    number: int, candidates: Sequence[Candidate], share: float, zero: float | None, one: float | None
) -> list[float]:
    """Return each candidate's score scaled between the list's zero and its one, times the list's share."""
    scores = [
        arguments.number(f"lists[{number}][{place}].score", candidate.score)
        for place, candidate in enumerate(candidates)
    ]
    halves = [score / 2 for score in scores]  # the span of two very large scores would overflow
    best = max(halves, default=0.0)
    best = best if one is None else max(best, one / 2)
    worst = min(halves, default=0.0) if zero is None else zero / 2
    span = best - worst
    if span <= 0:
        return [share if half >= best else 0.0 for half in halves]
    return [share * max(0.0, (half - worst) / span) for half in halves]
