"""Where a query's words stand in a text, whatever their endings; no engine is asked.

A word matches another that begins with the same letters up to its ending, as the word index would have it; accents do
not count. A name to which a symbol belongs, such as C++, matches only as it is written. Each word
is looked for as plain text: a pattern made for each query would take longer to compile than it takes to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from recollect.query import Query, Token
from recollect.query.parser import symbolic_name
from recollect.text import fold_accents

__all__ = ["Matched", "coverage", "matches", "occurrences", "sought"]

_WORD = re.compile(r"\w+")
_SHORTEST_STEM = 3
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ers es ed er ly al s e y".split()
_POSSIBLE_ENDINGS = frozenset((*_ENDINGS, ""))
_NEXT_WORD = re.compile(r"(?:\s++|[^\w\s]){1,3}(\w+)")
"""The next word of a phrase: so few signs, or stretches of white space, may lie between two."""
_SYMBOLS = ("+", "#")
_SEVERAL_LETTERS = frozenset("ßẞæÆœŒİ")
"""Letters that become several in lower case without accents."""
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
    symbolic: str = ""
    """The whole name where a symbol belongs to it: ``c#`` or ``.net``."""


class _Terms(NamedTuple):
    """What a query wants, by the stem of the first word."""

    by_stem: dict[str, list[_Term]]
    words: int
    """How many words the query has, each with all that stands in its place."""


def matches(text: str, query: Query) -> list[Matched]:
    """Return where ``text`` holds what ``query`` wants, from left to right, the longest where several begin.

    >>> from recollect.query import parse
    >>> matches("Two kettles, greener teas.", parse("green tea"))
    [Matched(start=13, end=20, word=0), Matched(start=21, end=25, word=1)]
    """
    lowered, places = _folded_with_places(text[:SCANNED])
    begun: list[Matched] = []
    for stem, terms in _terms(query.tokens).by_stem.items():
        at = lowered.find(stem)
        while at >= 0:
            before = lowered[at - 1 : at]
            if not (before.isalnum() or before == "_"):
                ends = ((_end(lowered, at, term), term.word) for term in terms)
                begun += [Matched(places[at], places[end - 1] + 1, word) for end, word in ends if end]
            at = lowered.find(stem, at + 1)
    if len(begun) < 2:
        return begun
    begun.sort(key=lambda match: (match.start, -match.end, match.word))
    found: list[Matched] = []
    free = 0
    for match in begun:
        if match.start >= free:
            found.append(match)
            free = match.end
    return found


def occurrences(text: str, query: Query) -> dict[int, int]:
    """Return how often ``text`` holds each word of ``query``, by its number; quicker than to ask where.

    >>> from recollect.query import parse
    >>> occurrences("Tea? Green teas, please.", parse("green tea"))
    {0: 1, 1: 2}
    """
    lowered = fold_accents(text[:SCANNED].lower())
    counts: dict[int, int] = {}
    for stem, terms in _terms(query.tokens).by_stem.items():
        at = lowered.find(stem)
        while at >= 0:
            before = lowered[at - 1 : at]
            if not (before.isalnum() or before == "_"):
                for term in terms:
                    if _end(lowered, at, term):
                        counts[term.word] = counts.get(term.word, 0) + 1
                        break
            at = lowered.find(stem, at + 1)
    return counts


def coverage(texts: Iterable[str], query: Query, *, held: Iterable[int] = ()) -> float:
    """Return which share of the query's words any of ``texts`` holds, or are ``held`` anyway.

    >>> from recollect.query import parse
    >>> coverage(["Prefers green teas."], parse("green tea kettle pot"))
    0.5
    """
    words = _terms(query.tokens).words
    found = (match.word for text in texts if text for match in matches(text, query))
    return len({*held, *found}) / words if words else 0.0


def sought(query: Query) -> dict[str, Query]:
    """Return each word of a query by what the person wrote, as a query of its own, in the order of their numbers.

    >>> from recollect.query import parse
    >>> [each.tokens[0].text for each in sought(parse("green tea NOT coffee")).values()]
    ['green', 'tea']
    """
    words: dict[str, list[Token]] = {}
    for token, _ in _wanted(query.tokens):
        words.setdefault(token.source or token.text, []).append(token._replace(operator=None))
    return {word: Query(word, tuple(tokens), has_operators=False) for word, tokens in words.items()}


@lru_cache(maxsize=64)  # every hit of a search is looked through for the same words
def _terms(tokens: tuple[Token, ...]) -> _Terms:
    """Return what tokens look for; excluded ones are left out, and so are those without a letter."""
    numbers: dict[str, int] = {}
    by_stem: dict[str, list[_Term]] = {}
    for token, words in _wanted(tokens):
        number = numbers.setdefault(token.source or token.text, len(numbers))
        if token.kind == "prefix":
            term = _Term((fold_accents(words[-1].lower()),), is_prefix=True, word=number)
        else:
            symbolic = "" if token.alternative or token.kind == "phrase" else symbolic_name(token.source)
            term = _Term(tuple(map(_stem, words)), is_prefix=False, word=number, symbolic=fold_accents(symbolic))
        same = by_stem.setdefault(term.stems[0], [])
        if term not in same:
            same.append(term)
    return _Terms(by_stem, len(numbers))


def _wanted(tokens: Iterable[Token]) -> Iterator[tuple[Token, list[str]]]:
    """Yield the tokens that are not excluded and have a letter, each with its words."""
    excluded = False
    for token in tokens:
        excluded = excluded if token.alternative > 1 else token.operator == "NOT"
        words = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if words and not excluded:
            yield token, words


def _folded_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in lower case without accents, and for each of its letters its place in the text."""
    folded = fold_accents(text.lower())
    if text.isascii() or (len(folded) == len(text) and _SEVERAL_LETTERS.isdisjoint(text)):
        return folded, range(len(text))
    letters = [fold_accents(letter.lower()) for letter in text]
    places = [place for place, folded_to in enumerate(letters) for _ in folded_to]
    return "".join(letters), places


def _end(lowered: str, at: int, term: _Term) -> int:
    """Return where a term ends that begins at a place, or 0 if it does not begin there."""
    if term.symbolic:
        return _symbolic_end(lowered, at, term.symbolic)
    word = _WORD.match(lowered, at)
    for place, stem in enumerate(term.stems):
        if place:
            word = _NEXT_WORD.match(lowered, at)
        if word is None:
            return 0
        spelt = word[word.lastindex or 0]
        if not spelt.startswith(stem) or not (term.is_prefix or spelt[len(stem) :] in _POSSIBLE_ENDINGS):
            return 0
        at = word.end()
        if len(spelt) == 1 and lowered[at : at + 1] in _SYMBOLS:
            return 0  # C is neither C++ nor C#
    return at


def _symbolic_end(lowered: str, at: int, name: str) -> int:
    """Return where a name with a symbol ends whose first letter is at a place, or 0 if it is not there."""
    start = at - name.startswith(".")
    end = start + len(name)
    following = lowered[end : end + 1]
    is_whole = not (following.isalnum() or following == "_" or following in _SYMBOLS)
    return end if start >= 0 and is_whole and lowered.startswith(name, start) else 0


def _stem(word: str) -> str:
    """Return a word without the ending that inflection would change."""
    lowered = fold_accents(word.lower())
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(lowered) - len(ending) >= _SHORTEST_STEM:
            return lowered.removesuffix(ending)
    return lowered
