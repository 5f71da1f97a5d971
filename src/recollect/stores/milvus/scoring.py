"""Exact BM25 of notes that the engine proposes, counted in their words, see :mod:`recollect.stores.milvus.words`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recollect.query.expressions import Expression, Match
from recollect.stores import bm25, tokens
from recollect.stores.bm25 import Occurrences, Scores, leaves_of
from recollect.stores.milvus.words import BETWEEN, WEIGHTS, encoded, words_in
from recollect.stores.rows import NoteRow

__all__ = ["Leaf", "Worded", "leaf_of", "scored", "unabridged"]

FEW_TERMS = 32
"""So many are looked for one by one; for more, all words of a note are counted."""

_NOT_FOR_MATCH = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Worded(NamedTuple):
    """A note's words and how many there are of them."""

    words: str
    tokens: int


class Leaf(NamedTuple):
    """A term, phrase or prefix as notes hold it; one without words is in none."""

    stems: tuple[str, ...]
    """All but the last."""
    endings: tuple[str, ...]
    """The ways in which the last may be written: one, or, of a prefix, what it may begin with."""
    prefix: bool

    @property
    def is_term(self) -> bool:
        """Whether it is a single stem."""
        return not self.stems and not self.prefix

    def stands_in(self, words: str) -> bool:
        """Return whether a note with these words may hold it."""
        front = " ".join(("", *self.stems, ""))
        back = "" if self.prefix else " "
        return any(f"{front}{ending}{back}" in words for ending in self.endings)

    def weight(self, words: Sequence[str]) -> int:
        """Return how often it stands there; occurrences may overlap.

        >>> leaf_of(Match("prefix", "tea tea")).weight(["tea", "tea", "teapot", ".", "tea"])
        2
        """
        front, count = list(self.stems), len(self.stems)
        return sum(
            (word.startswith(self.endings) if self.prefix else word in self.endings)
            and (not count or words[place - count : place] == front)
            for place, word in enumerate(words)
            if place >= count
        )


def leaf_of(match: Match) -> Leaf:
    """Read a leaf of the query tree as FTS5 does.

    >>> leaf_of(Match("phrase", "Green teas"))
    Leaf(stems=('green',), endings=('tea',), prefix=False)
    >>> leaf_of(Match("prefix", "stra"))
    Leaf(stems=(), endings=('stra', 'X73747261'), prefix=True)
    """
    stems = tokens.stems_of(_NOT_FOR_MATCH.sub(" ", match.text))
    prefix = match.kind == "prefix"
    if not stems:
        return Leaf((), (), prefix)
    *front, last = stems
    # What a plain prefix begins may be written in digits as a whole: "stra" begins "straße".
    endings = dict.fromkeys((encoded(last), f"X{last.encode().hex()}") if prefix else (encoded(last),))
    return Leaf(tuple(map(encoded, front)), tuple(endings), prefix)


def unabridged(row: NoteRow) -> str:
    """Return all words of a note, also of one that has more than a row holds."""
    fields = [" ".join(field) for field in words_in(row)]
    repeated = [field for field, weight in zip(fields, WEIGHTS, strict=True) if field for _ in range(weight)]
    return f" {f' {BETWEEN} '.join(repeated)} "


def scored(
    node: Expression, notes: Mapping[int, Worded], holding: Callable[[Leaf], int], count: int, total: int
) -> Scores:
    """Return those of the notes that match ``node``, with their BM25.

    ``holding`` says in how many notes of the namespace a leaf stands; it has ``count`` notes of ``total`` words.
    """
    leaves = [leaf_of(match) for match in leaves_of(node)]
    found = _weights(set(leaves), notes)
    lists = {leaf: _occurrences(each, notes, holding(leaf) if each else 0) for leaf, each in found.items()}
    return bm25.score_notes(node, [lists[leaf] for leaf in leaves], count, total)


def _weights(leaves: set[Leaf], notes: Mapping[int, Worded]) -> dict[Leaf, dict[int, int]]:
    """Return for each leaf what it counts in the notes that hold it."""
    found: dict[Leaf, dict[int, int]] = {leaf: {} for leaf in leaves}
    terms = {leaf.endings[0]: found[leaf] for leaf in leaves if leaf.is_term and leaf.endings}
    sought = [(f" {word} ", f" {word} {word} ", each) for word, each in terms.items()]
    others = [leaf for leaf in leaves if not leaf.is_term]
    for key in sorted(notes):
        text = notes[key].words
        if len(terms) > FEW_TERMS:
            for word, count in Counter(text.split()).items():
                if word in terms:
                    terms[word][key] = count
        else:
            for alone, twice, each in sought:
                count = text.count(alone)
                if count:
                    # Those that stand side by side share a space, and only every other one is counted.
                    each[key] = count if twice not in text else text.replace(" ", "  ").count(alone)
        for leaf in others:
            if leaf.stands_in(text):
                found[leaf][key] = leaf.weight(text.split())
    return found


def _occurrences(weights: Mapping[int, int], notes: Mapping[int, Worded], holding: int) -> Occurrences:
    return Occurrences(
        np.fromiter(weights, np.int64, len(weights)),
        np.fromiter(weights.values(), np.float64, len(weights)),
        np.fromiter((notes[key].tokens for key in weights), np.float64, len(weights)),
        holding,
    )
