"""An index of the trigrams of names, to search for notes by a misspelt name.

Names are numbered, and their trigrams stored in immutable blocks: after a write only new names are added. The mapping
from notes to names is read again after each write, so that it has no deleted notes.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.query import slug_text, trigrams
from recollect.query.trigrams import TRIGRAM_THRESHOLD
from recollect.text import split_words

WORD_THRESHOLD = 0.5
"""The minimum similarity to a single word of a longer name."""
MIN_WORD_LENGTH = 4
"""The minimum number of letters of a word that is compared by itself."""
BLOCK_NAMES = 8192

_NONE = np.empty(0, dtype=np.int32)
_LETTER_BITS = 21  # of a code point: three of them fit into 64 bits


class _Block(NamedTuple):
    """The trigrams of a block of names."""

    sizes: NDArray[np.int64]
    """How many trigrams each name has."""
    grams: NDArray[np.int64]
    """The distinct trigrams, in ascending order."""
    starts: NDArray[np.int64]
    """The offset in ``owners`` of the names with each trigram, and the end of the last ones."""
    owners: NDArray[np.uint16]
    """The names with the first trigram, with the second, and so on, by their index in the block."""

    def similarities(self, word: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the Jaccard similarity of each name to a word, given by its trigrams."""
        indexes = np.searchsorted(self.grams, word)
        indexes = indexes[indexes < np.searchsorted(self.grams, word, side="right")]
        owners = [self.owners[:0], *(self.owners[self.starts[index] : self.starts[index + 1]] for index in indexes)]
        shared = np.bincount(np.concatenate(owners), minlength=len(self.sizes))
        return shared / (self.sizes + len(word) - shared)


class NameIndex(NamedTuple):
    """The names of a namespace and the notes that have them, at one revision."""

    keys: NDArray[np.int64]
    """The notes, in the order of their paths, then ids."""
    names: tuple[NDArray[np.int32], ...]
    """For each kind of name (slug and, with titles, title), the number of each note's name."""
    numbers: Mapping[str, int]
    """The number of every name and, with titles, of every word that is compared by itself; some are unused."""
    slugs: Mapping[str, int]
    """The number of each path's name."""
    titles: Mapping[str, int]
    """The number of each title's name."""
    wholes: NDArray[np.int32]
    """Pairs of a name of several words and one of its words, by number: the names …"""
    words: NDArray[np.int32]
    """… and the words that are compared by themselves."""
    blocks: Sequence[_Block]
    names_at_start: int
    """The number of names when the index was built from scratch, without unused names."""

    def most_similar(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the keys of the notes whose name is similar to one of ``words``, and the similarities, best first."""
        best = np.zeros(len(self.numbers))
        for grams in {frozenset(trigrams(word)) for word in words} - {frozenset()}:
            codes = [a << 2 * _LETTER_BITS | b << _LETTER_BITS | c for a, b, c in (map(ord, gram) for gram in grams)]
            word_grams = np.array(sorted(codes), dtype=np.int64)
            for number, block in enumerate(self.blocks):
                part = best[number * BLOCK_NAMES :][: len(block.sizes)]
                np.maximum(part, block.similarities(word_grams), out=part)
        similarities = np.where(best >= TRIGRAM_THRESHOLD, best, 0.0)
        matching = np.flatnonzero(best[self.words] >= WORD_THRESHOLD)
        np.maximum.at(similarities, self.wholes[matching], best[self.words[matching]])
        by_note = np.max([similarities[numbers] for numbers in self.names], axis=0)
        rows = np.flatnonzero(by_note)
        rows = rows[np.argsort(-by_note[rows], kind="stable")]
        return self.keys[rows], by_note[rows]


def index_names(rows: Sequence[tuple[int, str, str]], before: NameIndex | None = None, *, titles: bool) -> NameIndex:
    """Return the index of notes, given by key, path and title, sorted by path, then id; ``before`` is reused."""
    if before is not None and len(before.numbers) > 2 * before.names_at_start + BLOCK_NAMES:
        before = None  # many of the names may be unused
    numbers = dict(before.numbers) if before else {}
    known = len(numbers)

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    slugs, old = {}, before.slugs if before else {}
    for _, path, _ in rows:
        known_number = old.get(path)
        slugs[path] = number(slug_text(path)) if known_number is None else known_number
    titled, old = {}, before.titles if before else {}
    for title in {title for _, _, title in rows} if titles else ():
        known_number = old.get(title)
        titled[title] = number(" ".join(split_words(title))) if known_number is None else known_number
    wholes, words = array("i"), array("i")
    for name in islice(list(numbers), known, None) if titles else ():
        for word in single_words(name):
            wholes.append(numbers[name])
            words.append(number(word))
    kinds = [array("i", (slugs[path] for _, path, _ in rows))]
    if titles:
        kinds.append(array("i", (titled[title] for _, _, title in rows)))
    return NameIndex(
        keys=np.fromiter((key for key, _, _ in rows), dtype=np.int64, count=len(rows)),
        names=tuple(np.array(kind, dtype=np.int32) for kind in kinds),
        numbers=numbers,
        slugs=slugs,
        titles=titled,
        wholes=np.append(before.wholes if before else _NONE, np.array(wholes, dtype=np.int32)),
        words=np.append(before.words if before else _NONE, np.array(words, dtype=np.int32)),
        blocks=_blocks(numbers, before.blocks if before else ()),
        names_at_start=before.names_at_start if before else len(numbers),
    )


def single_words(name: str) -> list[str]:
    """Return the words of a name of several words that are compared by themselves."""
    words = name.split(" ")
    return [word for word in words if len(word) >= MIN_WORD_LENGTH] if len(words) > 1 else []


def _blocks(numbers: Mapping[str, int], before: Sequence[_Block]) -> list[_Block]:
    """Return the blocks of all names; full ones are reused."""
    blocks = [block for block in before if len(block.sizes) == BLOCK_NAMES]
    names = islice(numbers, len(blocks) * BLOCK_NAMES, None)
    while batch := list(islice(names, BLOCK_NAMES)):
        blocks.append(_block(batch))
    return blocks


def _block(names: Sequence[str]) -> _Block:
    """Return the trigrams of names, as :func:`recollect.query.trigrams` defines them, for all names at once."""
    texts = ["$" + name.replace(" ", "$\0$") + "$\0" for name in names]
    letters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
    first, second, third = letters[:-2], letters[1:-1], letters[2:]
    inside = np.flatnonzero((first != 0) & (second != 0) & (third != 0))
    grams = (first << 2 * _LETTER_BITS | second << _LETTER_BITS | third)[inside]
    owners = np.repeat(np.arange(len(names)), [len(text) for text in texts])[inside]
    order = np.argsort(grams, kind="stable")  # the owners of a trigram stay in order
    grams, owners = grams[order], owners[order]
    once = np.ones(len(grams), dtype=bool)
    once[1:] = (grams[1:] != grams[:-1]) | (owners[1:] != owners[:-1])
    grams, owners = grams[once], owners[once]
    distinct, starts = np.unique(grams, return_index=True)
    sizes = np.bincount(owners, minlength=len(names))
    return _Block(sizes, distinct, np.append(starts, len(grams)), owners.astype(np.uint16))
