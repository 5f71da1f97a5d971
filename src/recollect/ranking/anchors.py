"""The time that a query speaks of: "three weeks ago" is 21 days back, give or take five."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from recollect import arguments
from recollect.text import javascript_pattern

__all__ = ["AnchorExtractor", "RegexAnchorExtractor", "TimeAnchor"]


class TimeAnchor(NamedTuple):
    """An answer is expected about ``days`` before now, give or take ``tolerance`` days.

    >>> TimeAnchor(days=21, tolerance=5).days
    21
    """

    days: int
    tolerance: int


class AnchorExtractor(Protocol):
    """Reads the relative time out of a query; a language model can stand in for the patterns."""

    def anchor(self, query: str) -> TimeAnchor | None:
        """Return the time that ``query`` speaks of, or ``None``."""


class RegexAnchorExtractor:
    """Knows the common English phrases, and fires on nothing else.

    >>> RegexAnchorExtractor().anchor("what did I do three weeks ago?")
    TimeAnchor(days=21, tolerance=5)
    >>> RegexAnchorExtractor().anchor("how many times a week do I run?") is None
    True
    """

    def anchor(self, query: str) -> TimeAnchor | None:
        """Return the time of the first phrase of the table that ``query`` holds, or ``None``."""
        arguments.text("query", query)
        for pattern, days, tolerance in _TABLE:
            found = pattern.search(query)
            if found:
                return TimeAnchor(days * _number(found[1]) if found.groups() else days, tolerance)
        return None


_NUMBER_WORDS = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
# The look-behinds keep "1.5 weeks ago" from being read as five, and "twenty-one" as one. Six digits reach back 2,700
# years.
_NUMBER = rf"(?<!\d[.,])(?<!-)\b(\d{{1,6}}|{'|'.join(_NUMBER_WORDS)})"

_TABLE = [
    (javascript_pattern(source), days, tolerance)
    for source, days, tolerance in (
        (rf"{_NUMBER}\s+days?\s+ago\b", 1, 2),
        (r"\ba\s+couple\s+(?:of\s+)?days?\s+ago\b", 2, 2),
        (r"\byesterday\b", 1, 1),
        (rf"{_NUMBER}\s+weeks?\s+ago\b", 7, 5),
        (r"\b(?:a\s+week\s+ago|last\s+week)\b", 7, 3),
        (rf"{_NUMBER}\s+months?\s+ago\b", 30, 10),
        (r"\b(?:a\s+month\s+ago|last\s+month)\b", 30, 7),
        (r"\b(?:a\s+year\s+ago|last\s+year)\b", 365, 30),
        (r"\brecently\b", 14, 14),
    )
]
"""Pattern, days (for each that the number counts, where there is a number), tolerance; the first that matches wins."""


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBER_WORDS.index(text.lower()) + 1
