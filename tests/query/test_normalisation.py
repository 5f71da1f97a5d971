from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentTypeError
from recollect.query import normalise
from recollect.text import WHITESPACE
from tests.strategies import any_text, query_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  a \t\n b  ", "a b"),
        ("cafe\u0301", "caf\u00e9"),
        ("hel\u200clo \u200bwor\u200dld\ufeff", "hello world"),
        ("a\u00a0\u00a0b", "a b"),
        ('say "two   words"', 'say "two words"'),
        ("a\x1cb\x1fc\x85d", "a\x1cb\x1fc\x85d"),  # white space to Python, not to JavaScript
        ("a\u180eb", "a\u180eb"),
        ("e\u200b\u0301", "\u00e9"),  # an accent that meets its letter only when the zero-width space is gone
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud800b\udc00", "a\ufffdb\ufffd"),
        ("a\x00b", "a\x00b"),
    ],
)
def test_one_spelling_for_what_looks_the_same(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize("space", WHITESPACE)
def test_every_white_space_of_javascript_is_white_space(space: str) -> None:
    assert normalise(f"{space}a{space}{space}b{space}") == ("ab" if space == "\ufeff" else "a b")


@given(any_text | query_text)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once.encode().decode() == once


_MARKS = st.text(
    st.sampled_from("\u0301\u0323\u0315\u0334\u0345\u093c\u0903\u05b0\u3099\u20dd\u0f73"), min_size=30, max_size=80
)


@given(st.lists(st.tuples(st.sampled_from("aéक한x"), _MARKS)))
def test_many_marks_are_composed_as_nfc_says(letters: list[tuple[str, str]]) -> None:
    text = "".join(letter + marks for letter, marks in letters)
    assert normalise(text) == unicodedata.normalize("NFC", text)


def test_a_hundred_thousand_marks_on_one_letter_take_no_long_time() -> None:
    # Python alone takes many minutes for this.
    text = "a" + "\u0315" * 250_000 + "\u0323" * 250_000
    assert normalise(text) == "ạ" + "\u0323" * 249_999 + "\u0315" * 250_000
    # This one is of class 0, but made of two marks that are not.
    assert len(normalise("a" + "\u0f73" * 200_000)) == 400_001


def test_wrong_type_names_the_argument() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^text: must be a string, got 5 \(int\)$"):
        normalise(5)  # type: ignore[arg-type]
