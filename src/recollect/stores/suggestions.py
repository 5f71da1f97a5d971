"""The words that a namespace's index holds, for those who misspelt one.

The index holds stems, such as ``kubernet``. They are what a word is compared with, in its own spelling and as a stem;
what is suggested is a word as a note spells it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from recollect.stores import tokens
from recollect.stores.spelling import Spellings, by_length, distance, within

__all__ = [
    "LETTERS_LOOKED_AT",
    "NOTES_LOOKED_AT",
    "SUGGESTIONS",
    "Vocabulary",
    "Words",
    "similar_words",
    "unknown_words",
    "vocabulary",
]

SUGGESTIONS = 3
"""The most words that are suggested for one."""
SHORTEST = 4
"""The fewest letters of a word that may be a misspelt one."""
LONG = 8
"""From how many letters on two edits are allowed."""
LONGEST = 64
"""Nobody spells longer ones."""
STEMS_LOOKED_UP = 12
NOTES_LOOKED_AT = 8
LETTERS_LOOKED_AT = 20_000
"""Of a note that is a whole book, this much is read; a word that comes later is not suggested for its sake."""

Vocabulary = Mapping[int, Spellings]
"""The stems by their length, each with the number of notes that hold it."""


class _Suggestion(NamedTuple):
    """A word that may be meant; the best sort first."""

    edits: int
    rarity: int
    word: str


class Words(Protocol):
    """What is asked of a namespace's word index, as one transaction sees it."""

    def holds(self, plain: str) -> bool:
        """Return whether a note holds a word, given as the index reads it."""

    def finds(self, word: str) -> bool:
        """Return whether a search for the word finds a note."""

    def spellings(self, stem: str) -> Counter[str]:
        """Return how the first notes that hold a stem spell its words, in so many places."""


def vocabulary(stems: Iterable[tuple[str, int]]) -> Vocabulary:
    """Return stems, each with the number of notes that hold it, as words can be compared with them.

    >>> {length: len(same.weights) for length, same in vocabulary([("tea", 4), ("pot", 1), ("kubernet", 2)]).items()}
    {3: 2, 8: 1}
    """
    sorted_in: dict[int, tuple[list[str], array[int]]] = {}
    for stem, notes in stems:
        if len(stem) <= LONGEST:
            spelt, counts = sorted_in.setdefault(len(stem), ([], array("q")))
            spelt.append(stem)
            counts.append(notes)
    return by_length(sorted_in)


def unknown_words(index: Words, words: Sequence[str]) -> list[str]:
    """Return those of the words, each once, that may be misspelt: the index does not hold them."""
    plain = {word: tokens.plain(word) for word in words}
    return [
        word
        for word, letters in plain.items()
        if SHORTEST <= len(letters) <= LONGEST and letters.isalpha() and not index.holds(letters)
    ]


def similar_words(index: Words, known: Vocabulary, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return for each word that the index does not hold those that it holds and that are spelt most like it."""
    found = {}
    for word in unknown_words(index, words):
        suggested = _suggestions(index, known, word)
        if suggested:
            found[word] = tuple(suggestion.word for suggestion in suggested[:SUGGESTIONS])
    return found


def _suggestions(index: Words, known: Vocabulary, word: str) -> list[_Suggestion]:
    plain, stem = tokens.plain(word), tokens.stem(word)
    most = 1 if len(plain) < LONG else 2
    near: dict[str, tuple[int, int]] = {}
    for spelling in {plain, stem}:
        for each, (edits, notes) in within(spelling, most, known).items():
            near[each] = min((edits, -notes), near.get(each, (edits, -notes)))
    nearest = sorted((edits, rarity, each) for each, (edits, rarity) in near.items())
    suggested = []
    for _, rarity, each in nearest[:STEMS_LOOKED_UP]:
        spelt = index.spellings(each)
        if spelt:
            edits, _, form = min((distance(plain, tokens.plain(form)), -count, form) for form, count in spelt.items())
            if edits <= most:  # near stems alone are not enough: "medicine" is no misspelt "medical"
                suggested.append(_Suggestion(edits, rarity, form))
    return sorted(suggestion for suggestion in suggested if index.finds(suggestion.word))
