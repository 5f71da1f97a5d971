"""The piece of a text that fits a query best, and where in it the query's words are."""

from __future__ import annotations

from typing import NamedTuple

from recollect.query import Query
from recollect.retrieval.matching import SCANNED, Matched, matches
from recollect.text import collapse_whitespace

__all__ = ["Snippet", "snippet"]

WIDTH = 180


class Snippet(NamedTuple):
    """A piece of text on one line, and the spans in it that match."""

    text: str
    highlights: tuple[tuple[int, int], ...]
    words: frozenset[int]
    """Which of the query's words the whole text holds."""


def snippet(content: str, query: Query, width: int = WIDTH) -> Snippet:
    """Return the stretch of ``content`` that holds most of the query's words, cut at words, about ``width`` long.

    >>> from recollect.query import parse
    >>> found = snippet("Bought two kettles. Prefers green teas over coffee.", parse("green tea"), width=30)
    >>> found.text, [found.text[start:end] for start, end in found.highlights]
    ('…green teas over coffee.', ['green', 'teas'])
    """
    text = collapse_whitespace(content[:SCANNED])
    found = matches(text, query)
    start = _best_start(found, width)
    start, end = _at_words(text, start, width)
    shown = "…" * (start > 0) + text[start:end].strip() + "…" * (end < len(text))
    shift = (start > 0) - start - (len(text[start:end]) - len(text[start:end].lstrip()))
    spans = tuple((first + shift, last + shift) for first, last, _ in found if start <= first and last <= end)
    return Snippet(shown, spans, frozenset(match.word for match in found))


def _best_start(found: list[Matched], width: int) -> int:
    """Return where a window holds most different words; the first of equals, with some text before it."""
    best, most, left = 0, 0, 0
    for right, match in enumerate(found):
        while match.end - found[left].start > width and left < right:
            left += 1
        different = len({each.word for each in found[left : right + 1]}) if right - left < 40 else 40
        if different > most:
            most, best = different, left
    return max(0, found[best].start - width // 5) if found else 0


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
