"""Rules that recognise dates in digits, quarters, numbered weeks, holidays, and parts of the current period.

A rule gets the words of a text and the current time, and yields the times that the text mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from recollect.query import time_words
from recollect.query.dates import utc_day
from recollect.query.time_intervals import DAY, TimeMention, TokenizedText, month_bounds, period_bounds, yearly_period

_YEAR = r"(?:19|20)\d\d"
_QUARTER = re.compile(  # Q3 2025, 2025-Q3, the first quarter of last year
    rf"\b(?:(?P<year_before>{_YEAR})\s*[-/]?\s*)?"
    rf"(?:(?P<letter>Q)(?P<number>[1-4])\b|(?P<word>{'|'.join(map(re.escape, time_words.QUARTERS))})\s+"
    r"(?:quarter|quartals?|trimestre|kwartaal)\b)"
    rf"(?:\s*[-/]?\s*(?:(?:of|in|de|del|van|des\s+jahres)\s+)?(?:(?P<year>{_YEAR})\b|"
    r"(?P<relative>last|this|next)\s+year\b))?",
    re.IGNORECASE,
)
_ISO_WEEK = re.compile(rf"(?<![\w./-])(?P<year>{_YEAR})-?W(?P<number>\d\d)\b(?!-\d)")  # 2026-W46
_NUMBERED_WEEK = re.compile(  # KW 3, week 46, week 46 of 2026
    r"\b(?:(?P<calendar>KW|CW|calendar\s+week|kalenderwoche)\s*|(?:week|woche|semaine|semana)\s+(?=\d\d))"
    rf"(?P<number>\d\d?)\b(?![.,:]?\d)(?:\s*(?:/|,|of|in|de|del|van)?\s*(?P<year>{_YEAR})\b|(?P<of>\s+(?:of|in)\b))?",
    re.IGNORECASE,
)
_CURRENT_PERIOD = re.compile(  # the beginning of the year
    r"\b(?:(?:beginning|start|middle|end)\s+of\s+the\s+|(?:anfang|mitte|ende)\s+de[sr]\s+|"
    r"(?:début|milieu|fin)\s+(?:du\s+|de\s+la\s+|de\s+l['’])|"
    r"(?:principios?|comienzos|inicios|mediados|finales|fines)\s+(?:del?\s+|de\s+la\s+)|"
    r"(?:begin|midden|einde?)\s+van\s+(?:het|de)\s+)"
    r"(?P<unit>week|month|quarter|year|woche|monats|quartals|jahres|semaine|mois|trimestre|année|semana|mes|año|maand|"
    r"kwartaal|jaar)\b(?!['’]|\s+(?:of|in|before|after|\d))",
    re.IGNORECASE,
)
_FULL_YEAR = rf"(?P<year>{_YEAR})(?!\d)"
_YEAR_FIRST = re.compile(  # 2026-10-09, 2026/10/9
    rf"(?<![\w./-]){_FULL_YEAR}(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)(?!\d|[./-]\d)"
)
# Examples of the next five patterns: 9.10.2026; 9/10/2026 and 9-10-2026; 2026-10; 9.10.; 10/2026.
_DOTTED = re.compile(rf"(?<![\w./-])(?P<day>\d\d?)\.\s?(?P<month>\d\d?)\.\s?{_FULL_YEAR}(?!\.\d)")
_SLASHED = re.compile(rf"(?<![\w./-])(?P<day>\d\d?)(?P<mark>[-/])(?P<month>\d\d?)(?P=mark){_FULL_YEAR}(?![-/]\d)")
_YEAR_AND_MONTH = re.compile(rf"(?<![\w./-]){_FULL_YEAR}-(?P<month>0[1-9]|1[0-2])(?![\d-])")
_DAY_AND_MONTH = re.compile(r"(?<![\w./-])(?P<day>\d\d?)\.\s?(?P<month>\d\d?)\.(?!\s?\d|\w)")
_MONTH_AND_YEAR = re.compile(rf"(?<![\w./-])(?P<month>0?[1-9]|1[0-2])/(?P<year>{_YEAR})(?![\w/-])")
_DATE_LEADS = frozenset("am vom zum bis seit ab den der dem on vor nach le el op und".split())  # words before "9.10."
_COMMA_OR_SPACE = re.compile(r"\.?,?\s*")  # what may stand before a year: "Dec. 2026", "May, 2026"


def quarters(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield "Q3 2025", "the first quarter of last year"; without a year, the latest such quarter that has started."""
    for match in _QUARTER.finditer(words.text):
        quarter = int(match["number"]) if match["number"] else time_words.QUARTERS[match["word"].lower()]
        year = match["year"] or match["year_before"]
        if match["relative"]:
            year = str(now.year + time_words.RELATIVE[match["relative"].lower()])
        if match["letter"] == "q" and not year:
            continue  # it may be another name, as in "the q4 weights"
        bounds_in_year = partial(month_bounds, month=3 * quarter - 2, count=3)
        bounds = bounds_in_year(int(year)) if year else yearly_period(now, bounds_in_year, None)
        yield TimeMention(*match.span(), [bounds])


