"""The time of an event that a query refers to: "before the move", "since the offsite"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from recollect.model import Candidate
from recollect.query import TimeInterval, dates_in_text
from recollect.query.terms import ENGLISH

__all__ = ["EventTimes", "event_times"]

_EVENT = re.compile(
    r"\b(before|after|since|until)\s+(?:the|my|our|his|her|their|[^\W\d_]+['’]s)\s+([^?!.,;:()\"]+)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_MAX_WORDS = 3
_MAX_SPREAD = timedelta(days=7)
"""If the notes on an event are further apart than this, its time is unknown."""


class EventTimes(NamedTuple):
    """The time intervals that a query bounds by events."""

    intervals: tuple[TimeInterval, ...]
    sources: frozenset[str]
    """The ids of the notes with an event in their title."""


def event_times(query: str, candidates: Sequence[Candidate]) -> EventTimes:
    """Return the open intervals that ``query`` bounds by events whose time is known from the candidates.

    The words after "before the", "since my" and the like, up to the first stopword and three at most, name the event.
    A note with all of them in its title dates the event: by the only day that its text names, or else by its creation.
    Without such a note, one with all of them in its content does, if its text names a single day. If several such notes
    are more than a week apart, the event is ignored.

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
        if times and times[-1] - times[0] <= _MAX_SPREAD:
            sources |= {note.id for note in candidates if note.id in days and _holds_all(note.title, words)}
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
        if match[0] in ENGLISH or len(words) == _MAX_WORDS:
            break
        words.append(match[0])
    return words


def _days_of_event(words: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, datetime]:
    """Return the day that each note on an event gives it, by id: notes with its name in their title, or else all."""
    titled = [note for note in candidates if _holds_all(note.title, words)]
    naming = titled or [note for note in candidates if _holds_all(note.content, words)]
    days = {note.id: _named_day(note) or (note.created_at if titled else None) for note in naming}
    return {note: day.replace(hour=0, minute=0, second=0, microsecond=0) for note, day in days.items() if day}


def _holds_all(text: str, words: Sequence[str]) -> bool:
    return set(_WORD.findall(text.lower())).issuperset(words)


def _named_day(candidate: Candidate) -> datetime | None:
    """Return the day that a note's text names, if it is the only one."""
    named = dates_in_text(f"{candidate.title}\n{candidate.content}", candidate.created_at)
    days = [date.start for date in named if date.start and date.end == date.start + timedelta(days=1)]
    return days[0] if len(days) == 1 else None
