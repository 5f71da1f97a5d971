"""When an event was that the query counts from: "before the move", "since the offsite"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from recollect.model import Candidate
from recollect.query import TimeInterval, dates_in_text
from recollect.query.stopwords import ENGLISH

__all__ = ["EventTimes", "event_times"]

_EVENT = re.compile(
    r"\b(before|after|since|until)\s+(?:the|my|our|his|her|their|[^\W\d_]+['’]s)\s+([^?!.,;:()\"]+)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 3
_TOGETHER = timedelta(days=7)
"""Notes that name an event further apart than this do not tell when it was."""


class EventTimes(NamedTuple):
    """The times that a query counts from events."""

    intervals: tuple[TimeInterval, ...]
    sources: frozenset[str]
    """The ids of the notes that have an event for their title."""


def event_times(query: str, candidates: Sequence[Candidate]) -> EventTimes:
    """Return the open intervals that ``query`` counts from events, as far as the candidates tell when those were.

    The words behind "before the" and its like, up to the first stopword and three at most, name the event. A note with
    all of them in its title tells when it was: on the only day that its text names, or else when it was created. Where
    there is none, a note with all of them in its content does so, if its text names a single day. Where several such
    notes are more than a week apart, the event is passed over.

    >>> notes = [Candidate("m", title="The move", content="Keys handed over on 2026-05-04."), Candidate("b")]
    >>> found = event_times("what did we buy before the move?", notes)
    >>> [interval.label for interval in found.intervals], found.sources
    (['the time before 2026-05-04'], frozenset({'m'}))
    """
    found: list[TimeInterval] = []
    sources: set[str] = set()
    for match in _EVENT.finditer(query):
        words = _event_words(match[2])
        days = _days_of_event(words, candidates) if words else {}
        times = sorted(days.values())
        if times and times[-1] - times[0] <= _TOGETHER:
            sources |= {each.id for each in candidates if each.id in days and _names(each.title, words)}
            border, end = times[0], times[-1] + timedelta(days=1)
            text = f"{match[1]} {' '.join(words)}"
            bounds = {"before": (None, border), "until": (None, end), "since": (border, None)}.get(
                match[1].lower(), (end, None)
            )
            found.append(TimeInterval(*bounds, text, match.span()))
    return EventTimes(tuple(found), frozenset(sources))


def _event_words(text: str) -> list[str]:
    words: list[str] = []
    for match in _WORD.finditer(text.lower()):
        if match[0] in ENGLISH or len(words) == _MOST_WORDS:
            break
        words.append(match[0])
    return words


def _days_of_event(words: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, datetime]:
    """Return the days that notes give for an event, by id: those with its name in their title, or else all."""
    titled = [each for each in candidates if _names(each.title, words)]
    naming = titled or [each for each in candidates if _names(each.content, words)]
    days = {each.id: _named_day(each) or (each.created_at if titled else None) for each in naming}
    return {note: found.replace(hour=0, minute=0, second=0, microsecond=0) for note, found in days.items() if found}


def _names(text: str, words: Sequence[str]) -> bool:
    return set(_WORD.findall(text.lower())).issuperset(words)


def _named_day(candidate: Candidate) -> datetime | None:
    """Return the day that a note's text names, if it is the only one."""
    named = dates_in_text(f"{candidate.title}\n{candidate.content}", candidate.created_at)
    days = [each.start for each in named if each.start and each.end == each.start + timedelta(days=1)]
    return days[0] if len(days) == 1 else None