def calendar_weeks(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield ISO 8601 weeks: "2026-W46", "KW 3", "week 46", but not "week 3", which may be the week of a course."""
    for pattern in (_ISO_WEEK, _NUMBERED_WEEK):
        for match in pattern.finditer(words.text):
            if pattern is _NUMBERED_WEEK and match["of"] and not match["calendar"]:
                continue  # "week 20 of the pregnancy"
            years = [int(match["year"])] if match["year"] else [now.year, now.year - 1]
            mondays = [monday for year in years for monday in _mondays(year, int(match["number"]))]
            if not match["year"]:  # the latest such week that has started
                mondays = [monday for monday in mondays if monday <= now]
            if mondays:
                yield TimeMention(*match.span(), [period_bounds("week", mondays[0])])


def _mondays(year: int, week: int) -> list[datetime]:
    """Return the Monday of an ISO week as a list; the list is empty if the year has no such week."""
    try:
        return [datetime.fromisocalendar(year, week, 1).replace(tzinfo=UTC)]
    except ValueError:
        return []


def holidays(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield Christmas, New Year and Easter beside a year, a relative word such as "last" or a preposition."""
    for index in words.indexes(time_words.HOLIDAY_FIRST_WORDS):
        length = words.phrase_length(index, time_words.HOLIDAYS, time_words.LONGEST_HOLIDAY)
        if not length:
            continue
        end = index + length - 1
        bounds_in_year = partial(_holiday_bounds, time_words.HOLIDAYS[" ".join(words.lowered[index : end + 1])])
        first, relative, last = relative_around(words, index, end)
        year_index = year_after(words, end)
        if year_index:
            bounds = bounds_in_year(int(words.at(year_index)))
        elif relative:
            bounds = yearly_period(now, bounds_in_year, time_words.RELATIVE[relative])
        elif not time_words.HOLIDAY_LEADS.isdisjoint((words.before(index), words.pair_before(index))):
            bounds = yearly_period(now, bounds_in_year, None)
        else:
            continue  # "Christmas presents"
        yield words.mention(first, year_index or last, [bounds])


def _holiday_bounds(holiday: str, year: int) -> tuple[datetime, datetime]:
    """Return the bounds of Christmas (24–26 December), New Year (31 December–1 January) or Easter (Friday–Monday)."""
    if holiday == "christmas":
        start = utc_day(year, 12, 24)
        return start, start + 3 * DAY
    if holiday == "easter":
        sunday = easter(year)
        return sunday - 2 * DAY, sunday + 2 * DAY
    eve = utc_day(year if holiday == "new year's eve" else year - 1, 12, 31)
    return eve, eve + 2 * DAY


def easter(year: int) -> datetime:
    """Return Easter Sunday of the Gregorian calendar, with the symbols of Meeus, Astronomical Algorithms, chapter 8."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    month, day_index = divmod(h + k - 7 * m + 114, 31)
    return utc_day(year, month, day_index + 1)


def current_periods(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield the whole current period for "the beginning of the year" or the like; time_expressions narrows it."""
    for match in _CURRENT_PERIOD.finditer(words.text):
        yield TimeMention(*match.span("unit"), [period_bounds(time_words.UNITS[match["unit"].lower()], now)])


def numeric_dates(words: TokenizedText) -> list[TimeMention]:
    """Return the dates in digits. 10/09/2026 has two intervals, since it may mean 10 September or October 9."""
    mentions = []
    for pattern in (_YEAR_FIRST, _DOTTED, _SLASHED):
        for match in pattern.finditer(words.text):
            month_days = {(int(match["month"]), int(match["day"]))}
            if pattern is _SLASHED:  # the month may be the first number
                month_days |= {(day, month) for month, day in month_days}
            days = [bounds for pair in sorted(month_days) for bounds in days_of_month(int(match["year"]), *pair)]
            if days:
                mentions.append(TimeMention(*match.span(), days))
    return mentions + [
        TimeMention(*match.span(), [month_bounds(int(match["year"]), int(match["month"]))])
        for match in _YEAR_AND_MONTH.finditer(words.text)
    ]


def days_of_month(year: int, month: int, first_day: int = 0, last_day: int = 0) -> list[tuple[datetime, datetime]]:
    """Return a list with the bounds of the days from ``first_day`` to ``last_day``; empty if there are no such days.

    A ``last_day`` of 0 means only the first day. A ``first_day`` of 0 means the whole month.
    """
    if not 1 <= month <= 12:
        return []
    start, end = month_bounds(year, month)
    if not first_day:
        return [(start, end)]
    bounds = start + (first_day - 1) * DAY, start + (last_day or first_day) * DAY
    return [bounds] if start <= bounds[0] < bounds[1] <= end else []


def latest_days(now: datetime, month: int, first_day: int = 0, last_day: int = 0) -> list[tuple[datetime, datetime]]:
    """Return :func:`days_of_month` of the latest year in which these days have started."""
    years = range(now.year, max(0, now.year - 9), -1)  # 29 February may be eight years ago
    days = (bounds for year in years for bounds in days_of_month(year, month, first_day, last_day))
    return list(islice((bounds for bounds in days if bounds[0] <= now), 1))


def short_dates(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield "10/2026", and "11.11." at a text's start or after a preposition: elsewhere "11.11." may be a version."""
    for match in _MONTH_AND_YEAR.finditer(words.text):
        yield TimeMention(*match.span(), [month_bounds(int(match["year"]), int(match["month"]))])
    for match in _DAY_AND_MONTH.finditer(words.text):
        words_before = words.text[: match.start()].split()
        may_be_date = not words_before or words_before[-1].lower() in _DATE_LEADS
        month, day = int(match["month"]), int(match["day"])
        bounds = latest_days(now, month, day) if may_be_date and day else []
        if bounds:
            yield TimeMention(*match.span(), bounds, (month, day))


def year_after(words: TokenizedText, index: int) -> int:
    """Return the index of the year that follows the word at an index, also after "of" or a comma; 0 if none follows."""
    year_index = index + 2 if words.at(index + 1) in ("of", "de", "del") else index + 1
    if year_index >= len(words.spans) or not _COMMA_OR_SPACE.fullmatch(words.gap_after(index)):
        return 0
    return year_index if is_year(words, year_index) else 0


def is_year(words: TokenizedText, index: int) -> bool:
    """Return whether the word at an index is a year from 1900 to 2099."""
    word = words.at(index)
    return len(word) == 4 and word.isdigit() and word[:2] in ("19", "20") and not words.gap_after(index)[:1].isalpha()


def relative_around(words: TokenizedText, index: int, end: int) -> tuple[int, str, int]:
    """Extend the words from ``index`` to ``end`` by "last", "this" or "next" beside them.

    Return the first index of the extended words, the relative word (empty if there is none), and the last index.
    """
    for length, lead in ((2, words.pair_before(index)), (1, words.before(index))):
        if lead in time_words.RELATIVE:
            return index - length, lead, end
        if lead in time_words.PAST:
            return index - length, "last", end
    if words.space_follows(end) and words.at(end + 1) in time_words.PAST_AFTER:
        return index, "last", end + 1
    return index, "", end
