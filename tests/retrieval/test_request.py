"""Term matching, document frequencies and frequent terms of a query."""

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


def matched_texts(text: str, query: str) -> list[str]:
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
def test_match_terms(text: str, query: str, expected: list[str]) -> None:
    assert matched_texts(text, query) == expected


def test_match_terms_aliases_share_a_term() -> None:
    query = expand_aliases(parse("bicycle NOT lock"), {"bicycle": ["bike", "two wheels"], "lock": ["chain", "bolt"]})
    assert [
        match.term_index for match in match_terms("a bike on two wheels, no chain, no bolt, no bicycle", query)
    ] == [0, 0]


def test_match_terms_stops_at_max_scanned() -> None:
    assert matched_texts("x " * (MAX_SCANNED // 2) + "tea", "tea") == []


@given(any_text, query_text)
def test_matches_are_ordered_and_disjoint(text: str, query: str) -> None:
    tree = parse(query)
    last = 0
    for match in match_terms(text, tree):
        assert last <= match.start < match.end <= len(text)
        last = match.end


def test_match_terms_of_long_and_repeated_words() -> None:
    assert match_terms("a" * MAX_SCANNED, parse("a")) == []
    assert [match.term_index for match in match_terms("tea tea", parse("tea " * 500))] == [0, 0]


def test_positive_terms_are_queries() -> None:
    terms = positive_terms(expand_aliases(parse('k8s "green tea" OR ket* NOT coffee'), {"k8s": ["kubernetes", "kube"]}))
    assert list(terms) == ["k8s", '"green tea"', "ket*"]
    assert [[token.text for token in query.tokens] for query in terms.values()] == [
        ["kubernetes", "kube"],
        ["green tea"],
        ["ket"],
    ]
    assert not any(token.operator for query in terms.values() for token in query.tokens)
    assert positive_terms(parse("?! NOT tea")) == {}


@given(query_text)
def test_match_terms_numbers_positive_terms(query: str) -> None:
    tree = parse(query)
    terms = positive_terms(tree)
    assert {match.term_index for match in match_terms(query, tree)} <= set(range(len(terms)))
    for term_query in terms.values():
        assert {match.term_index for match in match_terms(query, term_query)} <= {0}


def test_count_terms() -> None:
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
def test_match_terms_folds_accents_and_keeps_symbols(text: str, query: str, expected: list[str]) -> None:
    assert matched_texts(text, query) == expected
    total = sum(count_terms(text, parse(query)).values())
    assert total == len(expected)


class CountingIndex:
    """An index of 100 notes in which the frequency of a term is its length."""

    def __init__(self) -> None:
        self.queries_sent: list[str] = []

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        assert namespace == "work"
        self.queries_sent += [render_fts5(query) for query in queries]
        return 100, [len(query.raw) for query in queries]


def frequencies_and_queries(query: Query) -> tuple[TermFrequencies | None, list[str]]:
    index: Any = CountingIndex()
    return document_frequencies(query, index, "work"), index.queries_sent


def test_document_frequencies_counts_terms_once() -> None:
    frequencies, queries_sent = frequencies_and_queries(parse("green tea, green kettles"))
    assert frequencies == TermFrequencies(100, {"green": 5, "tea,": 4, "kettles": 7})
    assert queries_sent == ['"green"', '"tea"', '"kettles"']


def test_document_frequencies_counts_aliases() -> None:
    frequencies, queries_sent = frequencies_and_queries(
        expand_aliases(parse("k8s pod"), {"k8s": ["kubernetes", "kube"]})
    )
    assert frequencies is not None
    assert list(frequencies.counts) == ["k8s", "pod"]
    assert len(queries_sent) == 2
    assert "kubernetes" in queries_sent[0]
    assert "kube" in queries_sent[0]


def test_document_frequencies_skips_excluded_terms_and_symbols() -> None:
    assert frequencies_and_queries(parse("tea NOT coffee"))[0] == TermFrequencies(100, {"tea": 3})
    assert frequencies_and_queries(parse('"?!" OR tea'))[0] == TermFrequencies(100, {"tea": 3})


@pytest.mark.parametrize("query", ["", "NOT tea", " ".join(f"word{number}" for number in range(MAX_COUNTED_TERMS + 1))])
def test_document_frequencies_none_or_too_many_terms(query: str) -> None:
    assert frequencies_and_queries(parse(query)) == (None, [])


def test_document_frequencies_max_terms() -> None:
    frequencies, queries_sent = frequencies_and_queries(
        parse(" ".join(f"word{number}" for number in range(MAX_COUNTED_TERMS)))
    )
    assert frequencies is not None
    assert len(frequencies.counts) == len(queries_sent) == MAX_COUNTED_TERMS


def test_bm25_weight() -> None:
    frequencies = TermFrequencies(100, {"tea": 4, "the": 60, "all": 100, "none": 0})
    assert frequencies.bm25_weight("tea") == pytest.approx(log(96.5 / 4.5))
    assert frequencies.bm25_weight("none") == pytest.approx(log(100.5 / 0.5))
    assert frequencies.bm25_weight("the") == frequencies.bm25_weight("all") == 1e-6


def test_weight_is_positive_for_every_frequency() -> None:
    frequencies = TermFrequencies(100, {"tea": 4, "all": 100, "none": 0, "beyond": 10**6})
    assert frequencies.weight("tea") == pytest.approx(log(1 + 96.5 / 4.5))
    assert frequencies.weight("none") == pytest.approx(log(1 + 100.5 / 0.5))
    assert frequencies.weight("all") == frequencies.weight("beyond") == pytest.approx(log(1 + 0.5 / 100.5))
    assert TermFrequencies(0, {"tea": 0}).weight("tea") == pytest.approx(log(2))


@given(st.integers(0, 1000), st.integers(0, 2000))
def test_weights_are_positive_for_any_counts(notes: int, frequency: int) -> None:
    frequencies = TermFrequencies(notes, {"tea": frequency})
    assert frequencies.bm25_weight("tea") >= 1e-6
    assert frequencies.weight("tea") > 0


def drop_frequent(query: str, *, notes: int = 100, share: float = 0.45, **frequencies: int) -> str:
    """Drop frequent terms from a query; ``frequencies`` has counts by term, 0 for the others."""
    tree = parse(query)
    return drop_frequent_terms(
        query, tree, TermFrequencies(notes, {word: frequencies.get(word, 0) for word in positive_terms(tree)}), share
    )


def test_drop_frequent_terms() -> None:
    assert drop_frequent("When did Caroline paint?", Caroline=60) == "When did paint?"
    assert drop_frequent("When did Caroline and Melanie paint?", Caroline=60, Melanie=70) == "When did and paint?"


def test_drop_frequent_terms_needs_significance() -> None:
    assert drop_frequent("Caroline paints", Caroline=55) == "Caroline paints"  # 0.45 + 1/√100 = 0.55
    assert drop_frequent("Caroline paints", Caroline=56) == "paints"
    assert drop_frequent("Caroline paints", Caroline=480, notes=1000) == "Caroline paints"  # 0.45 + 0.0316
    assert drop_frequent("Caroline paints", Caroline=482, notes=1000) == "paints"
    assert drop_frequent("Caroline paints", Caroline=100, share=0.9) == "Caroline paints"


def test_drop_frequent_terms_keeps_names_with_a_stopword_stem() -> None:
    assert drop_frequent("When did Ines paint?", Ines=90) == "When did Ines paint?"  # its stem is that of "in"


def test_drop_frequent_terms_needs_min_notes() -> None:
    assert drop_frequent("Caroline paints", Caroline=MIN_NOTES - 1, notes=MIN_NOTES - 1) == "Caroline paints"
    assert drop_frequent("Caroline paints", Caroline=MIN_NOTES, notes=MIN_NOTES) == "paints"


def test_drop_frequent_terms_keeps_all_if_none_is_left() -> None:
    assert drop_frequent("Who is Caroline?", **{"Caroline?": 90}) == "Who is Caroline?"
    assert drop_frequent("Caroline Melanie", Caroline=90, Melanie=80) == "Caroline Melanie"


def test_drop_frequent_terms_keeps_phrases_prefixes_and_aliases() -> None:
    assert drop_frequent('"Caroline paints" sunrise', **{'"Caroline paints"': 90}) == '"Caroline paints" sunrise'
    assert drop_frequent("carol* sunrise", **{"carol*": 90}) == "carol* sunrise"
    tree = expand_aliases(parse("caro sunrise"), {"caro": ["caroline"]})
    assert (
        drop_frequent_terms("caro sunrise", tree, TermFrequencies(100, {"caro": 90, "sunrise": 1}), 0.45)
        == "caro sunrise"
    )


@pytest.mark.parametrize("query", ["Caroline sunrise NOT coffee", 'Caroline sunrise OR "?!"'])
def test_drop_frequent_terms_without_counts_of_some_terms(query: str) -> None:
    assert "Caroline" not in drop_frequent(query, Caroline=90)
    assert "sunrise" in drop_frequent(query, Caroline=90)


def test_drop_frequent_terms_keeps_text_of_frequent_terms() -> None:
    assert (
        drop_frequent_terms(
            "Caroline", parse("Caroline paints"), TermFrequencies(100, {"Caroline": 90, "paints": 0}), 0.45
        )
        == "Caroline"
    )


@given(query_text, st.integers(0, 1000), st.floats(0, 1), st.data())
def test_drop_frequent_terms_returns_a_nonempty_subsequence(
    query: str, notes: int, share: float, data: st.DataObject
) -> None:
    tree = parse(query)
    terms = list(positive_terms(tree))
    counts = data.draw(st.lists(st.integers(0, notes), min_size=len(terms), max_size=len(terms)))
    reduced = drop_frequent_terms(tree.raw, tree, TermFrequencies(notes, dict(zip(terms, counts, strict=True))), share)
    assert bool(reduced) == bool(tree.raw)
    remaining = iter(tree.raw.split())
    assert all(word in remaining for word in reduced.split())  # a subsequence
