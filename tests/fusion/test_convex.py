from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate
from recollect.fusion import convex_combination
from tests.strategies import distinct_list, ranked_list


def candidates_of(**scores: float) -> list[Candidate]:
    return [Candidate(name, score=score) for name, score in scores.items()]


def fused_scores(lists: list[list[Candidate]], weights: list[float] | None = None) -> dict[str, float]:
    return {candidate.id: candidate.score for candidate in convex_combination(lists, weights=weights)}


def test_convex_scales_each_list() -> None:
    assert fused_scores([candidates_of(a=9, b=6, c=3)]) == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert fused_scores([candidates_of(a=-1, b=-3)]) == {"a": 1.0, "b": 0.0}


def test_convex_source_d_alpha() -> None:
    vector, keyword = candidates_of(a=0.9, b=0.5, c=0.1), candidates_of(b=8, d=2)
    alpha = 0.5
    assert fused_scores([vector, keyword], [alpha, 1 - alpha]) == {"b": 0.75, "a": 0.5, "c": 0.0, "d": 0.0}


def test_convex_source_d_standout_ranks_first() -> None:
    vector, keyword = candidates_of(star=0.95, mid=0.5, low=0.1), candidates_of(other=10, mid=3, last=1)
    assert convex_combination([vector, keyword])[0].id == "star"


@pytest.mark.parametrize("scores", [{"a": 0.3}, {"a": 2, "b": 2, "c": 2}, {"a": 0, "b": 0}])
def test_convex_equal_scores_scale_to_1(scores: dict[str, float]) -> None:
    assert fused_scores([candidates_of(**scores)], [0.4]) == dict.fromkeys(scores, 0.4)


def test_convex_missing_weight_is_1_and_weight_0_keeps_notes() -> None:
    assert fused_scores([candidates_of(a=1), candidates_of(b=1)], [0]) == {"b": 1.0, "a": 0.0}


def test_convex_extreme_scores() -> None:
    assert fused_scores([candidates_of(a=1.7e308, b=0, c=-1.7e308)]) == {"a": 1.0, "b": 0.5, "c": 0.0}
    with pytest.raises(ArgumentError, match="^weights: are too large"):
        convex_combination([candidates_of(a=1), candidates_of(a=1)], weights=[1e308, 1e308])


def test_convex_ties_keep_first_seen_order() -> None:
    assert [
        candidate.id for candidate in convex_combination([candidates_of(z=1), candidates_of(a=1), candidates_of(m=1)])
    ] == ["z", "a", "m"]


def test_convex_limit_and_contributions() -> None:
    fused = convex_combination([candidates_of(a=4, b=2), candidates_of(b=0.9, c=0.1)], limit=2)
    assert [candidate.id for candidate in fused] == ["a", "b"]
    assert [(part.leg, part.rank, part.score, part.points) for part in fused[1].contributions] == [
        ("lexical", 2, 2, 0.0),
        ("vector", 1, 0.9, 1.0),
    ]
    assert fused[1].relevance == 0.5


@given(st.lists(ranked_list, max_size=4), st.randoms(use_true_random=False))
def test_convex_scores_are_independent_of_list_order(lists: list[list[Candidate]], shuffler: random.Random) -> None:
    shuffled = lists[:]
    shuffler.shuffle(shuffled)
    assert fused_scores(lists) == fused_scores(shuffled)


@given(distinct_list)
def test_convex_single_list_keeps_its_order(candidates: list[Candidate]) -> None:
    best_first = sorted(candidates, key=lambda candidate: -candidate.score)
    assert [candidate.id for candidate in convex_combination([best_first])] == [
        candidate.id for candidate in best_first
    ]


@given(st.lists(ranked_list, max_size=4))
def test_convex_scores_are_bounded(lists: list[list[Candidate]]) -> None:
    for candidate in convex_combination(lists):
        assert 0 <= candidate.score <= len(candidate.contributions)
        assert 0 <= (candidate.relevance or 0) <= 1


