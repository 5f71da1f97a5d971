"""Edit distance, terms within few edits, and suggestions for misspelt words."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores import tokens
from recollect.stores.spelling import build_vocabulary, edit_distance, similar_words, stems_within, unknown_words

words = st.text("abcé日", min_size=1, max_size=9)


def recursive_distance(source: str, target: str) -> int:
    """Return the edit distance by its recursive definition."""
    if not source or not target:
        return len(source) + len(target)
    substituted = recursive_distance(source[:-1], target[:-1]) + (source[-1] != target[-1])
    deleted, inserted = recursive_distance(source[:-1], target) + 1, recursive_distance(source, target[:-1]) + 1
    fewest = min(deleted, inserted, substituted)
    if len(source) > 1 and len(target) > 1 and source[-2:] == target[:-3:-1]:
        fewest = min(fewest, recursive_distance(source[:-2], target[:-2]) + 1)
    return fewest


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("tea", "tea", 0),
        ("tea", "teas", 1),
        ("tea", "ta", 1),
        ("tea", "sea", 1),
        ("tea", "eta", 1),
        ("recieve", "receive", 1),
        ("ca", "abc", 3),  # no substring is edited twice
        ("kitten", "sitting", 3),
        ("a", "bcd", 3),
    ],
)
def test_edit_distance(source: str, target: str, expected: int) -> None:
    assert (
        edit_distance(source, target) == edit_distance(target, source) == recursive_distance(source, target) == expected
    )


@given(words.filter(lambda word: len(word) < 6), words.filter(lambda word: len(word) < 6))
def test_edit_distance_equals_its_definition(source: str, target: str) -> None:
    assert edit_distance(source, target) == recursive_distance(source, target)


@given(words, st.lists(words, unique=True, max_size=30), st.integers(1, 2))
def test_stems_within_finds_exactly_the_terms_in_range(word: str, terms: list[str], max_edits: int) -> None:
    vocabulary = build_vocabulary((term, count) for count, term in enumerate(terms))
    assert stems_within(word, max_edits, vocabulary) == {
        term: (edits, count) for count, term in enumerate(terms) if (edits := edit_distance(word, term)) <= max_edits
    }


class Index:
    """A lexical index: words and their numbers of occurrences."""

    def __init__(self, **words: int) -> None:
        self.words = words
        stems = Counter[str]()
        for word, count in words.items():
            stems[tokens.stem(word)] += count
        self.vocabulary = build_vocabulary(stems.items())

    def has_word(self, word: str) -> bool:
        return tokens.stem(word) in map(tokens.stem, self.words)

    def has_match(self, text: str) -> bool:
        return self.has_word(text)

    def spellings(self, stem: str) -> Counter[str]:
        return Counter({word: count for word, count in self.words.items() if tokens.stem(word) == stem})


def test_unknown_words_skips_short_numeric_long_and_indexed_words() -> None:
    words = ["kubernetes", "Kuberntes", "tea", "2024", "green tea", "x" * 65, "Kuberntes"]
    assert unknown_words(Index(kubernetes=1), words) == ["Kuberntes"]


def test_similar_words_orders_by_distance_then_frequency() -> None:
    index = Index(planet=1, plane=9, plant=5, plank=1)
    assert similar_words(index, index.vocabulary, ["plang", "planf"]) == {
        "plang": ("plane", "plant", "plank"),
        "planf": ("plane", "plant", "plank"),
    }


def test_similar_words_compares_whole_words_not_only_stems() -> None:
    index = Index(medical=3)
    assert similar_words(index, index.vocabulary, ["medicine"]) == {}


def test_similar_words_allows_two_edits_in_long_words() -> None:
    index = Index(kubernetes=1, tea=1)
    assert similar_words(index, index.vocabulary, ["kubrnetis", "teh", "tree"]) == {"kubrnetis": ("kubernetes",)}
