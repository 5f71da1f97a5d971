"""A sample of searches over two stores: do both find the same."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.model import Candidate, Filters, Note
from recollect.progress import Progress
from recollect.query import parse
from recollect.stores.base import Store

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["Sample", "Searches", "compare_searches"]

TOP = 10
"""How many of the best are compared."""
WORDS = 3
"""How many words of a note a search asks for."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_SHORT_WORD = re.compile(r"[^\W_]+")  # for notes that have no other, such as numbers and codes


class Searches(NamedTuple):
    """How searches of one kind came out."""

    asked: int = 0
    same: int = 0
    """How many found the same notes in the same order."""
    overlap: float = 1.0
    """How much of what either finds both do, among the best ten."""


class Sampled(NamedTuple):
    """A note that lends its words and its vector to searches."""

    namespace: str
    words: str
    vector: Vector | None


class Sample:
    """Some notes of a walk, each as likely as any other, and the same whenever the walk is the same.

    >>> sample = Sample(2)
    >>> for word in ("green", "black", "white"):
    ...     sample.offer(Note(content=f"Prefers {word}."), None)
    >>> [note.words for note in sample.notes]
    ['prefers green', 'black prefers']
    """

    def __init__(self, size: int) -> None:
        """Begin with none."""
        self.notes: list[Sampled] = []
        self._size = size
        self._offered = 0
        self._random = random.Random(0)  # noqa: S311 (no secret)

    def offer(self, note: Note, vector: Vector | None) -> None:
        """Take the note, perhaps in the place of another."""
        self._offered += 1
        place = len(self.notes) if len(self.notes) < self._size else self._random.randrange(self._offered)
        if place < self._size:
            self.notes[place : place + 1] = [Sampled(note.namespace, self._words(note), vector)]

    def _words(self, note: Note) -> str:
        text = f"{note.title} {note.content}".lower()
        known = sorted(set(_WORD.findall(text) or _SHORT_WORD.findall(text)))
        return " ".join(self._random.sample(known, min(WORDS, len(known))))


def compare_searches(
    source: Store, target: Store, sample: Sequence[Sampled], report: Progress
) -> tuple[Searches, Searches]:
    """Return how searches by words and by vectors of the sampled notes come out in two stores."""
    by_words, by_vectors = [], []
    comparable = source.model is not None and source.model == target.model
    report(0, len(sample), "searching")
    for done, (namespace, words, vector) in enumerate(sample, start=1):
        if words:
            query = parse(words)
            by_words.append(
                [store.search_text(query, TOP, namespace=namespace, filters=Filters()) for store in (source, target)]
            )
        if vector is not None and comparable:
            first = np.atleast_2d(vector)[0]
            by_vectors.append(
                [store.search_vectors(first, TOP, namespace=namespace, filters=Filters()) for store in (source, target)]
            )
        report(done, len(sample), "searching")
    return _judged(by_words), _judged(by_vectors)


def _judged(searches: Sequence[Sequence[Sequence[Candidate]]]) -> Searches:
    if not searches:
        return Searches()
    lists = [[[candidate.id for candidate in found] for found in both] for both in searches]
    overlaps = [
        1.0 if ours == theirs else len({*ours} & {*theirs}) / max(len(ours), len(theirs)) for ours, theirs in lists
    ]
    return Searches(len(lists), sum(ours == theirs for ours, theirs in lists), sum(overlaps) / len(overlaps))
