from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, ArgumentTypeError, Candidate, Contribution
from recollect.fusion import reciprocal_rank_fusion
from tests.ranking.stages import importance_prior
from tests.strategies import distinct_list, ranked_list


def ranked(*ids: str, **values: Any) -> list[Candidate]:
    return [Candidate(identifier, path=f"{identifier}.md", **values) for identifier in ids]


def filler(name: str, count: int) -> list[Candidate]:
    return ranked(*(f"{name}{number}" for number in range(count)))


def scores(fused: list[Candidate]) -> dict[str, float]:
    return {candidate.id: candidate.score for candidate in fused}


# Source C: the table of scores …


@pytest.mark.parametrize(
    ("keyword_rank", "semantic_rank", "formula", "printed"),
    [
        (1, None, 1 / 61, 0.01639),
        (None, 1, 1 / 61, 0.01639),
        (1, 1, 1 / 61 + 1 / 61, 0.03279),
        (1, 5, 1 / 61 + 1 / 65, 0.03178),
        (10, 10, 1 / 70 + 1 / 70, 0.02857),
    ],
)
def test_rrf_source_c_score_table(
    keyword_rank: int | None, semantic_rank: int | None, formula: float, printed: float
) -> None:
    keyword = filler("k", keyword_rank - 1) + ranked("note") if keyword_rank else []
    semantic = filler("s", semantic_rank - 1) + ranked("note") if semantic_rank else []
    candidate = {
        candidate.id: candidate for candidate in reciprocal_rank_fusion([keyword, semantic], ties="first_seen")
    }["note"]
    assert candidate.score == pytest.approx(formula, abs=1e-12)
    assert candidate.score == pytest.approx(printed, abs=1e-5)
    assert (candidate.in_keyword, candidate.in_semantic) == (keyword_rank is not None, semantic_rank is not None)
    assert (candidate.lexical_rank, candidate.vector_rank) == (keyword_rank, semantic_rank)


# … and the nine test cases of source C.


def test_rrf_empty_inputs() -> None:
    assert reciprocal_rank_fusion([[], []]) == []
    assert reciprocal_rank_fusion([]) == []


def test_rrf_keyword_only() -> None:
    (candidate,) = reciprocal_rank_fusion([ranked("a"), []])
    assert (candidate.in_keyword, candidate.in_semantic) == (True, False)


def test_rrf_semantic_only() -> None:
    (candidate,) = reciprocal_rank_fusion([[], ranked("a")])
    assert (candidate.in_keyword, candidate.in_semantic) == (False, True)


def test_rrf_overlap_is_boosted() -> None:
    assert reciprocal_rank_fusion([ranked("a", "both"), ranked("b", "both")])[0].id == "both"


def test_rrf_limit() -> None:
    lists = [ranked("a", "b", "c"), ranked("d", "e")]
    assert len(reciprocal_rank_fusion(lists, limit=2)) == 2
    assert len(reciprocal_rank_fusion(lists, limit=0)) == len(reciprocal_rank_fusion(lists)) == 5


def test_rrf_default_k_is_60() -> None:
    assert reciprocal_rank_fusion([ranked("a")])[0].score == 1 / 61


def test_rrf_custom_k() -> None:
    assert reciprocal_rank_fusion([ranked("a")], k=10)[0].score == 1 / 11


def test_rrf_sorts_by_score() -> None:
    fused = reciprocal_rank_fusion([ranked("a", "b", "c", "d"), ranked("c", "e", "a")])
    assert [candidate.score for candidate in fused] == sorted((candidate.score for candidate in fused), reverse=True)


@pytest.mark.parametrize("keyword_first", [True, False])
def test_rrf_prefers_the_keyword_snippet(keyword_first: bool) -> None:
    keyword, semantic = ranked("a", snippet="the **words**"), ranked("a", snippet="the vector")
    lists, legs = [keyword, semantic], ["lexical", "vector"]
    if not keyword_first:
        lists, legs = lists[::-1], legs[::-1]
    assert reciprocal_rank_fusion(lists, legs=legs)[0].snippet == "the **words**"
    keyword[0].snippet = ""
    assert reciprocal_rank_fusion(lists, legs=legs)[0].snippet == "the vector"


# The other documents.


def test_rrf_source_d_rank_base_0() -> None:
    fused = reciprocal_rank_fusion([ranked("a", "b"), ranked("b")], k=5, rank_base=0, ties="first_seen")
    assert scores(fused) == {"b": 1 / 6 + 1 / 5, "a": 1 / 5}


def test_rrf_source_d_small_k_favours_the_best_of_a_leg() -> None:
    # 2/(60+20) > 1/(60+0), but 2/(5+20) < 1/(5+0).
    lists = [filler("k", 20) + ranked("both"), filler("s", 20) + ranked("both")]
    assert reciprocal_rank_fusion(lists, k=60, rank_base=0)[0].id == "both"
    assert reciprocal_rank_fusion(lists, k=5, rank_base=0)[0].id == "k0"


