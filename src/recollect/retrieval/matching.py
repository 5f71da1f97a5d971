"""Where a query's words stand in a text, whatever their endings; no engine is asked.

A word matches another that begins with the same letters up to its ending, as the word index would have it. Texts are
looked through word by word: a pattern made for each query would take longer to compile than it takes to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from recollect.query import Query, Token

__all__ = ["Matched", "coverage", "matches"]

_WORD = re.compile(r"\w+")
_SHORTEST_STEM = 3
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ers es ed er ly al s e y".split()
_POSSIBLE_ENDINGS = frozenset((*_ENDINGS, ""))
_WIDEST_GAP = 3
"""How many signs may lie between two words of a phrase."""
SCANNED = 100_000
"""A text is looked through as far as this; beyond it, it would not be worth the time."""


class Matched(NamedTuple):
    """A place in a text that matches, and which of the query's words it is."""

    start: int
    end: int
    word: int


class _Term(NamedTuple):
    """One word or phrase to find: the stems of its words, and whether the last is only a beginning."""

    stems: tuple[str, ...]
    is_prefix: bool
    word: int
    """Which of the query's words it stands for; aliases stand for the same."""


class _Terms(NamedTuple):
    """What a query wants, by the stem of the first word, and how long these stems are."""

    by_stem: dict[str, list[_Term]]
    lengths: tuple[int, ...]
    words: int
    """How many words the query has, each with all that stands in its place."""


def matches(text: str, query: Query) -> list[Matched]:
    """Return where ``text`` holds what ``query`` wants, from left to right, the longest where several begin.

    >>> from recollect.query import parse
    >>> matches("Two kettles, greener teas.", parse("green tea"))
    [Matched(start=13, end=20, word=0), Matched(start=21, end=25, word=1)]
    """
    by_stem, lengths, _ = _terms(query.tokens)
    if not by_stem:
        return []
    words = list(_WORD.finditer(text, 0, SCANNED))
    found: list[Matched] = []
    free = 0
    for place, word in enumerate(words):
        lowered = word[0].lower()
        ends = [
            (end, term.word)
            for length in lengths
            for term in by_stem.get(lowered[:length], ())
            if (end := _end(words, place, term)) is not None
        ]
        if ends and place >= free:
            last, which = max(ends, key=_longest)
            found.append(Matched(word.start(), words[last].end(), which))
            free = last + 1
    return found


def _longest(end: tuple[int, int]) -> int:
    return end[0]


def coverage(texts: Iterable[str], query: Query, *, held: Iterable[int] = ()) -> float:
    """Return which share of the query's words any of ``texts`` holds, or are ``held`` anyway.

    >>> from recollect.query import parse
    >>> coverage(["Prefers green teas."], parse("green tea kettle pot"))
    0.5
    """
    words = _terms(query.tokens).words
    return len({*held, *(match.word for text in texts for match in matches(text, query))}) / words if words else 0.0


@lru_cache(maxsize=64)  # every hit of a search is looked through for the same words
def _terms(tokens: tuple[Token, ...]) -> _Terms:
    """Return what tokens look for; excluded ones are left out, and so are those without a letter."""
    numbers: dict[str, int] = {}
    by_stem: dict[str, list[_Term]] = {}
    excluded = False
    for token in tokens:
        excluded = excluded if token.alternative > 1 else token.operator == "NOT"
        words = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if excluded or not words:
            continue
        number = numbers.setdefault(token.source or token.text, len(numbers))
        if token.kind == "prefix":
            term = _Term((words[-1].lower(),), is_prefix=True, word=number)
        else:
            term = _Term(tuple(map(_stem, words)), is_prefix=False, word=number)
        by_stem.setdefault(term.stems[0], []).append(term)
    return _Terms(by_stem, tuple(sorted({len(stem) for stem in by_stem})), len(numbers))


def _end(words: Sequence[re.Match[str]], place: int, term: _Term) -> int | None:
    """Return the last word of a term that begins at a word, or ``None`` if it does not."""
    last = place + len(term.stems) - 1
    if last >= len(words):
        return None
    for offset, stem in enumerate(term.stems):
        here = words[place + offset]
        if offset and here.start() - words[place + offset - 1].end() > _WIDEST_GAP:
            return None
        word = here[0].lower()
        if not word.startswith(stem) or not (term.is_prefix or word[len(stem) :] in _POSSIBLE_ENDINGS):
            return None
    return last


def _stem(word: str) -> str:
    """Return a word without the ending that inflection would change."""
    lowered = word.lower()
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(lowered) - len(ending) >= _SHORTEST_STEM:
            return lowered.removesuffix(ending)
    return lowered
