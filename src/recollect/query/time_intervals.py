"""Intervals of time in UTC, calendar arithmetic, and the tokens of a text that names times."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from recollect.query.dates import MONTHS, rollover_date

DAY = timedelta(days=1)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

Bounds: TypeAlias = tuple[datetime | None, datetime | None]
"""Start and end of an interval; ``None`` where it is open."""

Unit: TypeAlias = Literal["day", "week", "weekend", "month", "quarter", "year"]


_WORD_OR_NUMBER = re.compile(r"\d+|[^\W\d_]+")
_CLAUSE_ENDS = frozenset("?.!,;:)")


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """The time from ``start``, inclusive, to ``end``, exclusive, in UTC; ``None`` if it is open.

    >>> TimeInterval(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)).label
    'March 2026'
    """

    start: datetime | None
    end: datetime | None
    text: str = ""
    """The time expression."""
    span: tuple[int, int] = (0, 0)
    """The offsets of the expression in its text."""

    def contains(self, moment: datetime) -> bool:
        """Return whether a moment lies within the interval."""
        return (self.start or _FIRST) <= moment < (self.end or _LAST)

    def overlaps(self, other: TimeInterval) -> bool:
        """Return whether the intervals have a moment in common."""
        return (self.start or _FIRST) < (other.end or _LAST) and (other.start or _FIRST) < (self.end or _LAST)

    def covers(self, other: TimeInterval) -> bool:
        """Return whether all of another interval lies within this one."""
        return (self.start or _FIRST) <= (other.start or _FIRST) and (other.end or _LAST) <= (self.end or _LAST)

    def to_dict(self) -> dict[str, str | None]:
        """Return the interval as JSON-ready data: expression, label and bounds."""
        start, end = (None if bound is None else bound.isoformat() for bound in (self.start, self.end))
        return {"text": self.text, "label": self.label, "start": start, "end": end}

    @property
    def label(self) -> str:
        """The interval as text: a year, a month, a day, or the first and the last day."""
        start, end = self.start, self.end
        if end is None:
            return f"the time since {(start or _FIRST).date()}"
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
    """Return the bounds of the day of a moment."""
    start = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return start, start + DAY


def month_bounds(year: int, number: int, count: int = 1) -> tuple[datetime, datetime]:
    """Return the bounds of ``count`` months from a month on; numbers outside 1 to 12 roll over."""
    return rollover_date(year, number, 1), rollover_date(year, number + count, 1)


def period_bounds(unit: Unit, moment: datetime, offset: int = 0) -> tuple[datetime, datetime]:
    """Return the bounds of the calendar period of a moment, or of the period ``offset`` periods later.

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
        return month_bounds(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * offset, 3)
    return month_bounds(today.year + offset, 1, 12)


def shift_date(moment: datetime, unit: Unit, count: int) -> datetime:
    """Return midnight of the day ``count`` units later; a day that the month does not have becomes its last day."""
    today = day_bounds(moment)[0]
    if unit in ("day", "week", "weekend"):
        return today + count * (1 if unit == "day" else 7) * DAY
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    start, end = month_bounds(today.year, today.month + months)
    return min(start + (today.day - 1) * DAY, end - DAY)


def yearly_period(
    now: datetime, in_year: Callable[[int], tuple[datetime, datetime]], offset: int | None
) -> tuple[datetime, datetime]:
    """Return a yearly period: the last that is over (-1), this year's (0), the next (1), the last started (None)."""
    if offset is None:
        return next(bounds for years in (1, 0, -1) if (bounds := in_year(now.year + years))[0] <= now)
    years = [in_year(now.year + distance) for distance in range(-2, 3)]
    if offset < 0:
        return max(bounds for bounds in years if bounds[1] <= now)
    return years[2] if offset == 0 else min(bounds for bounds in years if bounds[0] > now)


@dataclass(slots=True)
class Mention:
    """A time expression in a text, and the intervals that it may mean."""

    start: int
    end: int
    bounds: list[tuple[datetime, datetime]]
    yearless: tuple[int, int] | None = None
    """Month and first day (0: the whole month), if it has no year."""
    certain: bool = True
    """Whether it is certainly a time; if not, it counts only as one end of a range."""
    weekday: int | None = None
    """The number of the weekday, if the mention is only a weekday; Monday is 0."""
    ranged: bool = False
    """Whether it is a range of two times."""


class TokenizedText:
    """The runs of letters and of digits in a text, in lower case, and their offsets."""

    __slots__ = ("lower", "spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        matches = list(_WORD_OR_NUMBER.finditer(text))
        self.lower = [match[0].lower() for match in matches]
        self.spans = [match.span() for match in matches]

    def at(self, index: int) -> str:
        """Return a word in lower case; empty if there is no such index."""
        return self.lower[index] if 0 <= index < len(self.lower) else ""

    def indexes(self, table: Container[str]) -> list[int]:
        """Return the indexes of the words that are in a table."""
        return [index for index, word in enumerate(self.lower) if word in table]

    def phrase_length(self, index: int, phrases: Container[str], max_words: int) -> int:
        """Return the number of words of the longest phrase that begins at an index; 0 if there is none."""
        longest = min(max_words, len(self.lower) - index)
        length = next((n for n in range(longest, 0, -1) if " ".join(self.lower[index : index + n]) in phrases), 0)
        gaps = (self.gap(position) for position in range(index, index + length - 1))
        return length if all(gap in (" ", "-", "'", "’") for gap in gaps) else 0

    def written(self, index: int) -> str:
        """Return a word in its original case."""
        start, end = self.spans[index]
        return self.text[start:end]

    def mention(self, first: int, last: int, bounds: list[tuple[datetime, datetime]], **details: Any) -> Mention:
        """Return the words from ``first`` to ``last`` as a mention."""
        return Mention(self.spans[first][0], self.spans[last][1], bounds, **details)

    def gap(self, index: int) -> str:
        """Return the text between a word and the next, or the rest of the text after the last word."""
        end = self.spans[index][1]
        return self.text[end : self.spans[index + 1][0]] if index + 1 < len(self.spans) else self.text[end:]

    def spaced(self, index: int) -> bool:
        """Return whether only white space is between a word and the next."""
        return 0 <= index < len(self.spans) - 1 and self.gap(index).isspace()

    def before(self, index: int) -> str:
        """Return the word before an index, if only white space is between them."""
        return self.lower[index - 1] if index and self.spaced(index - 1) else ""

    def two_before(self, index: int) -> str:
        """Return the two words before an index, with a space between them."""
        first = self.before(index - 1) if index else ""
        return f"{first} {self.before(index)}" if first else ""

    def ends_clause(self, index: int) -> bool:
        """Return whether a word is the last of its sentence or clause."""
        gap = self.gap(index).lstrip()
        return gap[:1] in _CLAUSE_ENDS if gap else index == len(self.spans) - 1
