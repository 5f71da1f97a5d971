"""Terms of a query: where a text contains them, how frequent they are, and which are too frequent to be embedded.

A word of a text matches a term if both begin with the same letters up to a common ending, as in the lexical index;
accents are ignored. A name with a symbol, such as C++, matches only as it is written. Each term is searched as plain
text: compiling a pattern for each query would take longer than the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from recollect.query import Query, Token
from recollect.query.parser import symbolic_name
from recollect.query.terms import ENGLISH
from recollect.text import collapse_whitespace, fold_accents

if TYPE_CHECKING:
    from recollect.stores.search_index import SupportsTermCounts

_WORD = re.compile(r"\w+")
_SHORTEST_STEM = 3
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ers es ed er ly al s e y".split()
_POSSIBLE_ENDINGS = frozenset((*_ENDINGS, ""))
_NEXT_WORD = re.compile(r"(?:\s++|[^\w\s]){1,3}(\w+)")
"""The next word of a phrase, after at most three punctuation marks or runs of white space."""
_SYMBOLS = ("+", "#")
_SEVERAL_LETTERS = frozenset("ßẞæÆœŒİ")
"""Letters that become several in lower case without accents."""
MAX_SCANNED = 100_000
"""How many characters of a text are scanned."""


class TermMatch(NamedTuple):
    """A span of a text that matches a term of the query, and the index of that term."""

    start: int
    end: int
    term: int


class _Term(NamedTuple):
    """One word or phrase: the stems of its words, and whether the last is only a prefix."""

    stems: tuple[str, ...]
    is_prefix: bool
    term: int
    """The index of the query's term; the aliases of a term have the same."""
    symbolic: str = ""
    """The whole name if it has a symbol: ``c#`` or ``.net``."""


def match_terms(text: str, query: Query) -> list[TermMatch]:
    """Return the spans of ``text`` that match positive terms of ``query``, from left to right, without overlaps.

    If several begin at the same character, the longest is returned.

    >>> from recollect.query import parse
    >>> match_terms("Two kettles, greener teas.", parse("green tea"))
    [TermMatch(start=13, end=20, term=0), TermMatch(start=21, end=25, term=1)]
    """
    lowered, offsets = _folded_with_offsets(text[:MAX_SCANNED])
    matches: list[TermMatch] = []
    for stem, terms in _terms_by_stem(query.tokens).items():
        start = lowered.find(stem)
        while start >= 0:
            before = lowered[start - 1 : start]
            if not (before.isalnum() or before == "_"):
                ends = ((_end(lowered, start, term), term.term) for term in terms)
                matches += [TermMatch(offsets[start], offsets[end - 1] + 1, term) for end, term in ends if end]
            start = lowered.find(stem, start + 1)
    if len(matches) < 2:
        return matches
    matches.sort(key=lambda match: (match.start, -match.end, match.term))
    disjoint: list[TermMatch] = []
    for match in matches:
        if not disjoint or match.start >= disjoint[-1].end:
            disjoint.append(match)
    return disjoint


def count_terms(text: str, query: Query) -> dict[int, int]:
    """Return how often ``text`` contains each positive term of ``query``, by the term's index.

    It is faster than :func:`match_terms`.

    >>> from recollect.query import parse
    >>> count_terms("Tea? Green teas, please.", parse("green tea"))
    {0: 1, 1: 2}
    """
    lowered = fold_accents(text[:MAX_SCANNED].lower())
    counts: dict[int, int] = {}
    for stem, terms in _terms_by_stem(query.tokens).items():
        start = lowered.find(stem)
        while start >= 0:
            before = lowered[start - 1 : start]
            if not (before.isalnum() or before == "_"):
                for term in terms:
                    if _end(lowered, start, term):
                        counts[term.term] = counts.get(term.term, 0) + 1
                        break
            start = lowered.find(stem, start + 1)
    return counts


def positive_terms(query: Query) -> dict[str, Query]:
    """Return each term that the query does not exclude, as written, with a query for it alone; in their order.

    >>> from recollect.query import parse
    >>> [term.tokens[0].text for term in positive_terms(parse("green tea NOT coffee")).values()]
    ['green', 'tea']
    """
    terms: dict[str, list[Token]] = {}
    for token, _ in _positive_tokens(query.tokens):
        terms.setdefault(token.source or token.text, []).append(token._replace(operator=None))
    return {term: Query(term, tuple(tokens), has_operators=False) for term, tokens in terms.items()}


@lru_cache(maxsize=64)  # every hit of a search is scanned for the same terms
def _terms_by_stem(tokens: tuple[Token, ...]) -> dict[str, list[_Term]]:
    """Return the positive terms among tokens by the stem of their first word."""
    numbers: dict[str, int] = {}
    by_stem: dict[str, list[_Term]] = {}
    for token, words in _positive_tokens(tokens):
        number = numbers.setdefault(token.source or token.text, len(numbers))
        if token.kind == "prefix":
            term = _Term((fold_accents(words[-1].lower()),), is_prefix=True, term=number)
        else:
            symbolic = "" if token.alternative or token.kind == "phrase" else symbolic_name(token.source)
            term = _Term(tuple(map(_stem, words)), is_prefix=False, term=number, symbolic=fold_accents(symbolic))
        same = by_stem.setdefault(term.stems[0], [])
        if term not in same:
            same.append(term)
    return by_stem


def _positive_tokens(tokens: Iterable[Token]) -> Iterator[tuple[Token, list[str]]]:
    """Yield the tokens that are not excluded and have a letter or digit, each with its words."""
    excluded = False
    for token in tokens:
        excluded = excluded if token.alternative > 1 else token.operator == "NOT"
        words = _WORD.findall(token.text if token.alternative else token.source or token.text)
        if words and not excluded:
            yield token, words


