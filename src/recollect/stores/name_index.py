"""An in-memory trigram index of the names of notes, to search for notes by a misspelt name.

A name is the slug of a note's path. If titles are requested, a note's title is another name; and in a name of several
words, each word of at least :data:`MIN_WORD_LENGTH` letters is also compared on its own, apart from the rest of the
name. Each distinct name, and each of these words, has a number, from 0.

The trigrams of :data:`BLOCK_NAMES` consecutive numbers are one block. After a write, full blocks are reused and only
new names are added; the arrays that map notes to the numbers of their names are built again, without deleted notes. A
trigram is one integer: the code points of its three letters, in 21 bits each.
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

WORD_THRESHOLD = 0.5  # the minimum similarity to a single word of a name of several words
MAX_QUERY_LENGTH = 1000  # longer words of a query are not compared with names
MIN_WORD_LENGTH = 4  # the minimum number of letters of a word that is compared on its own
BLOCK_NAMES = 8192
_NO_NUMBERS = np.empty(0, dtype=np.int32)
_LETTER_BITS = 21  # the bits of a code point: three code points fit into 64 bits


class _Block(NamedTuple):
    """The trigrams of a block of names, as an inverted index."""

    sizes: NDArray[np.int64]  # how many trigrams each name has
    grams: NDArray[np.int64]  # the distinct trigrams, in ascending order
    starts: NDArray[np.int64]  # the offset in owners of the names with each trigram, then the length of owners
    owners: NDArray[np.uint16]  # the names with the first trigram, then with the second, …, as indices in the block

    def similarities(self, word_grams: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the Jaccard similarity of each name to a word, given by its trigrams."""
        indexes = np.searchsorted(self.grams, word_grams)
        is_present = indexes < np.searchsorted(self.grams, word_grams, side="right")
        indexes = indexes[is_present]  # only the trigrams that the block contains
        owners = [self.owners[:0], *(self.owners[self.starts[index] : self.starts[index + 1]] for index in indexes)]
        shared = np.bincount(np.concatenate(owners), minlength=len(self.sizes))
        return shared / (self.sizes + len(word_grams) - shared)


