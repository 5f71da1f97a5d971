"""Temporal expansion: a question's relative times become dates that text can hold.

It runs before the parser and yields text. English only, and no more than the three recognisers of the source
document: "N days/weeks/months ago", "last <weekday>", and words that ask for the first or the latest event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from recollect import arguments
from recollect.query.dates import WEEKDAYS, QuestionDate, read_date, rolled
from recollect.query.tree import Query, Token, require_query
from recollect.text import collapse_whitespace, javascript_pattern

__all__ = ["TemporalExpansion", "augment_with_temporal", "expand_temporal", "with_dates"]


@dataclass(frozen=True, slots=True)
class TemporalExpansion:
    """What temporal expansion made of a question.

    >>> expand_temporal("standup 2 days ago", "2026-04-18").to_dict()["dateHints"]
    ['2026/04/16']
    """

    original_query: str
    expanded_query: str
    date_hints: tuple[str, ...]
    resolved: bool
    """Whether a relative time was turned into a date."""

    def to_dict(self) -> dict[str, Any]:
        """Return the documented form: originalQuery, expandedQuery, dateHints, resolved."""
        return {
            "originalQuery": self.original_query,
            "expandedQuery": self.expanded_query,
            "dateHints": list(self.date_hints),
            "resolved": self.resolved,
        }


def expand_temporal(question: str, question_date: QuestionDate) -> TemporalExpansion:
    """Return ``question`` with a date behind each relative time, seen from ``question_date``.

    Without a date that can be read, nothing is resolved and the question stays as it is.

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

    def dated(resolve: Callable[[re.Match[str], datetime], datetime], suffix: str) -> Callable[[re.Match[str]], str]:
        def replacement(found: re.Match[str]) -> str:
            try:
                day = resolve(found, anchor)
            except OverflowError:  # further back than the calendar goes
                return found[0]
            hint = f"{day.year:04d}/{day.month:02d}/{day.day:02d}"
            hints[hint] = None
            return f"{found[0]} ({suffix}{hint})"

        return replacement

    expanded = _RELATIVE_TIME.sub(dated(_ago, "around "), question)
    expanded = _LAST_WEEKDAY.sub(dated(_last_weekday, ""), expanded)
    return TemporalExpansion(question, expanded + _ordering_note(question), tuple(hints), resolved=bool(hints))


def augment_with_temporal(question: str, question_date: QuestionDate) -> str:
    """Return ``question`` followed by each date it speaks of, with slashes and with hyphens.

    >>> augment_with_temporal("what happened 1 month ago?", "2026-03-31")
    'what happened 1 month ago? 2026/03/03 2026-03-03'
    """
    hints = expand_temporal(question, question_date).date_hints
    return " ".join((question, *(spelling for hint in hints for spelling in (hint, hint.replace("/", "-")))))


def with_dates(query: Query, date_hints: Iterable[str]) -> Query:
    """Return ``query`` with each date added as a phrase, one more thing that may match.

    It is for executing a query that was parsed from the question itself: unlike text that is appended, a date added
    here cannot fall into an open quote or under an operator at the end.

    >>> from recollect.query import parse
    >>> question = 'tea "bought 3 days ago'
    >>> [token.text for token in with_dates(parse(question), expand_temporal(question, "2026-04-18").date_hints).tokens]
    ['tea', 'bought 3 days ago', '2026 04 15']
    """
    dates = [arguments.text("date_hints", hint) for hint in arguments.sequence("date_hints", date_hints)]
    phrases = [Token("phrase", collapse_whitespace(date.translate(_SPACED)), None, date) for date in dates]
    return replace(require_query(query), tokens=(*query.tokens, *phrases))


_SPACED = str.maketrans("/-", "  ")

# A match begins with the first digit of a run or nowhere in it: the look-behind only spares looking again
# from every further digit, which would take quadratic time on a long number.
_RELATIVE_TIME = javascript_pattern(r"(?<!\d)(\d+)\s+(day|days|week|weeks|month|months)\s+ago")
_LAST_WEEKDAY = javascript_pattern(r"last\s+(monday|tuesday|wednesday|thursday|friday|saturday|sunday)")
_EARLIEST = ("first", "earlier", "before")
_LATEST = ("most recent", "latest", "last time")
_MOST_DIGITS = 7  # ten million days are more than Python's calendar holds


def _ago(found: re.Match[str], anchor: datetime) -> datetime:
    digits, unit = found[1].lstrip("0"), found[2].lower()
    if len(digits) > _MOST_DIGITS:
        raise OverflowError
    number = int(digits or 0)
    if unit.startswith("month"):
        return rolled(anchor.year, anchor.month - number, anchor.day)
    return anchor - timedelta(days=number * (7 if unit.startswith("week") else 1))


def _last_weekday(found: re.Match[str], anchor: datetime) -> datetime:
    weekday = WEEKDAYS.index(found[1].capitalize())
    return anchor - timedelta(days=(anchor.weekday() - weekday - 1) % 7 + 1)


def _ordering_note(question: str) -> str:
    lowered = question.lower()
    if any(hint in lowered for hint in _EARLIEST):
        return " [Note: look for the earliest dated event]"
    if any(hint in lowered for hint in _LATEST):
        return " [Note: look for the most recently dated event]"
    return ""
