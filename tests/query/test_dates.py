from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given

from recollect import ArgumentTypeError
from recollect.query import date_search_tokens, parse_question_date
from tests.strategies import any_text


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
def test_accepted_layouts(text: str, expected: str) -> None:
    assert parse_question_date(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "yesterday", "1713398400000", "2026-04-188", "2026-4-18", "26-04-18", "2026-04", "18.04.2026"]
    + ["2026-04-18 10", "2026-04-18 (Sat", "0000-01-01", "9999-12-32", "0001-01-01T00:00+01:00", "18 Apr 2026"]
    + ["99 Abc 2026 10:00:00", "２０２６-04-18", "2026-04-18T10:00:00 CEST"],
)
def test_anything_else_names_no_date(text: str) -> None:
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
def test_dates_of_python_are_accepted(value: date | None, expected: datetime | None) -> None:
    assert parse_question_date(value) == expected


def test_search_tokens_are_in_the_documented_order() -> None:
    assert date_search_tokens("2026/04/18 23:07") == ["2026-04-18", "2026/04/18", "2026", "Saturday", "April"]
    assert date_search_tokens("0099-01-01")[:3] == ["0099-01-01", "0099/01/01", "0099"]


@given(any_text)
def test_no_text_is_an_error(text: str) -> None:
    parse_question_date(text)


@pytest.mark.parametrize("function", [parse_question_date, date_search_tokens])
def test_wrong_type_is_named(function: object) -> None:
    assert callable(function)
    with pytest.raises(ArgumentTypeError, match="^text: must be a string or a date, got float"):
        function(1.5)
