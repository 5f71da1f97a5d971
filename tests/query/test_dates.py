from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError, ArgumentTypeError
from recollect.query import augment_with_temporal, date_search_tokens, expand_temporal, parse_question_date
from recollect.query.dates import check_question_date
from tests.strategies import any_text, query_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-04-18", "2026-04-18T00:00:00"),
        ("2026/04/18", "2026-04-18T00:00:00"),
        ("2026-04/18", "2026-04-18T00:00:00"),
        ("2026-04-18 (Sat)", "2026-04-18T00:00:00"),
        ("2026-04-18(Sat)", "2026-04-18T00:00:00"),
        ("2023/04/10 (Mon) 23:07", "2023-04-10T23:07:00"),
        ("2023/04/10(Mon)\u300023:07:09", "2023-04-10T23:07:09"),
        ("2023/04/10 23:07 (Mon)", "2023-04-10T23:07:00"),
        (" \ufeff2026-04-18\n", "2026-04-18T00:00:00"),
        # overflowing fields roll over
        ("2026-02-30", "2026-03-02T00:00:00"),
        ("2026-13-01", "2027-01-01T00:00:00"),
        ("2026-00-01", "2025-12-01T00:00:00"),
        ("2026-04-00", "2026-03-31T00:00:00"),
        ("2026-12-31 25:61:61", "2027-01-01T02:02:01"),
        # ISO-8601
        ("2026-04-18T10:00Z", "2026-04-18T10:00:00"),
        ("2026-04-18T10:00:00.123Z", "2026-04-18T10:00:00.123000"),
        ("2026-04-18T10:00:00", "2026-04-18T10:00:00"),
        ("2026-04-18T23:30:00-05:00", "2026-04-19T04:30:00"),
        ("2026-04-18T01:00:00+0530", "2026-04-17T19:30:00"),
        ("2026-04-18T01:00:00+02", "2026-04-17T23:00:00"),
        # RFC 2822
        ("Sat, 18 Apr 2026 10:00:00 GMT", "2026-04-18T10:00:00"),
        ("Sat,18 Apr 2026 10:00:00 GMT", "2026-04-18T10:00:00"),
        ("18 apr 2026 10:00 +0200", "2026-04-18T08:00:00"),
        ("Sat, 18 Apr 2026 10:00:00 EST (home)", "2026-04-18T15:00:00"),
        ("Sat, 31 Feb 2026 10:00:00 -0000", "2026-03-03T10:00:00"),
    ],
)
def test_parse_question_date(text: str, expected: str) -> None:
    assert parse_question_date(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "yesterday", "1713398400000", "2026-04-188", "2026-4-18", "26-04-18", "2026-04", "18.04.2026"]
    + ["2026-04-18 10", "2026-04-18 (Sat", "0000-01-01", "9999-12-32", "0001-01-01T00:00+01:00", "18 Apr 2026"]
    + ["99 Abc 2026 10:00:00", "２０２６-04-18", "2026-04-18T10:00:00 CEST"],
)
def test_parse_question_date_rejects_other_text(text: str) -> None:
    assert parse_question_date(text) is None
    assert date_search_tokens(text) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (date(2026, 4, 18), datetime(2026, 4, 18, tzinfo=UTC)),
        (datetime(2026, 4, 18, 9), datetime(2026, 4, 18, 9, tzinfo=UTC)),  # noqa: DTZ001 (without offset it is UTC)
        (datetime(2026, 4, 18, 9, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 4, 18, 7, tzinfo=UTC)),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=2))), None),
    ],
)
def test_parse_question_date_accepts_python_dates(value: date | None, expected: datetime | None) -> None:
    assert parse_question_date(value) == expected


def test_date_search_tokens() -> None:
    assert date_search_tokens("2026/04/18 23:07") == ["2026-04-18", "2026/04/18", "2026", "Saturday", "April"]
    assert date_search_tokens("0099-01-01")[:3] == ["0099-01-01", "0099/01/01", "0099"]


@given(any_text)
def test_any_text_is_a_date_or_none(text: str) -> None:
    parse_question_date(text)


@pytest.mark.parametrize("function", [parse_question_date, date_search_tokens])
def test_date_functions_reject_wrong_types(function: object) -> None:
    assert callable(function)
    with pytest.raises(ArgumentTypeError, match="^text: must be a string or a date, got float"):
        function(1.5)


