"""Times that the calendar gives: quarters, numbered weeks, feasts, parts of the current year, dates without a year."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from recollect.query.dates import rolled
from recollect.query.time_intervals import DAY, latest, month, period, yearly
from recollect.query.time_tokens import PHRASE_GAPS, Mention, TokenizedText, relative_before, year_after
from recollect.query.time_words import (
    FEAST_LEADS,
    FEAST_STARTS,
    FEASTS,
    LONGEST_FEAST,
    PAST_AFTER,
    QUARTERS,
    RELATIVE,
    UNITS,
)

__all__ = ["calendar_weeks", "current_periods", "easter", "feasts", "quarters", "short_dates"]

_YEAR = r"(?:19|20)\d\d"
_QUARTER = re.compile(
    rf"\b(?:(?P<before>{_YEAR})\s*[-/]?\s*)?"
    rf"(?:(?P<letter>Q)(?P<number>[1-4])\b|(?P<word>{'|'.join(map(re.escape, QUARTERS))})\s+"
    r"(?:quarter|quartals?|trimestre|kwartaal)\b)"
    rf"(?:\s*[-/]?\s*(?:(?:of|in|de|del|van|des\s+jahres)\s+)?(?:(?P<year>{_YEAR})\b|"
    r"(?P<relative>last|this|next)\s+year\b))?",
    re.IGNORECASE,
)


def quarters(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield "Q3 2025", "the first quarter of last year", "im ersten Quartal"; without a year, the latest begun."""
    for match in _QUARTER.finditer(words.text):
        number = int(match["number"]) if match["number"] else QUARTERS[match["word"].lower()]
        year = match["year"] or match["before"]
        if match["relative"]:
            year = str(now.year + RELATIVE[match["relative"].lower()])
        if match["letter"] == "q" and not year:
            continue  # "the q4 weights"
        bounds = month(int(year) if year else now.year, 3 * number - 2, 3)
        if not year and bounds[0] > now:
            bounds = month(now.year - 1, 3 * number - 2, 3)
        yield Mention(*match.span(), [bounds])


_ISO_WEEK = re.compile(rf"(?<![\w./-])(?P<year>{_YEAR})-?W(?P<number>\d\d)\b(?!-\d)")
_NUMBERED_WEEK = re.compile(
    r"\b(?:(?P<calendar>KW|CW|calendar\s+week|kalenderwoche)\s*|(?:week|woche|semaine|semana)\s+(?=\d\d))"
    rf"(?P<number>\d\d?)\b(?![.,:]?\d)(?:\s*(?:/|,|of|in|de|del|van)?\s*(?P<year>{_YEAR})\b|(?P<other>\s+(?:of|in)\b))?",
    re.IGNORECASE,
)


