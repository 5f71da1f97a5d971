"""What every fusion method shares: one pool of candidates, filled leg by leg.

A method decides how many points each place in each list is worth. The pool adds them up by id, fills gaps in a
candidate from later lists, keeps where each leg had it, and sorts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import fsum, isfinite
from operator import attrgetter
from typing import Any, Literal

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.model import Candidate, as_candidates

__all__ = ["RankedLists", "Ties", "finite_ceiling", "fuse", "read_legs", "read_lists", "read_weights"]

RankedLists = Sequence[Iterable[Candidate | Mapping[str, Any]]]
"""Ranked lists, each the best first, of candidates or mappings with a candidate's keys."""

Ties = Literal["path", "id", "first_seen"]

LEGS = ("lexical", "vector", "graph")
"""The names that lists have, in this order, unless the caller names them. The first two have fields of a candidate."""


def read_lists(lists: RankedLists) -> list[list[Candidate]]:
    """Return ``lists`` as lists of candidates."""
    return [as_candidates(f"lists[{number}]", each) for number, each in enumerate(arguments.sequence("lists", lists))]


def read_legs(legs: Sequence[str] | None, count: int) -> list[str]:
    """Return a name for each of ``count`` lists."""
    if legs is None:
        return [*LEGS[:count], *(f"leg {number}" for number in range(len(LEGS) + 1, count + 1))]
    names = [arguments.text(f"legs[{number}]", leg) for number, leg in enumerate(arguments.sequence("legs", legs))]
    if len(names) != count:
        raise ArgumentError("legs", f"must name each list: {len(names)} names for {count} lists")
    return names


def read_weights(weights: Sequence[float] | None, count: int) -> list[float]:
    """Return a weight for each of ``count`` lists; a missing one is 1."""
    if weights is None:
        return [1.0] * count
    given = [
        arguments.number(f"weights[{number}]", weight, at_least=0)
        for number, weight in enumerate(arguments.sequence("weights", weights))
    ]
    if len(given) > count:
        raise ArgumentError("weights", f"must not outnumber the lists: {len(given)} weights for {count} lists")
    return given + [1.0] * (count - len(given))


def finite_ceiling(shares: Sequence[float]) -> float:
    """Return the most that a candidate can get, the first place in every list."""
    ceiling = sum(shares)
    if not isfinite(ceiling):
        raise ArgumentError("weights", "are too large, or k is too small, to add up")
    return ceiling


def fuse(
    lists: Sequence[Sequence[Candidate]],
    points: Sequence[Sequence[float]],
    *,
    legs: Sequence[str],
    ceiling: float,
    ties: Ties,
    limit: int | None,
) -> list[Candidate]:
    """Return one list, the best first, of all candidates in ``lists``.

    ``points`` holds what each place is worth, list by list; ``ceiling`` is the most that a candidate can get. Equal
    scores are ordered by path or by id and then as first seen.
    """
    pool: dict[str, Candidate] = {}
    further: dict[str, list[Any]] = {}
    for leg, candidates, values in zip(legs, lists, points, strict=True):
        for rank, candidate in enumerate(candidates, 1):
            value = values[rank - 1]
            pooled = pool.get(candidate.id)
            if pooled is None:
                pooled = pool[candidate.id] = candidate.copy()
                pooled.score = value
                pooled.evidence = (leg, rank, candidate.score, value)
                pooled.ceiling = ceiling
                pooled.steps = ()  # the record of this score begins here
                continue
            _fill(pooled, candidate, leg)
            if len(pooled.evidence) == 4:
                pooled.score += value
                pooled.evidence += (leg, rank, candidate.score, value)
            else:
                further.setdefault(candidate.id, []).extend((leg, rank, candidate.score, value))
    for identifier, evidence in further.items():
        # Unlike a running sum of three or more, an exact one does not depend on the order of the lists.
        pooled = pool[identifier]
        pooled.evidence += tuple(evidence)
        pooled.score = fsum(pooled.evidence[3::4])
    for leg, candidates in zip(legs, lists, strict=True):
        if leg == "lexical":
            _note_lexical(pool, candidates)
        elif leg == "vector":
            _note_vector(pool, candidates)
    fused = list(pool.values())
    fused.sort(key=_score, reverse=True)  # a reversed sort is stable too
    if ties != "first_seen":
        _order_ties(fused, attrgetter(ties))
    return fused[:limit] if limit else fused


def _note_lexical(pool: Mapping[str, Candidate], candidates: Sequence[Candidate]) -> None:
    """Read off where the lexical leg had each of its candidates, unless a list said so itself."""
    for rank, candidate in enumerate(candidates, 1):
        pooled = pool[candidate.id]
        if pooled.lexical_rank is None:
            pooled.lexical_rank = rank
        if pooled.lexical_score is None:
            pooled.lexical_score = candidate.score


def _note_vector(pool: Mapping[str, Candidate], candidates: Sequence[Candidate]) -> None:
    """Do the same for the vector leg."""
    for rank, candidate in enumerate(candidates, 1):
        pooled = pool[candidate.id]
        if pooled.vector_rank is None:
            pooled.vector_rank = rank
        if pooled.vector_similarity is None:
            pooled.vector_similarity = candidate.score


def _order_ties(fused: list[Candidate], key: Callable[[Candidate], str]) -> None:
    """Order each run of equal scores by ``key``: quicker than sorting all by it first, for most runs are short."""
    scores = [candidate.score for candidate in fused]
    end = 0
    for start in [place for place, (one, other) in enumerate(pairwise(scores)) if one == other]:
        if start >= end:
            end = start + 2
            while end < len(scores) and scores[end] == scores[start]:
                end += 1
            fused[start:end] = sorted(fused[start:end], key=key)


def _fill(pooled: Candidate, other: Candidate, leg: str) -> None:
    """Fill what ``pooled`` lacks from another list's appearance of it; overwrite nothing.

    Field by field rather than in a loop over names: half of all candidates come by here in every search.
    """
    if not pooled.path:
        pooled.path = other.path
    if not pooled.title:
        pooled.title = other.title
    if not pooled.summary:
        pooled.summary = other.summary
    if not pooled.content:
        pooled.content = other.content
    if other.snippet and (not pooled.snippet or _is_preferred(leg, pooled)):
        pooled.snippet = other.snippet
    if pooled.lexical_rank is None:
        pooled.lexical_rank = other.lexical_rank
    if pooled.lexical_score is None:
        pooled.lexical_score = other.lexical_score
    if pooled.vector_rank is None:
        pooled.vector_rank = other.vector_rank
    if pooled.vector_similarity is None:
        pooled.vector_similarity = other.vector_similarity
    if pooled.created_at is None:
        pooled.created_at = other.created_at
    if pooled.last_accessed_at is None:
        pooled.last_accessed_at = other.last_accessed_at
    if pooled.rerank_score is None:
        pooled.rerank_score = other.rerank_score
    if pooled.importance == _NEUTRAL:
        pooled.importance = other.importance
    if not pooled.session:
        pooled.session = other.session
    if pooled.position is None:
        pooled.position = other.position
    if not pooled.tags:
        pooled.tags = other.tags
    if not pooled.metadata:
        pooled.metadata = other.metadata


def _is_preferred(leg: str, pooled: Candidate) -> bool:
    """Return whether a leg's snippet takes the place of another's: the lexical one does, for it shows what matched."""
    return leg == "lexical" and "lexical" not in pooled.evidence[::4]


_score = attrgetter("score")
_NEUTRAL = Candidate("").importance