EARLIEST = " [Note: look for the earliest dated event]"
LATEST = " [Note: look for the most recently dated event]"


def test_expand_temporal_documented_example() -> None:
    # The published system appends a note here, although the question has none of the six words that ask for one.
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
        ("1 month ago", "2026-03-31", ["2026/03/03"]),  # 31 February rolls over to March
        ("12 months ago", "2024-02-29", ["2023/03/01"]),
        ("2 months ago", "2026-01-15", ["2025/11/15"]),
        ("25 months ago", "2026-01-15", ["2023/12/15"]),
        ("3 days ago", "2026-03-01", ["2026/02/26"]),
        ("1 WEEK AGO", "2026-03-01", ["2026/02/22"]),
        ("007 days ago", "2026-04-18", ["2026/04/11"]),
        ("0 days ago", "2026-04-18", ["2026/04/18"]),
        ("2 days\u3000\n ago", "2026-04-18", ["2026/04/16"]),
        ("2 days\x1cago", "2026-04-18", []),  # U+001C is not white space in JavaScript
        ("٣ days ago", "2026-04-18", []),  # JavaScript's \d has no Arabic digits
        ("last monday", "2026-04-20", ["2026/04/13"]),  # on a Monday: seven days before
        ("last tuesday", "2026-04-20", ["2026/04/14"]),
        ("last sunday", "2026-04-20", ["2026/04/19"]),
        ("blast mondays", "2026-04-20", ["2026/04/13"]),  # the pattern has no word boundaries
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
def test_expand_temporal_date_hints(question: str, anchor: str, hints: list[str]) -> None:
    expansion = expand_temporal(question, anchor)
    assert list(expansion.date_hints) == hints
    assert expansion.resolved is bool(hints)


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
        ("firstly", EARLIEST),  # also as a part of a word
    ],
)
def test_expand_temporal_ordering_notes(question: str, note: str) -> None:
    expansion = expand_temporal(question, "2026-04-18")
    assert expansion.expanded_query == question + note
    assert not expansion.resolved
    assert augment_with_temporal(question, "2026-04-18") == question


@pytest.mark.parametrize("anchor", [None, "", "garbage", "yesterday"])
def test_expand_temporal_without_date(anchor: str | None) -> None:
    expansion = expand_temporal("the latest, 2 weeks ago", anchor)
    assert expansion.to_dict() == {
        "originalQuery": "the latest, 2 weeks ago",
        "expandedQuery": "the latest, 2 weeks ago",
        "dateHints": [],
        "resolved": False,
    }


@pytest.mark.parametrize("anchor", [date(2026, 4, 18), datetime(2026, 4, 18, 23, tzinfo=UTC)])
def test_expand_temporal_accepts_python_dates(anchor: date) -> None:
    assert expand_temporal("2 days ago", anchor).date_hints == ("2026/04/16",)


@given(any_text | query_text, st.sampled_from(["2026-04-18", "0001-01-01", "9999-12-31"]) | any_text)
def test_expand_temporal_any_text(question: str, anchor: str) -> None:
    assert expand_temporal(question, anchor).original_query == question
    assert augment_with_temporal(question, anchor).startswith(question)


def test_expand_temporal_takes_linear_time() -> None:
    # A quadratic algorithm would take many minutes.
    assert not expand_temporal("1" * 1_000_000, "2026-04-18").resolved


def test_expand_temporal_rejects_wrong_types() -> None:
    with pytest.raises(ArgumentTypeError, match="^question: must be a string"):
        expand_temporal(5, "2026-04-18")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^question_date: must be a string or a date, got int"):
        expand_temporal("x", 20260418)  # type: ignore[arg-type]


def test_check_question_date_with_named_month() -> None:
    assert check_question_date("18 Apr 2026 10:00") == "18 Apr 2026 10:00"
    with pytest.raises(ArgumentError, match="^question_date: must be a date such as 2026-04-18"):
        check_question_date("31 Feb 2026 10:00")


def test_check_question_date_ignores_blank_text() -> None:
    assert check_question_date(" ") is None
    assert check_question_date("2026/04/18 (Sat) 09:30") == "2026/04/18 (Sat) 09:30"
