"""Parse dates in the forms that people and programs write into files: ISO 8601, timestamps and file names."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.model import NEVER
from recollect.query import parse_question_date

_DATE_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")  # such as 2026-04-18 or 20260418
_SPACE_BEFORE_OFFSET = re.compile(r"(?<=\d) (?=[+-]\d\d:?\d\d$|Z$)")  # such as the last space of 2026-04-18 09:30 +0200
_MIN_MILLISECONDS = 100_000_000_000
"""Timestamps from this number on are in milliseconds. As seconds, it would be the year 5138; as milliseconds, 1973."""


def parse_date(argument: str, value: Any) -> datetime:
    """Return ``value``, a date in ISO 8601 or a similar form, or a timestamp in (milli)seconds, as a time in UTC."""
    if isinstance(value, str):
        value = value.strip()
        if re.fullmatch(r"\d{9,13}(?:\.\d{1,9})?", value):  # a timestamp
            value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        timestamp = arguments.number(argument, value)
        seconds = timestamp / 1000 if abs(timestamp) >= _MIN_MILLISECONDS else timestamp
        instant = datetime_from_timestamp(seconds)
        if instant is None:
            raise ArgumentError(argument, f"lies outside the years 1 to 9999: {seconds:g} seconds")
        return instant
    try:
        return arguments.instant(argument, _SPACE_BEFORE_OFFSET.sub("", value) if isinstance(value, str) else value)
    except ArgumentError:
        instant = parse_question_date(value) if isinstance(value, str) else None
        if instant is None or not _is_in_calendar(value):
            raise
        return instant


def parse_expiry(argument: str, value: Any) -> datetime | None:
    """Return the time at which a note expires; ``None`` for "never"."""
    return None if isinstance(value, str) and value.strip().lower() == NEVER else parse_date(argument, value)


def _is_in_calendar(text: str) -> bool:
    """Return False if a text starts with a date or time that does not exist, such as 30 February; else return True."""
    # Needed because ``parse_question_date`` accepts such dates. Matches year, month, day and perhaps hour and minute.
    match = re.match(r"\D*(\d{4})\D(\d\d?)\D(\d\d?)(?:\D+(\d\d?):(\d\d?))?", text)
    if match:
        year, month, day, hour, minute = (int(number or 0) for number in match.groups())
        try:
            datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:
            return False
    return True


def datetime_from_timestamp(seconds: float) -> datetime | None:
    """Return the time of a Unix timestamp in UTC; ``None`` if it is outside the years 1 to 9999."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def date_in_name(name: str) -> datetime | None:
    """Return the first date from 1900 to 2099 in the last part of a path; ``None`` if there is no date."""
    for year, _, month, day in _DATE_IN_NAME.findall(name.rpartition("/")[2]):
        with suppress(ValueError):
            return datetime(int(year), int(month), int(day), tzinfo=UTC)
    return None
