"""Where a query's words stand in a text."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query import Query, expand_aliases, parse
from recollect.retrieval.legs import MIN_NOTES, drop_frequent_terms
from recollect.retrieval.request import (
    MAX_COUNTED_TERMS,
    MAX_SCANNED,
    TermFrequencies,
    count_terms,
    document_frequencies,
    match_terms,
    positive_terms,
)
from recollect.stores.sqlite.search import render_fts5
from tests.strategies import any_text, query_text


def held(text: str, query: str) -> list[str]:
    return [text[match.start : match.end] for match in match_terms(text, parse(query))]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Greener teas", "green tea", ["Greener", "teas"]),
        ("green, green", "green", ["green", "green"]),
        ("greenhouse", "green", []),
        ("greenhouse", "green*", ["greenhouse"]),
        ("an ant", "an AND ant", ["an", "ant"]),
        ("one two three", '"two three"', ["two three"]),
        ("one two", '"two three"', []),
        ("two --- three, two ---- three", '"two three"', []),
        ("two - three", '"two three"', ["two - three"]),
        ("two and a two three four", '"two three" OR "two three four" OR four', ["two three four"]),
        ("tea", '"?!" OR tea', ["tea"]),
        ("tea and sugar", "tea NOT sugar", ["tea"]),
        ("İİ tea and Straße", "tea straße", ["tea", "Straße"]),
        ("İstanbul", "istanbul", ["İstanbul"]),
        ("a_b _tea_ tea", "tea", ["tea"]),
        ("", "tea", []),
        ("tea", "", []),
    ],
)
def test_what_matches(text: str, query: str, expected: list[str]) -> None:
    assert held(text, query) == expected


def test_aliases_stand_for_the_same_word() -> None:
    query = expand_aliases(parse("bicycle NOT lock"), {"bicycle": ["bike", "two wheels"], "lock": ["chain", "bolt"]})
    assert [match.term for match in match_terms("a bike on two wheels, no chain, no bolt, no bicycle", query)] == [0, 0]


def test_a_very_long_text_is_looked_through_so_far() -> None:
    assert held("x " * (MAX_SCANNED // 2) + "tea", "tea") == []


@given(any_text, query_text)
def test_matches_are_in_order_and_apart(text: str, query: str) -> None:
    tree = parse(query)
    last = 0
    for match in match_terms(text, tree):
        assert last <= match.start < match.end <= len(text)
        last = match.end


def test_long_runs_and_repeated_words_take_no_longer() -> None:
    assert match_terms("a" * MAX_SCANNED, parse("a")) == []
    assert [match.term for match in match_terms("tea tea", parse("tea " * 500))] == [0, 0]


def test_each_word_is_a_query_of_its_own() -> None:
    words = positive_terms(expand_aliases(parse('k8s "green tea" OR ket* NOT coffee'), {"k8s": ["kubernetes", "kube"]}))
    assert list(words) == ["k8s", '"green tea"', "ket*"]
    assert [[token.text for token in query.tokens] for query in words.values()] == [
        ["kubernetes", "kube"],
        ["green tea"],
        ["ket"],
    ]
    assert not any(token.operator for query in words.values() for token in query.tokens)
    assert positive_terms(parse("?! NOT tea")) == {}


@given(query_text)
def test_words_have_the_numbers_that_matches_give_them(query: str) -> None:
    tree = parse(query)
    words = positive_terms(tree)
    assert {match.term for match in match_terms(query, tree)} <= set(range(len(words)))
    for own in words.values():
        assert {match.term for match in match_terms(query, own)} <= {0}


def test_occurrences_are_counted_as_matches_are() -> None:
    text = "A greenhouse of Green teas; tea, and a teapot. Evergreen."
    assert count_terms(text, parse("green tea coffee")) == {0: 1, 1: 2}
    assert count_terms("", parse("green tea")) == {}


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Herr Sørensen", "sorensen", ["Sørensen"]),
        ("Frau Weiß, Herr Weiss", "Weiß", ["Weiß", "Weiss"]),
        ("Ærø, then Łódź", "aero lodz", ["Ærø", "Łódź"]),
        ("Yılmaz and Kova\u0301r", "yilmaz kovar", ["Yılmaz", "Kova\u0301r"]),
        ("C++, not C", "C++ OR no", ["C++"]),
        ("C++ or C", "C#", []),
        ("C#, C++ or C.", '"no" OR C', ["C"]),
        ("A .NET service on the net", ".NET OR no", ["NET"]),
        ("PD4417", "PD4418", []),
        ("Flat 1: no lock, 11 keys", "flat AND 1", ["Flat", "1"]),
    ],
)
def test_accents_do_not_count_and_symbols_do(text: str, query: str, expected: list[str]) -> None:
    assert held(text, query) == expected
    counted = sum(count_terms(text, parse(query)).values())
    assert counted == len(expected)


class Counting:
    """An index that has 100 notes and finds in them as many as a word has letters."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        assert namespace == "home"
        self.asked += [render_fts5(query) for query in queries]
        return 100, [len(query.raw) for query in queries]