def calendar_weeks(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield weeks by their number in ISO 8601: "2026-W46", "KW 3", "week 46"; "week 3" may be that of a course."""
    for pattern in (_ISO_WEEK, _NUMBERED_WEEK):
        for match in pattern.finditer(words.text):
            number = int(match["number"])
            if pattern is _NUMBERED_WEEK and match["other"] and not match["calendar"]:
                continue  # "week 20 of the pregnancy"
            years = [int(match["year"])] if match["year"] else [now.year, now.year - 1]
            weeks = [week for year in years for week in _weeks(year, number) if match["year"] or week[0] <= now]
            if weeks:
                yield Mention(*match.span(), weeks[:1])


def _weeks(year: int, number: int) -> list[tuple[datetime, datetime]]:
    """Return the bounds of a numbered week of a year; none if the year has no such week."""
    first = period("week", rolled(year, 1, 4))[0]  # 4 January is always in week 1
    start = first + 7 * (number - 1) * DAY
    return [(start, start + 7 * DAY)] if number >= 1 and start.isocalendar().year == year else []


def feasts(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield Christmas, New Year and Easter with a year, a word such as "last" or a preposition; else they are names."""
    for index, word in enumerate(words.lower):
        longest = min(LONGEST_FEAST, len(words.lower) - index) if word in FEAST_STARTS else 0
        length = next((n for n in range(longest, 0, -1) if " ".join(words.lower[index : index + n]) in FEASTS), 0)
        end = index + length - 1
        if not length or any(words.gap(place) not in PHRASE_GAPS for place in range(index, end)):
            continue
        feast = FEASTS[" ".join(words.lower[index : end + 1])]
        first, relative = relative_before(words, index)
        if not relative and words.at(end + 1) in PAST_AFTER and words.spaced(end):
            relative = "last"
        year = year_after(words, end)
        if year:
            bounds = _feast(feast, int(words.at(year)))
        elif relative:
            bounds = yearly(now, lambda number, feast=feast: _feast(feast, number), RELATIVE[relative])  # type: ignore[misc]
        elif words.before(index) in FEAST_LEADS or words.two_before(index) in FEAST_LEADS:
            bounds = latest(now, lambda number, feast=feast: _feast(feast, number))  # type: ignore[misc]
        else:
            continue  # "Christmas presents"
        last = year or end + (relative == "last" and words.at(end + 1) in PAST_AFTER)
        yield Mention(words.spans[first][0], words.spans[last][1], [bounds])


def _feast(feast: str, year: int) -> tuple[datetime, datetime]:
    """Return the days of a feast: 24 to 26 December, 31 December and 1 January, Good Friday to Easter Monday."""
    if feast == "christmas":
        start = rolled(year, 12, 24)
        return start, start + 3 * DAY
    if feast == "easter":
        sunday = easter(year)
        return sunday - 2 * DAY, sunday + 2 * DAY
    eve = rolled(year if feast == "new year's eve" else year - 1, 12, 31)
    return eve, eve + 2 * DAY


def easter(year: int) -> datetime:
    """Return Easter Sunday of the Gregorian calendar (Meeus, Astronomical Algorithms, chapter 8).

    >>> easter(2026).date().isoformat()
    '2026-04-05'
    """
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    number, day_before = divmod(h + k - 7 * m + 114, 31)
    return rolled(year, number, day_before + 1)


_CURRENT_PERIOD = re.compile(
    r"\b(?:(?:beginning|start|middle|end)\s+of\s+the\s+|(?:anfang|mitte|ende)\s+de[sr]\s+|"
    r"(?:début|milieu|fin)\s+(?:du\s+|de\s+la\s+|de\s+l['’])|"
    r"(?:principios?|comienzos|inicios|mediados|finales|fines)\s+(?:del?\s+|de\s+la\s+)|"
    r"(?:begin|midden|einde?)\s+van\s+(?:het|de)\s+)"
    r"(?P<unit>week|month|quarter|year|woche|monats|quartals|jahres|semaine|mois|trimestre|année|semana|mes|año|maand|"
    r"kwartaal|jaar)\b(?!['’]|\s+(?:of|in|before|after|\d))",
    re.IGNORECASE,
)


def current_periods(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield the current week, month, quarter or year where a part of it is named: "the beginning of the year"."""
    for match in _CURRENT_PERIOD.finditer(words.text):
        yield Mention(*match.span("unit"), [period(UNITS[match["unit"].lower()], now)])


_DAY_AND_MONTH = re.compile(r"(?<![\w./-])(?P<day>\d\d?)\.\s?(?P<month>\d\d?)\.(?!\s?\d|\w)")
_MONTH_AND_YEAR = re.compile(rf"(?<![\w./-])(?P<month>0?[1-9]|1[0-2])/(?P<year>{_YEAR})(?![\w/-])")
_DATE_LEADS = frozenset("am vom zum bis seit ab den der dem on vor nach le el op und".split())


def short_dates(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield "11.11." at the start or after a preposition, else it may be a version, and "10/2026"."""
    for match in _MONTH_AND_YEAR.finditer(words.text):
        yield Mention(*match.span(), [month(int(match["year"]), int(match["month"]))])
    for match in _DAY_AND_MONTH.finditer(words.text):
        before = words.text[: match.start()].split()
        number, day_of_month = int(match["month"]), int(match["day"])
        if (before and before[-1].lower() not in _DATE_LEADS) or not 1 <= number <= 12 or not 1 <= day_of_month <= 31:
            continue
        for year in range(now.year, max(0, now.year - 9), -1):
            start = month(year, number)[0] + (day_of_month - 1) * DAY
            if start.month == number and start <= now:
                yield Mention(*match.span(), [(start, start + DAY)], (number, day_of_month))
                break