def test_rrf_source_e_weights() -> None:
    lists = [ranked("a"), ranked("b", "a"), ranked("c", "b")]
    fused = reciprocal_rank_fusion(lists, weights=[1, 1, 0.35], ties="id")
    assert scores(fused) == pytest.approx({"a": 1 / 61 + 1 / 62, "b": 1 / 61 + 0.35 / 62, "c": 0.35 / 61})


def test_rrf_missing_weight_is_1_and_weight_0_keeps_notes() -> None:
    assert scores(reciprocal_rank_fusion([ranked("a"), ranked("b")], weights=[0])) == {"a": 0, "b": 1 / 61}


@pytest.mark.parametrize("k", [0, -5])
def test_rrf_k_of_0_or_less_means_60(k: int) -> None:
    assert reciprocal_rank_fusion([ranked("a")], k=k)[0].score == 1 / 61


def test_rrf_repeated_id_accumulates() -> None:
    (candidate,) = reciprocal_rank_fusion([ranked("a", "a", "a")])
    assert candidate.score == pytest.approx(1 / 61 + 1 / 62 + 1 / 63, abs=1e-15)
    assert candidate.lexical_rank == 1
    assert candidate.relevance == 1


def test_rrf_ties() -> None:
    lists = [[Candidate("x", path="b.md")], [Candidate("y", path="a.md")], [Candidate("w", path="b.md")]]
    assert [candidate.id for candidate in reciprocal_rank_fusion(lists)] == ["y", "x", "w"]
    assert [candidate.id for candidate in reciprocal_rank_fusion(lists, ties="id")] == ["w", "x", "y"]
    assert [candidate.id for candidate in reciprocal_rank_fusion(lists, ties="first_seen")] == ["x", "y", "w"]


def test_rrf_later_lists_fill_missing_fields() -> None:
    first = {"id": "a", "title": "First", "vector_similarity": 0.5}
    second = {
        "id": "a",
        "path": "p.md",
        "title": "Second",
        "summary": "S",
        "content": "C",
        "snippet": "N",
        "created_at": "2026-04-18",
        "last_accessed_at": "2026-04-19",
        "importance": 0.9,
        "rerank_score": 0.1,
        "lexical_rank": 7,
        "lexical_score": 3.5,
        "vector_rank": 9,
        "vector_similarity": 0.8,
        "tags": ("second",),
        "metadata": {"list": 2},
    }
    late = {"path": "late.md", "summary": "late", "content": "late", "importance": 0.1}
    third = {"id": "a", **late, "tags": ("late",), "metadata": {"list": 3}}
    (candidate,) = reciprocal_rank_fusion([[first], [second], [third]], legs=["one", "two", "three"])
    expected = Candidate.from_mapping({**second, "title": "First", "vector_similarity": 0.5})
    for name in Candidate.__slots__:
        if name not in ("score", "ceiling", "evidence"):
            assert getattr(candidate, name) == getattr(expected, name), name


def test_rrf_keeps_the_first_explicit_rank() -> None:
    first = Candidate("a", score=5.0, lexical_rank=1, lexical_score=5.0)
    second = Candidate("a", lexical_rank=4, lexical_score=9.0)
    (candidate,) = reciprocal_rank_fusion([[first], [second]])
    assert (candidate.lexical_rank, candidate.lexical_score) == (1, 5.0)


def test_rrf_repeated_id_is_not_quadratic() -> None:
    # A quadratic algorithm would take many minutes.
    (candidate,) = reciprocal_rank_fusion([[Candidate("a")] * 200_000])
    assert len(candidate.contributions) == 200_000
    assert [part.rank for part in candidate.contributions[:4]] == [1, 2, 3, 4]


def test_rrf_explicit_rank_of_a_later_list_wins() -> None:
    late = Candidate("a", lexical_rank=3, vector_rank=4, vector_similarity=0.7)
    (candidate,) = reciprocal_rank_fusion([ranked("a"), ranked("a"), [late]])
    assert (candidate.lexical_rank, candidate.vector_rank, candidate.vector_similarity) == (3, 4, 0.7)


def test_rrf_records_rank_and_score_of_each_leg() -> None:
    lexical = [Candidate("a", score=7.5), Candidate("b", score=3.5)]
    vector = [Candidate("c", score=0.9), Candidate("b", score=0.8)]
    candidate = {candidate.id: candidate for candidate in reciprocal_rank_fusion([lexical, vector])}["b"]
    assert (candidate.lexical_rank, candidate.lexical_score) == (2, 3.5)
    assert (candidate.vector_rank, candidate.vector_similarity) == (2, 0.8)
    assert candidate.contributions == (
        Contribution("lexical", 2, 3.5, 1 / 62),
        Contribution("vector", 2, 0.8, 1 / 62),
    )
    assert candidate.contributions[0].to_dict() == {"leg": "lexical", "rank": 2, "score": 3.5, "points": 1 / 62}


