from __future__ import annotations

import pytest
from hypothesis import given

from recollect import ArgumentTypeError
from recollect.ranking import RegexAnchorExtractor, TimeAnchor
from tests.strategies import any_text, query_text

anchor = RegexAnchorExtractor().anchor

WORDS = "one two three four five six seven eight nine ten eleven twelve".split()


@pytest.mark.parametrize(
    ("query", "days", "tolerance"),
    [
        ("what did I do 3 days ago", 3, 2),
        ("1 day ago", 1, 2),
        ("a couple of days ago", 2, 2),
        ("a couple days ago", 2, 2),
        ("Yesterday!", 1, 1),
        ("three weeks ago", 21, 5),
        ("1 week ago", 7, 5),
        ("a week ago", 7, 3),
        ("LAST WEEK", 7, 3),
        ("6 months ago", 180, 10),
        ("a month ago", 30, 7),
        ("last month", 30, 7),
        ("a year ago", 365, 30),
        ("last\u3000year", 365, 30),
        ("recently", 14, 14),
        ("999999 days ago", 999_999, 2),
        # the first row that matches wins, wherever it stands
        ("last week or 3 days ago", 3, 2),
        ("recently, a year ago", 365, 30),
        ("2 weeks ago, yesterday", 1, 1),
        *((f"{word} days ago", number, 2) for number, word in enumerate(WORDS, 1)),
    ],
)
def test_table(query: str, days: int, tolerance: int) -> None:
    assert anchor(query) == TimeAnchor(days, tolerance)


@pytest.mark.parametrize(
    "query",
    ["", "how many times a week", "a month of rain", "thirteen days ago", "2 years ago", "days ago", "3 days"]
    + ["1000000 days ago", "1.5 weeks ago", "1,5 weeks ago", "yesterdays", "blast week", "unrecently", "٣ days ago"]
    + ["next week", "someone days ago", "twenty-one days ago"],
)
def test_nothing_else_names_a_time(query: str) -> None:
    assert anchor(query) is None


@given(any_text | query_text)
def test_no_text_is_an_error(query: str) -> None:
    anchor(query)


def test_wrong_type_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match="^query: must be a string"):
        anchor(None)  # type: ignore[arg-type]
