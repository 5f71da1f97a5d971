"""Properties of every stage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Candidate
from recollect.fusion import convex_combination, reciprocal_rank_fusion
from recollect.ranking import composite, merge_reranked, reweight_by_intent
from tests.ranking.stages import boost_time_matches, importance_prior, temporal_boost
from tests.strategies import ranked_list

NOW = datetime(2026, 6, 1, tzinfo=UTC)

Stage = Callable[[list[Candidate]], list[Candidate]]

STAGES: dict[str, Stage] = {
    "intent": lambda notes: reweight_by_intent("recommend how many", notes),
    "composite": lambda notes: composite(notes, now=NOW),
    "temporal, added": lambda notes: temporal_boost(notes, query="yesterday", now=NOW),
    "temporal, multiplied": lambda notes: temporal_boost(notes, query="yesterday", now=NOW, combine="multiply"),
    "time match": lambda notes: boost_time_matches(notes, query="since May, before the tea", now=NOW),
    "importance": importance_prior,
}


def recomputed(candidate: Candidate) -> float:
    """Compute the score from contributions and steps."""
    score = fsum(part.points for part in candidate.contributions)
    for step in candidate.steps:
        assert step.score_before == score
        score = score * step.factor + step.addend
        assert step.score_after == score
    return score


@given(
    st.lists(ranked_list, min_size=1, max_size=3),
    st.sampled_from([reciprocal_rank_fusion, convex_combination]),
    st.lists(st.sampled_from(sorted(STAGES)), max_size=5),
    st.booleans(),
)
def test_scores_are_recomputed_from_steps(
    lists: list[list[Candidate]],
    fuse: Callable[[list[list[Candidate]]], list[Candidate]],
    names: list[str],
    rerank: bool,
) -> None:
    ranked = fuse(lists)
    for name in names:
        ranks_before = {candidate.id: rank for rank, candidate in enumerate(ranked, 1)}
        ranked = STAGES[name](ranked)
        for rank, candidate in enumerate(ranked, 1):
            assert (candidate.steps[-1].rank_before, candidate.steps[-1].rank_after) == (
                ranks_before[candidate.id],
                rank,
            )
    if rerank:
        ranked = merge_reranked(ranked, [(index, float(index)) for index in range(len(ranked))])
    for candidate in ranked:
        assert recomputed(candidate) == candidate.score


@pytest.mark.parametrize("name", sorted(STAGES))
@given(candidates=ranked_list)
def test_stage_sorts_copies_and_loses_nothing(name: str, candidates: list[Candidate]) -> None:
    before = repr(candidates)
    ranked = STAGES[name](candidates)
    assert repr(candidates) == before
    assert [candidate.score for candidate in ranked] == sorted((candidate.score for candidate in ranked), reverse=True)
    assert sorted(candidate.id for candidate in ranked) == sorted(candidate.id for candidate in candidates)


@pytest.mark.parametrize("name", sorted(STAGES))
def test_stage_accepts_mappings_and_empty_lists(name: str) -> None:
    assert STAGES[name]([]) == []
    assert STAGES[name]([{"id": "n", "score": 1.0}])[0].id == "n"  # type: ignore[list-item]