def test_convex_nan_score_raises() -> None:
    notes = candidates_of(a=1, b=2)
    notes[1].score = float("nan")
    with pytest.raises(ArgumentError, match=r"^lists\[0\]\[1\].score: must be a finite number, got nan"):
        convex_combination([notes])


class TestMaxScores:
    LISTS = (
        [{"id": "a", "score": 8.0}, {"id": "b", "score": 6.0}],
        [{"id": "b", "score": 0.9}, {"id": "c", "score": 0.5}],
    )

    def scores(self, max_scores: Any, min_scores: Any = (0.0, 0.1)) -> dict[str, float]:
        fused = convex_combination(self.LISTS, min_scores=min_scores, max_scores=max_scores)
        return {candidate.id: round(candidate.score, 6) for candidate in fused}

    def test_max_scores_scale_to_1(self) -> None:
        assert self.scores(None) == self.scores([None, None]) == {"b": 1.75, "a": 1.0, "c": 0.5}
        assert self.scores([10.0, None]) == {"b": 1.6, "a": 0.8, "c": 0.5}
        assert self.scores([10.0, 1.1]) == {"b": 1.4, "a": 0.8, "c": 0.4}

    def test_max_scores_below_the_best_are_ignored(self) -> None:
        assert self.scores([4.0, None]) == self.scores(None)

    def test_max_scores_without_min_scores(self) -> None:
        assert self.scores([10.0, None], min_scores=None) == {"b": 1.0, "a": 0.5, "c": 0.0}

    def test_max_scores_of_equal_scores(self) -> None:
        for max_score, expected in ((4.0, 0.0), (2.0, 1.0)):
            fused = convex_combination([candidates_of(a=2, b=2)], max_scores=[max_score])
            assert {candidate.id: candidate.score for candidate in fused} == {"a": expected, "b": expected}

    def test_max_scores_empty_list(self) -> None:
        assert convex_combination([[]], max_scores=[3.0]) == []

    @pytest.mark.parametrize(
        ("max_scores", "problem"),
        [
            ([0.0], "max_scores: must have a score or None for each list: 1 for 2 lists"),
            ([None, "high"], "max_scores.1.: must be a number"),
        ],
    )
    def test_max_scores_wrong_values_raise(self, max_scores: Any, problem: str) -> None:
        with pytest.raises(ArgumentError, match=problem):
            self.scores(max_scores)


class TestMinScores:
    LISTS = (
        [{"id": "a", "score": 8.0}, {"id": "b", "score": 6.0}],
        [{"id": "b", "score": 0.9}, {"id": "c", "score": 0.5}],
    )

    def scores(self, min_scores: Any) -> dict[str, float]:
        return {
            candidate.id: round(candidate.score, 6)
            for candidate in convex_combination(self.LISTS, min_scores=min_scores)
        }

    def test_min_scores_scale_to_0(self) -> None:
        assert self.scores(None) == {"a": 1.0, "b": 1.0, "c": 0.0}
        assert self.scores([0.0, None]) == {"a": 1.0, "b": 1.75, "c": 0.0}
        assert self.scores([0.0, 0.1]) == {"a": 1.0, "b": 1.75, "c": 0.5}

    def test_min_scores_clamp_lower_scores(self) -> None:
        assert self.scores([7.0, None]) == {"a": 1.0, "b": 1.0, "c": 0.0}
        assert self.scores([9.0, None]) == {"a": 1.0, "b": 1.0, "c": 0.0}

    @pytest.mark.parametrize(
        ("min_scores", "problem"),
        [
            ([0.0], "min_scores: must have a score or None for each list: 1 for 2 lists"),
            (["low", 0], "min_scores.0.: must be a number"),
        ],
    )
    def test_min_scores_wrong_values_raise(self, min_scores: Any, problem: str) -> None:
        with pytest.raises(ArgumentError, match=problem):
            self.scores(min_scores)
