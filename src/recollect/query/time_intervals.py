"""Time intervals in UTC, calendar arithmetic, and the words of a text in which times are searched."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from recollect.query.dates import MONTHS, utc_day

DAY = timedelta(days=1)
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

Bounds: TypeAlias = tuple[datetime | None, datetime | None]
"""Start (inclusive) and end (exclusive) of an interval; ``None`` at a side without a bound."""

Unit: TypeAlias = Literal["day", "week", "weekend", "month", "quarter", "year"]

_WORD_OR_NUMBER = re.compile(r"\d+|[^\W\d_]+")
_CLAUSE_ENDS = frozenset("?.!,;:)")


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """The time from ``start`` (inclusive) to ``end`` (exclusive) in UTC; ``None`` at a side without a bound.

    >>> TimeInterval(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)).label
    'March 2026'
    """

    start: datetime | None
    end: datetime | None
    text: str = ""
    """The time expression, such as "last March"."""
    span: tuple[int, int] = (0, 0)
    """The start and end offset of the expression in the text that contains it."""

    def contains(self, moment: datetime) -> bool:
        """Return whether a moment lies within the interval."""
        return (self.start or _EARLIEST) <= moment < (self.end or _LATEST)

    def overlaps(self, other: TimeInterval) -> bool:
        """Return whether the intervals have a moment in common."""
        return (self.start or _EARLIEST) < (other.end or _LATEST) and (other.start or _EARLIEST) < (self.end or _LATEST)

    def covers(self, other: TimeInterval) -> bool:
        """Return whether the other interval lies completely within this one."""
        ends_within = (other.end or _LATEST) <= (self.end or _LATEST)
        return ends_within and (self.start or _EARLIEST) <= (other.start or _EARLIEST)

    def to_dict(self) -> dict[str, str | None]:
        """Return the interval as JSON-ready data: text, label, start and end."""
        start, end = (None if bound is None else bound.isoformat() for bound in (self.start, self.end))
        return {"text": self.text, "label": self.label, "start": start, "end": end}

    @property
    def label(self) -> str:
        """The interval in words: 2026, March 2026, 2026-03-09, 2026-03-09 to 2026-03-12, the time since 2026-03-09."""
        start, end = self.start, self.end
        if end is None:
            return f"the time since {(start or _EARLIEST).date()}"
        if start is None:
            return f"the time before {end.date()}"
        if end - start == DAY and start == day_bounds(start)[0]:
            return str(start.date())
        if start.day == end.day == 1 and start.hour == end.hour == 0:
            months = 12 * (end.year - start.year) + end.month - start.month
            if months == 1:
                return f"{MONTHS[start.month - 1]} {start.year}"
            if months == 12 and start.month == 1:
                return str(start.year)
        return f"{start.date()} to {(end - timedelta(microseconds=1)).date()}"


def day_bounds(moment: datetime) -> tuple[datetime, datetime]:
    """Return the bounds of the day that contains a moment."""
    start = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return start, start + DAY


def month_bounds(year: int, month: int, count: int = 1) -> tuple[datetime, datetime]:
    """Return the bounds of ``count`` months, of which ``month`` is the first; a month outside 1 to 12 rolls over."""
    return utc_day(year, month, 1), utc_day(year, month + count, 1)


def period_bounds(unit: Unit, moment: datetime, offset: int = 0) -> tuple[datetime, datetime]:
    """Return the bounds of the calendar period that contains a moment, or of the period ``offset`` periods later.

    Weeks begin on Monday, as in ISO 8601; the weekend is Saturday and Sunday of the moment's week.
    """
    today = day_bounds(moment)[0]
    if unit == "day":
        return today + offset * DAY, today + (offset + 1) * DAY
    if unit in ("week", "weekend"):
        monday = today + (7 * offset - today.weekday()) * DAY
        return (monday if unit == "week" else monday + 5 * DAY), monday + 7 * DAY
    if unit == "month":
        return month_bounds(today.year, today.month + offset)
    if unit == "quarter":
        first_month = (today.month - 1) // 3 * 3 + 1
        return month_bounds(today.year, first_month + 3 * offset, 3)
    return month_bounds(today.year + offset, 1, 12)


def shift_date(moment: datetime, unit: Unit, count: int) -> datetime:
    """Return midnight of the day ``count`` units after a moment; 31 March plus a month is the last day of April."""
    today = day_bounds(moment)[0]
    if unit in ("day", "week", "weekend"):
        return today + count * (1 if unit == "day" else 7) * DAY
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    start, end = month_bounds(today.year, today.month + months)
    return min(start + (today.day - 1) * DAY, end - DAY)


def yearly_period(
    now: datetime, bounds_in_year: Callable[[int], tuple[datetime, datetime]], offset: int | None
) -> tuple[datetime, datetime]:
    """Return the bounds of one occurrence of a period that recurs every year, such as summer.

    ``offset`` selects the occurrence: -1 is the latest that is over, 0 is that of this year, 1 is the next that will
    start, and ``None`` is the latest that has started.
    """
    if offset is None:  # begin with the next year, whose New Year starts on 31 December of this year
        return next(bounds for years in (1, 0, -1) if (bounds := bounds_in_year(now.year + years))[0] <= now)
    occurrences = [bounds_in_year(now.year + years) for years in range(-2, 3)]
    if offset < 0:
        return max((start, end) for start, end in occurrences if end <= now)
    return occurrences[2] if offset == 0 else min((start, end) for start, end in occurrences if start > now)


@dataclass(slots=True)
class TimeMention:
    """A time expression at the offsets ``start`` to ``end`` of a text, and the bounds of each interval it may mean."""

    start: int
    end: int
    bounds: list[tuple[datetime, datetime]]
    yearless: tuple[int, int] | None = None
    """If the expression is a month or day without a year: the month, and the first day (0 for the whole month)."""
    certain: bool = True  # whether the expression is certainly a time; if not, it counts only as one end of a range
    weekday: int | None = None  # the weekday, from 0 for Monday, if the expression is only a weekday
    ranged: bool = False  # whether the expression is a range with two ends, such as "May to July"


class TokenizedText:
    """A text and its words, which are its runs of letters and its runs of digits.

    ``lowered`` has the words in lower case, and ``spans`` has the start and end offset of each word.
    """

    __slots__ = ("lowered", "spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        matches = list(_WORD_OR_NUMBER.finditer(text))
        self.lowered = [match[0].lower() for match in matches]
        self.spans = [match.span() for match in matches]

    def at(self, index: int) -> str:
        """Return the word at an index, in lower case; empty if there is no such index."""
        return self.lowered[index] if 0 <= index < len(self.lowered) else ""

    def indexes(self, table: Container[str]) -> list[int]:
        """Return the indexes of the words that are in a table."""
        return [index for index, word in enumerate(self.lowered) if word in table]

    def phrase_length(self, index: int, phrases: Container[str], max_words: int) -> int:
        """Return the number of words of the longest phrase that begins at an index; 0 if no phrase begins there.

        Only a space, a hyphen or an apostrophe may separate the words of a phrase.
        """
        lengths = range(min(max_words, len(self.lowered) - index), 0, -1)
        length = next((length for length in lengths if " ".join(self.lowered[index : index + length]) in phrases), 0)
        gaps = (self.gap_after(position) for position in range(index, index + length - 1))
        return length if all(gap in (" ", "-", "'", "’") for gap in gaps) else 0

    def original(self, index: int) -> str:
        """Return the word at an index in its original case."""
        start, end = self.spans[index]
        return self.text[start:end]

    def mention(self, first: int, last: int, bounds: list[tuple[datetime, datetime]], **details: Any) -> TimeMention:
        """Return a mention of the words from index ``first`` to ``last`` (inclusive); ``details`` are other fields."""
        return TimeMention(self.spans[first][0], self.spans[last][1], bounds, **details)

    def gap_after(self, index: int) -> str:
        """Return the text between the word at an index and the next word, or the end of the text."""
        end = self.spans[index][1]
        return self.text[end : self.spans[index + 1][0]] if index + 1 < len(self.spans) else self.text[end:]

    def space_follows(self, index: int) -> bool:
        """Return whether there is only white space between the word at an index and the next word."""
        return 0 <= index < len(self.spans) - 1 and self.gap_after(index).isspace()

    def before(self, index: int) -> str:
        """Return the word before the word at an index; empty if more than white space is between them."""
        return self.lowered[index - 1] if index and self.space_follows(index - 1) else ""

    def pair_before(self, index: int) -> str:
        """Return the two words before the word at an index, joined by a space; empty if there are not two."""
        first = self.before(index - 1) if index else ""
        return f"{first} {self.before(index)}" if first else ""

    def ends_clause(self, index: int) -> bool:
        """Return whether the word at an index is the last of its sentence or clause."""
        gap = self.gap_after(index).lstrip()
        return gap[:1] in _CLAUSE_ENDS if gap else index == len(self.spans) - 1
