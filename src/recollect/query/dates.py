"""The date of a question, and temporal expansion: relative times become dates as texts contain them. All in UTC.

Temporal expansion runs before the parser and returns text. It has only the three recognisers of the source document, in
English: "N days/weeks/months ago", "last <weekday>", and words that ask for the first or the latest event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.query.parser import Query, Token, require_query
from recollect.text import collapse_whitespace, javascript_pattern

QuestionDate = str | date | None
"""A date as text, as a ``date`` or ``datetime``, or none."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_NUMERIC = javascript_pattern(
    r"(?P<year>\d{4})[-/](?P<month>\d{2})[-/](?P<day>\d{2})"
    r"(?:\s*\([^()]*\))?"
    r"(?:(?:\s+|T)(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>[.,]\d+)?)?"
    r"\s*(?:Z|(?P<sign>[-+])(?P<hours>\d{2})(?::?(?P<minutes>\d{2}))?)?)?"
    r"(?:\s*\([^()]*\))?"
)
_RFC_2822 = javascript_pattern(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)(?:,\s*|\s+))?\d{1,2}\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+\d{4}"
    r"\s+\d{2}:\d{2}(?::\d{2})?(?:\s+(?:[-+]\d{4}|UTC?|GMT|Z|[ECMP][SD]T))?(?:\s*\([^()]*\))?"
)


def parse_question_date(text: QuestionDate) -> datetime | None:
    """Return the instant in UTC that ``text`` names, or ``None`` if it is not a date.

    Formats are ``YYYY-MM-DD`` and ``YYYY/MM/DD``, with a weekday in brackets or a time or both; ISO-8601; RFC 2822.
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
    """
    if isinstance(value, str) and not value.strip():
        return None
    if value is None or read_date("question_date", value, rolls_over=False) is not None:
        return value
    raise ArgumentError(
        "question_date",
        "must be a date such as 2026-04-18, 2026/04/18 (Sat) 09:30, or a time in ISO 8601 or RFC 2822, "
        f"got {str(value)[:60]!r}",
    )


def date_search_tokens(text: QuestionDate) -> list[str]:
    """Return the forms in which texts contain a date: ISO date, slash date, year, weekday, month.

    >>> date_search_tokens("2026-04-18 (Sat)")
    ['2026-04-18', '2026/04/18', '2026', 'Saturday', 'April']
    """
    instant = read_date("text", text)
    if instant is None:
        return []
    day = f"{instant.year:04d}-{instant.month:02d}-{instant.day:02d}"
    return [day, day.replace("-", "/"), day[:4], WEEKDAYS[instant.weekday()], MONTHS[instant.month - 1]]


def read_date(argument: str, value: QuestionDate, *, rolls_over: bool = True) -> datetime | None:
    """Return the instant in UTC that ``value`` names, or ``None``; an error names ``argument``."""
    if value is not None and not isinstance(value, (str, date)):
        raise ArgumentTypeError(argument, f"must be a string or a date, got {type(value).__name__}")
    try:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        parsed = _fields(collapse_whitespace(value)) if value else None
        if parsed is None:
            return None
        (year, month, day, hour, minute, second), offset = parsed
        if not rolls_over:
            datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        return rollover_date(year, month, day) + timedelta(hours=hour, minutes=minute, seconds=second) - offset
    except (OverflowError, ValueError):  # outside of the years 1 to 9999, or of the calendar
        return None


def rollover_date(year: int, month: int, day: int) -> datetime:
    """Return midnight of a day; a month or day outside its range rolls over, as in JavaScript."""
    years, month = divmod(month - 1, 12)
    if not 1 <= year + years <= 9999:
        raise OverflowError
    return datetime(year + years, month + 1, 1, tzinfo=UTC) + timedelta(days=day - 1)


def _fields(text: str) -> tuple[tuple[int, ...], timedelta] | None:
    """Return the fields of a date, from its year to its second, and its offset from UTC; ``None`` if it is no date."""
    if match := _NUMERIC.fullmatch(text):
        milliseconds = int(float(f"0{(match['fraction'] or '.0').replace(',', '.')}") * 1000)
        sign, hours, minutes = match["sign"], match["hours"], match["minutes"]
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        fields = (match[name] for name in ("year", "month", "day", "hour", "minute", "second"))
        return tuple(int(digits or 0) for digits in fields), offset - timedelta(milliseconds=milliseconds)
    from email.utils import parsedate_tz  # noqa: PLC0415 (rarely needed, and slow to import)

    parsed = parsedate_tz(text) if _RFC_2822.fullmatch(text) else None
    return None if parsed is None else (parsed[:6], timedelta(seconds=parsed[9] or 0))


