"""The exact-match bonus: a note that holds the query word for word should not lose to near misses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from recollect import arguments
from recollect.characters import WHITESPACE, compose, split_words
from recollect.model import Candidate, as_candidates
from recollect.ranking.stage import Effect, rescore

__all__ = ["exact_match"]

_PIECE = re.compile(rf'"[^"]*"?|[^{WHITESPACE}"]+')
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_FIELDS = ("title", "path", "summary", "content")


def exact_match(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    bonus: float,
) -> list[Candidate]:
    """Return ``candidates`` with the score of those that hold the query word for word multiplied by ``1 + bonus``.

    Case and punctuation do not count. Of a query with quotes, each quoted phrase must be there, all in one field.
    Operators, and what NOT excludes, are no part of it.
    How large ``bonus`` should be is for measurement to say, so that it has no default. A query without words
    leaves the list as it was.

    >>> notes = [{"id": "a", "score": 1.0, "content": "An error."}, {"id": "b", "score": 0.9, "title": "ERR_42: disk"}]
    >>> [(note.id, round(note.score, 2)) for note in exact_match(notes, query="err_42", bonus=0.2)]
    [('b', 1.08), ('a', 1.0)]
    """
    found = as_candidates("candidates", candidates)
    factor = 1 + arguments.number("bonus", bonus, at_least=0)
    needles = _needles(arguments.text("query", query))
    if not needles:
        return found

    def effects_on(candidate: Candidate) -> list[Effect]:
        for field in _FIELDS:
            held = _spaced(getattr(candidate, field))
            if all(needle in held for needle in needles):
                return [Effect(f"the {field} holds the query word for word", factor)]
        return []

    return rescore("exact match", found, effects_on)


def _needles(query: str) -> list[str]:
    """Return what must be there word for word: each quoted phrase, or else all words; nothing that NOT excludes."""
    phrases: list[str] = []
    words: list[str] = []
    excluded = False
    for piece in _PIECE.findall(compose(query)):
        if not piece.strip('"'):
            continue  # an empty phrase, which leaves the operator to what comes next
        if piece in _OPERATORS:
            excluded = piece == "NOT"
            continue
        if not excluded:
            (phrases if piece[0] == '"' else words).append(piece)
        excluded = False
    return [spaced for spaced in dict.fromkeys(map(_spaced, phrases or [" ".join(words)])) if spaced.strip()]


def _spaced(text: str) -> str:
    """Return the words of ``text`` with one space around each, so that words compare as wholes."""
    return f" {' '.join(split_words(compose(text)))} "
