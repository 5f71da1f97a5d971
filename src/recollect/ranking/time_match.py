"""Time match: a note of the time that the query names is lifted.

A note is of a time if it was created then or if its text holds a date of then. The lift is a bounded factor, so that
a date alone cannot carry a note that has nothing to do with the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, as_candidates
from recollect.query import TimeInterval, dates_in_text, find_time_expressions
from recollect.ranking.event_times import EventTimes, event_times
from recollect.ranking.stage import Effect, clamp, rescore

__all__ = ["DEFAULT_TIME_BOOST", "boost_time_matches", "time_match"]

DEFAULT_TIME_BOOST = 0.5
"""What a note of the time that the query names gains, as a share of its score."""

_DAY = timedelta(days=1)
_LEAST_DECAY = 2 * _DAY
_MOST_DECAY = 15 * _DAY
_OPEN_DECAY = 7 * _DAY
_PARTLY = 0.5
"""What a month in the text counts for a day of it."""


def boost_time_matches(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    now: datetime,
    boost: float = DEFAULT_TIME_BOOST,
    events: bool = True,
) -> list[Candidate]:
    """Return ``candidates`` with each score multiplied by ``1 + boost * time_match``.

    Times are read by :func:`~recollect.query.find_time_expressions`, seen from ``now``; with ``events``, "before the
    move" is read as well, where the candidates tell when that was. A query that names no time leaves the list as it
    was.

    >>> notes = [{"id": "april", "score": 0.5, "created_at": "2026-04-20"},
    ...          {"id": "march", "score": 0.4, "created_at": "2026-03-14"}]
    >>> found = boost_time_matches(notes, query="dentist last march", now=datetime(2026, 11, 17), boost=0.5)
    >>> [(note.id, round(note.score, 2)) for note in found], found[0].steps[0].reason
    ([('march', 0.6), ('april', 0.5)], 'created 2026-03-14, within March 2026')
    """
    found = as_candidates("candidates", candidates)
    moment = arguments.instant("now", now)
    strength = arguments.number("boost", boost, at_least=0)
    if not isinstance(events, bool):
        raise ArgumentTypeError("events", f"must be true or false, got {events!r}")
    intervals = find_time_expressions(arguments.text("query", query), moment)
    counted = event_times(query, found) if events else _NO_EVENTS
    if not (intervals or counted.intervals) or not strength:
        return found

    def effects_on(candidate: Candidate) -> list[Effect]:
        own = () if candidate.id in counted.sources else counted.intervals  # the move is not before the move
        match = _best_match(candidate, (*intervals, *own))
        return [Effect(match.reason, factor=1 + strength * match.value)] if match.value else []

    return rescore("time match", found, effects_on)


def time_match(candidate: Candidate, intervals: Sequence[TimeInterval]) -> float:
    """Return how well a note fits any of several times, from 0 to 1.

    1: it was created within the interval, or its text holds a date that lies in it. A note created outside counts less
    the further off it is: linearly down to 0 at half the interval's length, at least 2 and at most 15 days; at 7
    days from the border of an open interval. A month in the text of which only a part is meant counts 0.5.

    >>> march = find_time_expressions("in March", datetime(2026, 11, 17))
    >>> time_match(Candidate("n", created_at="2026-04-04T12:00:00Z"), march)
    0.7666666666666666
    >>> time_match(Candidate("n", content="Signed on 2026-03-09."), march)
    1.0
    """
    return _best_match(candidate, intervals).value


class _Match(NamedTuple):
    value: float
    reason: str


_NO_MATCH = _Match(0.0, "")
_NO_EVENTS = EventTimes((), frozenset())


def _best_match(candidate: Candidate, intervals: Sequence[TimeInterval]) -> _Match:
    best = _NO_MATCH
    for interval in intervals:
        found = _by_creation(candidate, interval)
        best = found if found.value > best.value else best
    if best.value < 1:
        for named in dates_in_text(f"{candidate.title}\n{candidate.content}", candidate.created_at):
            for interval in intervals:
                found = _by_text(named, interval)
                best = found if found.value > best.value else best
    return best


def _by_creation(candidate: Candidate, interval: TimeInterval) -> _Match:
    created = candidate.created_at
    if created is None:
        return _NO_MATCH
    if interval.contains(created):
        return _Match(1.0, f"created {created.date()}, within {interval.label}")
    distance = interval.distance(created)
    value = clamp(1 - distance / _decay(interval))
    days = round(distance / _DAY)
    near = "less than a day" if not days else "a day" if days == 1 else f"{days} days"
    return _Match(value, f"created {created.date()}, {near} from {interval.label}")


def _decay(interval: TimeInterval) -> timedelta:
    """Return at which distance from an interval nothing is left."""
    if interval.start is None or interval.end is None:
        return _OPEN_DECAY
    return min(_MOST_DECAY, max(_LEAST_DECAY, (interval.end - interval.start) / 2))


def _by_text(named: TimeInterval, interval: TimeInterval) -> _Match:
    if interval.covers(named):
        return _Match(1.0, f"its text names {named.label}, within {interval.label}")
    if interval.overlaps(named):
        return _Match(_PARTLY, f"its text names {named.label}, which includes {interval.label}")
    return _NO_MATCH
