from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentTypeError
from recollect.query import augment_with_temporal, expand_temporal
from tests.strategies import any_text, query_text

EARLIEST = " [Note: look for the earliest dated event]"
LATEST = " [Note: look for the most recently dated event]"


def test_worked_example() -> None:
    # The source document appends a note to this one; the question holds none of its six hints, so there is none.
    question = "what did I watch 2 weeks ago last Friday?"
    assert expand_temporal(question, "2026-04-18 (Sat)").to_dict() == {
        "originalQuery": question,
        "expandedQuery": "what did I watch 2 weeks ago (around 2026/04/04) last Friday (2026/04/17)?",
        "dateHints": ["2026/04/04", "2026/04/17"],
        "resolved": True,
    }
    assert augment_with_temporal(question, "2026-04-18 (Sat)") == (
        f"{question} 2026/04/04 2026-04-04 2026/04/17 2026-04-17"
    )


@pytest.mark.parametrize(
    ("question", "anchor", "hints"),
    [
        ("1 month ago", "2026-03-31", ["2026/03/03"]),  # rolls forward, as the document says
        ("12 months ago", "2024-02-29", ["2023/03/01"]),
        ("2 months ago", "2026-01-15", ["2025/11/15"]),
        ("25 months ago", "2026-01-15", ["2023/12/15"]),
        ("3 days ago", "2026-03-01", ["2026/02/26"]),
        ("1 WEEK AGO", "2026-03-01", ["2026/02/22"]),
        ("007 days ago", "2026-04-18", ["2026/04/11"]),
        ("0 days ago", "2026-04-18", ["2026/04/18"]),
        ("2 days\u3000\n ago", "2026-04-18", ["2026/04/16"]),
        ("2 days\x1cago", "2026-04-18", []),  # U+001C is no white space
        ("٣ days ago", "2026-04-18", []),  # nor an Arabic digit one of JavaScript's
        ("last monday", "2026-04-20", ["2026/04/13"]),  # a Monday itself: seven days back
        ("last tuesday", "2026-04-20", ["2026/04/14"]),
        ("last sunday", "2026-04-20", ["2026/04/19"]),
        ("blast mondays", "2026-04-20", ["2026/04/13"]),  # no word boundaries
        ("last monday, 7 days ago", "2026-04-20", ["2026/04/13"]),  # each date once
        ("last monday, 1 day ago", "2026-04-20", ["2026/04/19", "2026/04/13"]),  # relative times first
        ("yesterday, last month, this week, two weeks ago", "2026-04-20", []),
        ("800000 days ago", "2026-04-20", []),  # before the calendar begins
        ("999999 months ago", "2026-04-20", []),
        (f"{'9' * 5000} days ago", "2026-04-20", []),
        (f"{'0' * 5000}1 day ago", "2026-04-20", ["2026/04/19"]),
        ("last monday", "0001-01-01", []),
    ],
)
def test_date_hints(question: str, anchor: str, hints: list[str]) -> None:
    found = expand_temporal(question, anchor)
    assert list(found.date_hints) == hints
    assert found.resolved is bool(hints)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("when did we FIRST meet", EARLIEST),
        ("earlier", EARLIEST),
        ("before that", EARLIEST),
        ("most recent", LATEST),
        ("the latest", LATEST),
        ("last time", LATEST),
        ("the latest before that", EARLIEST),  # the earliest wins, and only one note is given
        ("most  recent", ""),
        ("firstly", EARLIEST),  # a part of a word will do
    ],
)
def test_ordering_notes(question: str, note: str) -> None:
    found = expand_temporal(question, "2026-04-18")
    assert found.expanded_query == question + note
    assert not found.resolved
    assert augment_with_temporal(question, "2026-04-18") == question


@pytest.mark.parametrize("anchor", [None, "", "garbage", "yesterday"])
def test_without_an_anchor_the_question_stays_as_it_is(anchor: str | None) -> None:
    found = expand_temporal("the latest, 2 weeks ago", anchor)
    assert found.to_dict() == {
        "originalQuery": "the latest, 2 weeks ago",
        "expandedQuery": "the latest, 2 weeks ago",
        "dateHints": [],
        "resolved": False,
    }


@pytest.mark.parametrize("anchor", [date(2026, 4, 18), datetime(2026, 4, 18, 23, tzinfo=UTC)])
def test_the_anchor_may_be_a_date(anchor: date) -> None:
    assert expand_temporal("2 days ago", anchor).date_hints == ("2026/04/16",)


@given(any_text | query_text, st.sampled_from(["2026-04-18", "0001-01-01", "9999-12-31"]) | any_text)
def test_no_text_is_an_error(question: str, anchor: str) -> None:
    assert expand_temporal(question, anchor).original_query == question
    assert augment_with_temporal(question, anchor).startswith(question)


def test_a_long_number_takes_no_long_time() -> None:
    # Quadratic, this would run for many minutes.
    assert not expand_temporal("1" * 1_000_000, "2026-04-18").resolved


def test_wrong_types_are_named() -> None:
    with pytest.raises(ArgumentTypeError, match="^question: must be a string"):
        expand_temporal(5, "2026-04-18")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^question_date: must be a string or a date, got int"):
        expand_temporal("x", 20260418)  # type: ignore[arg-type]
