"""When something was: dates as people and programs write them into files."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.model import NEVER
from recollect.query import parse_question_date

__all__ = ["expiry_of", "moment_in_name", "moment_of", "moment_of_timestamp"]

_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})([-_.]?)(\d\d)\2(\d\d)(?!\d)")
_SPACE_BEFORE_OFFSET = re.compile(r"(?<=\d) (?=[+-]\d\d:?\d\d$|Z$)")
_MILLISECONDS_FROM = 100_000_000_000
"""As seconds this is the year 5138; as milliseconds it is 1973. Clocks that count milliseconds are more common."""


def moment_of(argument: str, value: Any) -> datetime:
    """Return ``value`` as an instant in UTC: ISO-8601 and its relatives, or seconds since 1970.

    >>> moment_of("date", "2026-03-14").isoformat()
    '2026-03-14T00:00:00+00:00'
    >>> moment_of("time", 1_700_000_000).isoformat() == moment_of("time", "2023/11/14 (Tue) 22:13:20").isoformat()
    True
    """
    if isinstance(value, str):
        value = value.strip()
        if re.fullmatch(r"\d{9,13}(?:\.\d{1,9})?", value):
            value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = arguments.number(argument, value)
        moment = moment_of_timestamp(seconds / 1000 if abs(seconds) >= _MILLISECONDS_FROM else seconds)
        if moment is None:
            raise ArgumentError(argument, f"lies outside the years 1 to 9999: {seconds:g} seconds")
        return moment
    try:
        return arguments.instant(argument, _SPACE_BEFORE_OFFSET.sub("", value) if isinstance(value, str) else value)
    except ArgumentError:
        moment = parse_question_date(value) if isinstance(value, str) else None
        if moment is None or not _is_in_calendar(value):
            raise
        return moment


def expiry_of(argument: str, value: Any) -> datetime | None:
    """Return when something expires; ``None`` if it is said that it never does.

    >>> expiry_of("expires", "2027-01-01").isoformat(), expiry_of("expires", "Never")
    ('2027-01-01T00:00:00+00:00', None)
    """
    return None if isinstance(value, str) and value.strip().lower() == NEVER else moment_of(argument, value)


def _is_in_calendar(text: str) -> bool:
    """Return whether the day and time that a text begins with exist: people may ask for 30 February, files may not."""
    numbers = re.match(r"\D*(\d{4})\D(\d\d?)\D(\d\d?)(?:\D+(\d\d?):(\d\d?))?", text)
    if numbers is None:
        return True
    year, month, day, hour, minute = (int(number or 0) for number in numbers.groups())
    try:
        datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return False
    return True


def moment_of_timestamp(seconds: float) -> datetime | None:
    """Return the instant so many seconds after 1970, or ``None`` if no calendar reaches that far.

    >>> moment_of_timestamp(0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def moment_in_name(name: str) -> datetime | None:
    """Return the day that a file's name speaks of, or ``None``.

    >>> moment_in_name("journal/2026-03-14 Ines.md").isoformat()
    '2026-03-14T00:00:00+00:00'
    """
    for year, _, month, day in _DATE_IN_NAME.findall(name.rpartition("/")[2]):
        try:
            found = date(int(year), int(month), int(day))
        except ValueError:
            continue
        if 1900 <= found.year < 2100:
            return datetime(found.year, found.month, found.day, tzinfo=UTC)
    return None
