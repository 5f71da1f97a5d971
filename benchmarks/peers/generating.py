"""Notes that behave like notes, made from a seed: the same on every machine.

Words follow Zipf's law. A note is about a topic, which has words of its own and a direction in space, and most of what
it says is either usual everywhere or usual for its topic; its vector lies near that of its topic. A query has four to
eight words, one or two of which nearly every note has, and was made from a note that should be found: its target.

Nothing here goes through a library of linear algebra, whose sums depend on the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.vocabulary import made_up_words

__all__ = ["BATCH", "DIMENSION", "GeneratedNotes", "Made", "Question"]

Floats = NDArray[np.float32]
Numbers = NDArray[np.int32]

BATCH = 10_000
"""How many notes are made, and taken in, at once."""
DIMENSION = 384
"""As many numbers as a vector of MiniLM has."""
WORDS = 60_000
"""How many different words there are. Of those that are rare, a small corpus has only some."""
TOPIC_WORDS = 400
USUAL = 100
"""How many words are common: a query has one or two of them."""
ABOUT_TOPIC = 0.45
"""The share of a note's words that are about its topic."""
MEAN_LENGTH, SHORTEST, LONGEST = 60, 12, 240
LEAST_COMMON, MOST_COMMON = 1, 2
LEAST_RARE, MOST_RARE = 3, 6
FROM_ELSEWHERE = 0.5
"""The share of a query's rarer words that its target does not have, though its topic does."""
ASPECTS, ASPECTS_EACH = 256, 3
"""How many things there are to say, of whatever topic, and how many of them a note says."""
OF_TOPIC, OF_ASPECTS, OF_CHANCE = 0.6, 0.7, 0.35
"""What a note's vector is made of: pure chance alone would be harder on approximate indexes than language is."""
TARGET_SHARE, TOPIC_SHARE, ASIDE_SHARE = 0.1, 0.45, 0.6
"""What a query's vector is made of: that of its target, of the topic, and things that the target does not say."""


class Made(NamedTuple):
    """Some notes: their words one after another, how many each has, and their vectors."""

    words: Numbers
    lengths: Numbers
    vectors: Floats


class Question(NamedTuple):
    """A query by its words, in order, and the place of the note that it was made from."""

    words: tuple[int, ...]
    vector: Floats
    target: int


