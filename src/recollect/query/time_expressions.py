"""Find the times that a text names, as intervals: "last March", "two weeks ago", "since 2025", "9 October".

``time_rules`` recognises time expressions and resolves them against the calendar; this module applies the words before
them ("since", "late", "the week before"). It covers English broadly, and the common words of German, French, Spanish
and Dutch. dateparser and similar libraries are not used, because they return instants instead of intervals, and take
milliseconds for each query.
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
    Mention,
    TimeInterval,
    TokenizedText,
    Unit,
    month_bounds,
    period_bounds,
    shift_date,
)
from recollect.query.time_rules import RANGE_MARKS, count_before, date_mentions, find_mentions, offset_interval
from recollect.query.time_words import GENERIC_WORDS, TIME_WORDS, UNITS

MAX_CHARACTERS = 2000
"""How many characters of a text are read."""
_WINDOW = 24
"""How many characters on either side of a number may belong to its date."""
_MAX_LEAD_CHARS = 40

_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d_]+")
_EXCLUDED = r'\b(?-i:NOT)\s+["(]?\s*$'
_OF_YEAR = re.compile(r"\s+(?:of\s+|im\s+|de\s+|del\s+|van\s+)?", re.IGNORECASE)
_RANGE = re.compile(
    r"\s*(?:and|to|until|till|through|und|bis|et|y|en|tot|a|à|[-–—])\s*(?:in\s+|the\s+)?", re.IGNORECASE
)
_RANGE_LEAD = r"\b(?:(?P<between>between|zwischen|entre|tussen)|from|von|de|van|desde)\s+(?:the\s+)?$"
_DASHES = frozenset(("-", "–", "—"))
_PART = (
    r"\b(?:(?P<early>early|(?:the\s+)?(?:beginning|start)\s+of|anfang|début|begin(?!\s+in)(?:\s+van)?|"
    r"(?:a\s+)?(?:principios?|comienzos|inicios)\s+del?)|"
    r"(?P<middle>mid|(?:the\s+)?middle\s+of|mitte|mi|milieu|midden|halverwege|(?:a\s+)?mediados\s+del?)|"
    r"(?P<late>late|(?:(?:towards?|at|by)\s+)?(?:the\s+)?end\s+of|ende|einde?(?:\s+van)?|"
    r"(?:a\s+)?(?:finales|fines)\s+del?|fin))"
    r"(?:\s+in)?[\s-]+(?:the\s+|des\s+|der\s+|du\s+|de\s+la\s+|la\s+|de\s+l['’]|het\s+|de\s+)?$"
)
_BORDER = r"\s+(?:(?P<before>before|prior\s+to)|after|following)\s+(?:the\s+)?$"
_WEEK_OF = r"\b(?:the\s+)?(?P<unit>week|weekend)\s+of\s+(?:the\s+)?$"
_OPEN = (
    r"\b(?:(?P<since>since|ever\s+since|seit|depuis|desde|sinds)|"
    r"(?P<until>until|till|up\s+to|through|by|bis|jusqu['’](?:en|à|au)|hasta|tot)|"
    r"(?P<before>before|prior\s+to|earlier\s+than|vor|avant|antes\s+de|voor)|"
    r"(?P<after>after|later\s+than|nach|après|después\s+de|na))\s+(?:the\s+|in\s+|le\s+|el\s+|dem\s+)?$"
)
_FROM = r"\bfrom\s+$"
_ONWARDS = re.compile(r"\s+(?:on|onwards?|forward)\b", re.IGNORECASE)


def find_time_expressions(text: str, now: datetime) -> tuple[TimeInterval, ...]:
    """Return the times that ``text`` names, relative to ``now``, in the order of the text.

    A month, a day of a month, a season or a quarter without a year is the latest one that is not in the future.
    An ambiguous date such as 10/09/2026 yields one interval for each interpretation.

    >>> now = datetime(2026, 11, 17, tzinfo=UTC)
    >>> [interval.label for interval in find_time_expressions("dentist last march, or in October", now)]
    ['March 2026', 'October 2026']
    >>> find_time_expressions("how may I march on?", now)
    ()
    """
    arguments.text("text", text)
    moment = arguments.instant("now", now)
    read = text[:MAX_CHARACTERS]
    if not _DIGITS.search(read) and TIME_WORDS.isdisjoint(word.lower() for word in _WORDS.findall(read)):
        return ()  # most queries
    words = TokenizedText(read)
    intervals: list[TimeInterval] = []
    try:
        for mention in _ranges(read, _with_years(read, find_mentions(words, moment))):
            if mention.certain and not _search_before(_EXCLUDED, read, mention.start):
                new = _apply_qualifiers(read, mention)
                start = new[0].span[0]
                # "last weekend before April 10" replaces "last weekend"
                intervals = [other for other in intervals if other.span[1] <= start] + new
    except OverflowError:  # "9999 years ago": beyond the calendar
        return ()
    return tuple(intervals)


def asks_only_for_times(text: str, intervals: Sequence[TimeInterval]) -> bool:
    """Return whether a text has no topic besides the times in it."""
    if not intervals or len(text) > MAX_CHARACTERS:
        return False
    rest = list(text)
    for interval in intervals:
        start, end = interval.span
        rest[start:end] = " " * (end - start)
    words = TokenizedText("".join(rest)).lower
    return all(word in GENERIC_WORDS or word in STOPWORDS for word in words)


def dates_in_text(text: str, reference: datetime | None = None) -> tuple[TimeInterval, ...]:
    """Return the distinct dates, and months with a year, in the first 2,000 characters of a note's text.

    A day without a year is of the year of ``reference``, the time at which the note was written; without a reference
    it is ignored.

    >>> [date.label for date in dates_in_text("Moved on 4 May, signed in March 2026.", datetime(2026, 1, 9))]
    ['2026-05-04', 'March 2026']
    """
    arguments.text("text", text)
    moment = None if reference is None else arguments.instant("reference", reference)
    read = text[:MAX_CHARACTERS]
    year = 2000 if moment is None else min(moment.year, 9998)  # the calendar ends with 9999
    end_of_year = datetime(year, 12, 31, tzinfo=UTC)
    dates: dict[Bounds, TimeInterval] = {}
    for offset, window in _around_digits(read):
        for mention in date_mentions(TokenizedText(window), end_of_year):
            if moment is not None or not mention.yearless:
                for interval in _intervals(read, offset + mention.start, offset + mention.end, mention.bounds):
                    dates.setdefault((interval.start, interval.end), interval)
    return tuple(dates.values())


def _around_digits(text: str) -> list[tuple[int, str]]:
    """Return the parts of a text around digits, each with its offset: every date has a digit."""
    windows: list[tuple[int, int]] = []
    for match in _DIGITS.finditer(text):
        start, end = max(0, match.start() - _WINDOW), match.end() + _WINDOW
        if windows and start <= windows[-1][1]:
            windows[-1] = windows[-1][0], end
        else:
            windows.append((start, end))
    return [(start, text[start:end]) for start, end in windows]


def _intervals(text: str, start: int, end: int, bounds: Sequence[Bounds]) -> list[TimeInterval]:
    return [TimeInterval(*pair, text[start:end], (start, end)) for pair in bounds]


def _with_years(text: str, mentions: list[Mention]) -> list[Mention]:
    """Join a month or day and a year, as in "October last year", into one mention."""
    joined: list[Mention] = []
    for mention in mentions:
        first = joined[-1] if joined else None
        follows = first is not None and mention.certain and _OF_YEAR.fullmatch(text[first.end : mention.start])
        if follows and first and first.yearless and first.bounds and mention.bounds:
            (start, end), (number, day_of_month) = mention.bounds[-1], first.yearless
            until = day_of_month and day_of_month + (first.bounds[0][1] - first.bounds[0][0]).days - 1
            bounds = days_of_month(start.year, number, day_of_month, until)
            if (start, end) == period_bounds("year", start) and bounds:
                joined[-1] = Mention(first.start, mention.end, bounds)
                continue
        joined.append(mention)
    return joined


def _ranges(text: str, mentions: list[Mention]) -> list[Mention]:
    """Join "between A and B", "from A to B" and "A–B" into one mention, from the start of A to the end of B."""
    joined: list[Mention] = []
    for mention in mentions:
        first = joined[-1] if joined else None
        if first is not None:
            gap = text[first.end : mention.start]
            lead = _search_before(_RANGE_LEAD, text, first.start)
            weekdays = first.weekday is not None and mention.weekday is not None and gap.strip().lower() in RANGE_MARKS
            if _RANGE.fullmatch(gap) and (lead or weekdays or gap.strip() in _DASHES):
                start, end = _start_before(first, mention), mention.bounds[-1][1]
                if start < end:
                    begin = lead.start() if lead else first.start
                    joined[-1] = Mention(begin, mention.end, [(start, end)], ranged=True)
                    continue
        joined.append(mention)
    return joined


def _start_before(first: Mention, last: Mention) -> datetime:
    """Return the start of a range; a weekday, month or day without a year is the last one before the end."""
    start, end = first.bounds[0][0], last.bounds[-1][0]
    if first.weekday is not None and last.weekday is not None:
        return end - (last.weekday - first.weekday) % 7 * DAY
    if first.yearless:
        number, day_of_month = first.yearless
        starts = [month_bounds(end.year - back, number)[0] + (max(day_of_month, 1) - 1) * DAY for back in (0, 1)]
        return starts[0] if starts[0] <= end else starts[1]
    return start


def _apply_qualifiers(text: str, mention: Mention) -> list[TimeInterval]:
    """Apply the words before a mention: a part of it, a distance to it, or an open interval."""
    if mention.ranged:
        return _intervals(text, mention.start, mention.end, mention.bounds)
    part = _search_before(_PART, text, mention.start)
    if part:
        mention = replace(
            mention, start=part.start(), bounds=[_third_of(*bounds, part.lastgroup) for bounds in mention.bounds]
        )
    border = _search_before(_BORDER, text, mention.start)
    distant = _at_distance(text, border, mention) if border else []
    if distant:
        return distant
    if match := _search_before(_WEEK_OF, text, mention.start):
        unit: Unit = "week" if match["unit"].lower() == "week" else "weekend"
        return _intervals(text, match.start(), mention.end, [period_bounds(unit, start) for start, _ in mention.bounds])
    if match := _search_before(_OPEN, text, mention.start):
        open_bounds = [_open_interval(*pair, match.lastgroup) for pair in mention.bounds]
        return _intervals(text, match.start(), mention.end, open_bounds)
    onwards = _ONWARDS.match(text, mention.end) if _search_before(_FROM, text, mention.start) else None
    if onwards:
        return _intervals(text, mention.start, onwards.end(), [(start, None) for start, _ in mention.bounds])
    return _intervals(text, mention.start, mention.end, mention.bounds)


def _search_before(pattern: str, text: str, position: int) -> re.Match[str] | None:
    """Search right before a position; patterns are compiled on first use, to keep imports fast."""
    return re.compile(pattern, re.IGNORECASE).search(text, max(0, position - _MAX_LEAD_CHARS), position)


def _third_of(start: datetime, end: datetime, part: str | None) -> tuple[datetime, datetime]:
    """Return the early, the middle or the late third of an interval."""
    third = (end - start) // 3
    if part == "early":
        return start, start + third
    return (start + third, end - third) if part == "middle" else (end - third, end)


def _at_distance(text: str, border: re.Match[str], mention: Mention) -> list[TimeInterval]:
    """Return "the week before" a day or "two weeks after" it, as an interval."""
    offset = max(0, border.start() - _MAX_LEAD_CHARS)
    words = TokenizedText(text[offset : border.start()])
    index = len(words.lower) - 1
    if words.at(index) not in UNITS:
        return []
    first, unit, number = count_before(words, index)
    if number is None and words.before(index) not in ("the", "last"):
        return []
    begin = offset + words.spans[first if number else index - 1][0]
    bounds = [_adjacent(*pair, unit, number, before=bool(border["before"])) for pair in mention.bounds]
    return _intervals(text, begin, mention.end, bounds)


def _adjacent(start: datetime, end: datetime, unit: Unit, number: tuple[int, int] | None, *, before: bool) -> Bounds:
    last = end - DAY
    if unit == "weekend":
        saturday = start - ((start.weekday() + 1) % 7 + 1) * DAY if before else last + (5 - last.weekday()) % 7 * DAY
        return saturday, saturday + 2 * DAY
    if number is None:
        return (shift_date(start, unit, -1), start) if before else (end, shift_date(end, unit, 1))
    return offset_interval(start, unit, number, -1) if before else offset_interval(last, unit, number, 1)


def _open_interval(start: datetime, end: datetime, preposition: str | None) -> Bounds:
    if preposition == "since":
        return start, None
    if preposition == "until":
        return None, end
    return (None, start) if preposition == "before" else (end, None)
