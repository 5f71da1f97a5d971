"""How rare the words of a query are among the notes that it is put to."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query import Query, expand_aliases, parse
from recollect.retrieval.rarity import MOST_WORDS, Rarity, rarity_of
from recollect.stores.sqlite.fts5 import render_fts5


class Counting:
    """An index that has 100 notes and finds in them as many as a word has letters."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        assert namespace == "home"
        self.asked += [render_fts5(query) for query in queries]
        return 100, [len(query.raw) for query in queries]


def counted(query: Query) -> tuple[Rarity | None, list[str]]:
    index: Any = Counting()
    return rarity_of(query, index, "home"), index.asked


def test_each_word_is_counted_once() -> None:
    rarity, asked = counted(parse("green tea, green kettles"))
    assert rarity == Rarity(100, {"green": 5, "tea,": 4, "kettles": 7})
    assert asked == ['"green"', '"tea"', '"kettles"']


def test_a_word_is_found_by_its_aliases_too() -> None:
    rarity, asked = counted(expand_aliases(parse("k8s pod"), {"k8s": ["kubernetes", "kube"]}))
    assert rarity is not None
    assert list(rarity.holding) == ["k8s", "pod"]
    assert len(asked) == 2
    assert "kubernetes" in asked[0]
    assert "kube" in asked[0]


def test_what_is_excluded_or_has_no_letter_is_not_counted() -> None:
    assert counted(parse("tea NOT coffee"))[0] == Rarity(100, {"tea": 3})
    assert counted(parse('"?!" OR tea'))[0] == Rarity(100, {"tea": 3})


@pytest.mark.parametrize("query", ["", "NOT tea", " ".join(f"word{number}" for number in range(MOST_WORDS + 1))])
def test_too_few_or_too_many_words(query: str) -> None:
    assert counted(parse(query)) == (None, [])


def test_as_many_words_as_may_be() -> None:
    rarity, asked = counted(parse(" ".join(f"word{number}" for number in range(MOST_WORDS))))
    assert rarity is not None
    assert len(rarity.holding) == len(asked) == MOST_WORDS


def test_an_index_that_cannot_count() -> None:
    index: Any = object()
    assert rarity_of(parse("tea"), index, "home") is None


def test_the_weight_is_that_of_bm25() -> None:
    rarity = Rarity(100, {"tea": 4, "the": 60, "all": 100, "none": 0})
    assert rarity.weight("tea") == pytest.approx(log(96.5 / 4.5))
    assert rarity.weight("none") == pytest.approx(log(100.5 / 0.5))
    assert rarity.weight("the") == rarity.weight("all") == 1e-6  # what most notes hold counts for hardly anything
    assert (rarity.share("tea"), rarity.share("all"), rarity.share("none")) == (0.04, 1.0, 0.0)


def test_the_information_of_a_word_that_every_note_holds_is_above_0() -> None:
    rarity = Rarity(100, {"tea": 4, "all": 100, "none": 0, "beyond": 10**6})
    assert rarity.information("tea") == pytest.approx(log(1 + 96.5 / 4.5))
    assert rarity.information("none") == pytest.approx(log(1 + 100.5 / 0.5))
    assert rarity.information("all") == rarity.information("beyond") == pytest.approx(log(1 + 0.5 / 100.5))
    assert Rarity(0, {"tea": 0}).information("tea") == pytest.approx(log(2))


@given(st.integers(0, 1000), st.integers(0, 2000))
def test_whatever_an_index_counts_a_word_weighs_something(notes: int, held: int) -> None:
    rarity = Rarity(notes, {"tea": held})
    assert rarity.weight("tea") >= 1e-6
    assert rarity.information("tea") > 0
    assert rarity.share("tea") >= 0
