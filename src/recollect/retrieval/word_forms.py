"""Forms of words: exact forms rank above stem matches, and absent words are searched for in other forms.

The lexical index contains stems without accents, so that *Ines* matches every *in*, and *this* matches *Thị*. The texts
of the results are therefore compared with the query's words. A note contains a word

- exactly, if it has the word as written, in any case;
- inflected, if it has the word with other accents or another common ending, or a word with the same first five letters,
  and neither is a stopword;
- by its stem only, if nothing else explains the match.

A name with a symbol, such as C++ or .NET, is contained exactly as written, or else by its stem only. The stage
``exact_term`` handles single terms with punctuation inside, such as ``BZH-20931``.

A word that no note contains as written may be there in another form of the same number, identifier or name
(:mod:`recollect.query.expressions`): :func:`substitute` searches for the forms that notes contain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from recollect.model import Candidate
from recollect.query import Query, Token, normalise
from recollect.query.expressions import Form, any_form, joined_forms, letter_forms, number_forms
from recollect.query.parser import PUNCTUATION, symbolic_name
from recollect.query.terms import STOPWORDS
from recollect.retrieval.terms import TermFrequencies, count_terms
from recollect.stores import tokens

ONE_WORD_DEPTH = 2000
"""How many results are checked for the exact form of a one-word query: many notes may share its stem."""
MAX_CHARACTERS = 20_000
"""How many characters of a content are read; a longer content is not discounted: the rest may contain the word."""
_SHORTEST_STEM = 3
_SHARED_PREFIX = 5
_ENDINGS = frozenset(
    ["", *"s es e y ies d ed ied ing ings er ers ly al ion ions ation ations ment ments".split()],
)
_WORD = re.compile(r"[^\W_]+")


class StemOnly(NamedTuple):
    """A discount of the lexical score: the note contains words of the query only in another form.

    >>> StemOnly(3.5, ("ines",)).to_dict()
    {'before': 3.5, 'words': ['ines']}
    """

    before: float
    """The lexical score before the discount."""
    words: tuple[str, ...]
    """The words of the query that it contains only in another form."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return {"before": self.before, "words": list(self.words)}


class _WordForm(NamedTuple):
    """A word of the query: as written, in lower case, and as in the index."""

    written: str
    plain: str
    stem: str
    pattern: re.Pattern[str]
    stem_prefix: re.Pattern[str]


def discount_stem_only(
    candidates: Sequence[Candidate], tree: Query, weight: float, *, max_score: float | None = None
) -> tuple[list[Candidate], Mapping[str, StemOnly]]:
    """Return lexical candidates with stem-only matches discounted, best first, and the discounts by note id.

    A word that a note contains by its stem only has ``weight``, any other word 1, and the note's score is multiplied by
    the mean over the query. If the query has one word, a note that does not contain it exactly gets at most ``weight``
    times the lowest score of those that do, or at most ``max_score`` if that is passed. If it has several, only words
    whose stem is a stopword or shorter than three letters are checked: checking all of them would take longer than the
    search. Phrases, prefixes and words with punctuation inside are left alone.

    >>> from recollect.query import parse
    >>> notes = [Candidate("a", content="in town, in May", score=2.0), Candidate("b", content="Ines", score=1.0)]
    >>> [(note.id, note.score) for note in discount_stem_only(notes, parse("Ines"), 0.5)[0]]
    [('b', 1.0), ('a', 0.5)]
    """
    every = _word_forms(tree.tokens)
    words = every if len(every) == 1 else [group for group in every if any(map(_has_ambiguous_stem, group))]
    if weight >= 1 or not words:
        return list(candidates), {}
    read = [(candidate, *_read(candidate, words)) for candidate in candidates]
    if len(every) == 1 and max_score is None:
        lowest = min((candidate.score for candidate, exact, *_ in read if exact), default=None)
        max_score = None if lowest is None else weight * lowest
    discounted: dict[str, StemOnly] = {}
    scored = []
    for candidate, _, inflected, by_stem in read:
        score = candidate.score
        if by_stem:
            score *= 1 - (1 - weight) * len(by_stem) / len(every)
        if max_score is not None and (inflected or by_stem):
            score = min(score, max_score)
        if score != candidate.score:
            discounted[candidate.id] = StemOnly(candidate.score, (*by_stem, *inflected))
            candidate = candidate.copy()  # noqa: PLW2901 (the caller's candidate stays unchanged)
            candidate.score = candidate.lexical_score = score
        scored.append(candidate)
    return (_ranked(scored), discounted) if discounted else (list(candidates), {})