def test_rrf_of_fused_candidates_resets_steps() -> None:
    fused = importance_prior(reciprocal_rank_fusion([ranked("a"), ranked("a")]))
    (fused_again,) = reciprocal_rank_fusion([fused])
    assert fused_again.steps == ()
    assert fused_again.contributions == (Contribution("lexical", 1, fused[0].score, 1 / 61),)


def test_rrf_leg_names() -> None:
    candidate = reciprocal_rank_fusion([ranked("a")] * 5)[0]
    assert [part.leg for part in candidate.contributions] == ["lexical", "vector", "graph", "leg 4", "leg 5"]


def test_rrf_relevance() -> None:
    lists = [ranked("a", "b"), ranked("a", "c"), []]
    fused = reciprocal_rank_fusion(lists)
    assert fused[0].relevance == 1
    assert fused[1].relevance == pytest.approx((1 / 62) / (2 / 61))
    assert reciprocal_rank_fusion([ranked("a")], weights=[0])[0].relevance == 0


# Properties.


@given(st.lists(ranked_list, max_size=4), st.randoms(use_true_random=False), st.sampled_from([0, 1]))
def test_rrf_scores_are_independent_of_list_order(
    lists: list[list[Candidate]], shuffler: random.Random, base: int
) -> None:
    shuffled = lists[:]
    shuffler.shuffle(shuffled)
    first, second = (reciprocal_rank_fusion(order, rank_base=base) for order in (lists, shuffled))
    assert scores(first) == scores(second)


@given(distinct_list)
def test_rrf_single_list_keeps_its_order(candidates: list[Candidate]) -> None:
    fused = reciprocal_rank_fusion([candidates])
    assert [candidate.id for candidate in fused] == [candidate.id for candidate in candidates]


@given(st.lists(ranked_list, max_size=4))
def test_rrf_keeps_all_ids_and_copies_candidates(lists: list[list[Candidate]]) -> None:
    before = repr(lists)
    fused = reciprocal_rank_fusion(lists)
    assert repr(lists) == before
    assert sorted(candidate.id for candidate in fused) == sorted(
        {candidate.id for ranking in lists for candidate in ranking}
    )
    for candidate in fused:
        assert candidate.score == pytest.approx(sum(part.points for part in candidate.contributions))
        assert 0 < (candidate.relevance or 0) <= 1
    assert reciprocal_rank_fusion(lists, limit=3) == fused[:3]


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        ("ab", {}, r"lists: must be a list, got 'ab' \(str\)"),
        ([5], {}, r"lists\[0\]: must be a list, got 5 \(int\)"),
        ([[5]], {}, r"lists\[0\]\[0\]: must be a Candidate or a mapping with its fields, got int"),
        ([[], [{}]], {}, r"lists\[1\]\[0\]: has no 'id'"),
        ([[{"id": None}]], {}, r"lists\[0\]\[0\].id: must be a string, got None"),
        ([[{"id": 5}]], {}, r"lists\[0\]\[0\].id: must be a string, got 5"),
        ([[{"id": "a", "score": "x"}]], {}, r"lists\[0\]\[0\].score: must be a number"),
        ([], {"k": "60"}, r"k: must be a number, got '60' \(str\)"),
        ([], {"k": float("nan")}, "k: must be a finite number, got nan"),
        ([], {"limit": -1}, "limit: must not be negative, got -1"),
        ([], {"limit": 2.5}, r"limit: must be a whole number, got 2.5 \(float\)"),
        ([], {"rank_base": -1}, "rank_base: must not be negative, got -1"),
        ([], {"rank_base": 10**400}, "rank_base: must be a number, got"),
        ([[{"id": "a"}]], {"k": 5e-324, "rank_base": 0}, "weights: are too large, or k is too small, to add up"),
        ([], {"limit": -(10**5000)}, "limit: must not be negative, got something that cannot be shown"),
        ([], {"ties": ["path"]}, "ties: must be one of path, id, first_seen"),
        ([], {"ties": "score"}, "ties: must be one of path, id, first_seen, got 'score'"),
        ([[]], {"weights": [-1]}, r"weights\[0\]: must be at least 0, got -1"),
        ([[]], {"weights": [1, 1]}, "weights: must not outnumber the lists: 2 weights for 1 lists"),
        ([[]], {"legs": ["a", "b"]}, "legs: must name each list: 2 names for 1 lists"),
        ([[]], {"legs": [1]}, r"legs\[0\]: must be a string, got 1"),
    ],
)
def test_rrf_wrong_arguments_raise(lists: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        reciprocal_rank_fusion(lists, **options)


def test_rrf_error_types() -> None:
    with pytest.raises(TypeError) as caught:
        reciprocal_rank_fusion([], k=None)  # type: ignore[arg-type]
    assert isinstance(caught.value, ArgumentTypeError)
    with pytest.raises(ValueError, match="limit"):
        reciprocal_rank_fusion([], limit=-1)
