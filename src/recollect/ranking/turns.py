"""Turns: which turns of a conversation are likely to hold an answer.

Turns of the speaker whom the question is about are boosted: the speaker that it names or, for a question in the first
person ("when did I ..."), the role ``user``. Turns that ask, and turns that are short for their speaker, count less:
most short turns are thanks and greetings. None of it is certain, and the factors are small.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import log
from statistics import median
from typing import Any

from recollect import arguments
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import Effect, rescore

__all__ = ["weigh_turns"]

_SPEAKER = re.compile(r"\s*([^\W\d_][\w .'’-]{0,39}):\s")
_ENDS = re.compile(r"[.!?…]+")
_WORD = re.compile(r"[^\W_]+")
_FIRST_PERSON = frozenset(("i", "my", "me", "mine", "we", "our", "us"))
_SECOND_PERSON = frozenset(("you", "your", "yours"))
_USER_ROLES = frozenset(("user", "human"))
"""The names of the human's role in chat transcripts."""
_FARTHEST = 1.5
"""How far, in powers of e, a turn counts as shorter or longer than the others."""


def weigh_turns(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    speaker: float = 0.1,
    asks: float = 0.2,
    length: float = 0.1,
) -> list[Candidate]:
    """Return ``candidates`` with turns multiplied by what they may tell.

    A turn is a note with a session and a position that begins with the name of its speaker, as in ``Ada: I moved.``. It
    counts ``1 + speaker`` if the query names that speaker and not all, or if the query is in the first person ("I",
    "my", without "you") and the speaker is the ``user``; one that asks, ``1 - asks`` times the share of its sentences
    that are questions. A turn of ``w`` words, where the median of its speaker's turns is ``m``, counts
    ``1 + length * ln((w + 1) / (m + 1))``, the logarithm kept within 1.5.

    >>> turns = [{"id": "a", "content": "Ben: And how is Oslo?", "score": 0.5, "session": "s", "position": 1},
    ...          {"id": "b", "content": "Ada: I love Oslo.", "score": 0.5, "session": "s", "position": 2}]
    >>> [(turn.id, round(turn.score, 3)) for turn in weigh_turns(turns, query="Where did Ada move?")]
    [('b', 0.55), ('a', 0.4)]
    """
    found = as_candidates("candidates", candidates)
    favour = arguments.number("speaker", speaker, at_least=0)
    doubt = arguments.number("asks", asks, at_least=0)
    scale = arguments.number("length", length, at_least=0)
    speakers = {each.id: _speaker(each.content) for each in found if each.session and each.position is not None}
    turns = {each.id: _words(each) for each in found if speakers.get(each.id)}
    if not turns:
        return found
    known = {speakers[turn] for turn in turns}
    usual = {name: median(words for turn, words in turns.items() if speakers[turn] == name) for name in known}
    words = set(_WORD.findall(query.lower()))
    named = {name for name in known if words.issuperset(_WORD.findall(name.lower()))}
    named = named if named != known else set()
    if not words.isdisjoint(_FIRST_PERSON) and words.isdisjoint(_SECOND_PERSON):
        named |= {name for name in known if name.lower() in _USER_ROLES}

    def effects_on(candidate: Candidate) -> list[Effect]:
        if candidate.id not in turns:
            return []
        effects = []
        if speakers[candidate.id] in named:
            effects.append(Effect(f"the query is about its speaker, {speakers[candidate.id]}", 1 + favour))
        questions = _questions(candidate.content)
        if questions:
            effects.append(
                Effect("asks more than it tells" if questions > 0.5 else "asks", max(0.0, 1 - doubt * questions))
            )
        away = max(-_FARTHEST, min(_FARTHEST, log((turns[candidate.id] + 1) / (usual[speakers[candidate.id]] + 1))))
        if away:
            effects.append(Effect("long for a turn" if away > 0 else "short for a turn", max(0.0, 1 + scale * away)))
        return effects

    return rescore("turns", found, effects_on)


def _words(candidate: Candidate) -> int:
    return candidate.content.count(" ") + 1


def _speaker(content: str) -> str:
    begins = _SPEAKER.match(content)
    return begins[1] if begins else ""


def _questions(content: str) -> float:
    """Return which share of the sentences of a text are questions."""
    if "?" not in content:
        return 0.0
    ends = _ENDS.findall(content)
    return sum("?" in end for end in ends) / len(ends)
