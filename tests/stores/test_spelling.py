from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.stores.spelling import Spellings, by_length, distance, within

word = st.text("abcé日", min_size=1, max_size=9)


def spelt(words: Iterable[str]) -> dict[int, Spellings]:
    """Return the words as they can be compared; the weight of each is its place."""
    lengths: dict[int, tuple[list[str], list[int]]] = {}
    for place, each in enumerate(words):
        same, places = lengths.setdefault(len(each), ([], []))
        same.append(each)
        places.append(place)
    return by_length(lengths)


def edits(one: str, other: str) -> int:
    """Return the distance from its definition, one part of the words after the other."""
    if not one or not other:
        return len(one) + len(other)
    changed = edits(one[:-1], other[:-1]) + (one[-1] != other[-1])
    fewest = min(edits(one[:-1], other) + 1, edits(one, other[:-1]) + 1, changed)
    if len(one) > 1 and len(other) > 1 and one[-2:] == other[:-3:-1]:
        fewest = min(fewest, edits(one[:-2], other[:-2]) + 1)
    return fewest


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("tea", "tea", 0),
        ("tea", "teas", 1),
        ("tea", "ta", 1),
        ("tea", "sea", 1),
        ("tea", "eta", 1),
        ("recieve", "receive", 1),
        ("ca", "abc", 3),  # no part is edited twice
        ("kitten", "sitting", 3),
        ("a", "bcd", 3),
    ],
)
def test_distance(one: str, other: str, expected: int) -> None:
    assert distance(one, other) == distance(other, one) == edits(one, other) == expected


@given(word.filter(lambda each: len(each) < 6), word.filter(lambda each: len(each) < 6))
def test_distance_is_what_the_definition_says(one: str, other: str) -> None:
    assert distance(one, other) == edits(one, other)


@given(word, st.lists(word, unique=True, max_size=30), st.integers(1, 2))
def test_words_within_reach_are_all_found_and_no_others(one: str, others: list[str], most: int) -> None:
    found = within(one, most, spelt(others))
    assert found == {
        each: (distance(one, each), place) for place, each in enumerate(others) if distance(one, each) <= most
    }