class NameIndex(NamedTuple):
    """The names of the notes of a namespace, at one revision."""

    keys: NDArray[np.int64]  # the keys of the notes, in the order of their paths, then ids
    note_names: tuple[NDArray[np.int32], ...]  # the number of each note's slug and, on request, of each note's title
    numbers: Mapping[str, int]  # the numbers of names, also of deleted notes, and of words compared on their own
    slugs: Mapping[str, int]  # by path, the number of its slug
    titles: Mapping[str, int]  # by title, the number of its words joined by spaces
    long_names: NDArray[np.int32]  # names of several words, once for each of their words that is compared on its own
    words: NDArray[np.int32]  # the number of this word, for each entry of long_names
    blocks: Sequence[_Block]
    names_at_start: int  # the number of names when the index was built from scratch, from existing notes only

    def most_similar(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the keys of the notes with a name similar to one of ``words``, and the similarities, best first."""
        best = np.zeros(len(self.numbers))
        for grams in {frozenset(trigrams(word)) for word in words if len(word) <= MAX_QUERY_LENGTH} - {frozenset()}:
            codes = [a << 2 * _LETTER_BITS | b << _LETTER_BITS | c for a, b, c in (map(ord, gram) for gram in grams)]
            word_grams = np.array(sorted(codes), dtype=np.int64)
            for number, block in enumerate(self.blocks):
                best_of_block = best[number * BLOCK_NAMES :][: len(block.sizes)]
                np.maximum(best_of_block, block.similarities(word_grams), out=best_of_block)
        similarities = np.where(best >= TRIGRAM_THRESHOLD, best, 0.0)
        # A name of several words is also as similar as the best of its words.
        matching = np.flatnonzero(best[self.words] >= WORD_THRESHOLD)
        np.maximum.at(similarities, self.long_names[matching], best[self.words[matching]])
        note_similarities = np.max([similarities[numbers] for numbers in self.note_names], axis=0)
        rows = np.flatnonzero(note_similarities)
        rows = rows[np.argsort(-note_similarities[rows], kind="stable")]
        return self.keys[rows], note_similarities[rows]


def index_names(rows: Sequence[tuple[int, str, str]], before: NameIndex | None = None, *, titles: bool) -> NameIndex:
    """Return the index of the notes of a namespace; ``rows`` has their keys, paths and titles, sorted by path, then id.

    ``before`` is an earlier index of the namespace: its names and full blocks are reused.
    """
    if before is not None and len(before.numbers) > 2 * before.names_at_start + BLOCK_NAMES:
        before = None  # build from scratch: many of the names may be those of deleted notes
    numbers = dict(before.numbers) if before else {}
    old_count = len(numbers)

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    slugs, old_slugs = {}, before.slugs if before else {}
    for _, path, _ in rows:
        old_number = old_slugs.get(path)
        slugs[path] = number(slug_text(path)) if old_number is None else old_number
    title_names, old_titles = {}, before.titles if before else {}
    for title in {title for _, _, title in rows} if titles else ():
        old_number = old_titles.get(title)
        title_names[title] = number(" ".join(split_words(title))) if old_number is None else old_number
    long_names, words = array("i"), array("i")
    new_names = list(numbers)[old_count:] if titles else []
    for name in new_names:
        for word in single_words(name):
            long_names.append(numbers[name])
            words.append(number(word))
    note_names = [array("i", (slugs[path] for _, path, _ in rows))]
    if titles:
        note_names.append(array("i", (title_names[title] for _, _, title in rows)))
    return NameIndex(
        keys=np.fromiter((key for key, _, _ in rows), dtype=np.int64, count=len(rows)),
        note_names=tuple(np.array(name_numbers, dtype=np.int32) for name_numbers in note_names),
        numbers=numbers,
        slugs=slugs,
        titles=title_names,
        long_names=np.append(before.long_names if before else _NO_NUMBERS, np.array(long_names, dtype=np.int32)),
        words=np.append(before.words if before else _NO_NUMBERS, np.array(words, dtype=np.int32)),
        blocks=_blocks(numbers, before.blocks if before else ()),
        names_at_start=before.names_at_start if before else len(numbers),
    )


def single_words(name: str) -> list[str]:
    """Return the words of a name that are compared on their own; none if the name is a single word."""
    words = name.split(" ")
    return [word for word in words if len(word) >= MIN_WORD_LENGTH] if len(words) > 1 else []


def _blocks(numbers: Mapping[str, int], before: Sequence[_Block]) -> list[_Block]:
    """Return the blocks of all names; full blocks of ``before`` are reused."""
    blocks = [block for block in before if len(block.sizes) == BLOCK_NAMES]
    names = islice(numbers, len(blocks) * BLOCK_NAMES, None)
    while batch := list(islice(names, BLOCK_NAMES)):
        blocks.append(_block(batch))
    return blocks


def _block(names: Sequence[str]) -> _Block:
    """Return the block of some names, with the trigrams that :func:`recollect.query.trigrams` defines."""
    # All names are one text, in which $ precedes and follows each word, and NUL ends it: no trigram with NUL counts.
    texts = ["$" + name.replace(" ", "$\0$") + "$\0" for name in names]
    letters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
    first, second, third = letters[:-2], letters[1:-1], letters[2:]
    within_word = np.flatnonzero((first != 0) & (second != 0) & (third != 0))
    grams = (first << 2 * _LETTER_BITS | second << _LETTER_BITS | third)[within_word]
    owners = np.repeat(np.arange(len(names)), [len(text) for text in texts])[within_word]
    order = np.argsort(grams, kind="stable")  # stable: the owners of a trigram stay in ascending order
    grams, owners = grams[order], owners[order]
    is_first = np.ones(len(grams), dtype=bool)  # drops repetitions: a name may contain a trigram several times
    is_first[1:] = (grams[1:] != grams[:-1]) | (owners[1:] != owners[:-1])
    grams, owners = grams[is_first], owners[is_first]
    distinct, starts = np.unique(grams, return_index=True)
    sizes = np.bincount(owners, minlength=len(names))
    return _Block(sizes, distinct, np.append(starts, len(grams)), owners.astype(np.uint16))
