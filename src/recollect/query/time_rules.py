"""Rules that recognise time expressions and resolve them to calendar intervals.

Patterns recognise dates in digits. All other rules start from a word of the tables in ``time_words`` (a month, a
weekday, a season, a unit or a phrase) and read the words before and after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime, timedelta

from recollect.query.time_calendar import (
    calendar_weeks,
    current_periods,
    days_of_month,
    holidays,
    is_year,
    latest_days,
    longest_phrase,
    numeric_dates,
    quarters,
    relative_before,
    short_dates,
    year_after,
)
from recollect.query.time_intervals import (
    DAY,
    Mention,
    TokenizedText,
    Unit,
    day,
    last_weekday,
    month,
    period,
    shifted,
    yearly,
)
from recollect.query.time_words import (
    AGO,
    AGO_BEFORE,
    ARTICLES,
    CERTAIN_MONTHS,
    FORTNIGHTS,
    FRENCH,
    FUTURE_LEADS,
    HALF_OF,
    HALVES,
    HIER,
    LONGEST_PHRASE,
    MONTH_LEADS,
    MONTH_NUMBERS,
    NOT_FRENCH,
    NUMBERS,
    ORDINALS,
    PAST,
    PAST_AFTER,
    PHRASE_STARTS,
    PHRASES,
    RELATIVE,
    SEASON_LEADS,
    SEASON_STARTS,
    UNITS,
    WEEKDAY_LEADS,
    WEEKDAY_NUMBERS,
    WEEKS_OF_MONTH,
    YEAR_LEADS,
)


def find_mentions(words: TokenizedText, now: datetime) -> list[Mention]:
    """Return the times that a text names, in the order of the text; of overlapping ones, that of the earlier rule."""
    accepted = numeric_dates(words)
    for rule in _RULES:
        for mention in rule(words, now):
            if all(mention.end <= other.start or other.end <= mention.start for other in accepted):
                accepted.append(mention)
    return sorted(accepted, key=lambda mention: mention.start)


def date_mentions(words: TokenizedText, now: datetime) -> list[Mention]:
    """Return only the days, and the months with a year, that a text names."""
    return sorted(numeric_dates(words) + _named_dates(words, now), key=lambda mention: mention.start)


# Days of months, and months with a year


def _named_dates(words: TokenizedText, now: datetime) -> list[Mention]:
    dates = (
        _day_before(words, index, now) or _day_after(words, index, now) or _with_year(words, index)
        for index in _indexes(words, MONTH_NUMBERS)
    )
    return [date for date in dates if date]


def _indexes(words: TokenizedText, table: Container[str]) -> list[int]:
    return [index for index, word in enumerate(words.lower) if word in table]


def _is_day(words: TokenizedText, index: int) -> bool:
    word = words.at(index)
    return 0 < len(word) <= 2 and word.isdecimal() and 1 <= int(word) <= 31


def _day_before(words: TokenizedText, index: int, now: datetime) -> Mention | None:
    """Read "9 October", "the 9th of October 2026"."""
    day_index = index - 1
    if words.at(day_index) in ("of", "de"):
        day_index -= 1
    ordinal = words.at(day_index) in ORDINALS and day_index > 0 and not words.gap(day_index - 1)
    day_index -= ordinal
    if not _is_day(words, day_index) or not _DAY_GAP.fullmatch(words.gap(index - 1)):
        return None
    start = words.spans[day_index][0]
    if words.text[max(0, start - 1) : start] in _PART_OF_NUMBER:
        return None
    stated = ordinal or day_index != index - 1 or words.before(day_index) in _DAY_LEADS
    return _dated(words, (day_index, index), index, int(words.at(day_index)), 0, now, stated=stated)


_DAY_GAP = re.compile(r"\.?\s+")
_PART_OF_NUMBER = frozenset(".,:/$€£-#")
_DAY_LEADS = frozenset("on the of by since until till before after from am le el op".split())


def _day_after(words: TokenizedText, index: int, now: datetime) -> Mention | None:
    """Read "October 9", "Oct 9th, 2026", "October 9-12"."""
    day_index = index + 2 if words.at(index + 1) == "the" else index + 1
    if not _is_day(words, day_index) or not _DAY_GAP.fullmatch(words.gap(index)):
        return None
    ordinal = words.at(day_index + 1) in ORDINALS and not words.gap(day_index)
    last, until = day_index + ordinal, 0
    if words.gap(last).strip() in ("-", "–") and _is_day(words, last + 1):
        last, until = last + 1, int(words.at(last + 1))
    is_amount = _NUMBER_CONTINUES.match(words.gap(last)) or words.at(last + 1) in _COUNTED_NOUNS
    if is_amount and not year_after(words, last):
        return None  # a time, a price, "May 4 people"
    stated = ordinal or words.before(index) in _DAY_LEADS
    return _dated(words, (index, last), index, int(words.at(day_index)), until, now, stated=stated)


_NUMBER_CONTINUES = re.compile(r"[:%€$/]|[.,](?=\S)")
_COUNTED_NOUNS = frozenset(
    (*UNITS, "people", "persons", "times", "am", "pm", "hours", "minutes", "miles", "km", "percent")
)


def _dated(
    words: TokenizedText,
    span_indexes: tuple[int, int],
    index: int,
    first: int,
    until: int,
    now: datetime,
    *,
    stated: bool,
) -> Mention | None:
    """Return the day of a month, in the year after it or in the latest that fits."""
    number = MONTH_NUMBERS[words.at(index)]
    start, last = span_indexes
    year = year_after(words, last)
    if year:
        bounds = days_of_month(int(words.at(year)), number, first, until)
    elif words.written(index) in _VERBS and not stated:
        return None  # "4 may be enough", "march 5 miles"
    else:
        bounds = latest_days(now, number, first, until)
    yearless = None if year else (number, first)
    return words.mention(start, year or last, bounds, yearless=yearless) if bounds else None


_VERBS = frozenset(("may", "mar", "march"))


def _with_year(words: TokenizedText, index: int) -> Mention | None:
    """Read "March 2025"; Mars 2020 is a rover, French months are written small."""
    year = year_after(words, index)
    if not year or words.written(index) == "Mars":
        return None
    bounds = days_of_month(int(words.at(year)), MONTH_NUMBERS[words.at(index)])
    return words.mention(index, year, bounds)


# Numbers of units, phrases


def _counted(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield "two weeks ago", "the past two weeks", "in the past month"."""
    yield from filter(None, (_distance(words, index, now) for index in _indexes(words, UNITS)))


