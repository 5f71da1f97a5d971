"""Convex combination: a weighted sum of scores, after the scores of each list are scaled from 0 (worst) to 1 (best).

Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023. Unlike a fusion of ranks,
this method keeps the distances between scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.fusion.base import (
    FusionRules,
    FusionScale,
    RankedLists,
    finite_ceiling,
    fuse,
    read_legs,
    read_lists,
    read_weights,
)
from recollect.model import Candidate


def convex_combination(
    lists: RankedLists,
    *,
    weights: Sequence[float] | None = None,
    limit: int | None = None,
    legs: Sequence[str] | None = None,
    min_scores: Sequence[float | None] | None = None,
    max_scores: Sequence[float | None] | None = None,
) -> list[Candidate]:
    """Return the candidates of all lists by the weighted sum of their scores, after each list is scaled to 0–1.

    By default, a list's best score becomes 1 and its worst 0. ``min_scores`` has the score of each list that becomes 0
    (``None`` for the worst), so that the last candidate of a good list still counts. ``max_scores`` has the score that
    becomes 1 (``None`` for the best), so that the best candidate of a poor list does not count in full; a value below
    the best score is ignored. If the score that becomes 0 is not below the score that becomes 1, for example because
    all scores are equal, then scores that reach the latter become 1 and all others 0.

    A candidate gets 0 from a list that does not contain it. The candidates of a list of weight 0 are included. A
    missing weight is 1. Candidates with equal sums keep the order in which they were first seen. A ``limit`` of
    ``None`` or 0 keeps all. ``legs`` names the lists as for reciprocal rank fusion.

    >>> keyword = [{"id": "a", "score": 9.0}, {"id": "b", "score": 3.0}]
    >>> semantic = [{"id": "b", "score": 0.8}, {"id": "c", "score": 0.4}]
    >>> [(hit.id, hit.score) for hit in convex_combination([keyword, semantic], weights=[0.5, 0.5])]
    [('a', 0.5), ('b', 0.5), ('c', 0.0)]
    """
    rankings = read_lists(lists)
    size = len(rankings)
    list_weights = read_weights(weights, size)
    lowest = _read_scores("min_scores", min_scores, size)
    highest = _read_scores("max_scores", max_scores, size)
    return fuse(
        rankings,
        list(map(_scaled_points, range(size), rankings, list_weights, lowest, highest)),
        legs=read_legs(legs, size),
        ceiling=finite_ceiling([weight for weight, ranking in zip(list_weights, rankings, strict=True) if ranking]),
        ties="first_seen",
        limit=arguments.optional_count("limit", limit),
    )


def fuse_by_score(lists: Mapping[str, Sequence[Candidate]], _: FusionRules, scale: FusionScale) -> list[Candidate]:
    """Return the fused lists of the legs, by the weights and the scores of ``scale``; no other rules are needed."""
    return convex_combination(
        list(lists.values()),
        weights=[scale.weights.get(leg, 1.0) for leg in lists],
        legs=list(lists),
        min_scores=[scale.min_scores.get(leg) for leg in lists],
        max_scores=[scale.max_scores.get(leg) for leg in lists],
    )


def _read_scores(argument: str, scores: Sequence[float | None] | None, size: int) -> list[float | None]:
    if scores is None:
        return [None] * size
    checked = [
        None if score is None else arguments.number(f"{argument}[{index}]", score)
        for index, score in enumerate(arguments.sequence(argument, scores))
    ]
    if len(checked) != size:
        raise ArgumentError(argument, f"must have a score or None for each list: {len(checked)} for {size} lists")
    return checked


def _scaled_points(
    number: int, ranking: Sequence[Candidate], weight: float, min_score: float | None, max_score: float | None
) -> list[float]:
    """Return the points of each candidate of list ``number``: 0 for ``min_score``, and ``weight`` for ``max_score``."""
    scores = [
        arguments.number(f"lists[{number}][{index}].score", candidate.score) for index, candidate in enumerate(ranking)
    ]
    halves = [score / 2 for score in scores]  # the difference of two very large scores could overflow
    best = max(halves, default=0.0)
    if max_score is not None:
        best = max(best, max_score / 2)
    worst = min(halves, default=0.0) if min_score is None else min_score / 2
    span = best - worst
    if span <= 0:
        return [weight if half >= best else 0.0 for half in halves]
    return [weight * max(0.0, (half - worst) / span) for half in halves]
