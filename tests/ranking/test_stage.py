"""Laws that every stage keeps."""

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


def recomputed(found: Candidate) -> float:
    """Return the score that the record alone gives."""
    score = fsum(part.points for part in found.contributions)
    for step in found.steps:
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
def test_every_score_can_be_recomputed_from_its_record(
    lists: list[list[Candidate]],
    fuse: Callable[[list[list[Candidate]]], list[Candidate]],
    names: list[str],
    rerank: bool,
) -> None:
    ranked = fuse(lists)
    for name in names:
        before = {each.id: place for place, each in enumerate(ranked, 1)}
        ranked = STAGES[name](ranked)
        for place, found in enumerate(ranked, 1):
            assert (found.steps[-1].rank_before, found.steps[-1].rank_after) == (before[found.id], place)
    if rerank:
        ranked = merge_reranked(ranked, [(index, float(index)) for index in range(len(ranked))])
    for found in ranked:
        assert recomputed(found) == found.score


@pytest.mark.parametrize("name", sorted(STAGES))
@given(candidates=ranked_list)
def test_a_stage_sorts_loses_nothing_and_leaves_what_it_was_given(name: str, candidates: list[Candidate]) -> None:
    before = repr(candidates)
    found = STAGES[name](candidates)
    assert repr(candidates) == before
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert sorted(each.id for each in found) == sorted(each.id for each in candidates)


@pytest.mark.parametrize("name", sorted(STAGES))
def test_a_stage_takes_mappings_and_nothing(name: str) -> None:
    assert STAGES[name]([]) == []
    assert STAGES[name]([{"id": "n", "score": 1.0}])[0].id == "n"  # type: ignore[list-item]
