"""What a note may be called by in the text of another: its title, in the words that the word index reads.

Both sides are read by the tokenizer of the index itself, so that looking for a title in new text and looking for text
with a new title, which the index does, always agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.query.terms import DUTCH, ENGLISH
from recollect.stores import tokens
from recollect.stores.tokens import BREAK

__all__ = ["MOST_WORDS", "Title", "read_titles"]

MOST_WORDS = 12
LONGEST = 300
FEWEST_LETTERS = 4
"""How long a title of one word is at least."""

_STOPWORDS = ENGLISH | DUTCH


class Title(NamedTuple):
    """One way to name a note."""

    words: str
    """The folded words, joined by spaces."""
    stems: str
    """The same as the word index holds them."""
    text: str


def read_titles(titles: Sequence[str]) -> list[list[Title]]:
    """Return the ways in which notes with these titles may be named: ``Tenet (film)`` also as ``Tenet``.

    Those that would be found everywhere are left out: a word that is short, a number or a stopword, and stopwords
    alone. So are those that are too long to be named.

    >>> [[title.words for title in titles] for titles in read_titles(["Tenet (film)", "The"])]
    [['tenet film', 'tenet'], []]
    """
    texts = [title if len(title) <= LONGEST and BREAK not in title else "" for title in titles]
    whole = _titles(texts)
    shorter = {
        place: before
        for place, text in enumerate(texts)
        if ")" in text and (before := _before_brackets(text)) is not None
    }
    for place, found in zip(shorter, _titles(list(shorter.values())), strict=True):
        whole[place] += [title for title in found if title.words not in [each.words for each in whole[place]]]
    return whole


def _titles(texts: Sequence[str]) -> list[list[Title]]:
    if not texts:
        return []
    words = " ".join(tokens.words(texts)).split(BREAK)
    stems = " ".join(tokens.stems(texts)).split(BREAK)
    read = map(Title, map(str.strip, words), map(str.strip, stems), texts)
    return [[title] if _says_something(title.words.split()) else [] for title in read]


def _before_brackets(text: str) -> str | None:
    before, bracket, within = text.rstrip().rpartition("(")
    return before if bracket and within.find(")") == len(within) - 1 else None


def _says_something(words: Sequence[str]) -> bool:
    if len(words) == 1:
        (word,) = words
        return len(word) >= FEWEST_LETTERS and not word.isnumeric() and word not in _STOPWORDS
    return 0 < len(words) <= MOST_WORDS and not _STOPWORDS.issuperset(words)
