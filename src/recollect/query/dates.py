"""The date on which a question is asked, and the words by which text may speak of a date. All in UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.text import collapse_whitespace, javascript_pattern

__all__ = ["MONTHS", "WEEKDAYS", "QuestionDate", "check_question_date", "date_search_tokens", "parse_question_date"]

QuestionDate = str | date | None
"""A date as text in one of the accepted layouts, a ``date`` or ``datetime``, or none."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_NUMERIC = javascript_pattern(
    r"(?P<year>\d{4})[-/](?P<month>\d{2})[-/](?P<day>\d{2})"
    r"(?:\s*\([^()]*\))?"
    r"(?:(?:\s+|T)(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>[.,]\d+)?)?"
    r"\s*(?P<offset>Z|[-+]\d{2}(?::?\d{2})?)?)?"
    r"(?:\s*\([^()]*\))?"
)
_RFC_2822 = javascript_pattern(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)(?:,\s*|\s+))?\d{1,2}\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+\d{4}"
    r"\s+\d{2}:\d{2}(?::\d{2})?(?:\s+(?:[-+]\d{4}|UTC?|GMT|Z|[ECMP][SD]T))?(?:\s*\([^()]*\))?"
)
_DATE_FIELDS = re.compile(r"(\d{4})[-/](\d{2})[-/](\d{2})(?:[^:]*?(\d{2}):(\d{2})(?::(\d{2}))?)?", re.ASCII)
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})\s+({'|'.join(_MONTH_NAMES)})\s+(\d{{4}})", re.IGNORECASE)


def parse_question_date(text: QuestionDate) -> datetime | None:
    """Return the instant that ``text`` names, in UTC, or ``None`` if it names none.

    Accepted are ``YYYY-MM-DD`` and ``YYYY/MM/DD``, with a weekday in brackets or a time or both; ISO-8601; RFC 2822.
    A time without offset is UTC. Fields that overflow roll over, as in JavaScript.

    >>> parse_question_date("2023/04/10 (Mon) 23:07").isoformat()
    '2023-04-10T23:07:00+00:00'
    >>> parse_question_date("2026-02-30").date().isoformat()
    '2026-03-02'
    >>> parse_question_date("some day") is None
    True
    """
    return read_date("text", text)


def check_question_date(value: QuestionDate) -> QuestionDate:
    """Return ``value`` if it is a date that the query language can read, ``None`` for an empty text.

    :func:`parse_question_date` is lenient: it ignores other texts, and fields roll over, so that 2026-13-40 is a day in
    February 2027. This raises ``ArgumentError`` for both.

    >>> check_question_date("2026/04/18 (Sat) 09:30"), check_question_date(" ")
    ('2026/04/18 (Sat) 09:30', None)
    >>> check_question_date("2026-13-40")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    recollect.errors.ArgumentError: question_date: must be a date such as 2026-04-18, ..., got '2026-13-40'
    """
    if isinstance(value, str) and not value.strip():
        return None
    if value is None or (read_date("question_date", value) is not None and _is_in_calendar(value)):
        return value
    raise ArgumentError(
        "question_date",
        "must be a date such as 2026-04-18, 2026/04/18 (Sat) 09:30, or a time in ISO 8601 or RFC 2822, "
        f"got {str(value)[:60]!r}",
    )


def _is_in_calendar(value: QuestionDate) -> bool:
    """Return whether no field of a readable date rolls over."""
    if not isinstance(value, str):
        return True
    (fields,) = _DATE_FIELDS.findall(_DAY_FIRST.sub(_to_numeric, collapse_whitespace(value)))[:1]
    year, month, day, hour, minute, second = (int(part or 0) for part in fields)
    try:
        datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 (only the fields are checked)
    except ValueError:
        return False
    return True


def _to_numeric(match: re.Match[str]) -> str:
    """Return ``18 Apr 2026`` as ``2026-04-18``."""
    return f"{match[3]}-{_MONTH_NAMES.index(match[2].lower()) + 1:02}-{int(match[1]):02}"


def date_search_tokens(text: QuestionDate) -> list[str]:
    """Return the words by which text may speak of a date: ISO date, slash date, year, weekday, month.

    >>> date_search_tokens("2026-04-18 (Sat)")
    ['2026-04-18', '2026/04/18', '2026', 'Saturday', 'April']
    """
    moment = read_date("text", text)
    if moment is None:
        return []
    day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return [day, day.replace("-", "/"), day[:4], WEEKDAYS[moment.weekday()], MONTHS[moment.month - 1]]


def read_date(argument: str, value: QuestionDate) -> datetime | None:
    """Return the instant in UTC that ``value`` names, or ``None``; an error names ``argument``."""
    if value is None:
        return None
    try:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if not isinstance(value, str):
            raise ArgumentTypeError(argument, f"must be a string or a date, got {type(value).__name__}")
        trimmed = collapse_whitespace(value)
        return _numeric(trimmed) or _rfc_2822(trimmed)
    except OverflowError:  # a year that Python's calendar does not hold
        return None


def rolled(year: int, month: int, day: int) -> datetime:
    """Return midnight of a day whose month and day may lie outside their ranges; they roll over."""
    years, month = divmod(month - 1, 12)
    if not 1 <= year + years <= 9999:
        raise OverflowError
    return datetime(year + years, month + 1, 1, tzinfo=UTC) + timedelta(days=day - 1)


def _numeric(text: str) -> datetime | None:
    found = _NUMERIC.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[part] or 0) for part in _PARTS)
    fraction = float(f"0{(found['fraction'] or '.0').replace(',', '.')}")
    time = timedelta(hours=hour, minutes=minute, seconds=second, milliseconds=int(fraction * 1000))
    return rolled(year, month, day) + time - _offset(found["offset"])


_PARTS = ("year", "month", "day", "hour", "minute", "second")


def _offset(text: str | None) -> timedelta:
    if text is None or text in "Zz":
        return timedelta()
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    return timedelta(hours=hours, minutes=minutes) * (-1 if text[0] == "-" else 1)


def _rfc_2822(text: str) -> datetime | None:
    from email.utils import parsedate_tz  # noqa: PLC0415 (rarely needed, and a fifth of what importing us would cost)

    fields = parsedate_tz(text) if _RFC_2822.fullmatch(text) else None
    if fields is None:
        return None
    year, month, day, hour, minute, second = fields[:6]
    time = timedelta(hours=hour, minutes=minute, seconds=second - (fields[9] or 0))
    return rolled(year, month, day) + time