def counted(query: Query) -> tuple[TermFrequencies | None, list[str]]:
    index: Any = Counting()
    return document_frequencies(query, index, "home"), index.asked


def test_each_word_is_counted_once() -> None:
    frequencies, asked = counted(parse("green tea, green kettles"))
    assert frequencies == TermFrequencies(100, {"green": 5, "tea,": 4, "kettles": 7})
    assert asked == ['"green"', '"tea"', '"kettles"']


def test_a_word_is_found_by_its_aliases_too() -> None:
    frequencies, asked = counted(expand_aliases(parse("k8s pod"), {"k8s": ["kubernetes", "kube"]}))
    assert frequencies is not None
    assert list(frequencies.counts) == ["k8s", "pod"]
    assert len(asked) == 2
    assert "kubernetes" in asked[0]
    assert "kube" in asked[0]


def test_what_is_excluded_or_has_no_letter_is_not_counted() -> None:
    assert counted(parse("tea NOT coffee"))[0] == TermFrequencies(100, {"tea": 3})
    assert counted(parse('"?!" OR tea'))[0] == TermFrequencies(100, {"tea": 3})


@pytest.mark.parametrize("query", ["", "NOT tea", " ".join(f"word{number}" for number in range(MAX_COUNTED_TERMS + 1))])
def test_too_few_or_too_many_words(query: str) -> None:
    assert counted(parse(query)) == (None, [])


def test_as_many_words_as_may_be() -> None:
    frequencies, asked = counted(parse(" ".join(f"word{number}" for number in range(MAX_COUNTED_TERMS))))
    assert frequencies is not None
    assert len(frequencies.counts) == len(asked) == MAX_COUNTED_TERMS


def test_the_weight_is_that_of_bm25() -> None:
    frequencies = TermFrequencies(100, {"tea": 4, "the": 60, "all": 100, "none": 0})
    assert frequencies.bm25_weight("tea") == pytest.approx(log(96.5 / 4.5))
    assert frequencies.bm25_weight("none") == pytest.approx(log(100.5 / 0.5))
    assert frequencies.bm25_weight("the") == frequencies.bm25_weight("all") == 1e-6


def test_the_information_of_a_word_that_every_note_holds_is_above_0() -> None:
    frequencies = TermFrequencies(100, {"tea": 4, "all": 100, "none": 0, "beyond": 10**6})
    assert frequencies.weight("tea") == pytest.approx(log(1 + 96.5 / 4.5))
    assert frequencies.weight("none") == pytest.approx(log(1 + 100.5 / 0.5))
    assert frequencies.weight("all") == frequencies.weight("beyond") == pytest.approx(log(1 + 0.5 / 100.5))
    assert TermFrequencies(0, {"tea": 0}).weight("tea") == pytest.approx(log(2))


