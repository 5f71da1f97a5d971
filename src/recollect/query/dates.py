"""Parse the date on which a question is asked, and add dates to a question with relative times. All dates are in UTC.

Adding the dates is called temporal expansion. It runs before the parser and reproduces a published system, which knows
"N days/weeks/months ago", "last <weekday>", and words for the first or the latest event, all in English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.query.parser import Query, Token, check_query
from recollect.text import collapse_whitespace, javascript_pattern

QuestionDate = str | date | None
"""The date on which a question is asked: a text, a ``date`` or a ``datetime``; ``None`` if it is unknown."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_NUMERIC_DATE = javascript_pattern(  # 2026-04-18T09:30:00.5+02:00, or 2026/04/18 (Sat) 09:30
    r"(?P<year>\d{4})[-/](?P<month>\d{2})[-/](?P<day>\d{2})"
    r"(?:\s*\([^()]*\))?"
    r"(?:(?:\s+|T)(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>[.,]\d+)?)?"
    r"\s*(?:Z|(?P<sign>[-+])(?P<offset_hours>\d{2})(?::?(?P<offset_minutes>\d{2}))?)?)?"
    r"(?:\s*\([^()]*\))?"
)
_RFC_2822_DATE = javascript_pattern(  # Sat, 18 Apr 2026 09:30:00 +0200
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)(?:,\s*|\s+))?\d{1,2}\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\s+\d{4}"
    r"\s+\d{2}:\d{2}(?::\d{2})?(?:\s+(?:[-+]\d{4}|UTC?|GMT|Z|[ECMP][SD]T))?(?:\s*\([^()]*\))?"
)


def parse_question_date(text: QuestionDate) -> datetime | None:
    """Return the instant in UTC that ``text`` names, or ``None`` if it is not a date.

    A text is in ISO 8601, in RFC 2822, or like the first example, where weekday and time are optional and ``-`` may
    replace ``/``. A time without offset is UTC. A month or day outside its range rolls over, as in JavaScript.

    >>> parse_question_date("2023/04/10 (Mon) 23:07").isoformat()
    '2023-04-10T23:07:00+00:00'
    >>> parse_question_date("2026-02-30").date().isoformat()
    '2026-03-02'
    """
    return read_date("text", text)


def check_question_date(value: QuestionDate) -> QuestionDate:
    """Return a valid ``value``; ``None`` for ``None`` or an empty text; raise ``ArgumentError`` for any other value.

    :func:`parse_question_date` is lenient: it returns ``None`` for a text that is not a date, and reads 2026-13-40 as a
    day in February 2027. For both, this function raises the error.
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
    """Return a date with hyphens and with slashes, its year, weekday and month; an empty list if ``text`` is no date.

    >>> date_search_tokens("2026-04-18 (Sat)")
    ['2026-04-18', '2026/04/18', '2026', 'Saturday', 'April']
    """
    instant = read_date("text", text)
    if instant is None:
        return []
    iso_date = f"{instant.year:04d}-{instant.month:02d}-{instant.day:02d}"
    year, weekday, month = iso_date[:4], WEEKDAYS[instant.weekday()], MONTHS[instant.month - 1]
    return [iso_date, iso_date.replace("-", "/"), year, weekday, month]


def read_date(argument: str, value: QuestionDate, *, rolls_over: bool = True) -> datetime | None:
    """Return ``value`` as an instant in UTC; ``None`` if it is not a date. If ``rolls_over``, 2026-02-30 is 2 March."""
    if value is not None and not isinstance(value, (str, date)):
        raise ArgumentTypeError(argument, f"must be a string or a date, got {type(value).__name__}")
    try:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        parsed = _date_fields(collapse_whitespace(value)) if value else None
        if parsed is None:
            return None
        (year, month, day, hour, minute, second), offset = parsed
        if not rolls_over:
            datetime(year, month, day, hour, minute, second, tzinfo=UTC)  # raises ValueError if there is no such time
        return utc_day(year, month, day) + timedelta(hours=hour, minutes=minute, seconds=second) - offset
    except (OverflowError, ValueError):  # outside of the years 1 to 9999, or not in the calendar
        return None


def utc_day(year: int, month: int, day: int) -> datetime:
    """Return 00:00 UTC of a day; a month or day outside its range rolls over, as in JavaScript."""
    extra_years, month_index = divmod(month - 1, 12)
    year += extra_years
    if not 1 <= year <= 9999:
        raise OverflowError
    return datetime(year, month_index + 1, 1, tzinfo=UTC) + timedelta(days=day - 1)


def _date_fields(text: str) -> tuple[tuple[int, ...], timedelta] | None:
    """Return (year, month, day, hour, minute, second) and the time to subtract; ``None`` if ``text`` is not a date.

    The time to subtract is the UTC offset minus the fraction of the second: subtracting it adds the fraction.
    """
    if match := _NUMERIC_DATE.fullmatch(text):
        milliseconds = int(float(f"0{(match['fraction'] or '.0').replace(',', '.')}") * 1000)
        offset = timedelta(hours=int(match["offset_hours"] or 0), minutes=int(match["offset_minutes"] or 0))
        if match["sign"] == "-":
            offset = -offset
        fields = (match[name] for name in ("year", "month", "day", "hour", "minute", "second"))
        return tuple(int(field or 0) for field in fields), offset - timedelta(milliseconds=milliseconds)
    from email.utils import parsedate_tz  # noqa: PLC0415 (rarely needed, and slow to import)

    parsed = parsedate_tz(text) if _RFC_2822_DATE.fullmatch(text) else None
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
    """The dates of the relative times, as ``YYYY/MM/DD``."""
    resolved: bool
    """Whether a relative time was resolved to a date."""

    def to_dict(self) -> dict[str, Any]:
        """Return the expansion as JSON-ready data: originalQuery, expandedQuery, dateHints, resolved."""
        return {
            "originalQuery": self.original_query,
            "expandedQuery": self.expanded_query,
            "dateHints": list(self.date_hints),
            "resolved": self.resolved,
        }


def expand_temporal(question: str, question_date: QuestionDate) -> TemporalExpansion:
    """Return ``question`` with the date of each relative time inserted after it.

    Times are relative to ``question_date``. If that is not a valid date, the question stays unchanged.

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

    expanded = _RELATIVE_TIME.sub(lambda match: with_date(match, _resolve_ago, "around "), question)
    expanded = _LAST_WEEKDAY.sub(lambda match: with_date(match, _resolve_last_weekday, ""), expanded)
    return TemporalExpansion(question, expanded + _ordering_note(question), tuple(hints), resolved=bool(hints))