def _folded_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in lower case without accents, and the offset in the text of each of its characters."""
    folded = fold_accents(text.lower())
    if text.isascii() or (len(folded) == len(text) and _SEVERAL_LETTERS.isdisjoint(text)):
        return folded, range(len(text))
    letters = [fold_accents(letter.lower()) for letter in text]
    offsets = [offset for offset, characters in enumerate(letters) for _ in characters]
    return "".join(letters), offsets


def _end(lowered: str, start: int, term: _Term) -> int:
    """Return the end of a term that begins at ``start``; 0 if it does not."""
    if term.symbolic:
        return _symbolic_end(lowered, start, term.symbolic)
    end = start
    word = _WORD.match(lowered, start)
    for index, stem in enumerate(term.stems):
        if index:
            word = _NEXT_WORD.match(lowered, end)
        if word is None:
            return 0
        spelt = word[word.lastindex or 0]
        if not spelt.startswith(stem) or not (term.is_prefix or spelt[len(stem) :] in _POSSIBLE_ENDINGS):
            return 0
        end = word.end()
        if len(spelt) == 1 and lowered[end : end + 1] in _SYMBOLS:
            return 0  # C is neither C++ nor C#
    return end


def _symbolic_end(lowered: str, start: int, name: str) -> int:
    """Return the end of a name with a symbol whose first letter is at ``start``; 0 if it is not there."""
    start -= name.startswith(".")
    end = start + len(name)
    following = lowered[end : end + 1]
    is_whole = not (following.isalnum() or following == "_" or following in _SYMBOLS)
    return end if start >= 0 and is_whole and lowered.startswith(name, start) else 0


def _stem(word: str) -> str:
    """Return a word without its inflectional ending."""
    lowered = fold_accents(word.lower())
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(lowered) - len(ending) >= _SHORTEST_STEM:
            return lowered.removesuffix(ending)
    return lowered


MAX_COUNTED_TERMS = 32
"""Queries with more terms are searched without document frequencies."""
_MIN_WEIGHT = 1e-6


class TermFrequencies(NamedTuple):
    """The number of notes, and how many of them contain each term of a query, by the term as written.

    >>> round(TermFrequencies(100, {"tea": 4}).bm25_weight("tea"), 2)
    3.07
    """

    notes: int
    counts: Mapping[str, int]

    def bm25_weight(self, term: str) -> float:
        """Return the inverse document frequency of BM25, as FTS5 computes it: ``ln((N - n + 0.5) / (n + 0.5))``."""
        count = min(self.notes, self.counts[term])  # the caller's own index may count otherwise
        return max(_MIN_WEIGHT, log((self.notes - count + 0.5) / (count + 0.5)))

    def weight(self, term: str) -> float:
        """Return the inverse document frequency ``ln(1 + (N - n + 0.5) / (n + 0.5))``, always above 0."""
        count = min(self.notes, self.counts[term])
        return log(1 + (self.notes - count + 0.5) / (count + 0.5))

    def share(self, term: str) -> float:
        """Return the share of the notes that contain a term."""
        return self.counts[term] / self.notes if self.notes else 0.0


def document_frequencies(query: Query, index: SupportsTermCounts, namespace: str) -> TermFrequencies | None:
    """Return the document frequencies of a query's terms; ``None`` if it has none, or too many."""
    terms = positive_terms(query)
    if not 0 < len(terms) <= MAX_COUNTED_TERMS:
        return None
    notes, counts = index.note_counts(list(terms.values()), namespace=namespace)
    return TermFrequencies(notes, dict(zip(terms, counts, strict=True)))


MIN_NOTES = 10
"""Among fewer notes, a term that most of them contain may still be what the query is about."""


def drop_frequent_terms(text: str, query: Query, frequencies: TermFrequencies, max_share: float) -> str:
    """Return ``text`` without the query's terms that more than ``max_share`` of the notes contain.

    A name that most notes contain, such as a speaker's in a conversation, draws a query's vector towards every note
    with that name and does not tell them apart. Among few notes chance counts for more: the share must be exceeded by
    one part in the square root of their number. If no other term would be left, all stay, and so do terms in phrases,
    prefixes and aliases.

    >>> from recollect.query import parse
    >>> query = parse("When did Caroline paint a sunrise?")
    >>> frequencies = TermFrequencies(400, {"Caroline": 230, "paint": 12, "sunrise?": 3})
    >>> drop_frequent_terms(query.raw, query, frequencies, 0.45)
    'When did paint a sunrise?'
    """
    if frequencies.notes < MIN_NOTES:
        return text
    limit = max_share + 1 / sqrt(frequencies.notes)
    own = {token.source or token.text for token in query.tokens if token.kind == "term" and not token.alternative}
    # Excluded terms are not counted, nor are those without a letter.
    frequent = {
        term
        for term in own & frequencies.counts.keys()
        if frequencies.share(term) > limit and not _resembles_stopword(term)
    }
    if not frequent or len(frequent) == len(frequencies.counts):
        return text
    return " ".join(word for word in text.split() if word not in frequent) or text


def _resembles_stopword(word: str) -> bool:
    """Return whether the index may stem a word to a stopword, as Ines to in."""
    letters = "".join(letter for letter in word.lower() if letter.isalpha())
    return any(letters.removesuffix(ending) in ENGLISH for ending in ("s", "es", "e", "ed", "ing"))


def error_summary(error: BaseException) -> str:
    """Return the message of an error on one line, or its type if there is none.

    >>> error_summary(ValueError("disk  full")), error_summary(KeyError())
    ('disk full', 'KeyError')
    """
    printable = "".join(character if character.isprintable() else " " for character in str(error))
    return collapse_whitespace(printable) or type(error).__name__
