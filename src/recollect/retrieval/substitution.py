"""Words of a query that no note holds as they were written, but that notes hold in another form.

Only forms of the same number, identifier or name are tried (:mod:`recollect.query.forms`), and only those that a note
holds are searched for. A misspelt word is not one of them: that is the retry ladder's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from recollect.model import Candidate
from recollect.query import Query, Token
from recollect.query.forms import Form, any_form, joined_forms, letter_forms, number_forms
from recollect.query.parser import PUNCTUATION
from recollect.retrieval.matching import occurrences
from recollect.retrieval.rarity import Rarity

__all__ = ["NoteCounts", "Substitution", "substitute"]

MOST_WORDS = 8
"""Of how many words that no note holds other forms are tried."""

NoteCounts = Callable[[Sequence[Query]], Sequence[int]]
"""Returns how many notes each query finds."""


class Substitution(NamedTuple):
    """A word of the query, or several, and the forms of it that were searched for.

    >>> Substitution("1240", ("1 240",)).to_dict()
    {'written': '1240', 'forms': ['1 240']}
    """

    written: str
    forms: tuple[str, ...]
    """As the index holds them: words without punctuation, in lower case."""

    def to_dict(self) -> dict[str, Any]:
        """Return the substitution as JSON-ready data."""
        return {"written": self.written, "forms": list(self.forms)}

    def is_in(self, candidate: Candidate) -> bool:
        """Return whether a note holds one of the forms in its title, summary, content or path."""
        forms = _query(self.written, [("phrase", form) for form in self.forms])
        texts = (candidate.content, candidate.title, candidate.summary, candidate.path)
        return any(text and occurrences(text, forms) for text in texts)

    def in_words(self) -> str:
        """Return what was done, in one line.

        >>> Substitution("1240", ("1 240",)).in_words()
        'no note holds “1240” as written; searched for “1 240” as well'
        """
        forms = ", ".join(f"“{form}”" for form in self.forms)
        return f"no note holds “{self.written}” as written; searched for {forms} as well"


def substitute(query: Query, rarity: Rarity, note_counts: NoteCounts) -> tuple[Query, tuple[Substitution, ...]]:
    """Return ``query`` with forms that notes hold beside the words that no note holds, and what was done.

    Adjacent words with a digit become one word if no note holds them one after the other and a note holds them as one.
    ``rarity`` has the note counts of the query's words; ``note_counts`` returns those of other queries.

    >>> from recollect.query import parse
    >>> held = {"1 240"}
    >>> counts = lambda asked: [sum(token.text in held for token in each.tokens) for each in asked]
    >>> found, done = substitute(parse("rent 1240"), Rarity(9, {"rent": 2, "1240": 0}), counts)
    >>> [(token.kind, token.text) for token in found.tokens]
    [('term', 'rent'), ('term', '1240'), ('phrase', '1 240')]
    """
    joined, substitutions = _joined(query, note_counts)
    absent = {token: forms for token in joined.tokens if _is_absent(token, rarity) and (forms := _forms(token))}
    asked = list(absent.items())[:MOST_WORDS]
    counts = note_counts([_query(token.source, forms) for token, forms in asked]) if asked else ()
    possible = [(token, form) for (token, forms), count in zip(asked, counts, strict=True) if count for form in forms]
    counts = note_counts([_query(token.source, [form]) for token, form in possible]) if possible else ()
    found: dict[Token, list[Form]] = {}
    for (token, form), count in zip(possible, counts, strict=True):
        if count:
            found.setdefault(token, []).append(form)
    tokens: list[Token] = []
    for token in joined.tokens:
        if token in found:
            own, *others = any_form(token.source, [("term", token.text), *found[token]])
            tokens += [own._replace(operator=token.operator), *others]
        else:
            tokens.append(token)
    substitutions += [Substitution(token.source, tuple(text for _, text in forms)) for token, forms in found.items()]
    return replace(joined, tokens=tuple(tokens)), tuple(substitutions)


def _joined(query: Query, note_counts: NoteCounts) -> tuple[Query, list[Substitution]]:
    """Return the query with adjacent words joined where notes hold them only so."""
    runs = joined_forms(query)
    counts = note_counts([_query(run.written, [run.form]) for run in runs]) if runs else ()
    runs = [run for run, count in zip(runs, counts, strict=True) if count]
    if not runs:
        return query, []
    apart: list[Form] = [("phrase", run.written.lower()) for run in runs]
    counts = note_counts([_query(run.written, [phrase]) for run, phrase in zip(runs, apart, strict=True)])
    groups: list[tuple[Token, ...]] = [(token,) for token in query.tokens]
    taken: set[int] = set()
    substitutions = []
    for run, phrase, separate in zip(runs, apart, counts, strict=True):
        places = range(run.first, run.last)
        if not separate and taken.isdisjoint(places):
            taken.update(places)
            groups[run.first : run.last] = [any_form(run.written, [run.form, phrase]), *[()] * (len(places) - 1)]
            substitutions.append(Substitution(run.written, (run.form[1],)))
    return replace(query, tokens=tuple(token for group in groups for token in group)), substitutions


def _is_absent(token: Token, rarity: Rarity) -> bool:
    """Return whether no note holds a word of the query; excluded words and aliases are not asked about."""
    return token.kind == "term" and not token.alternative and rarity.holding.get(token.source) == 0


def _forms(token: Token) -> list[Form]:
    return number_forms(token.source.strip(PUNCTUATION)) or letter_forms(token.text)


def _query(written: str, forms: Sequence[Form]) -> Query:
    return Query(written, any_form(written, forms), has_operators=False)
