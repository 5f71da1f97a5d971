"""Exact forms before stems: a note that holds a word as it was written ranks above one that only shares its stem.

The lexical index holds stems without accents, so that *Ines* matches every *in*, and *this* matches *Thị*. The texts of
the results are therefore compared with the query's words. A note holds a word

- exactly, if it has the word as it was written, in any case;
- inflected, if it has the word with other accents or another common ending, or a word with the same first five letters,
  and neither is a stopword;
- by its stem only, if nothing else explains the match.

A name to which a symbol belongs, such as C++ or .NET, is held exactly as it is written, or else by its stem only.

For a query that is a single term, ``recollect.ranking.lift_exact_term`` also reads terms with punctuation inside, such
as ``BZH-20931``, which are left alone here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from recollect.model import Candidate
from recollect.query import Query, Token, normalise
from recollect.query.parser import symbolic_name
from recollect.query.terms import STOPWORDS
from recollect.retrieval.trace import StemOnly
from recollect.stores import tokens

__all__ = ["ONE_WORD_DEPTH", "discount_stem_only", "is_one_word"]

ONE_WORD_DEPTH = 2000
"""How many results are checked for the exact form of a one-word query: many notes may share its stem."""
CHARACTERS = 20_000
"""How many characters of a content are read; a longer content is not discounted, since the rest may hold the word."""
_SHORTEST_STEM = 3
_SHARED_PREFIX = 5
_ENDINGS = frozenset(
    ["", *"s es e y ies d ed ied ing ings er ers ly al ion ions ation ations ment ments".split()],
)
_WORD = re.compile(r"[^\W_]+")


class _Form(NamedTuple):
    """A word of the query: as it was written, in lower case, and as the index holds it."""

    written: str
    plain: str
    stem: str
    pattern: re.Pattern[str]
    stem_prefix: re.Pattern[str]


def discount_stem_only(
    candidates: Sequence[Candidate], tree: Query, weight: float, *, highest: float | None = None
) -> tuple[list[Candidate], Mapping[str, StemOnly]]:
    """Return lexical candidates with stem-only matches discounted, best first, and the discounts by note id.

    A word that a note holds by its stem only has ``weight``, any other word 1, and the note's score is multiplied by
    the mean over the query. If the query has one word, a note that does not hold it exactly gets at most ``weight``
    times the lowest score of those that do, or at most ``highest`` if that is given. If it has several, only words
    whose stem is a stopword or shorter than three letters are checked: checking all of them would take longer than the
    search. Phrases, prefixes and words with punctuation inside are left alone.

    >>> from recollect.query import parse
    >>> notes = [Candidate("a", content="in town, in May", score=2.0), Candidate("b", content="Ines", score=1.0)]
    >>> [(note.id, note.score) for note in discount_stem_only(notes, parse("Ines"), 0.5)[0]]
    [('b', 1.0), ('a', 0.5)]
    """
    every = _forms(tree.tokens)
    words = every if len(every) == 1 else [group for group in every if any(map(_has_ambiguous_stem, group))]
    if weight >= 1 or not words:
        return list(candidates), {}
    read = [(candidate, *_read(candidate, words)) for candidate in candidates]
    if len(every) == 1 and highest is None:
        lowest = min((candidate.score for candidate, exact, *_ in read if exact), default=None)
        highest = None if lowest is None else weight * lowest
    discounted: dict[str, StemOnly] = {}
    scored = []
    for candidate, _, inflected, by_stem in read:
        score = candidate.score
        if by_stem:
            score *= 1 - (1 - weight) * len(by_stem) / len(every)
        if highest is not None and (inflected or by_stem):
            score = min(score, highest)
        if score != candidate.score:
            discounted[candidate.id] = StemOnly(candidate.score, (*by_stem, *inflected))
            candidate = candidate.copy()  # noqa: PLW2901 (the caller's candidate stays unchanged)
            candidate.score = candidate.lexical_score = score
        scored.append(candidate)
    return (_ranked(scored), discounted) if discounted else (list(candidates), {})


def is_one_word(tree: Query) -> bool:
    """Return whether a query is a single word, with its aliases, that the index may hold in other forms.

    >>> from recollect.query import parse
    >>> is_one_word(parse("who is Ines?")), is_one_word(parse("green tea"))
    (True, False)
    """
    return len(_forms(tree.tokens)) == 1


def _has_ambiguous_stem(form: _Form) -> bool:
    """Return whether the stem of a word is a stopword, as *in* is for *Ines*, lacks a symbol, or is very short."""
    is_ambiguous = form.stem in STOPWORDS or len(form.stem) < _SHORTEST_STEM or not form.plain.isalnum()
    return form.stem != form.plain and is_ambiguous


def _read(candidate: Candidate, words: Sequence[Sequence[_Form]]) -> tuple[list[str], list[str], list[str]]:
    """Return the words that a note holds exactly, inflected, and by their stem only."""
    texts = (candidate.title, candidate.summary, candidate.path, candidate.content[:CHARACTERS])
    text = "\n".join(texts)
    text = text if text.isascii() else normalise(text)
    folded = text.casefold()
    exact: list[str] = []
    others: list[Sequence[_Form]] = []
    for group in words:
        if any(form.written in folded and form.pattern.search(folded) for form in group):
            exact.append(group[0].written)
        elif len(candidate.content) <= CHARACTERS and any(_may_hold(folded, form) for form in group):
            others.append(group)
    spelt: dict[str, set[str]] = {}
    if others:
        for stem, word in tokens.spellings_of(text, {form.stem for group in others for form in group}):
            spelt.setdefault(stem, set()).add(word)
    inflected, by_stem = [], []
    for group in others:
        found = [(word, form) for form in group for word in spelt.get(form.stem, ())]
        if any(_is_inflected(word, form) for word, form in found):
            inflected.append(group[0].written)
        elif found:  # else the match is in a field that is not read here, such as a tag
            by_stem.append(group[0].written)
    return exact, inflected, by_stem


def _may_hold(folded: str, form: _Form) -> bool:
    """Return whether a text may hold a word of the same stem: a quick check before it is split into words.

    The stemmer changes what follows the stem, and at most the stem's last letter, as from *fly* to *fli*.
    """
    return not folded.isascii() or (form.stem[:-1] in folded and form.stem_prefix.search(folded) is not None)


def _is_inflected(spelt: str, form: _Form) -> bool:
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
def _forms(query: tuple[Token, ...]) -> tuple[tuple[_Form, ...], ...]:
    """Return the single words that a query looks for, each in a group with its aliases."""
    groups: list[list[_Form]] = []
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
            groups[-1].append(_Form(spelt, symbolic or tokens.plain(word), stem, pattern, stem_prefix))
    unique = {tuple(form.written for form in group): tuple(group) for group in groups if group}
    return tuple(unique.values())


def _ranked(scored: list[Candidate]) -> list[Candidate]:
    ranked = sorted(scored, key=lambda candidate: (-candidate.score, candidate.path, candidate.id))
    for rank, candidate in enumerate(ranked, start=1):
        if candidate.lexical_rank != rank:
            ranked[rank - 1] = candidate.copy()
            ranked[rank - 1].lexical_rank = rank
    return ranked
