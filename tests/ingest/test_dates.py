from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from recollect import ArgumentError
from recollect.ingest.dates import date_in_name, datetime_from_timestamp, parse_date


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-14", "2026-03-14T00:00:00+00:00"),
        (" 2026-03-14T10:00:00Z ", "2026-03-14T10:00:00+00:00"),
        ("2026-03-14 10:00:00 +02:00", "2026-03-14T08:00:00+00:00"),
        ("2026/03/14 (Sat) 10:00", "2026-03-14T10:00:00+00:00"),
        ("Sat, 14 Mar 2026 10:00:00 +0100", "2026-03-14T09:00:00+00:00"),
        (date(2026, 3, 14), "2026-03-14T00:00:00+00:00"),
        (datetime(2026, 3, 14, 10, tzinfo=timezone(timedelta(hours=2))), "2026-03-14T08:00:00+00:00"),
        (1_700_000_000, "2023-11-14T22:13:20+00:00"),
        (1_700_000_000.5, "2023-11-14T22:13:20.500000+00:00"),
        (1_700_000_000_000, "2023-11-14T22:13:20+00:00"),
        ("1700000000", "2023-11-14T22:13:20+00:00"),
        ("1700000000.25", "2023-11-14T22:13:20.250000+00:00"),
        ("20260314", "2026-03-14T00:00:00+00:00"),
        (0, "1970-01-01T00:00:00+00:00"),
    ],
)
def test_parse_date(value: Any, expected: str) -> None:
    assert parse_date("date", value).isoformat() == expected


@pytest.mark.parametrize(
    "value",
    [
        "2025-02-30",
        "2025-13-45",
        "2025-02-28T25:00",
        "2025/02/31 (Mon) 10:00",
        "some day",
        "",
        True,
        None,
        [],
        1e300,
        float("nan"),
        10**18,
        "9999-99-99x",
    ],
)
def test_parse_date_rejects_invalid_dates(value: Any) -> None:
    with pytest.raises(ArgumentError, match="^date: "):
        parse_date("date", value)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-03-14.md", "2026-03-14"),
        ("journal/Sat 2026_03_14 evening.md", "2026-03-14"),
        ("20260314-standup.md", "2026-03-14"),
        ("2026.03.14.txt", "2026-03-14"),
        ("2026-13-01 2026-03-14.md", "2026-03-14"),
        ("2026-02-30.md", None),
        ("2026-03/14.md", None),
        ("2026-03-14/tea.md", None),
        ("120260314.md", None),
        ("2026-0314.md", None),
        ("99990101.md", None),
        ("tea.md", None),
    ],
)
def test_date_in_name(name: str, day: str | None) -> None:
    named = date_in_name(name)
    assert (named and named.date().isoformat()) == day


def test_timestamp_out_of_range() -> None:
    assert datetime_from_timestamp(1e18) is None
