"""Exact matches: a note that holds the query word for word should not lose to near misses.

:func:`exact_match` multiplies the scores of such notes, :func:`lift_exact_term` puts them first where the query is a
single term.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recollect import arguments
from recollect.model import Candidate, as_candidates
from recollect.query.parser import symbolic_name
from recollect.ranking.stage import Effect, rescore
from recollect.text import WHITESPACE, compose, fold_accents, split_words

__all__ = ["exact_match", "lift_exact_term"]

_PIECE = re.compile(rf'"[^"]*"?|[^{WHITESPACE}"]+')
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_SURROUNDING = " \t\n\"'?!.,;:()[]{}<>"
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


def lift_exact_term(
    candidates: Iterable[Candidate | Mapping[str, Any]],
    *,
    query: str,
    forms: Sequence[str] = (),
    most: int = 10,
    lead: float = 0.25,
) -> list[Candidate]:
    """Return ``candidates`` with those first that hold the query as it was written, if it is a single term.

    A search for a booking code, a version or a name is for the notes that hold it. All of them gain the same score, so
    that the last of them is above every other note by ``lead`` of the highest possible score; their own order stays.
    Case is ignored; a part of a longer word or number is no match. A superseded note gains only if no note that
    supersedes it holds the term, too. If no candidate holds the term as it was written, those that hold one of its
    other ``forms`` count, which may have any punctuation or white space between their words. If more than ``most``
    candidates hold the term, or none does, or the query has several terms, the list stays as it was.

    >>> notes = [{"id": "a", "score": 0.9, "content": "A train."}, {"id": "b", "score": 0.4, "content": "BZH-20931."}]
    >>> [(note.id, round(note.score, 2)) for note in lift_exact_term(notes, query="bzh-20931")]
    [('b', 1.12), ('a', 0.9)]
    """
    found = as_candidates("candidates", candidates)
    highest = arguments.count("most", most)
    share = arguments.number("lead", lead, at_least=0)
    written = _term_pattern(arguments.text("query", query))
    others = _forms_pattern([arguments.text("forms", form) for form in arguments.sequence("forms", forms)])
    holding = _holding(found, written) or _holding(found, others, fold=_folded)
    if not 0 < len(holding) <= highest or len(holding) == len(found):
        return found
    best = max(candidate.score for candidate in found if candidate.id not in holding)
    lowest = min(candidate.score for candidate in found if candidate.id in holding)
    gain = best - lowest + share * (found[0].ceiling or best)
    if gain <= 0:
        return found
    return rescore(
        "exact term",
        found,
        lambda candidate: (
            [Effect("holds the query's only term as written", addend=gain)] if candidate.id in holding else []
        ),
    )


def _term_pattern(query: str) -> re.Pattern[str] | None:
    """Return a pattern for the only term of a query; ``None`` for an operator, a prefix, or several terms."""
    symbolic = symbolic_name(query.strip())
    if symbolic:
        return re.compile(rf"(?<!\w){re.escape(symbolic)}(?![\w+#])")
    term = query.strip(_SURROUNDING)
    if not term or "*" in query or term in _OPERATORS or len(term.split()) > 1:
        return None
    if not any(letter.isalnum() for letter in term):
        return None
    no_symbol = "(?![+#])" if len(term) == 1 else ""
    return re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(compose(term).casefold())}(?!\w)(?![.,]\d){no_symbol}")


def _forms_pattern(forms: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern for any of several forms, each of one or more words; ``None`` for none."""
    spelt = [r"[\W_]{1,3}".join(map(re.escape, _folded(form).split())) for form in forms]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelt)})(?!\w)") if spelt else None


def _holding(
    found: Sequence[Candidate], pattern: re.Pattern[str] | None, *, fold: Callable[[str], str] = str
) -> set[str]:
    """Return the ids of the candidates in which a pattern is found, except those that one of them supersedes."""
    if pattern is None:
        return set()
    holding = [each for each in found if any(pattern.search(fold(text)) for text in _texts(each))]
    ids = {candidate.id for candidate in holding}
    return {candidate.id for candidate in holding if ids.isdisjoint(candidate.superseded_by)}


def _folded(text: str) -> str:
    return fold_accents(compose(text).casefold())


def _texts(candidate: Candidate) -> Iterable[str]:
    fields = (*(getattr(candidate, field) for field in _FIELDS), *candidate.tags)
    return (compose(text).casefold() for text in fields if text)


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