def is_one_word(tree: Query) -> bool:
    """Return whether a query is a single word, with its aliases, that the index may match in other forms.

    >>> from recollect.query import parse
    >>> is_one_word(parse("who is Ines?")), is_one_word(parse("green tea"))
    (True, False)
    """
    return len(_word_forms(tree.tokens)) == 1


def _has_ambiguous_stem(form: _WordForm) -> bool:
    """Return whether the stem of a word is a stopword, as *in* is for *Ines*, lacks a symbol, or is very short."""
    is_ambiguous = form.stem in STOPWORDS or len(form.stem) < _SHORTEST_STEM or not form.plain.isalnum()
    return form.stem != form.plain and is_ambiguous


def _read(candidate: Candidate, words: Sequence[Sequence[_WordForm]]) -> tuple[list[str], list[str], list[str]]:
    """Return the words that a note contains exactly, inflected, and by their stem only."""
    texts = (candidate.title, candidate.summary, candidate.path, candidate.content[:MAX_CHARACTERS])
    text = "\n".join(texts)
    text = text if text.isascii() else normalise(text)
    folded = text.casefold()
    exact: list[str] = []
    others: list[Sequence[_WordForm]] = []
    for group in words:
        if any(form.written in folded and form.pattern.search(folded) for form in group):
            exact.append(group[0].written)
        elif len(candidate.content) <= MAX_CHARACTERS and any(_may_contain(folded, form) for form in group):
            others.append(group)
    spelt: dict[str, set[str]] = {}
    if others:
        for stem, word in tokens.spellings_of(text, {form.stem for group in others for form in group}):
            spelt.setdefault(stem, set()).add(word)
    inflected, by_stem = [], []
    for group in others:
        related = [(word, form) for form in group for word in spelt.get(form.stem, ())]
        if any(_is_inflected(word, form) for word, form in related):
            inflected.append(group[0].written)
        elif related:  # else the match is in a field that is not read here, such as a tag
            by_stem.append(group[0].written)
    return exact, inflected, by_stem


def _may_contain(folded: str, form: _WordForm) -> bool:
    """Return whether a text may contain a word of the same stem: a quick check before it is split into words.

    The stemmer changes what follows the stem, and at most the stem's last letter, as from *fly* to *fli*.
    """
    return not folded.isascii() or (form.stem[:-1] in folded and form.stem_prefix.search(folded) is not None)


def _is_inflected(spelt: str, form: _WordForm) -> bool:
    plain = tokens.plain(spelt)
    if plain == form.plain:
        return True
    shared = next((at for at, (a, b) in enumerate(zip(plain, form.plain, strict=False)) if a != b), None)
    shared = min(len(plain), len(form.plain)) if shared is None else shared
    endings = {_ending(plain, shared), _ending(form.plain, shared)}
    related = shared >= _SHARED_PREFIX or endings <= _ENDINGS
    return related and STOPWORDS.isdisjoint((plain, form.plain))


def _ending(word: str, shared: int) -> str:
    """Return what follows the letters that two words share, without a consonant that is doubled before it."""
    ending = word[shared:]
    return ending[1:] if shared and ending[:1] == word[shared - 1] else ending


@lru_cache(maxsize=64)
def _word_forms(query: tuple[Token, ...]) -> tuple[tuple[_WordForm, ...], ...]:
    """Return the single words of a query, each in a group with its aliases."""
    groups: list[list[_WordForm]] = []
    excluded = False
    for token in query:
        first = token.alternative <= 1
        excluded = token.operator == "NOT" if first else excluded
        written = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if first:
            groups.append([])
        if token.kind == "term" and not excluded and len(written) == 1 and groups:
            word = written[0].casefold()
            symbolic = "" if token.alternative else symbolic_name(token.source)
            spelt = symbolic or word
            no_symbol = "(?![+#])" if symbolic or len(word) == 1 else ""  # C is neither C++ nor C#
            pattern = re.compile(rf"(?<![^\W_]){re.escape(spelt)}(?![^\W_]){no_symbol}")
            stem = tokens.stem(word)
            stem_prefix = re.compile(rf"(?<![^\W_]){re.escape(stem[:-1])}")
            groups[-1].append(_WordForm(spelt, symbolic or tokens.plain(word), stem, pattern, stem_prefix))
    unique = {tuple(form.written for form in group): tuple(group) for group in groups if group}
    return tuple(unique.values())