@dataclass(frozen=True, slots=True)
class TemporalExpansion:
    """The result of temporal expansion.

    >>> expand_temporal("standup 2 days ago", "2026-04-18").to_dict()["dateHints"]
    ['2026/04/16']
    """

    original_query: str
    expanded_query: str
    date_hints: tuple[str, ...]
    resolved: bool
    """Whether a relative time was found."""

    def to_dict(self) -> dict[str, Any]:
        """Return the documented form: originalQuery, expandedQuery, dateHints, resolved."""
        return {
            "originalQuery": self.original_query,
            "expandedQuery": self.expanded_query,
            "dateHints": list(self.date_hints),
            "resolved": self.resolved,
        }


def expand_temporal(question: str, question_date: QuestionDate) -> TemporalExpansion:
    """Return ``question`` with a date after each time relative to ``question_date``.

    Without a valid date the question is not changed.

    >>> expand_temporal("what did I watch 2 weeks ago last Friday?", "2026-04-18 (Sat)").expanded_query
    'what did I watch 2 weeks ago (around 2026/04/04) last Friday (2026/04/17)?'
    >>> expand_temporal("the latest news", "2026-04-18").expanded_query
    'the latest news [Note: look for the most recently dated event]'
    """
    arguments.text("question", question)
    anchor = read_date("question_date", question_date)
    if anchor is None:
        return TemporalExpansion(question, question, (), resolved=False)
    hints: dict[str, None] = {}

    def with_date(match: re.Match[str], resolve: Callable[[re.Match[str], datetime], datetime], prefix: str) -> str:
        try:
            day = resolve(match, anchor)
        except OverflowError:  # before the year 1
            return match[0]
        hint = f"{day.year:04d}/{day.month:02d}/{day.day:02d}"
        hints[hint] = None
        return f"{match[0]} ({prefix}{hint})"

    expanded = _RELATIVE_TIME.sub(lambda match: with_date(match, _ago, "around "), question)
    expanded = _LAST_WEEKDAY.sub(lambda match: with_date(match, _last_weekday, ""), expanded)
    return TemporalExpansion(question, expanded + _ordering_note(question), tuple(hints), resolved=bool(hints))


def augment_with_temporal(question: str, question_date: QuestionDate) -> str:
    """Return ``question`` followed by its dates, with slashes and with hyphens.

    >>> augment_with_temporal("what happened 1 month ago?", "2026-03-31")
    'what happened 1 month ago? 2026/03/03 2026-03-03'
    """
    hints = expand_temporal(question, question_date).date_hints
    return " ".join((question, *(spelling for hint in hints for spelling in (hint, hint.replace("/", "-")))))


def with_dates(query: Query, date_hints: Iterable[str]) -> Query:
    """Return ``query`` with each date added as an optional phrase.

    Unlike appended text, a date added here cannot become part of an open quote or of an operator at the end.

    >>> from recollect.query import parse
    >>> question = 'tea "bought 3 days ago'
    >>> [token.text for token in with_dates(parse(question), expand_temporal(question, "2026-04-18").date_hints).tokens]
    ['tea', 'bought 3 days ago', '2026 04 15']
    """
    dates = [arguments.text("date_hints", hint) for hint in arguments.sequence("date_hints", date_hints)]
    phrases = [Token("phrase", collapse_whitespace(date.translate(_TO_SPACES)), None, date) for date in dates]
    return replace(require_query(query), tokens=(*query.tokens, *phrases))


_TO_SPACES = str.maketrans("/-", "  ")

# The look-behind avoids quadratic time on a long number.
_RELATIVE_TIME = javascript_pattern(r"(?<!\d)(\d+)\s+(day|days|week|weeks|month|months)\s+ago")
_LAST_WEEKDAY = javascript_pattern(r"last\s+(monday|tuesday|wednesday|thursday|friday|saturday|sunday)")
_EARLIEST = ("first", "earlier", "before")
_LATEST = ("most recent", "latest", "last time")
_MAX_DIGITS = 7  # ten million days are more than the calendar has


def _ago(match: re.Match[str], anchor: datetime) -> datetime:
    digits, unit = match[1].lstrip("0"), match[2].lower()
    if len(digits) > _MAX_DIGITS:
        raise OverflowError
    number = int(digits or 0)
    if unit.startswith("month"):
        return rollover_date(anchor.year, anchor.month - number, anchor.day)
    return anchor - timedelta(days=number * (7 if unit.startswith("week") else 1))


def _last_weekday(match: re.Match[str], anchor: datetime) -> datetime:
    weekday = WEEKDAYS.index(match[1].capitalize())
    return anchor - timedelta(days=(anchor.weekday() - weekday - 1) % 7 + 1)


def _ordering_note(question: str) -> str:
    lowered = question.lower()
    if any(hint in lowered for hint in _EARLIEST):
        return " [Note: look for the earliest dated event]"
    if any(hint in lowered for hint in _LATEST):
        return " [Note: look for the most recently dated event]"
    return ""
