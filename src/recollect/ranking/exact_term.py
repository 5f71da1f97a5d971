"""Exact term: if the query is a single term, put the notes that contain it as written first.

A search for a booking code, a version or a name is for the notes that contain it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.model import Candidate
from recollect.query.parser import symbolic_name
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult
from recollect.settings import count, number, setting
from recollect.text import compose, fold_accents

_OPERATORS = frozenset(("AND", "OR", "NOT"))
_SURROUNDING = " \t\n\"'?!.,;:()[]{}<>"
_FIELDS = ("title", "path", "summary", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTerm(Stage):
    """Add the same score to all notes that contain the query's only term, so that they come first.

    The lowest of them is then above every other note by ``lead`` times the highest possible score; their order does not
    change. Case is ignored; a part of a longer word or number is no match. A superseded note is raised only if no note
    that supersedes it contains the term. If no candidate contains the term as written, those that contain one of its
    other forms match; these may have any punctuation or white space between their words.

    >>> from recollect.ranking import StageContext, run_stage
    >>> notes = [{"id": "a", "score": 0.9, "content": "A train."}, {"id": "b", "score": 0.4, "content": "BZH-20931."}]
    >>> [(note.id, round(note.score, 2)) for note in run_stage(ExactTerm(), notes, StageContext("bzh-20931"))]
    [('b', 1.12), ('a', 0.9)]
    """

    name: ClassVar[str] = "exact_term"
    max_notes: int = setting(10, count())
    """If more candidates contain the term, the stage does nothing."""
    lead: float = setting(0.25, number(0))
    """The minimum distance to the other notes, as a share of the highest possible score."""

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the addend of each match; ``None`` for several terms, no match, or too many."""
        matching = _matching_ids(candidates, _term_pattern(context.query)) or _matching_ids(
            candidates, _forms_pattern(context.term_forms), fold=_folded
        )
        if not 0 < len(matching) <= self.max_notes or len(matching) == len(candidates):
            return None
        best = max(candidate.score for candidate in candidates if candidate.id not in matching)
        lowest = min(candidate.score for candidate in candidates if candidate.id in matching)
        gain = best - lowest + self.lead * (candidates[0].ceiling or best)
        if gain <= 0:
            return None
        lift = [Adjustment("contains the query's only term as written", addend=gain)]
        return StageResult([lift if candidate.id in matching else [] for candidate in candidates])


def _term_pattern(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the only term of a query; ``None`` for an operator, a prefix, or several terms."""
    symbolic = symbolic_name(query.strip())
    if symbolic:
        return re.compile(rf"(?<!\w){re.escape(symbolic)}(?![\w+#])")
    term = query.strip(_SURROUNDING)
    if "*" in query or term in _OPERATORS or len(term.split()) != 1 or not any(map(str.isalnum, term)):
        return None
    no_symbol = "(?![+#])" if len(term) == 1 else ""
    return re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(compose(term).casefold())}(?!\w)(?![.,]\d){no_symbol}")


def _forms_pattern(forms: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern for any of several forms, each of one or more words; ``None`` for none."""
    spelt = [r"[\W_]{1,3}".join(map(re.escape, _folded(form).split())) for form in forms]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelt)})(?!\w)") if spelt else None


def _matching_ids(
    candidates: Sequence[Candidate], pattern: re.Pattern[str] | None, *, fold: Callable[[str], str] = str
) -> set[str]:
    """Return the ids of the candidates that match a pattern, except those that one of them supersedes."""
    if pattern is None:
        return set()
    matching = []
    for note in candidates:
        texts = (*(getattr(note, field) for field in _FIELDS), *note.tags)
        if any(pattern.search(fold(compose(text).casefold())) for text in texts if text):
            matching.append(note)
    ids = {candidate.id for candidate in matching}
    return {candidate.id for candidate in matching if ids.isdisjoint(candidate.superseded_by)}


def _folded(text: str) -> str:
    return fold_accents(compose(text).casefold())