def _distance(words: TokenizedText, index: int, now: datetime) -> Mention | None:
    first, unit, number = count_before(words, index)
    lead = words.before(first)
    following = words.at(index + 1) if words.spaced(index) else ""
    if number is None:
        within, _, article = words.two_before(index - 1).partition(" ")
        rolling = lead == "past" or (lead in PAST and article == "the" and within in _WITHIN)
        if not rolling or unit == "weekend":
            return None
        length = 2 if words.at(index) in FORTNIGHTS else 1
        return words.mention(index - 1, index, [_up_to_now(now, unit, length)])
    if following in AGO:
        return words.mention(first, index + 1, [offset_interval(now, unit, number, -1)])
    if lead in AGO_BEFORE or (lead == "a" and words.two_before(first - 1) == "il y"):
        before = first - (1 if lead in AGO_BEFORE else 3)
        return words.mention(before, index, [offset_interval(now, unit, number, -1)])
    if following == "from" and words.at(index + 2) in ("now", "today"):
        return words.mention(first, index + 2, [offset_interval(now, unit, number, 1)])
    if words.at(index) in FUTURE_LEADS.get(lead, ()) and _is_future(words, first, index):
        return words.mention(first - 1, index, [offset_interval(now, unit, number, 1)])
    return words.mention(first - 1, index, [_up_to_now(now, unit, number[1])]) if lead in PAST else None


