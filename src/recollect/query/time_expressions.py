"""Find the times that a text names, as intervals: "last March", "two weeks ago", "since 2025", "9 October".

``time_rules`` recognises time expressions and resolves them to calendar intervals; this module applies the words before
an expression ("since", "late", "the week before"). Most English expressions are covered, and common ones in German,
French, Spanish and Dutch. dateparser and similar libraries are not used, because they return instants instead of
intervals, and take milliseconds for each query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from recollect import arguments
from recollect.query.terms import STOPWORDS
from recollect.query.time_calendar import days_of_month
from recollect.query.time_intervals import (
    DAY,
    Bounds,
    TimeInterval,
    TimeMention,
    TokenizedText,
    Unit,
    month_bounds,
    period_bounds,
    shift_date,
)
from recollect.query.time_rules import RANGE_SEPARATORS, count_before, date_mentions, offset_interval, time_mentions
from recollect.query.time_words import GENERIC_WORDS, TIME_WORDS, UNITS

MAX_CHARACTERS = 2000  # times after this many characters of a text are not found
_WINDOW_CHARS = 24  # how many characters before and after a number may belong to the date that contains the number
_MAX_LEAD_CHARS = 40  # how many characters before a time expression may qualify it

_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d_]+")
# A lead is the text right before a time expression. _search_before cuts the text at the start of the expression, so
# the $ of a lead's pattern matches at this start.
_NOT_LEAD = r'\b(?-i:NOT)\s+["(]?\s*$'
_OF_YEAR = re.compile(r"\s+(?:of\s+|im\s+|de\s+|del\s+|van\s+)?", re.IGNORECASE)  # between a month and its year
_RANGE = re.compile(
    r"\s*(?:and|to|until|till|through|und|bis|et|y|en|tot|a|à|[-–—])\s*(?:in\s+|the\s+)?", re.IGNORECASE
)
_RANGE_LEAD = r"\b(?:(?P<between>between|zwischen|entre|tussen)|from|von|de|van|desde)\s+(?:the\s+)?$"
_DASHES = frozenset(("-", "–", "—"))
_PART_LEAD = (
    r"\b(?:(?P<early>early|(?:the\s+)?(?:beginning|start)\s+of|anfang|début|begin(?!\s+in)(?:\s+van)?|"
    r"(?:a\s+)?(?:principios?|comienzos|inicios)\s+del?)|"
    r"(?P<middle>mid|(?:the\s+)?middle\s+of|mitte|mi|milieu|midden|halverwege|(?:a\s+)?mediados\s+del?)|"
    r"(?P<late>late|(?:(?:towards?|at|by)\s+)?(?:the\s+)?end\s+of|ende|einde?(?:\s+van)?|"
    r"(?:a\s+)?(?:finales|fines)\s+del?|fin))"
    r"(?:\s+in)?[\s-]+(?:the\s+|des\s+|der\s+|du\s+|de\s+la\s+|la\s+|de\s+l['’]|het\s+|de\s+)?$"
)
_BEFORE_OR_AFTER = r"\s+(?:(?P<before>before|prior\s+to)|after|following)\s+(?:the\s+)?$"
_WEEK_OF_LEAD = r"\b(?:the\s+)?(?P<unit>week|weekend)\s+of\s+(?:the\s+)?$"
_OPEN_LEAD = (
    r"\b(?:(?P<since>since|ever\s+since|seit|depuis|desde|sinds)|"
    r"(?P<until>until|till|up\s+to|through|by|bis|jusqu['’](?:en|à|au)|hasta|tot)|"
    r"(?P<before>before|prior\s+to|earlier\s+than|vor|avant|antes\s+de|voor)|"
    r"(?P<after>after|later\s+than|nach|après|después\s+de|na))\s+(?:the\s+|in\s+|le\s+|el\s+|dem\s+)?$"
)
_FROM_LEAD = r"\bfrom\s+$"
_ONWARDS = re.compile(r"\s+(?:on|onwards?|forward)\b", re.IGNORECASE)


def find_time_expressions(text: str, now: datetime) -> tuple[TimeInterval, ...]:
    """Return the times that ``text`` names, relative to ``now``, in the order of the text.

    A month, a day of a month, a season or a quarter without a year is the latest one that has started. An ambiguous
    date such as 10/09/2026 yields one interval for each interpretation. Times after NOT are left out.

    >>> now = datetime(2026, 11, 17, tzinfo=UTC)
    >>> [interval.label for interval in find_time_expressions("dentist last march, or in October", now)]
    ['March 2026', 'October 2026']
    >>> find_time_expressions("how may I march on?", now)
    ()
    """
    arguments.text("text", text)
    moment = arguments.instant("now", now)
    text = text[:MAX_CHARACTERS]
    if not _DIGITS.search(text) and TIME_WORDS.isdisjoint(word.lower() for word in _WORDS.findall(text)):
        return ()  # most queries
    intervals: list[TimeInterval] = []
    try:
        mentions = _join_months_and_years(text, time_mentions(TokenizedText(text), moment))
        for mention in _join_ranges(text, mentions):
            if mention.certain and not _search_before(_NOT_LEAD, text, mention.start):
                qualified = _apply_qualifiers(text, mention)
                start = qualified[0].span[0]
                # A qualified time replaces times within it: "last weekend before April 10" replaces "last weekend".
                intervals = [interval for interval in intervals if interval.span[1] <= start] + qualified
    except OverflowError:  # "9999 years ago": beyond the calendar
        return ()
    return tuple(intervals)


def asks_only_for_times(text: str, intervals: Sequence[TimeInterval]) -> bool:
    """Return whether a text names no topic: it has only generic words besides the time expressions of ``intervals``."""
    if not intervals or len(text) > MAX_CHARACTERS:
        return False
    characters = list(text)
    for interval in intervals:
        start, end = interval.span
        characters[start:end] = " " * (end - start)
    words = TokenizedText("".join(characters)).lowered
    return all(word in GENERIC_WORDS or word in STOPWORDS for word in words)


def dates_in_text(text: str, reference: datetime | None = None) -> tuple[TimeInterval, ...]:
    """Return the distinct dates, and months with a year, in the first 2,000 characters of a note's text.

    ``reference`` is the time at which the note was written. A day without a year gets the year of the reference;
    without a reference it is ignored.

    >>> [date.label for date in dates_in_text("Moved on 4 May, signed in March 2026.", datetime(2026, 1, 9))]
    ['2026-05-04', 'March 2026']
    """
    arguments.text("text", text)
    moment = None if reference is None else arguments.instant("reference", reference)
    text = text[:MAX_CHARACTERS]
    year = 2000 if moment is None else min(moment.year, 9998)  # the exclusive end of a day in 9999 may not exist
    # The rules resolve a day without a year to the latest such day before ``now``. With the end of the year as ``now``,
    # that is always a day of this year.
    end_of_year = datetime(year, 12, 31, tzinfo=UTC)
    dates: dict[Bounds, TimeInterval] = {}
    for offset, window in _windows_around_digits(text):
        for mention in date_mentions(TokenizedText(window), end_of_year):
            if moment is not None or not mention.yearless:
                for interval in _intervals(text, offset + mention.start, offset + mention.end, mention.bounds):
                    dates.setdefault((interval.start, interval.end), interval)
    return tuple(dates.values())


def _windows_around_digits(text: str) -> list[tuple[int, str]]:
    """Return the parts of a text that may contain a date, each with its offset: the windows around its digits."""
    windows: list[tuple[int, int]] = []
    for match in _DIGITS.finditer(text):
        start, end = max(0, match.start() - _WINDOW_CHARS), match.end() + _WINDOW_CHARS
        if windows and start <= windows[-1][1]:
            windows[-1] = windows[-1][0], end
        else:
            windows.append((start, end))
    return [(start, text[start:end]) for start, end in windows]


def _intervals(text: str, start: int, end: int, bounds: Sequence[Bounds]) -> list[TimeInterval]:
    return [TimeInterval(*pair, text[start:end], (start, end)) for pair in bounds]


def _join_months_and_years(text: str, mentions: list[TimeMention]) -> list[TimeMention]:
    """Join a month or day and the year after it, as in "October last year", into one mention."""
    joined: list[TimeMention] = []
    for mention in mentions:
        previous = joined[-1] if joined else None
        follows = previous is not None and mention.certain and _OF_YEAR.fullmatch(text[previous.end : mention.start])
        bounds = _bounds_in_year(previous, mention) if previous and follows else []
        if previous and bounds:
            joined[-1] = TimeMention(previous.start, mention.end, bounds)
        else:
            joined.append(mention)
    return joined


def _bounds_in_year(mention: TimeMention, year: TimeMention) -> list[tuple[datetime, datetime]]:
    """Return the bounds of a month or day without a year in the year ``year``; empty if that is no whole year."""
    if not (mention.yearless and mention.bounds and year.bounds):
        return []
    (month, first_day), (start, end) = mention.yearless, mention.bounds[0]
    last_day = first_day + (end - start).days - 1 if first_day else 0
    year_bounds = year.bounds[-1]
    bounds = days_of_month(year_bounds[0].year, month, first_day, last_day)
    return bounds if year_bounds == period_bounds("year", year_bounds[0]) else []


def _join_ranges(text: str, mentions: list[TimeMention]) -> list[TimeMention]:
    """Join "between A and B", "from A to B" and "A–B" into one mention, from the start of A to the end of B."""
    joined: list[TimeMention] = []
    for mention in mentions:
        previous = joined[-1] if joined else None
        if previous is not None:
            gap = text[previous.end : mention.start]
            separator = gap.strip().lower()
            lead = _search_before(_RANGE_LEAD, text, previous.start)
            are_weekdays = previous.weekday is not None and mention.weekday is not None
            is_range = lead or separator in _DASHES or (are_weekdays and separator in RANGE_SEPARATORS)
            if is_range and _RANGE.fullmatch(gap):
                start, end = _range_start(previous, mention), mention.bounds[-1][1]
                if start < end:
                    offset = lead.start() if lead else previous.start
                    joined[-1] = TimeMention(offset, mention.end, [(start, end)], ranged=True)
                    continue
        joined.append(mention)
    return joined


def _range_start(first: TimeMention, last: TimeMention) -> datetime:
    """Return the start of a range. A weekday, or a month or day without a year, is the latest not after ``last``."""
    last_start = last.bounds[-1][0]
    if first.weekday is not None and last.weekday is not None:
        return last_start - (last.weekday - first.weekday) % 7 * DAY
    if first.yearless:
        month, day = first.yearless
        days = max(day, 1) - 1  # day 0 means the whole month
        same_year, year_before = (month_bounds(last_start.year - years, month)[0] + days * DAY for years in (0, 1))
        return same_year if same_year <= last_start else year_before
    return first.bounds[0][0]


def _apply_qualifiers(text: str, mention: TimeMention) -> list[TimeInterval]:
    """Return the intervals of a mention, changed by words before it such as "late", "the week before" or "since"."""
    if mention.ranged:
        return _intervals(text, mention.start, mention.end, mention.bounds)
    part = _search_before(_PART_LEAD, text, mention.start)
    if part:
        thirds = [_third_of(*bounds, part.lastgroup) for bounds in mention.bounds]
        mention = replace(mention, start=part.start(), bounds=thirds)
    preposition = _search_before(_BEFORE_OR_AFTER, text, mention.start)
    before_or_after = _intervals_before_or_after(text, preposition, mention) if preposition else []
    if before_or_after:
        return before_or_after
    if match := _search_before(_WEEK_OF_LEAD, text, mention.start):
        unit: Unit = "week" if match["unit"].lower() == "week" else "weekend"
        return _intervals(text, match.start(), mention.end, [period_bounds(unit, start) for start, _ in mention.bounds])
    if match := _search_before(_OPEN_LEAD, text, mention.start):
        open_bounds = [_open_bounds(*pair, match.lastgroup) for pair in mention.bounds]
        return _intervals(text, match.start(), mention.end, open_bounds)
    onwards = _ONWARDS.match(text, mention.end) if _search_before(_FROM_LEAD, text, mention.start) else None
    if onwards:
        return _intervals(text, mention.start, onwards.end(), [(start, None) for start, _ in mention.bounds])
    return _intervals(text, mention.start, mention.end, mention.bounds)


def _search_before(pattern: str, text: str, position: int) -> re.Match[str] | None:
    """Search the text right before a position; patterns are compiled on first use, to keep imports fast."""
    return re.compile(pattern, re.IGNORECASE).search(text, max(0, position - _MAX_LEAD_CHARS), position)


def _third_of(start: datetime, end: datetime, part: str | None) -> tuple[datetime, datetime]:
    """Return the early, the middle or the late third of an interval."""
    third = (end - start) // 3
    if part == "early":
        return start, start + third
    return (start + third, end - third) if part == "middle" else (end - third, end)


def _intervals_before_or_after(text: str, preposition: re.Match[str], mention: TimeMention) -> list[TimeInterval]:
    """Return the intervals of "the week before", "two weeks after" and the like; empty if there is no unit ("week")."""
    offset = max(0, preposition.start() - _MAX_LEAD_CHARS)
    words = TokenizedText(text[offset : preposition.start()])
    index = len(words.lowered) - 1
    if words.at(index) not in UNITS:
        return []
    first, unit, number = count_before(words, index)
    if number is None and words.before(index) not in ("the", "last"):
        return []
    start = offset + words.spans[first if number else index - 1][0]  # the offset of the number, "the" or "last"
    is_before = bool(preposition["before"])
    bounds = [_bounds_before_or_after(*pair, unit, number, before=is_before) for pair in mention.bounds]
    return _intervals(text, start, mention.end, bounds)


def _bounds_before_or_after(
    start: datetime, end: datetime, unit: Unit, number: tuple[int, int] | None, *, before: bool
) -> Bounds:
    """Return the bounds of "the week before" an interval (``number`` is ``None``), or of "two weeks after" it."""
    last_day = end - DAY
    if unit == "weekend":
        days_to_saturday_before, days_to_saturday_after = (start.weekday() + 1) % 7 + 1, (5 - last_day.weekday()) % 7
        saturday = start - days_to_saturday_before * DAY if before else last_day + days_to_saturday_after * DAY
        return saturday, saturday + 2 * DAY
    if number is None:
        return (shift_date(start, unit, -1), start) if before else (end, shift_date(end, unit, 1))
    return offset_interval(start, unit, number, -1) if before else offset_interval(last_day, unit, number, 1)


def _open_bounds(start: datetime, end: datetime, preposition: str | None) -> Bounds:
    """Return the bounds of the time since, until, before or after an interval."""
    if preposition == "since":
        return start, None
    if preposition == "until":
        return None, end
    return (None, start) if preposition == "before" else (end, None)
