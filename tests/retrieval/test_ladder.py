"""The steps of the fallback ladder, in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Candidate, Filters
from recollect.retrieval import LadderRules, Preset, QueryRules
from recollect.retrieval.ladder import FallbackLadder, fallback_steps
from recollect.retrieval.request import SearchScope, parse_request
from recollect.retrieval.trace import Attempt
from recollect.stores.search_index import IndexAbilities
from tests.retrieval.stubs import CountingIndex


def run_ladder(
    text: str, matching: str = "", *, correction: str | None = None, named: bool = False, skip_stopwords: bool = False
) -> tuple[list[str], list[tuple[str, str, int]]]:
    rules = LadderRules(vocabulary=correction is not None, skip_stopwords=skip_stopwords)
    preset = Preset(name="ladder", query=QueryRules(semantics="literal"), ladder=rules)
    index: Any = CountingIndex(names=["named"] if named else [], spellings={text: [correction]} if correction else {})
    ladder = FallbackLadder(IndexAbilities(index), preset, None, SearchScope("default", Filters(), 10), None)
    attempts: list[Attempt] = []
    results, _ = ladder.run(
        parse_request(text, preset, None),
        attempts,
        lambda tree: [Candidate("hit")] if tree.raw == matching else [],
    )
    return [note.id for note in results], [tuple(attempt) for attempt in attempts]  # type: ignore[misc]


def test_ladder_tries_all_steps_without_results() -> None:
    assert run_ladder("Alpha beta!") == (
        [],
        [
            ("strongest_term", "alpha", 0),
            ("refreshed_sanitised", "Alpha beta", 0),
            ("refreshed_strongest", "alpha", 0),
            ("trigram_fuzzy", "alpha beta", 0),
        ],
    )


@pytest.mark.parametrize(
    ("matching", "last"),
    [("alpha", ("strongest_term", "alpha", 1)), ("Alpha beta", ("refreshed_sanitised", "Alpha beta", 1))],
)
def test_first_step_with_results_ends_the_ladder(matching: str, last: tuple[str, str, int]) -> None:
    ids, attempts = run_ladder("Alpha beta!", matching)
    assert (ids, attempts[-1]) == (["hit"], last)


def test_strongest_term_is_skipped_if_it_is_the_whole_query() -> None:
    assert [step for step, _ in fallback_steps("\u00a0Unique ")] == ["refreshed_sanitised", "refreshed_strongest"]


def test_names_are_compared_last() -> None:
    ids, attempts = run_ladder("kubernets", named=True)
    assert (ids, attempts[-1]) == (["named"], ("trigram_fuzzy", "kubernets", 1))


def test_step_without_words_is_not_recorded() -> None:
    assert run_ladder("?!") == ([], [])
    assert run_ladder("to do") == ([], [("refreshed_sanitised", "to do", 0)])


def test_misspelt_words_are_corrected_before_names_are_compared() -> None:
    ids, attempts = run_ladder("kubernets", "kubernetes", correction="kubernetes")
    assert (ids, attempts[-1]) == (["hit"], ("did_you_mean", "kubernetes", 1))
    _, attempts = run_ladder("kubernets", correction="kubernetes", named=True)
    assert [strategy for strategy, *_ in attempts[-2:]] == ["did_you_mean", "trigram_fuzzy"]
    assert run_ladder("kubernets", correction="")[1][-1][0] == "trigram_fuzzy"
    assert run_ladder("?!", correction="nothing") == ([], [])


def test_stopword_is_never_a_fallback_query() -> None:
    assert list(fallback_steps("this week?", {"this"})) == [
        ("strongest_term", "week"),
        ("refreshed_sanitised", "this week"),
        ("refreshed_strongest", "week"),
    ]
    assert list(fallback_steps("Is this it?", {"is", "this", "it"})) == []
    assert run_ladder("this week", skip_stopwords=True)[1][-1] == ("trigram_fuzzy", "week", 0)


def test_this_week_does_not_find_a_name_of_the_same_stem(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Nguyễn Thị Mai plays the flute.", id="name", created_at="2026-03-14")
        result = memory.search("this week")
        assert [hit.id for hit in result] == []
        assert "this" not in [attempt.query for attempt in result.trace.attempts]
        attempts = memory.search("this week", preset="jeffs-brain").trace.attempts  # as documented by the source
        assert attempts[1] == Attempt("strongest_term", "this", 0)
        memory.add("The way of this and that.", id="words")
        assert "words" in [hit.id for hit in memory.search("this")]  # stopwords alone are searched for
