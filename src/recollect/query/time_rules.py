"""Rules that recognise time expressions and resolve them to calendar intervals.

Patterns recognise dates in digits. All other rules look up each word of a text in the tables of ``time_words`` (months,
weekdays, seasons, units, phrases) and read the words before and after it. A *lead* is what stands right before a time
expression, such as "since" or "last".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial

from recollect.query import time_calendar, time_words
from recollect.query.time_calendar import days_of_month, latest_days, numeric_dates, relative_around, year_after
from recollect.query.time_intervals import (
    DAY,
    TimeMention,
    TokenizedText,
    Unit,
    day_bounds,
    month_bounds,
    period_bounds,
    shift_date,
    yearly_period,
)
from recollect.query.time_words import MONTH_NUMBERS, PAST, RELATIVE, UNITS, WEEKDAY_NUMBERS

_MONTHS_LIKE_WORDS = frozenset(("may", "mar", "march"))  # in lower case only: May with a capital is a month
_NamedDays = tuple[int, int, int, int, bool]
"""The index of the first word of a date and that of its last word; the first day and the last day, which is 0 if there
is only one day; whether the words are surely a date."""
_ORDINAL_SUFFIXES = frozenset(("st", "nd", "rd", "th", "er"))
_DAY_GAP = re.compile(r"\.?\s+")  # between a day and a month, as in "9. Oktober"
_NUMBER_SYMBOLS = frozenset(".,:/$€£-#")  # a number after one of these is not a day, as in "$9"
_DAY_LEADS = frozenset("on the of by since until till before after from am le el op".split())
"""After one of these words, a day and a month are surely a date."""
_NUMBER_CONTINUES = re.compile(r"[:%€$/]|[.,](?=\S)")  # as in 10:30, 10% and 10.5
_COUNTED_NOUNS = frozenset((*UNITS, *"people persons times am pm hours minutes miles km percent".split()))
"""A number before one of these words is not a day, as in "May 4 people"."""
_NOT_FUTURE_WORDS = frozenset(
    "many much often times long did was were have has had oft lange combien fois cuántos".split()
)
"""After one of these words, "in two weeks" is not a time in the future, as in "how often did I run in two weeks"."""
_DURATION_LEADS = frozenset(("in", "over", "during", "within", "for", "throughout"))
"""After one of these words, "the last month" is the month up to today and not a calendar month."""
_TOLERANCES: dict[Unit, tuple[int, int, int]] = {"month": (10, 3, 30), "quarter": (30, 10, 60), "year": (60, 30, 183)}
"""Three numbers of days: the tolerance of one unit ("a month ago"), what each further unit adds to it, its maximum."""
_WEEKS_OF_MONTH = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}
RANGE_SEPARATORS = frozenset(("-", "–", "—", "to", "until", "till", "through", "thru", "bis", "tot", "à", "a"))
"""What may stand between the two weekdays of a range."""
_RECURRENCE_LEADS = frozenset(("a", "an", "any", "each", "every", "per"))  # "every Monday" is not one day
_RECURRING_PARTS = frozenset(("mornings", "afternoons", "evenings", "nights"))
_SECOND_YEAR = re.compile(r"\s*[/-]\s*(?:20)?\d\d\b")  # the rest of "winter 2025/26"
_NOT_A_SEASON = re.compile(r"\s+(?:of|off|from|into|on|boot|rolls?|onions?|[A-Z]\w+)\b|-")  # as in "fall off"
_POSSESSIVE = re.compile(r"['’]s\b")
_PART_OF_OTHER_NUMBER = re.compile(r"^[/:#$€£%_]|\d[/:#$€£%_]|\d[.,]\d$")  # as in $2026, 2026/27 and 2026.5


def time_mentions(words: TokenizedText, now: datetime) -> list[TimeMention]:
    """Return the times that a text names, in the order of the text. If two overlap, the earlier rule's is returned."""
    accepted = numeric_dates(words)
    for rule in _RULES:
        for mention in rule(words, now):
            if all(mention.end <= other.start or other.end <= mention.start for other in accepted):
                accepted.append(mention)
    return sorted(accepted, key=lambda mention: mention.start)


