"""Time match: boost notes of the time that the query names.

A note matches a time if the note was created within this time, or if its text names a date within this time. The boost
is bounded, so that a date alone does not put an unrelated note before a note that clearly answers the query. A query
may also refer to an event whose date is known from the candidates: "before the move", "since the offsite".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from operator import attrgetter
from typing import ClassVar, Literal, NamedTuple

from recollect.model import Candidate
from recollect.query import TimeInterval, dates_in_text, find_time_expressions
from recollect.query.terms import ENGLISH_STOPWORDS
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, clamp
from recollect.settings import flag, number, one_of, setting

_TIME_ONLY_GAIN = 2.0  # if the query names only a time, a note of that time gains this multiple of the best score
_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)  # the smallest difference between two times
# The match of a note is 0 at this distance: half the length of a closed interval, within two limits, or _OPEN_DECAY.
_MIN_DECAY = 2 * _DAY
_MAX_DECAY = 15 * _DAY
_OPEN_DECAY = 7 * _DAY
_PARTIAL_MATCH = 0.5
"""The match of a text that names a month, if only a part of that month lies within the query's time."""

# A preposition, an article or possessive, and the text up to the next punctuation: "since Lena's wedding".
_EVENT = re.compile(
    r"\b(before|after|since|until)\s+(?:the|my|our|his|her|their|[^\W\d_]+['’]s)\s+([^?!.,;:()\"]+)", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")  # letters and digits
_MAX_EVENT_WORDS = 3
_MAX_SPREAD = timedelta(days=7)  # if notes date an event further apart than this, its time is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMatch(Stage):
    """Multiply each score by ``1 + boost * time_match``, or add ``time_match * min(best, boost * ceiling)``.

    ``best`` is the highest score. ``ceiling`` is the highest score that fusion could have given, or ``best`` without
    fusion. ``combine`` selects the product or the sum. The sum lets the time decide between notes of similar scores; a
    note stays first if it leads by more than ``boost * ceiling``. If the query names only a time, ``2 * best`` is added
    to the notes of that time, so that they come first, and ``best * time_match`` is added to notes near that time.

    >>> from datetime import UTC
    >>> from recollect.ranking import StageContext, run_stage
    >>> notes = [{"id": "april", "score": 0.5, "created_at": "2026-04-20"},
    ...          {"id": "march", "score": 0.4, "created_at": "2026-03-14"}]
    >>> ranked = run_stage(TimeMatch(), notes, StageContext("dentist last march", datetime(2026, 11, 17, tzinfo=UTC)))
    >>> [(note.id, round(note.score, 2)) for note in ranked], ranked[0].steps[0].reason
    ([('march', 0.6), ('april', 0.5)], 'created 2026-03-14, within March 2026')
    """

    name: ClassVar[str] = "time_match"
    boost: float = setting(0.5, number(0))
    """The share of the score, or of the ceiling, that a full match gains; 0 turns the stage off."""
    events: bool = flag(default=True)
    """Whether "before the move" is read as a time, if the candidates date the move."""
    combine: Literal["multiply", "add"] = setting("multiply", one_of("multiply", "add"))

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the boost of each candidate; ``None`` if the query names no time, or ``boost`` is 0."""
        intervals = find_time_expressions(context.query, context.now)
        event = event_times(context.query if self.events else "", candidates)
        if not (intervals or event.intervals) or not self.boost:
            return None
        best = max((candidate.score for candidate in candidates), default=0.0)
        ceiling = max((candidate.ceiling for candidate in candidates if candidate.ceiling is not None), default=best)
        max_gain = max(0.0, min(best, self.boost * ceiling))
        if context.time_only:
            max_gain = _TIME_ONLY_GAIN * (best if best > 0 else 1.0)
        adjustments = []
        for candidate in candidates:
            # The note on the move itself does not match "before the move".
            event_intervals = () if candidate.id in event.sources else event.intervals
            match = _best_match(candidate, (*intervals, *event_intervals))
            adjustments.append([self._adjustment(match, max_gain, time_only=context.time_only)] if match.value else [])
        return StageResult(adjustments)

    def _adjustment(self, match: _Match, max_gain: float, *, time_only: bool) -> Adjustment:
        if time_only and match.value < 1:  # such a note must rank after every note of that time
            return Adjustment(match.reason, addend=max_gain / _TIME_ONLY_GAIN * match.value)
        if time_only or self.combine == "add":
            return Adjustment(match.reason, addend=max_gain * match.value)
        return Adjustment(match.reason, factor=1 + self.boost * match.value)


def time_match(candidate: Candidate, intervals: Sequence[TimeInterval]) -> float:
    """Return how well a note matches a time, from 0 to 1; if there are several intervals, the best match counts.

    The value is 1 if the note was created within the interval, or if its text names a date within the interval. It is
    at least 0.5 if the text names a month that overlaps the interval. For a note created outside of the interval, the
    value falls linearly with the distance in days. It is 0 at half the interval's length (but at 2 days at least
    and 15 at most), or at 7 days for an open interval. The day after the interval's last day is 1 day away.

    >>> march = find_time_expressions("in March", datetime(2026, 11, 17))
    >>> time_match(Candidate("n", created_at="2026-04-04T12:00:00Z"), march)
    0.7333333333333334
    >>> time_match(Candidate("n", content="Signed on 2026-03-09."), march)
    1.0
    """
    return _best_match(candidate, intervals).value


class _Match(NamedTuple):
    """How well a note matches a time, from 0 to 1, and a function that returns the reason."""

    value: float
    reason: Callable[[], str]


_NO_MATCH = _Match(0.0, str)
_VALUE = attrgetter("value")


def _best_match(candidate: Candidate, intervals: Sequence[TimeInterval]) -> _Match:
    best = max((_match_by_creation(candidate, interval) for interval in intervals), key=_VALUE, default=_NO_MATCH)
    if best.value < 1:
        dates = dates_in_text(f"{candidate.title}\n{candidate.content}", candidate.created_at)
        by_text = [_match_by_text(date, interval) for date in dates for interval in intervals]
        best = max([best, *by_text], key=_VALUE)
    return best


def _match_by_creation(candidate: Candidate, interval: TimeInterval) -> _Match:
    created = candidate.created_at
    if created is None:
        return _NO_MATCH
    if interval.contains(created):
        return _Match(1.0, lambda: f"created {created.date()}, within {interval.label}")
    days = _days_away(created, interval)
    decay = _OPEN_DECAY
    if interval.start is not None and interval.end is not None:
        decay = min(_MAX_DECAY, max(_MIN_DECAY, (interval.end - interval.start) / 2))
    value = clamp(1 - days * _DAY / decay)
    distance = "a day" if days == 1 else f"{days} days"
    return _Match(value, lambda: f"created {created.date()}, {distance} from {interval.label}")


def _days_away(created: datetime, interval: TimeInterval) -> int:
    """Return how many calendar days a note was created before an interval's first day or after its last; at least 1.

    The end of an interval is exclusive: an interval that ends on 1 April at 00:00 has 31 March as its last day.
    """
    if interval.start is not None and created < interval.start:
        return max(1, (interval.start.date() - created.date()).days)
    assert interval.end is not None  # noqa: S101 (an interval without end contains every later note)
    return max(1, (created.date() - (interval.end - _INSTANT).date()).days)


def _match_by_text(date: TimeInterval, interval: TimeInterval) -> _Match:
    """Return the match of a date, which is a day or a month, in a note's text."""
    if interval.covers(date):
        return _Match(1.0, lambda: f"its text names {date.label}, within {interval.label}")
    if interval.overlaps(date):
        return _Match(_PARTIAL_MATCH, lambda: f"its text names {date.label}, which overlaps {interval.label}")
    return _NO_MATCH


