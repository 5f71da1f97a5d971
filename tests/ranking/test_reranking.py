from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, ArgumentTypeError, Candidate
from recollect.ranking import Unanimity, blend_reranked, merge_reranked, rerank_text, unanimity
from tests.strategies import ranked_list


@pytest.mark.parametrize(
    ("title", "summary", "content", "expected"),
    [
        ("T", "S", "C", "T\nS"),
        (" T\u3000", "\ufeffS\n", "C", "T\nS"),
        ("", "S", "C", "S"),
        ("T", " ", "C", "T"),
        ("", "", " some \n\n text ", "some text"),
        ("", "", "x" * 280, "x" * 280),
        ("", "", "x" * 281, "x" * 280 + "..."),
        ("", "", "", ""),
    ],
)
def test_rerank_text(title: str, summary: str, content: str, expected: str) -> None:
    assert rerank_text(Candidate("n", title=title, summary=summary, content=content)) == expected


def test_rerank_text_with_previous_notes() -> None:
    note = Candidate("n", title="T", content="It leaves at 9.")
    previous = "Hi! Who? I packed. When is\n the train? And the bus？ Bye."
    text = rerank_text(note, characters=100, previous=previous)
    assert text == "T\nWhen is the train? And the bus？\nIt leaves at 9."
    assert rerank_text(note, characters=100, previous="No question.") == "T\nIt leaves at 9."


def order(results: list[tuple[int, float]], count: int = 5, top_n: int = 3) -> str:
    notes = [Candidate("abcdefghij"[index], score=1.0) for index in range(count)]
    return "".join(note.id for note in merge_reranked(notes, results, top_n=top_n))


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([(0, 0.1), (1, 0.9), (2, 0.5)], "bcade"),
        ([(2, 0.5), (0, 0.5), (1, 0.5)], "abcde"),  # ties stay in fused order
        ([(2, 0.1)], "cabde"),  # not returned: follows
        ([], "abcde"),
        ([(3, 9.0), (-1, 9.0), (1, 0.5)], "bacde"),  # out of range
        ([(1, 0.1), (1, 9.0), (0, 0.5)], "abcde"),  # returned twice: the first counts
        ([(1, float("nan")), (2, 0.1)], "cabde"),
    ],
)
def test_merge_reranked_reorders_the_head(results: list[tuple[int, float]], expected: str) -> None:
    assert order(results) == expected


def test_merge_reranked_top_n() -> None:
    assert order([(0, 0.1), (1, 0.2)], top_n=0) == "abcde"
    assert order([(4, 0.2)], top_n=99) == "eabcd"


def test_merge_reranked_records_steps() -> None:
    notes = [{"id": "a", "score": 0.5}, {"id": "b", "score": 0.4}, {"id": "c", "score": 0.3}]
    ranked = merge_reranked(notes, [(1, 0.875)], top_n=2)
    assert [(note.id, note.score, note.rerank_score) for note in ranked] == [
        ("b", 0.4, 0.875),
        ("a", 0.5, None),
        ("c", 0.3, None),
    ]
    assert [(step.stage, step.reason, step.rank_before, step.rank_after) for note in ranked for step in note.steps] == [
        ("rerank", "reranker score 0.875", 2, 1),
        ("rerank", "not returned by the reranker", 1, 2),
    ]


@given(
    ranked_list,
    st.lists(st.tuples(st.integers(-3, 15), st.floats(allow_nan=True))),
    st.integers(0, 15),
)
def test_merge_reranked_loses_nothing(
    candidates: list[Candidate], results: list[tuple[int, float]], top_n: int
) -> None:
    ranked = merge_reranked(candidates, results, top_n=top_n)
    assert sorted(note.id for note in ranked) == sorted(note.id for note in candidates)
    assert ranked[top_n:] == candidates[top_n:]


def test_merge_reranked_wrong_arguments_raise() -> None:
    with pytest.raises(ArgumentError, match="^top_n: must not be negative, got -1"):
        merge_reranked([], [], top_n=-1)
    with pytest.raises(ArgumentTypeError, match=r"^results\[0\]: must be a pair of an index and a score"):
        merge_reranked([], [5])  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match=r"^results\[0\]: must be a pair of an index and a score"):
        merge_reranked([], [("x", "y")])  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match=r"^results\[0\]: must be a pair of an index and a score"):
        merge_reranked([], [(0.5, 1.0)])  # type: ignore[list-item]
    for wrong in ((0, 10**400), (0, "0.9"), (True, 1.0)):
        with pytest.raises(ArgumentTypeError, match=r"^results\[0\]: must be a pair of an index and a score"):
            merge_reranked([], [wrong])  # type: ignore[list-item]

    assert rerank_text({"id": None, "title": "T"}) == "T"


def test_rerank_text_truncates_long_content() -> None:
    assert rerank_text({"content": "tea " * 100_000}) == ("tea " * 70).strip() + " ..."
    assert rerank_text({"content": " " * 20_000 + "tea"}) == "tea"


def test_rerank_text_characters() -> None:
    note = {"title": "Tea", "summary": "", "content": "Prefers  sencha to oolong."}
    assert rerank_text(note, characters=14) == "Tea\nPrefers sencha..."
    assert rerank_text({"title": "Tea"}, characters=14) == "Tea"


