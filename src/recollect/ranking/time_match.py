"""Time match: boost notes of the time that the query names.

A note is of a time if it was created then or if its text names a date within it. The boost is bounded, so that a date
alone does not put an unrelated note before one that clearly answers the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate, as_candidates
from recollect.query import TimeInterval, dates_in_text, find_time_expressions
from recollect.ranking.event_times import EventTimes, event_times
from recollect.ranking.stage import Effect, clamp, rescore

__all__ = ["DEFAULT_TIME_BOOST", "boost_time_matches", "time_match"]

DEFAULT_TIME_BOOST = 0.5
"""The share of its score, or of the most possible score, that a note of the time that the query names gains."""

Combination: TypeAlias = Literal["multiply", "add"]

_ALONE = 2.0
"""The share of the best score that a note of that time gains where the query asks for nothing but a time."""

_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)
_MIN_DECAY = 2 * _DAY
_MAX_DECAY = 15 * _DAY
_OPEN_DECAY = 7 * _DAY
_PARTIAL_MATCH = 0.5
"""The match of a text that names a month, if the query names only a part of that month."""


def boost_time_matches(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    now: datetime,
    boost: float = DEFAULT_TIME_BOOST,
    events: bool = True,
    combine: Combination = "multiply",
    time_only: bool = False,
) -> list[Candidate]:
    """Return ``candidates`` with each score multiplied by ``1 + boost * time_match``, or with that share added.

    With ``combine="add"``, ``time_match * min(best, boost * ceiling)`` is added, where ``best`` is the highest score of
    the list and ``ceiling`` the most that fusion could have given, or ``best`` before fusion. Where no note stands out,
    because all are about the same thing, the time decides; a lead of more than ``boost * ceiling`` stays. With
    ``time_only``, the query asks for nothing but a time: ``2 * best`` is added to notes of that time, so that they come
    first, and ``best * time_match`` to those near it.

    Times are read by :func:`~recollect.query.find_time_expressions`, relative to ``now``; with ``events``, "before the
    move" is read as well, if the candidates date the move. A query that names no time leaves the list as it was.

    >>> notes = [{"id": "april", "score": 0.5, "created_at": "2026-04-20"},
    ...          {"id": "march", "score": 0.4, "created_at": "2026-03-14"}]
    >>> found = boost_time_matches(notes, query="dentist last march", now=datetime(2026, 11, 17), boost=0.5)
    >>> [(note.id, round(note.score, 2)) for note in found], found[0].steps[0].reason
    ([('march', 0.6), ('april', 0.5)], 'created 2026-03-14, within March 2026')
    """
    found = as_candidates("candidates", candidates)
    moment = arguments.instant("now", now)
    strength = arguments.number("boost", boost, at_least=0)
    for name, value in (("events", events), ("time_only", time_only)):
        if not isinstance(value, bool):
            raise ArgumentTypeError(name, f"must be true or false, got {value!r}")
    adds = arguments.choice("combine", combine, ("multiply", "add")) == "add" or time_only
    intervals = find_time_expressions(arguments.text("query", query), moment)
    event = event_times(query, found) if events else _NO_EVENTS
    if not (intervals or event.intervals) or not strength:
        return found
    best = max((candidate.score for candidate in found), default=0.0)
    ceiling = max((candidate.ceiling for candidate in found if candidate.ceiling is not None), default=best)
    share = _ALONE * (best if best > 0 else 1.0) if time_only else max(0.0, min(best, strength * ceiling))

    def effects_on(candidate: Candidate) -> list[Effect]:
        own = () if candidate.id in event.sources else event.intervals  # the move is not before the move
        match = _best_match(candidate, (*intervals, *own))
        if not match.value:
            return []
        if time_only and match.value < 1:  # behind every note of that time
            return [Effect(match.reason, addend=share / _ALONE * match.value)]
        if adds:
            return [Effect(match.reason, addend=share * match.value)]
        return [Effect(match.reason, factor=1 + strength * match.value)]

    return rescore("time match", found, effects_on)


def time_match(candidate: Candidate, intervals: Sequence[TimeInterval]) -> float:
    """Return how well a note fits the best of several times, from 0 to 1.

    1: it was created within the interval, or its text names a date within it. For a note created outside, the value
    falls linearly to 0 at a distance of half the interval's length, at least 2 and at most 15 days, or of 7 days for an
    open interval; the distance is in calendar days, so that the day after the last one is a day away.
    0.5: its text names a month of which the interval is a part.

    >>> march = find_time_expressions("in March", datetime(2026, 11, 17))
    >>> time_match(Candidate("n", created_at="2026-04-04T12:00:00Z"), march)
    0.7333333333333334
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
    days = _days_away(created, interval)
    value = clamp(1 - days * _DAY / _decay(interval))
    near = "a day" if days == 1 else f"{days} days"
    return _Match(value, f"created {created.date()}, {near} from {interval.label}")


def _days_away(created: datetime, interval: TimeInterval) -> int:
    """Return how many calendar days a note was created before an interval's first or after its last day; at least 1.

    A note that is dated by its day alone lies at 00:00 of it, which is where the interval before that day ends.
    """
    if interval.start is not None and created < interval.start:
        return max(1, (interval.start.date() - created.date()).days)
    assert interval.end is not None  # noqa: S101 (else the interval contains all that is not before it)
    return max(1, (created.date() - (interval.end - _INSTANT).date()).days)


def _decay(interval: TimeInterval) -> timedelta:
    """Return the distance from an interval at which the match is 0."""
    if interval.start is None or interval.end is None:
        return _OPEN_DECAY
    return min(_MAX_DECAY, max(_MIN_DECAY, (interval.end - interval.start) / 2))


def _by_text(named: TimeInterval, interval: TimeInterval) -> _Match:
    if interval.covers(named):
        return _Match(1.0, f"its text names {named.label}, within {interval.label}")
    if interval.overlaps(named):
        return _Match(_PARTIAL_MATCH, f"its text names {named.label}, which includes {interval.label}")
    return _NO_MATCH