def _is_future(words: TokenizedText, first: int, index: int) -> bool:
    """Return whether "in two weeks" is a time, and not a duration or a frequency."""
    clear = words.at(first) not in ARTICLES and words.ends_clause(index)
    return clear and _DURATION_WORDS.isdisjoint(words.lower[:first])


_DURATION_WORDS = frozenset(
    "many much often times long did was were have has had oft lange combien fois cuántos".split()
)


_WITHIN = frozenset(("in", "over", "during", "within", "for", "throughout"))


def count_before(words: TokenizedText, index: int) -> tuple[int, Unit, tuple[int, int] | None]:
    """Return the index of the number before a unit, the unit, and the number's smallest and largest value.

    Half a year is 6 months, a fortnight 2 weeks.
    """
    unit = UNITS[words.at(index)]
    for first, text in ((index - 2, words.two_before(index)), (index - 1, words.before(index))):
        if text in HALVES:
            return (first, *HALF_OF.get(unit, (unit, None)))
    first, number = number_before(words, index)
    if number and words.at(index) in FORTNIGHTS:
        number = 2 * number[0], 2 * number[1]
    return first, unit, number


def number_before(words: TokenizedText, index: int) -> tuple[int, tuple[int, int] | None]:
    """Return the index of the number before a word, and its smallest and largest value."""
    for length in (3, 2, 1):
        first = index - length
        if first >= 0 and all(words.spaced(position) for position in range(first, index)):
            text = " ".join(words.lower[first:index])
            numbers = number_range(text)
            if numbers and not (text.isdigit() and words.text[max(0, words.spans[first][0] - 1)] in ".,"):
                return first, numbers
    return index, None


def number_range(text: str) -> tuple[int, int] | None:
    """Return the smallest and the largest number that digits or words may mean."""
    if text.isdecimal():
        return (int(text), int(text)) if len(text) <= 4 else None
    return NUMBERS.get(text)


def offset_interval(moment: datetime, unit: Unit, number: tuple[int, int], direction: int) -> tuple[datetime, datetime]:
    """Return the day so many units before or after a moment, with a tolerance that grows with the distance."""
    smallest, largest = number
    tolerance = tolerance_of(unit, largest)
    first, last = sorted(shifted(moment, unit, direction * count) for count in (smallest, largest))
    return first - tolerance, last + DAY + tolerance


def tolerance_of(unit: Unit, count: int) -> timedelta:
    """Return the tolerance of "two weeks ago" and the like, on either side.

    >>> tolerance_of("day", 2).days, tolerance_of("week", 2).days, tolerance_of("month", 3).days
    (0, 4, 16)
    """
    if unit == "day":
        return (0 if count <= 2 else max(1, round(0.15 * count))) * DAY
    first, more, limit = {"month": (10, 3, 30), "quarter": (30, 10, 60), "year": (60, 30, 183)}.get(unit, (3, 1, 10))
    return min(limit, first + more * (count - 1)) * DAY


def _up_to_now(now: datetime, unit: Unit, count: int) -> tuple[datetime, datetime]:
    return shifted(now, unit, -count), day(now)[1]