class EventTimes(NamedTuple):
    """The open intervals that begin or end with an event of the query, as in "before the move"."""

    intervals: tuple[TimeInterval, ...]
    sources: frozenset[str]  # the ids of the notes that have the name of such an event in their title


def event_times(query: str, candidates: Sequence[Candidate]) -> EventTimes:
    """Return the open intervals that begin or end with an event of ``query`` whose date is known from the candidates.

    The name of an event is the words after "before the", "since my" and the like, up to the first stopword and three at
    most. The date comes from the notes with all of these words in their title: it is the only day that the note's text
    names, or else the note's creation date. If there is no such title, the date comes from notes with all of these
    words in their content and only one day in their text. If the dates are over a week apart, the event is ignored.
    """
    intervals: list[TimeInterval] = []
    sources: set[str] = set()
    for match in _EVENT.finditer(query):
        following = takewhile(lambda word: word not in ENGLISH_STOPWORDS, _WORD.findall(match[2].lower()))
        words = list(islice(following, _MAX_EVENT_WORDS))
        dates_by_note = _event_dates(words, candidates) if words else {}
        dates = sorted(dates_by_note.values())
        if dates and dates[-1] - dates[0] <= _MAX_SPREAD:
            sources |= {note.id for note in candidates if note.id in dates_by_note and _contains_all(note.title, words)}
            start, end = dates[0], dates[-1] + _DAY
            text = f"{match[1]} {' '.join(words)}"
            bounds = {"before": (None, start), "until": (None, end), "since": (start, None), "after": (end, None)}
            intervals.append(TimeInterval(*bounds[match[1].lower()], text, match.span()))
    return EventTimes(tuple(intervals), frozenset(sources))


def _event_dates(words: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, datetime]:
    """Return the date of an event, at 00:00, according to each note that contains its words, by the note's id."""
    titled = [note for note in candidates if _contains_all(note.title, words)]  # notes with the words in their title
    notes = titled or [note for note in candidates if _contains_all(note.content, words)]
    dates = {note.id: _only_day(note) or (note.created_at if titled else None) for note in notes}
    return {note_id: date.replace(hour=0, minute=0, second=0, microsecond=0) for note_id, date in dates.items() if date}


def _contains_all(text: str, words: Sequence[str]) -> bool:
    return set(_WORD.findall(text.lower())).issuperset(words)


def _only_day(candidate: Candidate) -> datetime | None:
    """Return the day that a note's text names; ``None`` if it names no day or several."""
    dates = dates_in_text(f"{candidate.title}\n{candidate.content}", candidate.created_at)
    days = [date.start for date in dates if date.start and date.end == date.start + _DAY]
    return days[0] if len(days) == 1 else None
