from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.synthetic.rewording import inflected, reworded_dates, reworded_number, root


@pytest.mark.parametrize(
    "forms",
    [
        "prefer prefers preferred preferring",
        "bike bikes",
        "study studies studied studying",
        "box boxes boxed",
        "glass glasses",
        "tell tells telling",
        "stop stopped stopping stops",
    ],
)
def test_forms_of_a_word_have_one_root(forms: str) -> None:
    assert len({root(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(("word", "other"), [("tea", "bike"), ("red", "ring"), ("is", "as")])
def test_short_words_keep_their_ends(word: str, other: str) -> None:
    assert root(word) != root(other)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("kettles", "kettle"),
        ("kettle", "kettles"),
        ("stories", "story"),
        ("story", "stories"),
        ("moving", "moved"),
        ("moved", "moving"),
        ("boxes", "box"),
        ("church", "churches"),
        ("key", "keys"),
        ("glass", "glasses"),
        ("status", "status"),
        ("as", "as"),
        ("err4021", "err4021"),
        ("größe", "größe"),
        ("Tea", "Tea"),
        ("bed", "bed"),  # an ending in sight only
    ],
)
def test_another_form(word: str, other: str) -> None:
    assert inflected(word) == other


@given(st.text("abcdeginsxyz", max_size=10))
def test_another_form_has_the_same_root(word: str) -> None:
    assert root(inflected(word)) == root(word)


@given(st.integers(0, 99))
def test_numbers_there_and_back(number: int) -> None:
    word = reworded_number(str(number))
    assert not any(letter.isdigit() for letter in word)
    assert reworded_number(word) == str(number)


def test_numbers_by_hand() -> None:
    assert [reworded_number(text) for text in ("0", "13", "20", "99", "07")] == [
        "zero",
        "thirteen",
        "twenty",
        "ninety-nine",
        "seven",
    ]
    assert [reworded_number(text) for text in ("100", "tea", "²", "3.5")] == ["100", "tea", "²", "3.5"]


@given(st.dates(min_value=date(1000, 1, 1)))
def test_dates_there_and_back(day: date) -> None:
    told = str(day)
    assert reworded_dates(reworded_dates(told)) == told


def test_dates_by_hand() -> None:
    assert reworded_dates("18 April 2026 and April 18, 2026") == "2026-04-18 and 2026-04-18"
    assert reworded_dates("on 3. March 2025") == "on 2025-03-03"
    assert reworded_dates("31 February 2026") == "31 February 2026"
    assert reworded_dates("version 12026-04-18") == "version 12026-04-18"
