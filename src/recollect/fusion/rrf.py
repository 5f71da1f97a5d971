"""Reciprocal rank fusion, plain and weighted.

Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from recollect import arguments
from recollect.fusion.base import (
    DEFAULT_K,
    FusionRules,
    FusionScale,
    RankedLists,
    Ties,
    finite_ceiling,
    fuse,
    read_legs,
    read_lists,
    read_weights,
)
from recollect.model import Candidate


def reciprocal_rank_fusion(
    lists: RankedLists,
    *,
    k: float = DEFAULT_K,
    weights: Sequence[float] | None = None,
    rank_base: int = 1,
    ties: Ties = "path",
    limit: int | None = None,
    legs: Sequence[str] | None = None,
) -> list[Candidate]:
    """Return all candidates, ordered by the sum of ``weight / (k + rank)`` over the lists that contain them.

    The first rank is ``rank_base``. A ``k`` of 0 or less means 60. A missing weight is 1. ``ties`` orders equal
    scores by ``path``, by ``id``, or as ``first_seen``. ``legs`` names the lists; by default they are lexical,
    vector and graph, in this order. Candidates of the list named lexical have ``in_keyword`` set to true, candidates of
    the list named vector have ``in_semantic`` set to true. A ``limit`` of ``None`` or 0 returns all candidates.

    >>> keyword = [{"id": "a", "path": "a.md"}, {"id": "b", "path": "b.md"}]
    >>> semantic = [{"id": "b", "path": "b.md"}]
    >>> [(hit.id, round(hit.score, 5), hit.in_keyword, hit.in_semantic)
    ...  for hit in reciprocal_rank_fusion([keyword, semantic])]
    [('b', 0.03252, True, True), ('a', 0.01639, True, False)]
    """
    rankings = read_lists(lists)
    weighted_rankings = list(zip(read_weights(weights, len(rankings)), rankings, strict=True))
    constant = arguments.number("k", k)
    base = arguments.number("rank_base", arguments.count("rank_base", rank_base))  # an integer that fits into a float
    first_divisor = (constant if constant > 0 else DEFAULT_K) + base  # k + rank for the first rank
    arguments.choice("ties", ties, ("path", "id", "first_seen"))
    return fuse(
        rankings,
        [_points_by_rank(weight, first_divisor, len(ranking)) for weight, ranking in weighted_rankings],
        legs=read_legs(legs, len(rankings)),
        ceiling=finite_ceiling([weight / first_divisor for weight, ranking in weighted_rankings if ranking]),
        ties=ties,
        limit=arguments.optional_count("limit", limit),
    )


@lru_cache(maxsize=16)
def _points_by_rank(weight: float, first_divisor: float, length: int) -> tuple[float, ...]:
    """Return the points of the first ``length`` ranks. They are cached, as most searches have the same settings."""
    return tuple(weight / (first_divisor + index) for index in range(length))


def fuse_by_rank(lists: Mapping[str, Sequence[Candidate]], rules: FusionRules, scale: FusionScale) -> list[Candidate]:
    """Return the fused lists of the legs, by the rules of a preset and the weights of ``scale``."""
    return reciprocal_rank_fusion(
        list(lists.values()),
        k=rules.k,
        weights=[scale.weights.get(leg, 1.0) for leg in lists],
        rank_base=rules.rank_base,
        ties=rules.ties,
        legs=list(lists),
    )
