"""The retry ladder's fallback_steps, in order, each written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import recollect
from recollect import Candidate
from recollect.retrieval.lexical import fallback_steps, run_ladder
from recollect.retrieval.trace import Attempt


def attempts_of(
    text: str, found_by: str = "", *, correct_spelling: str | None = None, named: bool = False
) -> tuple[list[str], list[tuple[str, str, int]]]:
    attempts: list[Attempt] = []

    def spell(_: Sequence[str]) -> str:
        return correct_spelling or ""

    found = run_ladder(
        text,
        attempts,
        search=lambda words: [Candidate("hit")] if words == found_by else [],
        search_names=lambda _: [Candidate("named")] if named else [],
        correct_spelling=None if correct_spelling is None else spell,
    )
    return [note.id for note in found], [tuple(attempt) for attempt in attempts]  # type: ignore[misc]


def test_all_rungs_miss() -> None:
    assert attempts_of("Alpha beta!") == (
        [],
        [
            ("strongest_term", "alpha", 0),
            ("refreshed_sanitised", "Alpha beta", 0),
            ("refreshed_strongest", "alpha", 0),
            ("trigram_fuzzy", "alpha beta", 0),
        ],
    )


@pytest.mark.parametrize(
    ("found_by", "last"),
    [("alpha", ("strongest_term", "alpha", 1)), ("Alpha beta", ("refreshed_sanitised", "Alpha beta", 1))],
)
def test_the_first_hit_ends_the_climb(found_by: str, last: tuple[str, str, int]) -> None:
    found, attempts = attempts_of("Alpha beta!", found_by)
    assert (found, attempts[-1]) == (["hit"], last)


def test_the_strongest_term_is_no_news_where_it_is_the_whole_query() -> None:
    assert [rung for rung, _ in fallback_steps("\u00a0Unique ")] == ["refreshed_sanitised", "refreshed_strongest"]


def test_names_come_last() -> None:
    found, attempts = attempts_of("kubernets", named=True)
    assert (found, attempts[-1]) == (["named"], ("trigram_fuzzy", "kubernets", 1))


def test_a_rung_without_words_leaves_no_row() -> None:
    assert attempts_of("?!") == ([], [])
    assert attempts_of("to do") == ([], [("refreshed_sanitised", "to do", 0)])


def test_words_as_the_index_spells_them() -> None:
    found, attempts = attempts_of("kubernets", "kubernetes", correct_spelling="kubernetes")
    assert (found, attempts[-1]) == (["hit"], ("did_you_mean", "kubernetes", 1))
    found, attempts = attempts_of("kubernets", correct_spelling="kubernetes", named=True)
    assert [strategy for strategy, *_ in attempts[-2:]] == ["did_you_mean", "trigram_fuzzy"]
    assert attempts_of("kubernets", correct_spelling="")[1][-1][0] == "trigram_fuzzy"
    assert attempts_of("?!", correct_spelling="nothing") == ([], [])


def test_a_stopword_is_never_a_fallback_query() -> None:
    assert list(fallback_steps("this week?", {"this"})) == [
        ("strongest_term", "week"),
        ("refreshed_sanitised", "this week"),
        ("refreshed_strongest", "week"),
    ]
    assert list(fallback_steps("Is this it?", {"is", "this", "it"})) == []
    attempts: list[Attempt] = []
    asked: list[Sequence[str]] = []

    def names(words: Sequence[str]) -> list[Candidate]:
        asked.append(words)
        return []

    run_ladder("this week", attempts, search=lambda _: [], search_names=names, stopwords={"this"})
    assert attempts[-1] == Attempt("trigram_fuzzy", "week", 0)
    assert asked == [["week"]]


def test_this_week_does_not_find_a_name_of_the_same_stem(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Nguyễn Thị Mai plays the flute.", id="name", created_at="2026-03-14")
        result = memory.search("this week")
        assert [hit.id for hit in result] == []
        assert "this" not in [attempt.query for attempt in result.trace.attempts]
        attempts = memory.search("this week", preset="jeffs-brain").trace.attempts  # as its document has it
        assert attempts[1] == Attempt("strongest_term", "this", 0)
        memory.add("The way of this and that.", id="words")
        assert "words" in [hit.id for hit in memory.search("this")]  # stopwords alone are searched for
