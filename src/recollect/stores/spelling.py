"""How far apart two spellings are, for one word and many others at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spellings", "by_length", "distance", "within"]

_BITS = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)
_SET_BITS = 32


class Spellings(NamedTuple):
    """Words of one length."""

    letters: NDArray[np.uint32]
    """A word a row."""
    sets: NDArray[np.uint32]
    """Which letters each word has: a bit for each, which some letters share."""
    weights: NDArray[np.int64]
    """A number of the caller's for each word."""

    def word(self, row: int) -> str:
        """Return the word in a row."""
        return "".join(map(chr, self.letters[row]))


def by_length(words: Mapping[int, tuple[Sequence[str], Sequence[int]]]) -> dict[int, Spellings]:
    """Return words and their weights, which are sorted by length already, as they can be compared."""
    found = {}
    for length, (spelt, weights) in words.items():
        letters = np.frombuffer("".join(spelt).encode("utf-32-le"), dtype=np.uint32).reshape(-1, length)
        found[length] = Spellings(letters, _sets(letters), np.array(weights, dtype=np.int64))
    return found


def within(word: str, most: int, words: Mapping[int, Spellings]) -> dict[str, tuple[int, int]]:
    """Return the words at most so many edits from ``word``, each with how many these are and its weight.

    An edit puts in, takes out or changes a letter, or swaps two that stand side by side: the distance of Damerau and
    Levenshtein in its restricted form, in which no part is edited twice.

    >>> within("teh", 1, by_length({3: (["the", "tea", "two"], [9, 5, 1])}))
    {'the': (1, 9), 'tea': (1, 5)}
    """
    letters = _letters(word)
    own = _sets(letters.reshape(1, -1))
    found = {}
    for length in range(len(word) - most, len(word) + most + 1):
        same = words.get(length)
        if same is None:
            continue
        # An edit takes one letter away and brings another at most.
        bits = _BITS[(same.sets ^ own).view(np.uint8)].reshape(-1, own.itemsize).sum(axis=1)
        rows = np.flatnonzero(bits <= 2 * most)
        edits = _edits(letters, same.letters[rows], most)
        for place in np.flatnonzero(edits <= most):
            row = rows[place]
            found[same.word(row)] = int(edits[place]), int(same.weights[row])
    return found


def distance(word: str, other: str) -> int:
    """Return how many edits lie between two words.

    >>> distance("recieve", "receive")
    1
    """
    return int(_edits(_letters(word), _letters(other).reshape(1, -1), max(len(word), len(other)))[0])


def _letters(word: str) -> NDArray[np.uint32]:
    return np.frombuffer(word.encode("utf-32-le"), dtype=np.uint32)


def _sets(letters: NDArray[np.uint32]) -> NDArray[np.uint32]:
    sets: NDArray[np.uint32] = np.bitwise_or.reduce(np.uint32(1) << letters % np.uint32(_SET_BITS), axis=1)
    return sets


def _edits(word: NDArray[np.uint32], others: NDArray[np.uint32], most: int) -> NDArray[np.int16]:
    """Return the edits between a word and each row of others, all of one length; more than ``most`` for whatever is.

    The table is filled letter by letter, for all words at once, and only where so few edits can lead.
    """
    columns = np.ascontiguousarray(others.T)
    length, count = columns.shape
    older: NDArray[np.int16] | None = None
    before = np.repeat(np.arange(length + 1, dtype=np.int16)[:, np.newaxis], count, axis=1)
    for row, letter in enumerate(word):
        now = np.full_like(before, len(word) + length)
        now[0] = row + 1
        differs = columns != letter
        for column in range(max(0, row - most), min(length, row + most + 1)):
            fewest = np.minimum(before[column + 1], now[column]) + 1
            np.minimum(fewest, before[column] + differs[column], out=fewest)
            if older is not None and column:
                swapped = (columns[column] == word[row - 1]) & ~differs[column - 1]
                np.minimum(fewest, older[column - 1] + 1, out=fewest, where=swapped)
            now[column + 1] = fewest
        older, before = before, now
    return before[length]
