from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, Candidate
from recollect.fusion import convex_combination
from tests.strategies import distinct_list, ranked_list


def scored(**scores: float) -> list[Candidate]:
    return [Candidate(name, score=score) for name, score in scores.items()]


def fused_scores(lists: list[list[Candidate]], weights: list[float] | None = None) -> dict[str, float]:
    return {found.id: found.score for found in convex_combination(lists, weights=weights)}


def test_each_list_is_scaled_between_its_worst_and_its_best() -> None:
    assert fused_scores([scored(a=9, b=6, c=3)]) == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert fused_scores([scored(a=-1, b=-3)]) == {"a": 1.0, "b": 0.0}


def test_source_d_alpha_weighs_the_vector_leg() -> None:
    vector, keyword = scored(a=0.9, b=0.5, c=0.1), scored(b=8, d=2)
    alpha = 0.5
    assert fused_scores([vector, keyword], [alpha, 1 - alpha]) == {"b": 0.75, "a": 0.5, "c": 0.0, "d": 0.0}


def test_source_d_a_standout_beats_what_is_middling_in_both() -> None:
    vector, keyword = scored(star=0.95, mid=0.5, low=0.1), scored(other=10, mid=3, last=1)
    assert convex_combination([vector, keyword])[0].id == "star"


@pytest.mark.parametrize("scores", [{"a": 0.3}, {"a": 2, "b": 2, "c": 2}, {"a": 0, "b": 0}])
def test_a_list_of_equal_scores_gives_1_to_each(scores: dict[str, float]) -> None:
    assert fused_scores([scored(**scores)], [0.4]) == dict.fromkeys(scores, 0.4)


def test_missing_weights_are_1_and_a_weight_of_0_still_brings_its_notes_in() -> None:
    assert fused_scores([scored(a=1), scored(b=1)], [0]) == {"b": 1.0, "a": 0.0}


def test_scores_as_large_as_they_come() -> None:
    assert fused_scores([scored(a=1.7e308, b=0, c=-1.7e308)]) == {"a": 1.0, "b": 0.5, "c": 0.0}
    with pytest.raises(ArgumentError, match="^weights: are too large"):
        convex_combination([scored(a=1), scored(a=1)], weights=[1e308, 1e308])


def test_ties_keep_the_order_first_seen() -> None:
    assert [found.id for found in convex_combination([scored(z=1), scored(a=1), scored(m=1)])] == ["z", "a", "m"]


def test_limit_and_provenance() -> None:
    found = convex_combination([scored(a=4, b=2), scored(b=0.9, c=0.1)], limit=2)
    assert [each.id for each in found] == ["a", "b"]
    assert [(part.leg, part.rank, part.score, part.points) for part in found[1].contributions] == [
        ("lexical", 2, 2, 0.0),
        ("vector", 1, 0.9, 1.0),
    ]
    assert found[1].relevance == 0.5


@given(st.lists(ranked_list, max_size=4), st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_order_of_the_lists(lists: list[list[Candidate]], chance: random.Random) -> None:
    shuffled = lists[:]
    chance.shuffle(shuffled)
    assert fused_scores(lists) == fused_scores(shuffled)


@given(distinct_list)
def test_one_list_alone_keeps_its_order(candidates: list[Candidate]) -> None:
    best_first = sorted(candidates, key=lambda each: -each.score)
    assert [found.id for found in convex_combination([best_first])] == [each.id for each in best_first]


@given(st.lists(ranked_list, max_size=4))
def test_scores_lie_between_0_and_what_the_lists_can_give(lists: list[list[Candidate]]) -> None:
    for found in convex_combination(lists):
        assert 0 <= found.score <= len(found.contributions)
        assert 0 <= (found.relevance or 0) <= 1


def test_a_score_that_is_no_number_is_named() -> None:
    notes = scored(a=1, b=2)
    notes[1].score = float("nan")
    with pytest.raises(ArgumentError, match=r"^lists\[0\]\[1\].score: must be a finite number, got nan"):
        convex_combination([notes])


class TestMaxScores:
    LISTS = (
        [{"id": "a", "score": 8.0}, {"id": "b", "score": 6.0}],
        [{"id": "b", "score": 0.9}, {"id": "c", "score": 0.5}],
    )

    def scores(self, max_scores: Any, min_scores: Any = (0.0, 0.1)) -> dict[str, float]:
        found = convex_combination(self.LISTS, min_scores=min_scores, max_scores=max_scores)
        return {each.id: round(each.score, 6) for each in found}

    def test_the_score_that_counts_as_1_can_be_given(self) -> None:
        assert self.scores(None) == self.scores([None, None]) == {"b": 1.75, "a": 1.0, "c": 0.5}
        assert self.scores([10.0, None]) == {"b": 1.6, "a": 0.8, "c": 0.5}
        assert self.scores([10.0, 1.1]) == {"b": 1.4, "a": 0.8, "c": 0.4}

    def test_no_score_counts_more_than_1(self) -> None:
        assert self.scores([4.0, None]) == self.scores(None)

    def test_without_a_score_that_counts_as_nothing_the_worst_does(self) -> None:
        assert self.scores([10.0, None], min_scores=None) == {"b": 1.0, "a": 0.5, "c": 0.0}

    def test_equal_scores_below_it_count_for_nothing_and_at_it_in_full(self) -> None:
        for max_score, expected in ((4.0, 0.0), (2.0, 1.0)):
            found = convex_combination([scored(a=2, b=2)], max_scores=[max_score])
            assert {each.id: each.score for each in found} == {"a": expected, "b": expected}

    def test_an_empty_list(self) -> None:
        assert convex_combination([[]], max_scores=[3.0]) == []

    @pytest.mark.parametrize(
        ("max_scores", "problem"),
        [
            ([0.0], "max_scores: must have a score or None for each list: 1 for 2 lists"),
            ([None, "high"], "max_scores.1.: must be a number"),
        ],
    )
    def test_wrong_ones(self, max_scores: Any, problem: str) -> None:
        with pytest.raises(ArgumentError, match=problem):
            self.scores(max_scores)


class TestMinScores:
    LISTS = (
        [{"id": "a", "score": 8.0}, {"id": "b", "score": 6.0}],
        [{"id": "b", "score": 0.9}, {"id": "c", "score": 0.5}],
    )

    def scores(self, min_scores: Any) -> dict[str, float]:
        return {found.id: round(found.score, 6) for found in convex_combination(self.LISTS, min_scores=min_scores)}

    def test_the_score_that_counts_as_nothing_can_be_given(self) -> None:
        assert self.scores(None) == {"a": 1.0, "b": 1.0, "c": 0.0}
        assert self.scores([0.0, None]) == {"a": 1.0, "b": 1.75, "c": 0.0}
        assert self.scores([0.0, 0.1]) == {"a": 1.0, "b": 1.75, "c": 0.5}

    def test_what_lies_below_counts_for_nothing(self) -> None:
        assert self.scores([7.0, None]) == {"a": 1.0, "b": 1.0, "c": 0.0}
        assert self.scores([9.0, None]) == {"a": 1.0, "b": 1.0, "c": 0.0}

    @pytest.mark.parametrize(
        ("min_scores", "problem"),
        [
            ([0.0], "min_scores: must have a score or None for each list: 1 for 2 lists"),
            (["low", 0], "min_scores.0.: must be a number"),
        ],
    )
    def test_wrong_ones(self, min_scores: Any, problem: str) -> None:
        with pytest.raises(ArgumentError, match=problem):
            self.scores(min_scores)
