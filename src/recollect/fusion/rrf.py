"""Reciprocal rank fusion, plain and weighted.

Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from recollect import arguments
from recollect.fusion.pool import RankedLists, Ties, finite_ceiling, fuse, read_legs, read_lists, read_weights
from recollect.model import Candidate

__all__ = ["DEFAULT_K", "reciprocal_rank_fusion"]

DEFAULT_K = 60
"""The constant of the paper."""


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
    """Return the candidates of all lists by the sum of ``weight / (k + rank)`` over the lists that hold them.

    The first rank is ``rank_base``. A ``k`` of 0 or less means 60. A missing weight is 1. ``ties`` orders equal
    scores by ``path``, by ``id``, or as ``first_seen``. ``legs`` names the lists; by default they are lexical,
    vector and graph, in this order. What the lists named lexical and vector hold is known to have been found by
    words and by meaning (``in_keyword``, ``in_semantic``). A ``limit`` of ``None`` or 0 keeps all.

    >>> keyword = [{"id": "a", "path": "a.md"}, {"id": "b", "path": "b.md"}]
    >>> semantic = [{"id": "b", "path": "b.md"}]
    >>> [(hit.id, round(hit.score, 5), hit.in_keyword, hit.in_semantic)
    ...  for hit in reciprocal_rank_fusion([keyword, semantic])]
    [('b', 0.03252, True, True), ('a', 0.01639, True, False)]
    """
    read = read_lists(lists)
    shares = read_weights(weights, len(read))
    damping = arguments.number("k", k)
    base = arguments.number("rank_base", arguments.count("rank_base", rank_base))
    first = (damping if damping > 0 else DEFAULT_K) + base
    arguments.choice("ties", ties, ("path", "id", "first_seen"))
    return fuse(
        read,
        [_points(share, first, len(each)) for share, each in zip(shares, read, strict=True)],
        legs=read_legs(legs, len(read)),
        ceiling=finite_ceiling([share / first for share, each in zip(shares, read, strict=True) if each]),
        ties=ties,
        limit=arguments.limit("limit", limit),
    )


@lru_cache(maxsize=16)
def _points(weight: float, first: float, length: int) -> tuple[float, ...]:
    """Return what each place of a list is worth; every search with the same settings asks for the same."""
    return tuple(weight / (first + place) for place in range(length))