def test_merge_reranked_superseded_note_follows_its_successor() -> None:
    notes = [
        Candidate("new", score=0.9),
        Candidate("other", score=0.8),
        Candidate("old", score=0.4, superseded_by=("new", "elsewhere", "unread")),
        Candidate("unread", score=0.3),
    ]
    ranked = merge_reranked(notes, [(0, 0.1), (1, 0.5), (2, 0.8)], top_n=4)
    assert [(note.id, note.rerank_score, note.steps[-1].reason) for note in ranked] == [
        ("new", 0.1, "reranker score 0.1, but supersedes a note with 0.8"),
        ("other", 0.5, "reranker score 0.5"),
        ("old", 0.8, "reranker score 0.8, but superseded"),
        ("unread", None, "not returned by the reranker"),
    ]


def test_merge_reranked_superseded_note_not_returned() -> None:
    ranked = merge_reranked([Candidate("old", superseded_by=("new",)), Candidate("new")], [(1, 0.5)])
    assert [(note.id, note.steps[-1].reason) for note in ranked] == [
        ("new", "reranker score 0.5"),
        ("old", "not returned by the reranker"),
    ]


@pytest.mark.parametrize(
    ("lexical", "vector", "agree_min", "agreements"),
    [
        ("abcd", "abxy", 2, 2),
        ("abc", "abc", 2, 3),
        ("ab", "abc", 2, None),  # fewer than three
        ("", "", 2, None),
        ("abc", "bac", 2, None),  # the same notes at other ranks
        ("abc", "axy", 2, None),
        ("abc", "axy", 1, 1),
        ("abc", "xyz", 0, 0),
        ("xyza", "uvwa", 1, None),  # only the first three ranks count
    ],
)
def test_unanimity(lexical: str, vector: str, agree_min: int, agreements: int | None) -> None:
    expected = None if agreements is None else Unanimity(tuple(lexical[:3]), agreements)
    assert unanimity(list(lexical), list(vector), agree_min) == expected


def test_unanimity_wrong_arguments_raise() -> None:
    with pytest.raises(ArgumentError, match="^agree_min: must not be negative, got -1"):
        unanimity([], [], -1)
    with pytest.raises(ArgumentTypeError, match=r"^lexical_ids\[0\]: must be a string, got None"):
        unanimity([None] * 3, [None] * 3)  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="^vector_ids: must be a list, got 'abc'"):
        unanimity([], "abc")


def blended(results: list[tuple[int, float]], weight: float, top_n: int = 3) -> list[tuple[str, float]]:
    notes = [Candidate(name, score=score) for name, score in (("a", 2.0), ("b", 1.5), ("c", 1.0), ("d", 0.5))]
    ranked = blend_reranked(notes, results, weight=weight, top_n=top_n)
    return [(note.id, round(note.score, 6)) for note in ranked]


def test_blend_reranked_adds_the_weighted_scores() -> None:
    # (1 - 0.5) * score + 0.5 * 2.0 * reranker score, with 0 for d, which was not reranked
    expected = [("c", 1.5), ("a", 1.1), ("b", 0.75), ("d", 0.25)]
    assert blended([(0, 0.1), (1, 0.0), (2, 1.0)], weight=0.5) == expected


@pytest.mark.parametrize(
    ("results", "weight", "expected"),
    [
        ([(0, 0.0), (1, 1.0)], 0.0, "abcd"),  # without weight, nothing changes
        ([(2, 1.0), (1, 0.5)], 1.0, "cbad"),
        ([(2, 7.0), (1, 5.0), (0, -3.0)], 0.9, "cbad"),  # scores are scaled to 0 and 1
        ([(2, float("inf")), (0, -3.0)], 0.5, "cabd"),
        ([(2, 7.0)], 0.9, "cabd"),
        ([(9, 1.0), (2, float("nan"))], 0.5, "abcd"),
        ([(3, 1.0)], 0.9, "abcd"),  # beyond top_n
    ],
)
def test_blend_reranked_order(results: list[tuple[int, float]], weight: float, expected: str) -> None:
    assert "".join(name for name, _ in blended(results, weight)) == expected


@given(ranked_list, st.lists(st.floats(0, 1), max_size=20), st.floats(0, 1))
def test_blend_reranked_scores_follow_from_the_steps(
    notes: list[Candidate], scores: list[float], weight: float
) -> None:
    ranked = blend_reranked(notes, list(enumerate(scores)), weight=weight, top_n=len(scores))
    assert sorted(note.id for note in ranked) == sorted(note.id for note in notes)
    assert [note.score for note in ranked] == sorted((note.score for note in ranked), reverse=True)
    for rank, note in enumerate(ranked, 1):
        step = note.steps[-1]
        assert (step.stage, step.rank_after, step.score_after) == ("rerank", rank, note.score)
        assert step.score_before * step.factor + step.addend == pytest.approx(step.score_after)


def test_blend_reranked_prefers_the_note_that_supersedes() -> None:
    old = Candidate("old", score=1.0)
    old.superseded_by = ("new",)
    ranked = blend_reranked([Candidate("new", score=1.0), old], [(0, 0.2), (1, 0.9)], weight=0.5)
    assert [(note.id, round(note.score, 6), note.rerank_score) for note in ranked] == [
        ("new", 0.95, 0.2),
        ("old", 0.5, 0.9),
    ]
    assert ranked[1].steps[-1].reason == "reranker score 0.9, which does not count for a superseded note"


def test_blend_reranked_checks_the_weight() -> None:
    with pytest.raises(ArgumentError, match="weight"):
        blend_reranked([], [], weight=1.5)