@given(st.integers(0, 1000), st.integers(0, 2000))
def test_whatever_an_index_counts_a_word_weighs_something(notes: int, held: int) -> None:
    frequencies = TermFrequencies(notes, {"tea": held})
    assert frequencies.bm25_weight("tea") >= 1e-6
    assert frequencies.weight("tea") > 0


def about(query: str, *, notes: int = 100, share: float = 0.45, **holding: int) -> str:
    """Return what is left of a query whose other words no note holds."""
    tree = parse(query)
    return drop_frequent_terms(
        query, tree, TermFrequencies(notes, {word: holding.get(word, 0) for word in positive_terms(tree)}), share
    )


def test_a_word_that_most_notes_hold_is_left_out() -> None:
    assert about("When did Caroline paint?", Caroline=60) == "When did paint?"
    assert about("When did Caroline and Melanie paint?", Caroline=60, Melanie=70) == "When did and paint?"


def test_the_share_must_be_passed_by_more_than_chance() -> None:
    assert about("Caroline paints", Caroline=55) == "Caroline paints"  # 0.45 + 1/√100 = 0.55
    assert about("Caroline paints", Caroline=56) == "paints"
    assert about("Caroline paints", Caroline=480, notes=1000) == "Caroline paints"  # 0.45 + 0.0316
    assert about("Caroline paints", Caroline=482, notes=1000) == "paints"
    assert about("Caroline paints", Caroline=100, share=0.9) == "Caroline paints"


def test_a_name_that_the_index_takes_for_a_stopword_stays() -> None:
    assert about("When did Ines paint?", Ines=90) == "When did Ines paint?"  # its stem is that of "in"


def test_among_few_notes_all_words_count() -> None:
    assert about("Caroline paints", Caroline=MIN_NOTES - 1, notes=MIN_NOTES - 1) == "Caroline paints"
    assert about("Caroline paints", Caroline=MIN_NOTES, notes=MIN_NOTES) == "paints"


def test_where_no_other_word_is_left_all_stay() -> None:
    assert about("Who is Caroline?", **{"Caroline?": 90}) == "Who is Caroline?"
    assert about("Caroline Melanie", Caroline=90, Melanie=80) == "Caroline Melanie"


def test_phrases_prefixes_and_aliases_stay() -> None:
    assert about('"Caroline paints" sunrise', **{'"Caroline paints"': 90}) == '"Caroline paints" sunrise'
    assert about("carol* sunrise", **{"carol*": 90}) == "carol* sunrise"
    tree = expand_aliases(parse("caro sunrise"), {"caro": ["caroline"]})
    assert (
        drop_frequent_terms("caro sunrise", tree, TermFrequencies(100, {"caro": 90, "sunrise": 1}), 0.45)
        == "caro sunrise"
    )


@pytest.mark.parametrize("query", ["Caroline sunrise NOT coffee", 'Caroline sunrise OR "?!"'])
def test_what_was_not_counted_is_no_reason_to_fail(query: str) -> None:
    assert "Caroline" not in about(query, Caroline=90)
    assert "sunrise" in about(query, Caroline=90)


def test_a_text_of_common_words_alone_stays_whatever_else_was_counted() -> None:
    assert (
        drop_frequent_terms(
            "Caroline", parse("Caroline paints"), TermFrequencies(100, {"Caroline": 90, "paints": 0}), 0.45
        )
        == "Caroline"
    )


@given(query_text, st.integers(0, 1000), st.floats(0, 1), st.data())
def test_it_never_leaves_nothing_and_adds_nothing(query: str, notes: int, share: float, data: st.DataObject) -> None:
    tree = parse(query)
    words = list(positive_terms(tree))
    counts = data.draw(st.lists(st.integers(0, notes), min_size=len(words), max_size=len(words)))
    left = drop_frequent_terms(tree.raw, tree, TermFrequencies(notes, dict(zip(words, counts, strict=True))), share)
    assert bool(left) == bool(tree.raw)
    kept = iter(tree.raw.split())
    assert all(word in kept for word in left.split())  # some of the words, in their order
