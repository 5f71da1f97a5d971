"""The settings of the fusion methods, and the pool that merges the candidates of all legs.

A method computes the points of each candidate in each list. Candidates with the same id are merged in the pool: their
points are added up, missing fields are filled from later lists, and the rank in each leg is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, isfinite
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.model import Candidate, as_candidates
from recollect.settings import Settings, count, flag, number, one_of, setting, weight_table

RankedLists = Sequence[Iterable[Candidate | Mapping[str, Any]]]
"""Lists of candidates, or of mappings with a candidate's keys. Each list is sorted, best first."""

Ties = Literal["path", "id", "first_seen"]

LEGS = ("lexical", "vector", "graph")
"""The default names of lists, in this order. A candidate has fields for the rank and score in the first two."""

DEFAULT_K = 60
"""The constant of the paper on reciprocal rank fusion."""


def _check_method(argument: str, value: Any) -> str:
    from recollect.fusion import FUSION_METHODS  # noqa: PLC0415 (the methods import this module)

    return arguments.choice(argument, value, tuple(FUSION_METHODS))


def _check_k(argument: str, value: Any) -> float:
    return float(number(0)(argument, value) or DEFAULT_K)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionRules(Settings):
    """How the lists of several legs are merged into one: the section ``fusion`` of a preset.

    >>> FusionRules(method="convex", weights={"vector": 0.5}).weights["vector"]
    0.5
    """

    table: ClassVar[str] = "fusion"
    method: str = setting("rrf", _check_method)
    """The name of a method in ``FUSION_METHODS``: ``rrf`` or ``convex``."""
    k: float = setting(DEFAULT_K, _check_k)
    """The constant of reciprocal rank fusion; 0 means 60."""
    rank_base: int = setting(1, count(0, 1))
    """The first rank in reciprocal rank fusion, 0 or 1."""
    ties: Ties = setting("path", one_of("path", "id", "first_seen"))
    """The order of equal scores in reciprocal rank fusion."""
    weights: Mapping[str, float] = weight_table(*LEGS)
    """The weight of each leg; 1 by default."""
    min_scores: Mapping[str, float] = weight_table(*LEGS, at_least=-1000)
    """In a convex combination, the raw score of a leg that counts as 0; by default the worst of its list."""
    weight_by_model_quality: bool = flag(default=False)
    """Whether the weight of the vector leg is multiplied by the quality of its model."""
    score_union: bool = flag(default=False)
    """Whether both legs score every candidate, including those that only the other leg retrieved."""
    chunk_penalty: float = setting(0.0, number(0, 1))
    """The similarity of a note of n chunks loses this value times ln(n) times the span, because the best of many chunks
    is similar by chance. The span is the best similarity minus the background, which is the leg's last similarity."""
    deviations: float = setting(0.0, number(0, 1000))
    """The similarity that counts as 1 is this many standard deviations of the vector leg's scores above the background,
    but at least the best similarity. So if no note stands out, the vector leg gives few points to all notes."""

    @property
    def scales_similarities(self) -> bool:
        """Whether the vector leg's scores must be scaled: each of the three settings measures from the background."""
        return self.score_union or self.chunk_penalty > 0 or self.deviations > 0


class FusionScale(NamedTuple):
    """The weights and the scales of the legs in one search, by the names of the legs.

    >>> FusionScale({"vector": 0.5}, {}, {}).weights["vector"]
    0.5
    """

    weights: Mapping[str, float]
    min_scores: Mapping[str, float]
    """The raw scores that count as 0."""
    max_scores: Mapping[str, float]
    """The raw scores that count as 1."""


def read_lists(lists: RankedLists) -> list[list[Candidate]]:
    """Return ``lists`` as lists of candidates; mappings are converted."""
    sequences = arguments.sequence("lists", lists)
    return [as_candidates(f"lists[{index}]", candidates) for index, candidates in enumerate(sequences)]


def read_legs(legs: Sequence[str] | None, size: int) -> list[str]:
    """Return a name for each of ``size`` lists, by default those in ``LEGS``, then ``leg 4`` and so on."""
    if legs is None:
        return [*LEGS[:size], *(f"leg {index}" for index in range(len(LEGS) + 1, size + 1))]
    names = [arguments.text(f"legs[{index}]", leg) for index, leg in enumerate(arguments.sequence("legs", legs))]
    if len(names) != size:
        raise ArgumentError("legs", f"must name each list: {len(names)} names for {size} lists")
    return names


def read_weights(weights: Sequence[float] | None, size: int) -> list[float]:
    """Return a weight for each of ``size`` lists; a missing weight is 1."""
    checked = [
        arguments.number(f"weights[{index}]", weight, at_least=0)
        for index, weight in enumerate(arguments.sequence("weights", () if weights is None else weights))
    ]
    if len(checked) > size:
        raise ArgumentError("weights", f"must not outnumber the lists: {len(checked)} weights for {size} lists")
    return checked + [1.0] * (size - len(checked))


