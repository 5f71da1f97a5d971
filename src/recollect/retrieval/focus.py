"""What a query's vector should stand for: what sets the wanted notes apart from the others.

A name that stands in most notes, such as a speaker's in a conversation, draws a query's vector towards every note with
that name, and says nothing about which of them is meant.
"""

from __future__ import annotations

from math import sqrt

from recollect.query import Query
from recollect.query.terms import ENGLISH
from recollect.retrieval.rarity import Rarity

__all__ = ["focused"]

FEWEST_NOTES = 10
"""Among fewer notes, a word that most of them hold may still be what the query is about."""


def focused(text: str, words: Query, rarity: Rarity, share: float) -> str:
    """Return ``text`` without the words of the query that more than a ``share`` of the notes hold.

    Among few notes chance counts for more: the share must be passed by one part in the square root of their number.
    Where no other word would be left, all stay, and so do words in phrases, prefixes and aliases.

    >>> from recollect.query import parse
    >>> words = parse("When did Caroline paint a sunrise?")
    >>> rarity = Rarity(400, {"Caroline": 230, "paint": 12, "sunrise?": 3})
    >>> focused(words.raw, words, rarity, 0.45)
    'When did paint a sunrise?'
    """
    if rarity.notes < FEWEST_NOTES:
        return text
    most = share + 1 / sqrt(rarity.notes)
    own = {token.source or token.text for token in words.tokens if token.kind == "term" and not token.alternative}
    # What a query excludes is not counted, nor is what has no letter.
    common = {
        word for word in own & rarity.holding.keys() if rarity.share(word) > most and not _is_like_a_stopword(word)
    }
    if not common or len(common) == len(rarity.holding):
        return text
    return " ".join(word for word in text.split() if word not in common) or text


def _is_like_a_stopword(word: str) -> bool:
    """Return whether the index may take a word for one that stands in every text, as it takes Ines for in."""
    letters = "".join(letter for letter in word.lower() if letter.isalpha())
    return any(letters.removesuffix(ending) in ENGLISH for ending in ("s", "es", "e", "ed", "ing"))
