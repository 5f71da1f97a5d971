"""Exact match: multiply the scores of notes that contain the query word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult
from recollect.settings import number, setting
from recollect.text import WHITESPACE, compose, split_words

_PART = re.compile(rf'"[^"]*"?|[^{WHITESPACE}"]+')
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_FIELDS = ("title", "path", "summary", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch(Stage):
    """Multiply the score by ``1 + bonus`` if a field of the note contains the query word for word.

    Case and punctuation are ignored. Of a query with quotes, each quoted phrase must be there, all in one field.
    Operators, and what NOT excludes, are no part of it.

    >>> from recollect.ranking import StageContext, run_stage
    >>> notes = [{"id": "a", "score": 1.0, "content": "An error."}, {"id": "b", "score": 0.9, "title": "ERR_42: disk"}]
    >>> [(note.id, round(note.score, 2)) for note in run_stage(ExactMatch(), notes, StageContext("err_42"))]
    [('b', 1.08), ('a', 1.0)]
    """

    name: ClassVar[str] = "exact_match"
    bonus: float = setting(0.2, number(0))
    """The gain of an exact match as a share of its score."""

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the factor of each candidate; ``None`` if the query has no words."""
        phrases = _phrases(context.query)
        return StageResult([self._adjustments(note, phrases) for note in candidates]) if phrases else None

    def _adjustments(self, candidate: Candidate, phrases: Sequence[str]) -> list[Adjustment]:
        for field in _FIELDS:
            text = _spaced(getattr(candidate, field))
            if all(phrase in text for phrase in phrases):
                return [Adjustment(f"the {field} contains the query word for word", 1 + self.bonus)]
        return []


def _phrases(query: str) -> list[str]:
    """Return what must match word for word: each quoted phrase, or else all words; nothing that NOT excludes."""
    quoted: list[str] = []
    words: list[str] = []
    excluded = False
    for part in _PART.findall(compose(query)):
        if not part.strip('"'):
            continue  # an empty phrase, which leaves the operator to what comes next
        if part in _OPERATORS:
            excluded = part == "NOT"
            continue
        if not excluded:
            (quoted if part[0] == '"' else words).append(part)
        excluded = False
    return [spaced for spaced in dict.fromkeys(map(_spaced, quoted or [" ".join(words)])) if spaced.strip()]


def _spaced(text: str) -> str:
    """Return the words of ``text`` with one space around each, so that words compare as wholes."""
    return f" {' '.join(split_words(compose(text)))} "
