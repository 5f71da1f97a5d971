"""A text as words with offsets, and a time as it was written in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from recollect.query.time_words import PAST, PAST_AFTER, RELATIVE

__all__ = ["PHRASE_GAPS", "Mention", "TokenizedText", "is_year", "relative_before", "year_after"]

PHRASE_GAPS = frozenset((" ", "-", "'", "’"))
"""What may be between two words of a phrase."""


@dataclass(slots=True)
class Mention:
    """A time as it was written, and what it means."""

    start: int
    """Where it begins in the text."""
    end: int
    bounds: list[tuple[datetime, datetime]]
    yearless: tuple[int, int] | None = None
    """Month and first day (0: the whole month), if no year was written."""
    certain: bool = True
    """Whether it is a time by itself; if not, it counts only as one end of a range."""
    weekday: int | None = None
    """The day of the week, if only that was written; Monday is 0."""
    ranged: bool = False
    """Whether it is a range, such as "from March to May"."""


class TokenizedText:
    """The words and numbers of a text, in lower case, and their offsets."""

    __slots__ = ("lower", "spans", "text")

    def __init__(self, text: str) -> None:
        """Split a text into runs of letters and runs of digits."""
        self.text = text
        matches = list(_WORD.finditer(text))
        self.lower = [match[0].lower() for match in matches]
        self.spans = [match.span() for match in matches]

    def at(self, index: int) -> str:
        """Return a word in lower case; empty if there is no such index."""
        return self.lower[index] if 0 <= index < len(self.lower) else ""

    def written(self, index: int) -> str:
        """Return a word as it was written."""
        start, end = self.spans[index]
        return self.text[start:end]

    def gap(self, index: int) -> str:
        """Return the text between a word and the next, or the rest of the text after the last word."""
        end = self.spans[index][1]
        return self.text[end : self.spans[index + 1][0]] if index + 1 < len(self.spans) else self.text[end:]

    def spaced(self, index: int) -> bool:
        """Return whether only white space is between a word and the next."""
        return 0 <= index < len(self.spans) - 1 and self.gap(index).isspace()

    def before(self, index: int) -> str:
        """Return the word before one, if only white space is between them."""
        return self.lower[index - 1] if index and self.spaced(index - 1) else ""

    def two_before(self, index: int) -> str:
        """Return the two words before one."""
        first = self.before(index - 1) if index else ""
        return f"{first} {self.before(index)}" if first else ""

    def ends_clause(self, index: int) -> bool:
        """Return whether a word is the last of its sentence or clause."""
        gap = self.gap(index).lstrip()
        return gap[:1] in _CLAUSE_ENDS if gap else index == len(self.spans) - 1


_WORD = re.compile(r"\d+|[^\W\d_]+")
_CLAUSE_ENDS = frozenset("?.!,;:)")


def year_after(words: TokenizedText, index: int) -> int:
    """Return the index of the year after a word, with "of" or a comma between them or not; 0 if there is none."""
    year_index = index + 2 if words.at(index + 1) in ("of", "de", "del") else index + 1
    if year_index >= len(words.spans) or not _JOINED.fullmatch(words.gap(index)):
        return 0
    return year_index if is_year(words, year_index) else 0


_JOINED = re.compile(r"\.?,?\s*")


def is_year(words: TokenizedText, index: int) -> bool:
    """Return whether a word is a year from 1900 to 2099."""
    word = words.at(index)
    return len(word) == 4 and word.isdigit() and word[:2] in ("19", "20") and not words.gap(index)[:1].isalpha()


def relative_before(words: TokenizedText, index: int) -> tuple[int, str]:
    """Return the index at which "last", "this" or "next" before a word begins, and the word in English."""
    for length, text in ((2, words.two_before(index)), (1, words.before(index))):
        if text in RELATIVE:
            return index - length, text
        if text in PAST:
            return index - length, "last"
    if words.spaced(index) and words.at(index + 1) in PAST_AFTER:
        return index, "last"
    return index, ""
