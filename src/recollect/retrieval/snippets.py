"""The piece of a text that fits a query best, and where in it the query's words are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from recollect.characters import collapse_whitespace
from recollect.query import Query, Token

__all__ = ["Snippet", "coverage", "snippet"]

WIDTH = 180
_SHORTEST_STEM = 3
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ers es ed er ly al s e y".split()
_ENDING = f"(?:{'|'.join(_ENDINGS)})?"
_SCANNED = 100_000
"""A text is looked through as far as this; beyond it, a snippet would not be worth the time."""


class Snippet(NamedTuple):
    """A piece of text on one line, and the spans in it that match."""

    text: str
    highlights: tuple[tuple[int, int], ...]


def snippet(content: str, query: Query, width: int = WIDTH) -> Snippet:
    """Return the stretch of ``content`` that holds most of the query's words, cut at words, about ``width`` long.

    A word matches another that begins with the same letters up to its ending, as the word index would have it.

    >>> from recollect.query import parse
    >>> found = snippet("Bought two kettles. Prefers green teas over coffee.", parse("green tea"), width=30)
    >>> found.text, [found.text[start:end] for start, end in found.highlights]
    ('…green teas over coffee.', ['green', 'teas'])
    """
    text = collapse_whitespace(content[:_SCANNED])
    pattern = _patterns(query.tokens).any
    matches = [(found.start(), found.end(), _stem(found[0])) for found in pattern.finditer(text)] if pattern else []
    start = _best_start(matches, width)
    start, end = _at_words(text, start, width)
    shown = "…" * (start > 0) + text[start:end].strip() + "…" * (end < len(text))
    shift = (start > 0) - start - (len(text[start:end]) - len(text[start:end].lstrip()))
    spans = tuple((first + shift, last + shift) for first, last, _ in matches if start <= first and last <= end)
    return Snippet(shown, spans)


def coverage(texts: Iterable[str], query: Query) -> float:
    """Return which share of what a query wants is found in any of ``texts``, as :func:`snippet` would find it.

    >>> from recollect.query import parse
    >>> coverage(["Prefers green teas."], parse("green tea kettle pot"))
    0.5
    """
    patterns = _patterns(query.tokens)
    if not patterns.each:
        return 0.0
    whole = "\n".join(text[:_SCANNED] for text in texts)
    return sum(pattern.search(whole) is not None for pattern in patterns.each) / len(patterns.each)


class _Patterns(NamedTuple):
    """What finds a query's tokens in a text: any of them, or each word with the aliases that stand in its place."""

    any: re.Pattern[str] | None
    each: tuple[re.Pattern[str], ...]


@lru_cache(maxsize=64)  # every hit of a search is looked through for the same words
def _patterns(tokens: tuple[Token, ...]) -> _Patterns:
    """Return what finds the tokens in a text, whatever the endings of their words; excluded ones are left out."""
    words: dict[str, list[str]] = {}
    for token in tokens:
        pattern = _token_pattern(token) if token.operator != "NOT" else ""
        if pattern:
            words.setdefault(token.source or token.text, []).append(pattern)
    if not words:
        return _Patterns(None, ())
    return _Patterns(
        _whole_words({pattern for each in words.values() for pattern in each}), tuple(map(_whole_words, words.values()))
    )


def _whole_words(patterns: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(patterns, key=lambda pattern: (-len(pattern), pattern))
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE)


def _token_pattern(token: Token) -> str:
    """Return a pattern for the words of a token, one after the other, as the person wrote them."""
    words = re.findall(r"\w+", token.text if token.alternative else token.source or token.text)
    if token.kind == "prefix" and words:
        return rf"{re.escape(words[-1])}\w*"
    return r"\W{1,3}".join(re.escape(_stem(word)) + _ENDING for word in words)


def _stem(word: str) -> str:
    """Return a word without the ending that inflection would change."""
    lowered = word.lower()
    for ending in _ENDINGS:
        if lowered.endswith(ending) and len(lowered) - len(ending) >= _SHORTEST_STEM:
            return lowered.removesuffix(ending)
    return lowered


def _best_start(matches: list[tuple[int, int, str]], width: int) -> int:
    """Return where a window holds most different words; the first of equals, with some text before it."""
    best, most, left = 0, 0, 0
    for right, (_, end, _) in enumerate(matches):
        while end - matches[left][0] > width and left < right:
            left += 1
        different = len({stem for *_, stem in matches[left : right + 1]}) if right - left < 40 else 40
        if different > most:
            most, best = different, left
    return max(0, matches[best][0] - width // 5) if matches else 0


def _at_words(text: str, start: int, width: int) -> tuple[int, int]:
    """Move both ends of a window to the nearest space inside it, if there is one."""
    start = max(0, min(start, len(text) - width))
    end = min(len(text), start + width)
    if start > 0:
        space = text.find(" ", start, start + 30)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(start, end - 30), end)
        end = space if space > start else end
    return start, end
