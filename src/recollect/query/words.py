"""What the retry ladder reads from a query: its plain words, and the strongest of them."""

from __future__ import annotations

import regex

from recollect import arguments
from recollect.query.stopwords import LADDER
from recollect.text import collapse_whitespace, well_formed

__all__ = ["query_tokens", "sanitise", "strongest_term"]

_PUNCTUATION_AND_SYMBOLS = regex.compile(r"[\p{P}\p{S}]+")
_SHORTEST = 3


def sanitise(text: str) -> str:
    """Return ``text`` with punctuation and symbols turned into spaces, white space collapsed, case kept.

    >>> sanitise("What's C++ (in short)?")
    'What s C in short'
    """
    arguments.text("text", text)
    return collapse_whitespace(_PUNCTUATION_AND_SYMBOLS.sub(" ", well_formed(text)))


def query_tokens(text: str) -> list[str]:
    """Return the words of ``text`` worth looking for: lower-cased, at least three letters, no ladder stopwords, unique.

    >>> query_tokens("how do I deploy kubernetes clusters, and deploy again?")
    ['deploy', 'kubernetes', 'clusters']
    """
    words = sanitise(text).lower().split(" ")
    return list(dict.fromkeys(word for word in words if len(word) >= _SHORTEST and word not in LADDER))


def strongest_term(text: str) -> str | None:
    """Return the longest of :func:`query_tokens`, the first of them where several are as long, or ``None``.

    >>> strongest_term("how do I deploy kubernetes clusters")
    'kubernetes'
    >>> strongest_term("the and or") is None
    True
    """
    return max(query_tokens(text), key=len, default=None)