def _weeks_of_months(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield "the second week of March"."""
    for index in _indexes(words, ("week",)):
        name, which = index + 2, WEEKS_OF_MONTH.get(words.before(index))
        number = MONTH_NUMBERS.get(words.at(name)) if words.at(index + 1) in ("of", "in") else None
        if which is not None and number is not None:
            year = year_after(words, name)
            start, end = (days_of_month(int(words.at(year)), number) if year else latest_days(now, number))[0]
            week = (end - 7 * DAY, end) if which < 0 else (start + 7 * which * DAY, start + 7 * (which + 1) * DAY)
            yield words.mention(index - 1, year or name, [week])


def _phrases(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield "yesterday", "last week", "la semana pasada", "recently" and similar phrases."""
    if not FRENCH.isdisjoint(words.lower) and NOT_FRENCH.isdisjoint(words.lower):
        for index in _indexes(words, HIER):
            yield Mention(*words.spans[index], [period("day", now, -1)])
    index = 0
    while index < len(words.lower):
        is_start = words.lower[index] in PHRASE_STARTS
        length = longest_phrase(words, index, PHRASES, LONGEST_PHRASE) if is_start else 0
        last = index + length - 1
        if length and words.before(index) != "most":  # "most recently" is a superlative
            meaning = PHRASES[" ".join(words.lower[index : last + 1])]
            part = words.before(index)
            first = index - 1 if part in _PARTS else index
            yield words.mention(first, last, [_phrase_bounds(meaning, part, now)])
        index += max(length, 1)


_PARTS = frozenset(("earlier", "later"))


def _phrase_bounds(meaning: tuple[str, int], part: str, now: datetime) -> tuple[datetime, datetime]:
    unit, offset = meaning
    today = day(now)
    if unit == "days":  # so many days up to today
        return today[0] - offset * DAY, today[1]
    if unit == "the weekend":
        return period("weekend", now, 0 if now.weekday() >= 5 else -1)
    start, end = period(unit, now, offset)  # type: ignore[arg-type]
    if part == "earlier":
        return start, today[1]
    return (today[0], end) if part == "later" else (start, end)


# Weekdays, seasons, months and years


def _weekdays(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield weekdays: the last one before today, or after "this" and "next" that of this or the next week."""
    for index in _indexes(words, WEEKDAY_NUMBERS):
        weekday, name = WEEKDAY_NUMBERS[words.at(index)], words.written(index)
        first, relative = relative_before(words, index)
        last = index + (words.at(index + 1) in PAST_AFTER)
        is_led = (bool(relative) or words.before(index) in WEEKDAY_LEADS) and len(name) > 4
        is_last = words.ends_clause(last) and (relative or name[0].isupper()) and words.before(index) not in _RECURRING
        certain = bool(is_last) or is_led
        if not certain and not _in_weekday_range(words, index):
            continue  # "the Monday meeting", "the sun sets"
        if not relative and words.at(index + 1) in _PLURAL:
            continue  # "on Saturday mornings"
        if RELATIVE.get(relative, -1) < 0:
            bounds = day(last_weekday(now, weekday))
        elif "coming" in relative:
            bounds = day(last_weekday(now, weekday) + (14 if now.weekday() == weekday else 7) * DAY)
        else:
            bounds = day(period("week", now, RELATIVE[relative])[0] + weekday * DAY)
        yield words.mention(first, last, [bounds], certain=certain, weekday=None if relative else weekday)


def _in_weekday_range(words: TokenizedText, index: int) -> bool:
    """Return whether a weekday is part of a range such as "Monday to Wednesday" or "Mon-Wed"."""
    for first, last in ((index, index + 1), (index, index + 2), (index - 1, index), (index - 2, index)):
        if first >= 0 and words.at(first) in WEEKDAY_NUMBERS and words.at(last) in WEEKDAY_NUMBERS:
            between = words.text[words.spans[first][1] : words.spans[last][0]].strip().lower()
            if between in RANGE_MARKS:
                return True
    return False


RANGE_MARKS = frozenset(("-", "–", "—", "to", "until", "till", "through", "thru", "bis", "tot", "à", "a"))
"""The separators of a range of weekdays."""

_RECURRING = frozenset(("a", "an", "any", "each", "every", "per"))
_PLURAL = frozenset(("mornings", "afternoons", "evenings", "nights"))


def _seasons(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield seasons; "winter 2025" has two interpretations, one at each end of the year."""
    for index in _indexes(words, SEASON_STARTS):
        start = SEASON_STARTS[words.at(index)]
        first, relative = relative_before(words, index)
        year = year_after(words, index)
        last = year or index + (words.at(index + 1) in PAST_AFTER)
        if year:
            is_ambiguous = start == 12 and not _SECOND_YEAR.match(words.text, words.spans[year][1])
            number = int(words.at(year))
            bounds = [month(number, start, 3) for number in ((number - 1, number) if is_ambiguous else (number,))]
        elif relative:
            bounds = [yearly(now, lambda number, start=start: month(number, start, 3), RELATIVE[relative])]  # type: ignore[misc]
        else:
            lead = words.before(index - 1) if words.before(index) in ("the", "l") else words.before(index)
            follows = words.text[words.spans[index][1] :]
            if (lead not in SEASON_LEADS and words.before(index) not in SEASON_LEADS) or _NOT_A_SEASON.match(follows):
                continue  # "fall off a bike", "in Spring Boot"
            this = month(now.year, start, 3)
            bounds = [this if this[0] <= now else month(now.year - 1, start, 3)]
        yield words.mention(first, last, bounds)


_SECOND_YEAR = re.compile(r"\s*[/-]\s*(?:20)?\d\d\b")
_NOT_A_SEASON = re.compile(r"\s+(?:of|off|from|into|on|boot|rolls?|onions?|[A-Z]\w+)\b|-")


def _months(words: TokenizedText, now: datetime) -> Iterator[Mention]:
    """Yield months without a year: the one that "last" or "next" means, else the latest that has begun."""
    for index in _indexes(words, MONTH_NUMBERS):
        number, name = MONTH_NUMBERS[words.at(index)], words.written(index)
        first, relative = relative_before(words, index)
        start, end = words.spans[index]
        if relative and not (relative == "this" and name in _VERBS):  # "this may take a while"
            bounds = [yearly(now, lambda year, number=number: month(year, number), RELATIVE[relative])]  # type: ignore[misc]
            yield words.mention(first, index, bounds)
            continue
        lead = words.before(index)
        is_name = _POSSESSIVE.match(words.text, end) or (name in _VERBS and lead in ("before", "after", "by", "begin"))
        stated = (
            lead in MONTH_LEADS or words.two_before(index) in MONTH_LEADS or words.text[:start].lower().endswith("mid-")
        )
        certain = words.at(index) in CERTAIN_MONTHS or (stated and not is_name)
        if certain or name[0].isupper() or lead in ("between", "and", "from", "to"):
            # "May and June went home" is not a time; "between May and June" is.
            yield Mention(start, end, latest_days(now, number), (number, 0), certain=certain)


_POSSESSIVE = re.compile(r"['’]s\b")


def _years(words: TokenizedText, _: datetime) -> Iterator[Mention]:
    for index in range(len(words.lower)):
        if is_year(words, index):
            start, end = words.spans[index]
            around = words.text[max(0, start - 1) : start], words.text[end : end + 1]
            if around[0] in _PART_OF_YEAR or around[1] in _PART_OF_YEAR or _DECIMAL.match(words.text, end):
                continue
            lead, leads = words.before(index), words.two_before(index)
            certain = lead in YEAR_LEADS or leads in YEAR_LEADS or (lead in ("of", "for") and words.ends_clause(index))
            yield Mention(start, end, [month(int(words.at(index)), 1, 12)], certain=certain)


_PART_OF_YEAR = frozenset("/:#$€£%_")
_DECIMAL = re.compile(r"[.,]\d")


_RULES: tuple[Callable[[TokenizedText, datetime], Iterable[Mention]], ...] = (
    short_dates,
    _weeks_of_months,
    _named_dates,
    quarters,
    calendar_weeks,
    holidays,
    _counted,
    current_periods,
    _phrases,
    _weekdays,
    _seasons,
    _months,
    _years,
)
"""In the order of their precedence."""
