"""Where a query's words stand in a text."""

from __future__ import annotations

import pytest
from hypothesis import given

from recollect.query import expand_aliases, parse
from recollect.retrieval.matching import SCANNED, coverage, matches, occurrences, sought
from tests.strategies import any_text, query_text


def held(text: str, query: str) -> list[str]:
    return [text[match.start : match.end] for match in matches(text, parse(query))]


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
    assert [match.word for match in matches("a bike on two wheels, no chain, no bolt, no bicycle", query)] == [0, 0]
    assert coverage(["a bike"], query) == 1.0


def test_coverage_is_over_all_texts() -> None:
    query = parse("green tea kettle pot")
    assert coverage(["green green", "Teas"], query) == 0.5
    assert coverage([], query) == 0.0
    assert coverage(["tea"], parse("?!")) == 0.0


def test_a_very_long_text_is_looked_through_so_far() -> None:
    assert held("x " * (SCANNED // 2) + "tea", "tea") == []


@given(any_text, query_text)
def test_matches_are_in_order_and_apart(text: str, query: str) -> None:
    tree = parse(query)
    last = 0
    for match in matches(text, tree):
        assert last <= match.start < match.end <= len(text)
        last = match.end
    assert 0.0 <= coverage([text], tree) <= 1.0


def test_long_runs_and_repeated_words_take_no_longer() -> None:
    assert matches("a" * SCANNED, parse("a")) == []
    assert [match.word for match in matches("tea tea", parse("tea " * 500))] == [0, 0]


def test_each_word_is_a_query_of_its_own() -> None:
    words = sought(expand_aliases(parse('k8s "green tea" OR ket* NOT coffee'), {"k8s": ["kubernetes", "kube"]}))
    assert list(words) == ["k8s", '"green tea"', "ket*"]
    assert [[token.text for token in query.tokens] for query in words.values()] == [
        ["kubernetes", "kube"],
        ["green tea"],
        ["ket"],
    ]
    assert not any(token.operator for query in words.values() for token in query.tokens)
    assert sought(parse("?! NOT tea")) == {}


@given(query_text)
def test_words_have_the_numbers_that_matches_give_them(query: str) -> None:
    tree = parse(query)
    words = sought(tree)
    assert {match.word for match in matches(query, tree)} <= set(range(len(words)))
    for own in words.values():
        assert {match.word for match in matches(query, own)} <= {0}


def test_occurrences_are_counted_as_matches_are() -> None:
    text = "A greenhouse of Green teas; tea, and a teapot. Evergreen."
    assert occurrences(text, parse("green tea coffee")) == {0: 1, 1: 2}
    assert occurrences("", parse("green tea")) == {}


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
    counted = sum(occurrences(text, parse(query)).values())
    assert counted == len(expected)