def date_mentions(words: TokenizedText, now: datetime) -> list[TimeMention]:
    """Return the days, and the months with a year, that a text names, and no other times."""
    return sorted([*numeric_dates(words), *_named_dates(words, now)], key=lambda mention: mention.start)


def _named_dates(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield "9 October", "Oct 9th, 2026", "October 9-12", "March 2025"; without a year, the latest that has started."""
    for index in words.indexes(MONTH_NUMBERS):
        month, spelling = MONTH_NUMBERS[words.at(index)], words.original(index)
        for first, last, first_day, last_day, certain in (*_day_before(words, index), *_day_after(words, index)):
            year_index = year_after(words, last)
            bounds = []
            if year_index:
                bounds = days_of_month(int(words.at(year_index)), month, first_day, last_day)
            elif certain or spelling not in _MONTHS_LIKE_WORDS:  # not "4 may be enough", "march 5 miles"
                bounds = latest_days(now, month, first_day, last_day)
            if bounds:
                yearless = None if year_index else (month, first_day)
                yield words.mention(first, year_index or last, bounds, yearless=yearless)
                break
        else:  # no day beside the month
            year_index = year_after(words, index)
            if year_index and spelling != "Mars":  # Mars 2020 is a rover; French months are in lower case
                yield words.mention(index, year_index, days_of_month(int(words.at(year_index)), month))


def _day_number(words: TokenizedText, index: int) -> int:
    """Return the day of a month that the word at an index may be; 0 if it is not a number from 1 to 31."""
    word = words.at(index)
    return int(word) if 0 < len(word) <= 2 and word.isdecimal() and int(word) <= 31 else 0


def _day_before(words: TokenizedText, index: int) -> Iterator[_NamedDays]:
    """Yield the day before the month at an index: "9 October", "the 9th of October"."""
    day_index = index - 2 if words.at(index - 1) in ("of", "de") else index - 1
    is_ordinal = words.at(day_index) in _ORDINAL_SUFFIXES and day_index > 0 and not words.gap_after(day_index - 1)
    if is_ordinal:
        day_index -= 1
    day = _day_number(words, day_index)
    if day and _DAY_GAP.fullmatch(words.gap_after(index - 1)):
        start = words.spans[day_index][0]
        if words.text[max(0, start - 1) : start] not in _NUMBER_SYMBOLS:
            certain = is_ordinal or day_index != index - 1 or words.before(day_index) in _DAY_LEADS
            yield day_index, index, day, 0, certain


def _day_after(words: TokenizedText, index: int) -> Iterator[_NamedDays]:
    """Yield the day or days after the month at an index: "October 9", "Oct the 9th", "October 9-12"."""
    day_index = index + 2 if words.at(index + 1) == "the" else index + 1
    day = _day_number(words, day_index)
    if day and _DAY_GAP.fullmatch(words.gap_after(index)):
        is_ordinal = words.at(day_index + 1) in _ORDINAL_SUFFIXES and not words.gap_after(day_index)
        last, last_day = day_index + 1 if is_ordinal else day_index, 0
        if words.gap_after(last).strip() in ("-", "–") and _day_number(words, last + 1):
            last, last_day = last + 1, _day_number(words, last + 1)
        is_amount = _NUMBER_CONTINUES.match(words.gap_after(last)) or words.at(last + 1) in _COUNTED_NOUNS
        if not is_amount or year_after(words, last):
            yield index, last, day, last_day, is_ordinal or words.before(index) in _DAY_LEADS


def _counted_units(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield "two weeks ago", "the past two weeks", "in the past month"."""
    for index in words.indexes(UNITS):
        first, unit, number = count_before(words, index)
        lead = words.before(first)
        following = words.at(index + 1) if words.space_follows(index) else ""
        if number is None:
            preposition, _, article = words.pair_before(index - 1).partition(" ")
            # "in the last month" ends today, unlike "last month", which is a calendar month.
            ends_today = lead == "past" or (lead in PAST and article == "the" and preposition in _DURATION_LEADS)
            if ends_today and unit != "weekend":
                count = 2 if words.at(index) in time_words.FORTNIGHTS else 1
                yield words.mention(index - 1, index, [_up_to_now(now, unit, count)])
            continue
        in_direction = partial(offset_interval, now, unit, number)  # the direction is -1 or 1: before or after now
        if following in ("ago", "back", "geleden"):
            yield words.mention(first, index + 1, [in_direction(-1)])
        elif lead in ("vor", "hace"):
            yield words.mention(first - 1, index, [in_direction(-1)])
        elif lead == "a" and words.pair_before(first - 1) == "il y":
            yield words.mention(first - 3, index, [in_direction(-1)])
        elif following == "from" and words.at(index + 2) in ("now", "today"):
            yield words.mention(first, index + 2, [in_direction(1)])
        elif words.at(index) in time_words.FUTURE_LEADS.get(lead, ()) and _is_future(words, first, index):
            yield words.mention(first - 1, index, [in_direction(1)])
        elif lead in PAST:
            yield words.mention(first - 1, index, [_up_to_now(now, unit, number[1])])


def _is_future(words: TokenizedText, first: int, index: int) -> bool:
    """Return whether an expression such as "in two weeks" is a time, and not a duration or a frequency."""
    has_number = words.at(first) not in time_words.ARTICLES
    return has_number and words.ends_clause(index) and _NOT_FUTURE_WORDS.isdisjoint(words.lowered[:first])


def count_before(words: TokenizedText, index: int) -> tuple[int, Unit, tuple[int, int] | None]:
    """Return the index of the number before the unit at an index, the unit, and the number.

    The number is a pair of the smallest and largest value that it may mean: "a few" is 2 to 5. It is ``None`` if no
    number precedes the unit. For half a year, unit and number are 6 months; for a fortnight, they are 2 weeks.
    """
    unit = UNITS[words.at(index)]
    for first, lead in ((index - 2, words.pair_before(index)), (index - 1, words.before(index))):
        if lead in time_words.HALVES:
            return (first, *time_words.HALF_OF.get(unit, (unit, None)))
    first, number = _number_before(words, index)
    if number and words.at(index) in time_words.FORTNIGHTS:
        number = 2 * number[0], 2 * number[1]
    return first, unit, number


def _number_before(words: TokenizedText, index: int) -> tuple[int, tuple[int, int] | None]:
    """Return the index of the number before the word at an index, and the number; see :func:`count_before`."""
    for first in range(max(0, index - 3), index):
        if all(words.space_follows(position) for position in range(first, index)):
            phrase = " ".join(words.lowered[first:index])
            if phrase in time_words.NUMBERS:
                return first, time_words.NUMBERS[phrase]
            is_fraction = words.text[max(0, words.spans[first][0] - 1)] in ".,"
            if phrase.isdecimal() and len(phrase) <= 4 and not is_fraction:
                return first, (int(phrase), int(phrase))
    return index, None


def offset_interval(moment: datetime, unit: Unit, number: tuple[int, int], direction: int) -> tuple[datetime, datetime]:
    """Return the bounds of the days that lie ``number`` units before (-1) or after (1) a moment, plus a tolerance.

    ``number`` is a pair of the smallest and the largest number of units. The tolerance, on both sides, grows with it.
    """
    smallest, largest = number
    if unit == "day":
        tolerance = 0 if largest <= 2 else max(1, round(0.15 * largest))
    else:
        base, increment, maximum = _TOLERANCES.get(unit, (3, 1, 10))  # the default is for weeks and weekends
        tolerance = min(maximum, base + increment * (largest - 1))
    first, last = sorted(shift_date(moment, unit, direction * count) for count in (smallest, largest))
    return first - tolerance * DAY, last + (1 + tolerance) * DAY


def _up_to_now(now: datetime, unit: Unit, count: int) -> tuple[datetime, datetime]:
    """Return the bounds of the time that began ``count`` units ago and ends with today."""
    return shift_date(now, unit, -count), day_bounds(now)[1]


def _weeks_of_months(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield "the second week of March"."""
    for index in words.indexes(("week",)):
        month_index, week = index + 2, _WEEKS_OF_MONTH.get(words.before(index))
        month = MONTH_NUMBERS.get(words.at(month_index)) if words.at(index + 1) in ("of", "in") else None
        if week is not None and month is not None:
            year_index = year_after(words, month_index)
            year = int(words.at(year_index)) if year_index else None
            start, end = (days_of_month(year, month) if year else latest_days(now, month))[0]
            first_day = end - 7 * DAY if week < 0 else start + 7 * week * DAY
            yield words.mention(index - 1, year_index or month_index, [(first_day, first_day + 7 * DAY)])


def _phrases(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield "yesterday", "last week", "la semana pasada", "recently" and similar phrases."""
    if not time_words.FRENCH.isdisjoint(words.lowered) and time_words.NOT_FRENCH.isdisjoint(words.lowered):
        for index in words.indexes(("hier",)):
            yield TimeMention(*words.spans[index], [period_bounds("day", now, -1)])
    index = 0
    while index < len(words.lowered):
        is_start = words.lowered[index] in time_words.PHRASE_FIRST_WORDS
        length = words.phrase_length(index, time_words.PHRASES, time_words.LONGEST_PHRASE) if is_start else 0
        last = index + length - 1
        lead = words.before(index)
        if length and lead != "most":  # "most recently" is a superlative
            meaning = time_words.PHRASES[" ".join(words.lowered[index : last + 1])]
            first = index - 1 if lead in ("earlier", "later") else index
            yield words.mention(first, last, [_phrase_bounds(meaning, lead, now)])
        index += max(length, 1)


def _phrase_bounds(meaning: tuple[str, int], lead: str, now: datetime) -> tuple[datetime, datetime]:
    unit, offset = meaning
    today = day_bounds(now)
    if unit == "days":  # a number of days up to today
        return today[0] - offset * DAY, today[1]
    if unit == "the weekend":
        return period_bounds("weekend", now, 0 if now.weekday() >= 5 else -1)
    start, end = period_bounds(unit, now, offset)  # type: ignore[arg-type]
    if lead == "earlier":
        return start, today[1]
    return (today[0], end) if lead == "later" else (start, end)


def _weekdays(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield weekdays: "Monday" before today, "coming Monday" after today, "next Monday" in the next calendar week."""
    for index in words.indexes(WEEKDAY_NUMBERS):
        weekday, spelling = WEEKDAY_NUMBERS[words.at(index)], words.original(index)
        first, relative, last = relative_around(words, index, index)
        lead = words.before(index)
        is_full_name = len(spelling) > 4  # abbreviations such as "sat" and "sun" are also other words
        has_lead = (bool(relative) or lead in time_words.WEEKDAY_LEADS) and is_full_name
        is_name = bool(relative) or spelling[0].isupper()
        ends_clause = words.ends_clause(last) and is_name and lead not in _RECURRENCE_LEADS
        certain = ends_clause or has_lead
        if not certain and not _in_weekday_range(words, index):
            continue  # "the Monday meeting", "the sun sets"
        if not relative and words.at(index + 1) in _RECURRING_PARTS:
            continue  # "on Saturday mornings"
        week = RELATIVE.get(relative, -1)
        today = day_bounds(now)[0]
        if week < 0:  # 1 to 7 days before today
            start = today - ((today.weekday() - weekday - 1) % 7 + 1) * DAY
        elif "coming" in relative:  # 1 to 7 days after today
            start = today + ((weekday - today.weekday() - 1) % 7 + 1) * DAY
        else:
            start = period_bounds("week", now, week)[0] + weekday * DAY
        yield words.mention(first, last, [day_bounds(start)], certain=certain, weekday=None if relative else weekday)


def _in_weekday_range(words: TokenizedText, index: int) -> bool:
    """Return whether the weekday at an index is part of a range such as "Monday to Wednesday" or "Mon-Wed"."""
    for first, last in ((index, index + 1), (index, index + 2), (index - 1, index), (index - 2, index)):
        if first >= 0 and words.at(first) in WEEKDAY_NUMBERS and words.at(last) in WEEKDAY_NUMBERS:
            between = words.text[words.spans[first][1] : words.spans[last][0]].strip().lower()
            if between in RANGE_SEPARATORS:
                return True
    return False


def _seasons(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield seasons; "winter 2025" may begin in December 2024 or in December 2025."""
    for index in words.indexes(time_words.SEASON_FIRST_MONTHS):
        first_month = time_words.SEASON_FIRST_MONTHS[words.at(index)]
        bounds_in_year = partial(month_bounds, month=first_month, count=3)
        first, relative, last = relative_around(words, index, index)
        year_index = year_after(words, index)
        if year_index:
            year = int(words.at(year_index))
            is_ambiguous = first_month == 12 and not _SECOND_YEAR.match(words.text, words.spans[year_index][1])
            start_years = (year - 1, year) if is_ambiguous else (year,)
            bounds = [bounds_in_year(start_year) for start_year in start_years]
        elif relative:
            bounds = [yearly_period(now, bounds_in_year, RELATIVE[relative])]
        else:
            # An article before the season is skipped: in "since the summer" the lead is "since".
            lead = words.before(index - 1) if words.before(index) in ("the", "l") else words.before(index)
            is_other_word = _NOT_A_SEASON.match(words.text, words.spans[index][1])
            if time_words.SEASON_LEADS.isdisjoint((lead, words.before(index))) or is_other_word:
                continue  # "fall off a bike", "in Spring Boot"
            bounds = [yearly_period(now, bounds_in_year, None)]
        yield words.mention(first, year_index or last, bounds)


def _months(words: TokenizedText, now: datetime) -> Iterator[TimeMention]:
    """Yield months without a year. "March" is the latest that has started, "last March" the latest that is over."""
    for index in words.indexes(MONTH_NUMBERS):
        month, spelling = MONTH_NUMBERS[words.at(index)], words.original(index)
        first, relative, _ = relative_around(words, index, index)
        start, end = words.spans[index]
        looks_like_word = spelling in _MONTHS_LIKE_WORDS
        if relative and not (relative == "this" and looks_like_word):  # not "this may take a while"
            bounds_in_year = partial(month_bounds, month=month)
            yield words.mention(first, index, [yearly_period(now, bounds_in_year, RELATIVE[relative])])
            continue
        lead = words.before(index)
        is_verb = looks_like_word and lead in ("before", "after", "by", "begin")
        is_other_word = is_verb or _POSSESSIVE.match(words.text, end)  # "April's" is the possessive of a first name
        has_lead = not time_words.MONTH_LEADS.isdisjoint((lead, words.pair_before(index)))
        is_month = has_lead or words.text[:start].lower().endswith("mid-")
        certain = words.at(index) in time_words.CERTAIN_MONTHS or (is_month and not is_other_word)
        if certain or spelling[0].isupper() or lead in ("between", "and", "from", "to"):
            # An uncertain month counts only as an end of a range: "between May and June", not "May went home".
            yield TimeMention(start, end, latest_days(now, month), (month, 0), certain=certain)


def _years(words: TokenizedText, _: datetime) -> Iterator[TimeMention]:
    """Yield years from 1900 to 2099; they are certain only after a preposition, because the number may be an amount."""
    for index in range(len(words.lowered)):
        start, end = words.spans[index]
        surroundings = words.text[max(0, start - 1) : end + 2]
        if time_calendar.is_year(words, index) and not _PART_OF_OTHER_NUMBER.search(surroundings):
            lead = words.before(index)
            has_lead = not time_words.YEAR_LEADS.isdisjoint((lead, words.pair_before(index)))
            certain = has_lead or (lead in ("of", "for") and words.ends_clause(index))
            yield TimeMention(start, end, [month_bounds(int(words.at(index)), 1, 12)], certain=certain)


_RULES: tuple[Callable[[TokenizedText, datetime], Iterable[TimeMention]], ...] = (
    time_calendar.short_dates,
    _weeks_of_months,
    _named_dates,
    time_calendar.quarters,
    time_calendar.calendar_weeks,
    time_calendar.holidays,
    _counted_units,
    time_calendar.current_periods,
    _phrases,
    _weekdays,
    _seasons,
    _months,
    _years,
)
"""The rules in the order of their precedence: if two expressions overlap, that of the earlier rule is used."""
