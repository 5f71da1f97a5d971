"""Exact term: if the query is a single term, notes that contain exactly this term come first.

Whoever searches for a booking code, a version or a name wants the notes that contain it.
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
_SURROUNDING_CHARACTERS = " \t\n\"'?!.,;:()[]{}<>"
_SEARCHED_FIELDS = ("title", "path", "summary", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTerm(Stage):
    """Add the same score to all notes that contain the query's only term, so that they come first.

    The lowest of these notes is then above every other note by ``lead`` times the highest possible score. The order of
    these notes does not change. Case is ignored; a part of a longer word or number is no match. A superseded note is
    not raised if a note that supersedes it contains the term. If no candidate contains the term as written, notes with
    a form of ``StageContext.term_forms`` are raised, which lexical search found in place of the term: 1240 for 1,240.
    Up to three punctuation or white space characters may separate the words of a form.

    >>> from recollect.ranking import StageContext, run_stage
    >>> notes = [{"id": "a", "score": 0.9, "content": "A train."}, {"id": "b", "score": 0.4, "content": "BZH-20931."}]
    >>> [(note.id, round(note.score, 2)) for note in run_stage(ExactTerm(), notes, StageContext("bzh-20931"))]
    [('b', 1.12), ('a', 0.9)]
    """

    name: ClassVar[str] = "exact_term"
    max_notes: int = setting(10, count())
    """If more candidates than this contain the term, the stage does nothing."""
    lead: float = setting(0.25, number(0))
    """The minimum distance to the other notes, as a share of the highest score that fusion could have given."""

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the addend of each match; ``None`` if no, all or too many candidates match, or no lift is needed."""
        matches = _matching_ids(candidates, _term_pattern(context.query))
        spelling = "as written" if matches else "in another form"
        matches = matches or _matching_ids(candidates, _forms_pattern(context.term_forms), fold=_folded)
        if not matches or len(matches) > self.max_notes or len(matches) == len(candidates):
            return None
        best_other = max(candidate.score for candidate in candidates if candidate.id not in matches)
        lowest_match = min(candidate.score for candidate in candidates if candidate.id in matches)
        gain = best_other - lowest_match + self.lead * (candidates[0].ceiling or best_other)
        if gain <= 0:
            return None
        lift = [Adjustment(f"contains the query's only term {spelling}", addend=gain)]
        return StageResult([lift if candidate.id in matches else [] for candidate in candidates])


def _term_pattern(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the only term of a query; ``None`` for an operator, a prefix, or several terms."""
    name_with_symbols = symbolic_name(query.strip())
    if name_with_symbols:  # such as c++
        return re.compile(rf"(?<!\w){re.escape(name_with_symbols)}(?![\w+#])")
    term = query.strip(_SURROUNDING_CHARACTERS)
    if "*" in query or term in _OPERATORS or len(term.split()) != 1 or not any(map(str.isalnum, term)):
        return None
    no_symbol = "(?![+#])" if len(term) == 1 else ""  # "c" does not match "c++"
    # The term, neither as a part of a word nor as a part of a number: "0.1" does not match "0.15" or "10.1".
    return re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(compose(term).casefold())}(?!\w)(?![.,]\d){no_symbol}")


def _forms_pattern(forms: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern for any of several forms, each of one or more words; ``None`` if there are no forms."""
    alternatives = [r"[\W_]{1,3}".join(map(re.escape, _folded(form).split())) for form in forms]
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)") if alternatives else None


def _matching_ids(
    candidates: Sequence[Candidate], pattern: re.Pattern[str] | None, *, fold: Callable[[str], str] = str
) -> set[str]:
    """Return the ids of the matches, without those that a match supersedes; for forms, ``fold`` removes accents."""
    if pattern is None:
        return set()
    matching = []
    for candidate in candidates:
        texts = (*(getattr(candidate, field) for field in _SEARCHED_FIELDS), *candidate.tags)
        if any(pattern.search(fold(compose(text).casefold())) for text in texts if text):
            matching.append(candidate)
    ids = {candidate.id for candidate in matching}
    return {candidate.id for candidate in matching if ids.isdisjoint(candidate.superseded_by)}


def _folded(text: str) -> str:
    return fold_accents(compose(text).casefold())