def augment_with_temporal(question: str, question_date: QuestionDate) -> str:
    """Return ``question`` followed by the dates of its relative times, each with slashes and with hyphens.

    >>> augment_with_temporal("what happened 1 month ago?", "2026-03-31")
    'what happened 1 month ago? 2026/03/03 2026-03-03'
    """
    hints = expand_temporal(question, question_date).date_hints
    return " ".join([question, *(f"{hint} {hint.replace('/', '-')}" for hint in hints)])


def with_dates(query: Query, date_hints: Iterable[str]) -> Query:
    """Return ``query`` with each date added as an optional phrase.

    Dates are not appended to the text, where an open quote would include them, or a final operator would apply to them.

    >>> from recollect.query import parse
    >>> question = 'tea "bought 3 days ago'
    >>> [token.text for token in with_dates(parse(question), expand_temporal(question, "2026-04-18").date_hints).tokens]
    ['tea', 'bought 3 days ago', '2026 04 15']
    """
    hints = [arguments.text("date_hints", hint) for hint in arguments.sequence("date_hints", date_hints)]
    phrases = [Token("phrase", collapse_whitespace(hint.translate(_TO_SPACES)), None, hint) for hint in hints]
    return replace(check_query(query), tokens=(*query.tokens, *phrases))


_TO_SPACES = str.maketrans("/-", "  ")

# The look-behind avoids quadratic time on a long number.
_RELATIVE_TIME = javascript_pattern(r"(?<!\d)(\d+)\s+(day|days|week|weeks|month|months)\s+ago")
_LAST_WEEKDAY = javascript_pattern(r"last\s+(monday|tuesday|wednesday|thursday|friday|saturday|sunday)")
_EARLIEST_WORDS = ("first", "earlier", "before")
_LATEST_WORDS = ("most recent", "latest", "last time")
_MAX_DIGITS = 7  # a longer number, ten million or more, is beyond the calendar even in days


def _resolve_ago(match: re.Match[str], anchor: datetime) -> datetime:
    digits, unit = match[1].lstrip("0"), match[2].lower()
    if len(digits) > _MAX_DIGITS:
        raise OverflowError
    count = int(digits or 0)
    if unit.startswith("month"):
        return utc_day(anchor.year, anchor.month - count, anchor.day)
    return anchor - timedelta(days=count * (7 if unit.startswith("week") else 1))


def _resolve_last_weekday(match: re.Match[str], anchor: datetime) -> datetime:
    weekday = WEEKDAYS.index(match[1].capitalize())
    days_ago = (anchor.weekday() - weekday - 1) % 7 + 1  # from 1 to 7: never today
    return anchor - timedelta(days=days_ago)


def _ordering_note(question: str) -> str:
    lowered = question.lower()
    if any(words in lowered for words in _EARLIEST_WORDS):
        return " [Note: look for the earliest dated event]"
    if any(words in lowered for words in _LATEST_WORDS):
        return " [Note: look for the most recently dated event]"
    return ""