def _ranked(scored: list[Candidate]) -> list[Candidate]:
    ranked = sorted(scored, key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    for rank, candidate in enumerate(ranked, start=1):
        if candidate.lexical_rank != rank:
            ranked[rank - 1] = candidate.copy()
            ranked[rank - 1].lexical_rank = rank
    return ranked


MAX_SUBSTITUTED = 8
"""The largest number of absent words whose other forms are tried."""

NoteCounts = Callable[[Sequence[Query]], Sequence[int]]
"""Returns how many notes each query finds."""


class Substitution(NamedTuple):
    """A word of the query, or several, and the forms of it that were searched for.

    >>> Substitution("1240", ("1 240",)).to_dict()
    {'written': '1240', 'forms': ['1 240']}
    """

    written: str
    forms: tuple[str, ...]
    """As in the index: words without punctuation, in lower case."""

    def to_dict(self) -> dict[str, Any]:
        """Return the substitution as JSON-ready data."""
        return {"written": self.written, "forms": list(self.forms)}

    def is_in(self, candidate: Candidate) -> bool:
        """Return whether a note contains one of the forms in its title, summary, content or path."""
        forms = _query(self.written, [("phrase", form) for form in self.forms])
        texts = (candidate.content, candidate.title, candidate.summary, candidate.path)
        return any(text and count_terms(text, forms) for text in texts)

    def message(self) -> str:
        """Return a warning for the user.

        >>> Substitution("1240", ("1 240",)).message()
        'no note contains “1240” as written; searched for “1 240” as well'
        """
        forms = ", ".join(f"“{form}”" for form in self.forms)
        return f"no note contains “{self.written}” as written; searched for {forms} as well"


def substitute(
    query: Query, frequencies: TermFrequencies, note_counts: NoteCounts
) -> tuple[Query, tuple[Substitution, ...]]:
    """Return ``query`` with forms that notes contain beside the words that no note contains, and the substitutions.

    Adjacent words with a digit become one word if no note contains them in sequence and a note contains them as one.
    ``frequencies`` has the note counts of the query's words; ``note_counts`` returns those of other queries.

    >>> from recollect.query import parse
    >>> terms = {"1 240"}
    >>> counts = lambda queries: [sum(token.text in terms for token in query.tokens) for query in queries]
    >>> query, substitutions = substitute(parse("rent 1240"), TermFrequencies(9, {"rent": 2, "1240": 0}), counts)
    >>> [(token.kind, token.text) for token in query.tokens]
    [('term', 'rent'), ('term', '1240'), ('phrase', '1 240')]
    """
    joined, substitutions = _joined(query, note_counts)
    absent = {token: forms for token in joined.tokens if _is_absent(token, frequencies) and (forms := _forms(token))}
    tried = list(absent.items())[:MAX_SUBSTITUTED]
    counts = note_counts([_query(token.source, forms) for token, forms in tried]) if tried else ()
    possible = [(token, form) for (token, forms), count in zip(tried, counts, strict=True) if count for form in forms]
    counts = note_counts([_query(token.source, [form]) for token, form in possible]) if possible else ()
    present: dict[Token, list[Form]] = {}
    for (token, form), count in zip(possible, counts, strict=True):
        if count:
            present.setdefault(token, []).append(form)
    expanded: list[Token] = []
    for token in joined.tokens:
        if token in present:
            own, *others = any_form(token.source, [("term", token.text), *present[token]])
            expanded += [own._replace(operator=token.operator), *others]
        else:
            expanded.append(token)
    substitutions += [Substitution(token.source, tuple(text for _, text in forms)) for token, forms in present.items()]
    return replace(joined, tokens=tuple(expanded)), tuple(substitutions)


def _joined(query: Query, note_counts: NoteCounts) -> tuple[Query, list[Substitution]]:
    """Return the query with adjacent words joined if notes contain them only so."""
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
        span = range(run.first, run.last)
        if not separate and taken.isdisjoint(span):
            taken.update(span)
            groups[run.first : run.last] = [any_form(run.written, [run.form, phrase]), *[()] * (len(span) - 1)]
            substitutions.append(Substitution(run.written, (run.form[1],)))
    return replace(query, tokens=tuple(token for group in groups for token in group)), substitutions


def _is_absent(token: Token, frequencies: TermFrequencies) -> bool:
    """Return whether no note contains a word of the query; excluded words and aliases are not counted."""
    return token.kind == "term" and not token.alternative and frequencies.counts.get(token.source) == 0


def _forms(token: Token) -> list[Form]:
    return number_forms(token.source.strip(PUNCTUATION)) or letter_forms(token.text)


def _query(written: str, forms: Sequence[Form]) -> Query:
    return Query(written, any_form(written, forms), has_operators=False)
