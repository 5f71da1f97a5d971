"""Questions about times: the notes of a month or a day, or the only note of a month that holds a given word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import numpy as np

from recollect.evaluation.synthetic.lexicon import Lexicon, content_words
from recollect.evaluation.synthetic.sampling import spread
from recollect.query.dates import MONTHS

__all__ = ["TemporalQuestion", "temporal_questions"]

_MAX_OF_MONTH = 5
_MAX_OF_DAY = 3
"""A month or day with more notes is not asked for."""
_SHORTEST = 4
"""How many letters a topic has at least."""
_RECENT = 11
"""The age in months up to which a month may be named without its year."""


class TemporalQuestion(NamedTuple):
    """A question, the notes that answer it, what it names (``month``, ``day`` or ``topic``), and when it is asked."""

    text: str
    relevant: tuple[int, ...]
    kind: str
    asked: str


def temporal_questions(lexicon: Lexicon, draw: np.random.Generator) -> Iterator[TemporalQuestion]:
    """Yield questions that the creation times of notes answer, no note in two of them, each kind about as often.

    A question is for all notes of a month or day with few notes, or for a word in the month of one of the notes that
    hold it. Dates that the text of another note names are not used, because that note may be an answer, too. Questions
    are asked at the time of the latest note. If all notes are of one month, there are no questions.

    >>> from recollect.model import Note
    >>> notes = [Note(content="Dentist.", created_at="2026-03-02"), Note(content="Dentist.", created_at="2025-01-07")]
    >>> sorted(each.relevant for each in temporal_questions(Lexicon(notes), np.random.default_rng(0)))
    [(0,), (1,)]
    """
    moments = {place: note.created_at for place, note in enumerate(lexicon.notes) if note.created_at}
    months: dict[tuple[int, int], list[int]] = {}
    days: dict[str, list[int]] = {}
    for place, moment in moments.items():
        months.setdefault((moment.year, moment.month), []).append(place)
        days.setdefault(f"{moment:%Y-%m-%d}", []).append(place)
    if len(months) < 2:
        return
    latest = max(moments.values())
    used: set[int] = set()
    counts: Counter[str] = Counter()
    for place in spread(lexicon.notes, draw):
        if place not in moments or place in used:
            continue
        moment = moments[place]
        month, day = _month(moment, latest, draw), _day(moment, draw)
        of_month, of_day = months[moment.year, moment.month], days[f"{moment:%Y-%m-%d}"]
        options: dict[str, tuple[str, list[int]]] = {}
        if len(of_month) <= _MAX_OF_MONTH and _naming_month(lexicon, moment) <= set(of_month):
            options["month"] = f"what happened in {month}?", of_month
        if len(of_day) <= _MAX_OF_DAY and _naming_day(lexicon, moment) <= set(of_day):
            options["day"] = f"what happened on {day}?", of_day
        topic = _topic(lexicon, place, set(of_month), draw)
        if topic and lexicon.holders([topic, _name(moment).lower()]) <= {place}:
            options["topic"] = f"{topic} in {month}", [place]
        free = [kind for kind, (_, relevant) in options.items() if used.isdisjoint(relevant)]
        if free:
            kind = min(free, key=lambda each: counts[each])
            counts[kind] += 1
            text, relevant = options[kind]
            used.update(relevant)
            yield TemporalQuestion(text, tuple(relevant), kind, latest.isoformat())


def _month(moment: datetime, latest: datetime, draw: np.random.Generator) -> str:
    """Return the name of a month, with its year; a recent month lacks the year half of the time, at random."""
    ago = (latest.year - moment.year) * 12 + latest.month - moment.month
    without_year = ago <= _RECENT and draw.integers(2) == 1
    return _name(moment) if without_year else f"{_name(moment)} {moment.year}"


def _day(moment: datetime, draw: np.random.Generator) -> str:
    return f"{moment.day} {_name(moment)} {moment.year}" if draw.integers(2) == 1 else f"{moment:%Y-%m-%d}"


def _name(moment: datetime) -> str:
    return MONTHS[moment.month - 1]


def _naming_month(lexicon: Lexicon, moment: datetime) -> set[int]:
    """Return the notes whose text names the month."""
    written = lexicon.holders([_name(moment).lower(), str(moment.year)])
    return written | lexicon.holders([f"{moment:%Y}", f"{moment:%m}"])


def _naming_day(lexicon: Lexicon, moment: datetime) -> set[int]:
    """Return the notes whose text names the day."""
    written = lexicon.holders([str(moment.day), _name(moment).lower()])
    return written | lexicon.holders([f"{moment:%Y}", f"{moment:%m}", f"{moment:%d}"])


def _topic(lexicon: Lexicon, place: int, of_month: set[int], draw: np.random.Generator) -> str | None:
    """Return a word that several notes hold, but this one alone of those of its month."""
    words = [
        word
        for word in content_words(lexicon.notes[place].content)
        if len(word) >= _SHORTEST
        and word.isalpha()
        and lexicon.is_rare(word)
        and len(holders := lexicon.holders([word])) > 1
        and holders & of_month == {place}
    ]
    return str(draw.choice(words)) if words else None
