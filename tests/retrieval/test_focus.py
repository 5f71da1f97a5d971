"""What a query's vector should stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query import expand_aliases, parse
from recollect.retrieval.focus import FEWEST_NOTES, focused
from recollect.retrieval.matching import sought
from recollect.retrieval.rarity import Rarity
from tests.strategies import query_text


def about(query: str, *, notes: int = 100, share: float = 0.45, **holding: int) -> str:
    """Return what is left of a query whose other words no note holds."""
    tree = parse(query)
    return focused(query, tree, Rarity(notes, {word: holding.get(word, 0) for word in sought(tree)}), share)


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
    assert about("Caroline paints", Caroline=FEWEST_NOTES - 1, notes=FEWEST_NOTES - 1) == "Caroline paints"
    assert about("Caroline paints", Caroline=FEWEST_NOTES, notes=FEWEST_NOTES) == "paints"


def test_where_no_other_word_is_left_all_stay() -> None:
    assert about("Who is Caroline?", **{"Caroline?": 90}) == "Who is Caroline?"
    assert about("Caroline Melanie", Caroline=90, Melanie=80) == "Caroline Melanie"


def test_phrases_prefixes_and_aliases_stay() -> None:
    assert about('"Caroline paints" sunrise', **{'"Caroline paints"': 90}) == '"Caroline paints" sunrise'
    assert about("carol* sunrise", **{"carol*": 90}) == "carol* sunrise"
    tree = expand_aliases(parse("caro sunrise"), {"caro": ["caroline"]})
    assert focused("caro sunrise", tree, Rarity(100, {"caro": 90, "sunrise": 1}), 0.45) == "caro sunrise"


@pytest.mark.parametrize("query", ["Caroline sunrise NOT coffee", 'Caroline sunrise OR "?!"'])
def test_what_was_not_counted_is_no_reason_to_fail(query: str) -> None:
    assert "Caroline" not in about(query, Caroline=90)
    assert "sunrise" in about(query, Caroline=90)


def test_a_text_of_common_words_alone_stays_whatever_else_was_counted() -> None:
    assert focused("Caroline", parse("Caroline paints"), Rarity(100, {"Caroline": 90, "paints": 0}), 0.45) == "Caroline"


@given(query_text, st.integers(0, 1000), st.floats(0, 1), st.data())
def test_it_never_leaves_nothing_and_adds_nothing(query: str, notes: int, share: float, data: st.DataObject) -> None:
    tree = parse(query)
    words = list(sought(tree))
    counts = data.draw(st.lists(st.integers(0, notes), min_size=len(words), max_size=len(words)))
    left = focused(tree.raw, tree, Rarity(notes, dict(zip(words, counts, strict=True))), share)
    assert bool(left) == bool(tree.raw)
    kept = iter(tree.raw.split())
    assert all(word in kept for word in left.split())  # some of the words, in their order