class GeneratedNotes:
    """So many notes, and queries to them.

    >>> notes = GeneratedNotes(500, seed=1)
    >>> first = next(notes.batches())
    >>> len(first.lengths), first.vectors.shape, 50 < float(first.lengths.mean()) < 70
    (500, (500, 384), True)
    >>> question, = notes.questions(1)
    >>> 4 <= len(question.words) <= 8, 0 <= question.target < 500
    (True, True)
    """

    def __init__(self, count: int, *, seed: int = 0) -> None:
        """Say how many there are."""
        self.count = count
        self._seed = seed
        self._topics = max(4, round(2 * count**0.5))

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words, the most usual first."""
        return made_up_words(WORDS)

    def batches(self) -> Iterator[Made]:
        """Make the notes, some thousand at once."""
        for place in range(-(-self.count // BATCH)):
            yield self._batch(place)

    def questions(self, count: int) -> list[Question]:
        """Make so many queries, each with another target as long as there are enough notes."""
        chance = np.random.default_rng([self._seed, self.count, 2])
        wanted = np.sort(chance.choice(self.count, size=min(count, self.count), replace=False))
        made: list[Question] = []
        for batch in np.unique(wanted // BATCH):
            notes, topics = self._batch(int(batch)), self._topics_of(int(batch))
            ends = np.cumsum(notes.lengths)
            for target in wanted[wanted // BATCH == batch]:
                place = int(target) - int(batch) * BATCH
                words = notes.words[ends[place] - notes.lengths[place] : ends[place]]
                asked = self._asked(words, int(topics[place]), chance)
                vector = self._meant(notes.vectors[place], int(topics[place]), chance)
                made.append(Question(asked, vector, int(target)))
        chance.shuffle(made)  # so that the first few are not all about the first notes
        return made

    def _batch(self, place: int) -> Made:
        topics = self._topics_of(place)
        chance = np.random.default_rng([self._seed, self.count, 1, place])
        spread = chance.lognormal(np.log(MEAN_LENGTH) - 0.08, 0.4, size=len(topics))
        lengths = np.clip(spread, SHORTEST, LONGEST).astype(np.int32)
        total = int(lengths.sum())
        words = np.searchsorted(self._usual, chance.random(total)).astype(np.int32)
        own = chance.random(total) < ABOUT_TOPIC
        which = np.searchsorted(self._typical, chance.random(int(own.sum())))
        words[own] = self._topic_words[np.repeat(topics, lengths)[own], which]
        return Made(words, lengths, _unit(OF_TOPIC * self._directions[topics] + self._aside(len(topics), chance)))

    def _aside(self, count: int, chance: np.random.Generator) -> Floats:
        """Return what vectors hold beside their topics: some aspects, and chance."""
        said = sum(self._aspects[chance.integers(ASPECTS, size=count)] for _ in range(ASPECTS_EACH))
        noise = chance.standard_normal((count, DIMENSION), dtype=np.float32)
        return OF_ASPECTS * _unit(np.asarray(said)) + OF_CHANCE * _unit(noise)

    def _topics_of(self, place: int) -> NDArray[np.int64]:
        """Return the topic of each note of a batch; some are talked about more than others."""
        chance = np.random.default_rng([self._seed, self.count, 3, place])
        size = min(BATCH, self.count - place * BATCH)
        places: NDArray[np.float64] = self._topics * chance.random(size) ** 1.5
        return places.astype(np.int64)

    def _asked(self, words: Numbers, topic: int, chance: np.random.Generator) -> tuple[int, ...]:
        """Return the words of a query for a note with these words."""
        common, rare = np.unique(words[words < USUAL]), np.unique(words[words >= USUAL])
        few = int(chance.integers(LEAST_COMMON, MOST_COMMON + 1))
        many = int(chance.integers(LEAST_RARE, MOST_RARE + 1))
        chosen = [int(each) for each in chance.choice(common if len(common) >= few else USUAL, few, replace=False)]
        held = [int(each) for each in chance.permutation(rare)]
        while len(chosen) < few + many:
            elsewhere = not held or chance.random() < FROM_ELSEWHERE
            word = int(chance.choice(self._topic_words[topic])) if elsewhere else held.pop()
            if word not in chosen:
                chosen.append(word)
        return tuple(int(each) for each in chance.permutation(chosen))

    def _meant(self, target: Floats, topic: int, chance: np.random.Generator) -> Floats:
        """Return the vector of a query for a note with this one."""
        shared = TARGET_SHARE * target + TOPIC_SHARE * self._directions[topic]
        (vector,) = _unit(shared[np.newaxis] + ASIDE_SHARE * self._aside(1, chance))
        return np.asarray(vector, dtype=np.float32)

    @cached_property
    def _usual(self) -> NDArray[np.float64]:
        return _zipf(WORDS)

    @cached_property
    def _typical(self) -> NDArray[np.float64]:
        return _zipf(TOPIC_WORDS)

    @cached_property
    def _topic_words(self) -> Numbers:
        """For each topic its words, the most typical first; none of them is usual everywhere."""
        chance = np.random.default_rng([self._seed, self.count, 4])
        spread = chance.random((self._topics, TOPIC_WORDS)) ** 2
        return (USUAL + (WORDS - USUAL) * spread).astype(np.int32)

    @cached_property
    def _directions(self) -> Floats:
        return _directions(self._topics, np.random.default_rng([self._seed, self.count, 5]))

    @cached_property
    def _aspects(self) -> Floats:
        return _directions(ASPECTS, np.random.default_rng([self._seed, self.count, 6]))


def _zipf(count: int) -> NDArray[np.float64]:
    """Return the chances of so many words, the most usual first, added up."""
    added = np.cumsum(1 / np.arange(1, count + 1))
    return np.asarray(added / added[-1], dtype=np.float64)


def _directions(count: int, chance: np.random.Generator) -> Floats:
    return _unit(chance.standard_normal((count, DIMENSION), dtype=np.float32))


def _unit(vectors: Floats) -> Floats:
    """Return the vectors at length 1."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / lengths, dtype=np.float32)