def finite_ceiling(max_points: Sequence[float]) -> float:
    """Return the highest possible score: the sum of the highest points of each list."""
    ceiling = sum(max_points)
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
    """Return the candidates of all ``lists``, each once, by the sum of their points, the best first.

    ``points`` has one sequence for each list, with the points of each rank. ``ceiling`` is the highest possible score.
    Depending on ``ties``, equal scores are ordered by path, by id, or as first seen. If the paths or ids are equal,
    the candidate that was seen first comes first.
    """
    pool: dict[str, Candidate] = {}
    # A contribution to a candidate's evidence has four items: leg, rank, raw score and points.
    more_evidence: dict[str, list[Any]] = {}  # the contributions from the third occurrence of a candidate on
    for leg, candidates, points_by_rank in zip(legs, lists, points, strict=True):
        for rank, candidate in enumerate(candidates, 1):
            value = points_by_rank[rank - 1]
            pooled = pool.get(candidate.id)
            if pooled is None:
                pooled = pool[candidate.id] = candidate.copy()
                pooled.score = value
                pooled.evidence = (leg, rank, candidate.score, value)
                pooled.ceiling = ceiling
                pooled.steps = ()  # earlier steps do not explain the fused score
                continue
            _fill_missing_fields(pooled, candidate, leg)
            if len(pooled.evidence) == 4:  # one contribution so far
                pooled.score += value
                pooled.evidence += (leg, rank, candidate.score, value)
            else:
                more_evidence.setdefault(candidate.id, []).extend((leg, rank, candidate.score, value))
    for note_id, evidence in more_evidence.items():
        # fsum is exact: unlike a running sum of three or more values, it does not depend on the order of the lists.
        pooled = pool[note_id]
        pooled.evidence += tuple(evidence)
        pooled.score = fsum(pooled.evidence[3::4])
    for leg, candidates in zip(legs, lists, strict=True):
        if leg == "lexical":
            _set_lexical_ranks(pool, candidates)
        elif leg == "vector":
            _set_vector_ranks(pool, candidates)
    fused = list(pool.values())
    fused.sort(key=_score, reverse=True)  # a reversed sort is stable too
    if ties != "first_seen":
        _order_ties(fused, attrgetter(ties))
    return fused[:limit] if limit else fused


def _set_lexical_ranks(pool: Mapping[str, Candidate], candidates: Sequence[Candidate]) -> None:
    """Set the rank and the score in the lexical leg on its candidates, unless they are set."""
    for rank, candidate in enumerate(candidates, 1):
        pooled = pool[candidate.id]
        if pooled.lexical_rank is None:
            pooled.lexical_rank = rank
        if pooled.lexical_score is None:
            pooled.lexical_score = candidate.score


def _set_vector_ranks(pool: Mapping[str, Candidate], candidates: Sequence[Candidate]) -> None:
    """Set the rank and the similarity in the vector leg on its candidates, unless they are set."""
    for rank, candidate in enumerate(candidates, 1):
        pooled = pool[candidate.id]
        if pooled.vector_rank is None:
            pooled.vector_rank = rank
        if pooled.vector_similarity is None:
            pooled.vector_similarity = candidate.score


def _order_ties(fused: list[Candidate], key: Callable[[Candidate], str]) -> None:
    """Sort each run of equal scores by ``key``; faster than sorting all candidates, since most runs are short."""
    scores = [candidate.score for candidate in fused]
    end = 0
    for start in [index for index, (score, next_score) in enumerate(pairwise(scores)) if score == next_score]:
        if start >= end:  # this run is not sorted yet
            end = start + 2
            while end < len(scores) and scores[end] == scores[start]:
                end += 1
            fused[start:end] = sorted(fused[start:end], key=key)


def _fill_missing_fields(pooled: Candidate, other: Candidate, leg: str) -> None:
    """Set the missing fields of ``pooled`` from the same candidate in the list of another ``leg``.

    Assigning each field is faster than a loop over names, and a search calls this for half of its candidates.
    """
    if not pooled.path:
        pooled.path = other.path
    if not pooled.title:
        pooled.title = other.title
    if not pooled.summary:
        pooled.summary = other.summary
    if not pooled.content:
        pooled.content = other.content
    if other.snippet and (not pooled.snippet or (leg == "lexical" and "lexical" not in pooled.evidence[::4])):
        pooled.snippet = other.snippet  # the lexical leg's snippet is preferred, since it shows what matched
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
    if pooled.importance == _DEFAULT_IMPORTANCE:
        pooled.importance = other.importance
    if not pooled.session:
        pooled.session = other.session
    if pooled.position is None:
        pooled.position = other.position
    if not pooled.tags:
        pooled.tags = other.tags
    if not pooled.metadata:
        pooled.metadata = other.metadata


_score = attrgetter("score")
_DEFAULT_IMPORTANCE = Candidate("").importance
