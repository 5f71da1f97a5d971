"""What a note may be called by in the text of another: its title, in the words that the word index reads.

Both sides are read by the tokenizer of the index itself, so that looking for a title in new text and looking for text
with a new title, which the index does, always agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from recollect.query import normalise
from recollect.query.stopwords import DUTCH, ENGLISH

__all__ = ["BREAK", "MOST_WORDS", "Reader", "Title", "indexed"]

BREAK = "\ue000"
"""Stands between texts that are read at once: for the tokenizer a word, and in no title."""

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


def indexed(text: Any) -> Any:
    """Return ``text`` as the word index takes it: in the spelling that queries are brought to."""
    return text if text is None or text.isascii() else normalise(text)


class Reader:
    """Reads texts as the word index does.

    >>> reader = Reader(apsw.Connection(":memory:"))
    >>> reader.words(["Robert-Bosch Straße", "cafés"]) == ["robert", "bosch", "straße", BREAK, "cafes"]
    True
    >>> reader.stems(["green cafés"])
    ['green', 'cafe']
    >>> [[title.words for title in titles] for titles in reader.titles(["Tenet (film)", "The"])]
    [['tenet film', 'tenet'], []]
    """

    def __init__(self, connection: apsw.Connection) -> None:
        """Take the tokenizers from a connection."""
        self._plain = connection.fts5_tokenizer("unicode61")
        self._stemming = connection.fts5_tokenizer("porter", ["unicode61"])

    def words(self, texts: Sequence[str]) -> list[str]:
        """Return the folded words of texts, with a break between one and the next."""
        return _read(self._plain, texts)

    def stems(self, texts: Sequence[str]) -> list[str]:
        """Return the words of texts as the word index holds them, with a break between one and the next."""
        return _read(self._stemming, texts)

    def titles(self, titles: Sequence[str]) -> list[list[Title]]:
        """Return the ways in which notes with these titles may be named: ``Tenet (film)`` also as ``Tenet``.

        Those that would be found everywhere are left out: a word that is short, a number or a stopword, and stopwords
        alone. So are those that are too long to be named.
        """
        texts = [title if len(title) <= LONGEST and BREAK not in title else "" for title in titles]
        whole = self._titles(texts)
        shorter = {
            place: before
            for place, text in enumerate(texts)
            if ")" in text and (before := _before_brackets(text)) is not None
        }
        for place, found in zip(shorter, self._titles(list(shorter.values())), strict=True):
            whole[place] += [title for title in found if title.words not in [each.words for each in whole[place]]]
        return whole

    def _titles(self, texts: Sequence[str]) -> list[list[Title]]:
        if not texts:
            return []
        words = " ".join(self.words(texts)).split(BREAK)
        stems = " ".join(self.stems(texts)).split(BREAK)
        read = map(Title, map(str.strip, words), map(str.strip, stems), texts)
        return [[title] if _says_something(title.words.split()) else [] for title in read]


def _read(tokenizer: apsw.FTS5Tokenizer, texts: Sequence[str]) -> list[str]:
    taken: str = f" {BREAK} ".join(map(indexed, texts))
    if taken.count(BREAK) >= len(texts):  # one of them holds what stands between them
        taken = f" {BREAK} ".join(indexed(text).replace(BREAK, f"{BREAK}{BREAK}") for text in texts)
    words: Any = tokenizer(
        taken.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    read: list[str] = words
    return read


def _before_brackets(text: str) -> str | None:
    before, bracket, within = text.rstrip().rpartition("(")
    return before if bracket and within.find(")") == len(within) - 1 else None


def _says_something(words: Sequence[str]) -> bool:
    if len(words) == 1:
        (word,) = words
        return len(word) >= FEWEST_LETTERS and not word.isnumeric() and word not in _STOPWORDS
    return 0 < len(words) <= MOST_WORDS and not _STOPWORDS.issuperset(words)
