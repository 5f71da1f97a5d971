"""Notes and queries generated from a seed, the same on every machine.

Term frequencies follow Zipf's law. A note has a topic, which has terms of its own and a direction in vector space; its
terms are common everywhere or common for its topic, and its vector lies near that of its topic. A query has four to
eight terms, one or two of them common, and is generated from a note that should be found: its target.

Nothing here uses a linear algebra library, whose sums depend on the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BATCH", "DIMENSION", "GeneratedNotes", "NoteBatch", "QuerySpec", "artificial_words"]

Floats = NDArray[np.float32]
Numbers = NDArray[np.int32]

BATCH = 10_000
"""Notes in a batch."""
DIMENSION = 384
"""As in MiniLM."""
VOCABULARY_SIZE = 60_000
TOPIC_TERMS = 400
COMMON_TERMS = 100
TOPIC_TERM_SHARE = 0.45
"""The share of a note's terms that belong to its topic."""
MEAN_LENGTH, MIN_LENGTH, MAX_LENGTH = 60, 12, 240
MIN_COMMON, MAX_COMMON = 1, 2
MIN_RARE, MAX_RARE = 3, 6
"""The number of common and of rare terms in a query."""
FOREIGN_TERM_SHARE = 0.5
"""The share of a query's rare terms that come from the topic instead of the target."""
ASPECTS, ASPECTS_PER_NOTE = 256, 3
"""Directions that notes of all topics share, and how many of them a note has."""
TOPIC_WEIGHT, ASPECT_WEIGHT, NOISE_WEIGHT = 0.6, 0.7, 0.35
"""The parts of a note's vector. Noise alone would be harder for approximate indexes than language is."""
QUERY_TARGET, QUERY_TOPIC, QUERY_OTHER = 0.1, 0.45, 0.6
"""The parts of a query's vector: its target, the topic, and aspects that the target does not have."""

_CONSONANTS = "bdfgklmnprtvz"
_VOWELS = "aeiou"
_LAST_VOWELS = "ao"
"""Porter's rules remove no ending that is one of these: words are their own stems."""


class NoteBatch(NamedTuple):
    """Notes: the term numbers one note after another, the number of terms of each, and the vectors."""

    words: Numbers
    lengths: Numbers
    vectors: Floats


class QuerySpec(NamedTuple):
    """A query: its term numbers, its vector, and the number of its target note."""

    words: tuple[int, ...]
    vector: Floats
    target: int


class GeneratedNotes:
    """``count`` notes, and queries for them.

    >>> notes = GeneratedNotes(500, seed=1)
    >>> first = next(notes.batches())
    >>> len(first.lengths), first.vectors.shape, 50 < float(first.lengths.mean()) < 70
    (500, (500, 384), True)
    >>> query, = notes.queries(1)
    >>> 4 <= len(query.words) <= 8, 0 <= query.target < 500
    (True, True)
    """

    def __init__(self, count: int, *, seed: int = 0) -> None:
        self.count = count
        self._seed = seed
        self._topics = max(4, round(2 * count**0.5))

    @cached_property
    def vocabulary(self) -> list[str]:
        """All terms, the most frequent first."""
        return artificial_words(VOCABULARY_SIZE)

    def batches(self) -> Iterator[NoteBatch]:
        """Generate the notes in batches."""
        for number in range(-(-self.count // BATCH)):
            yield self._batch(number)

    def queries(self, count: int) -> list[QuerySpec]:
        """Generate queries, each with another target as long as there are enough notes."""
        rng = np.random.default_rng([self._seed, self.count, 2])
        targets = np.sort(rng.choice(self.count, size=min(count, self.count), replace=False))
        queries: list[QuerySpec] = []
        for batch in np.unique(targets // BATCH):
            notes, topics = self._batch(int(batch)), self._batch_topics(int(batch))
            ends = np.cumsum(notes.lengths)
            for target in targets[targets // BATCH == batch]:
                row = int(target) - int(batch) * BATCH
                words = notes.words[ends[row] - notes.lengths[row] : ends[row]]
                query_words = self._query_words(words, int(topics[row]), rng)
                vector = self._query_vector(notes.vectors[row], int(topics[row]), rng)
                queries.append(QuerySpec(query_words, vector, int(target)))
        rng.shuffle(queries)  # so that the first few are not all about the first notes
        return queries

    def _batch(self, number: int) -> NoteBatch:
        topics = self._batch_topics(number)
        rng = np.random.default_rng([self._seed, self.count, 1, number])
        spread = rng.lognormal(np.log(MEAN_LENGTH) - 0.08, 0.4, size=len(topics))
        lengths = np.clip(spread, MIN_LENGTH, MAX_LENGTH).astype(np.int32)
        total = int(lengths.sum())
        words = np.searchsorted(self._common, rng.random(total)).astype(np.int32)
        of_topic = rng.random(total) < TOPIC_TERM_SHARE
        which = np.searchsorted(self._typical, rng.random(int(of_topic.sum())))
        words[of_topic] = self._topic_words[np.repeat(topics, lengths)[of_topic], which]
        vectors = _unit(TOPIC_WEIGHT * self._directions[topics] + self._aspects_and_noise(len(topics), rng))
        return NoteBatch(words, lengths, vectors)

    def _aspects_and_noise(self, count: int, rng: np.random.Generator) -> Floats:
        aspects = sum(self._aspects[rng.integers(ASPECTS, size=count)] for _ in range(ASPECTS_PER_NOTE))
        noise = rng.standard_normal((count, DIMENSION), dtype=np.float32)
        return ASPECT_WEIGHT * _unit(np.asarray(aspects)) + NOISE_WEIGHT * _unit(noise)

    def _batch_topics(self, number: int) -> NDArray[np.int64]:
        """Return the topic of each note of a batch; some topics have more notes than others."""
        rng = np.random.default_rng([self._seed, self.count, 3, number])
        size = min(BATCH, self.count - number * BATCH)
        topics: NDArray[np.float64] = self._topics * rng.random(size) ** 1.5
        return topics.astype(np.int64)

    def _query_words(self, words: Numbers, topic: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return the terms of a query for a note with these terms."""
        common, rare = np.unique(words[words < COMMON_TERMS]), np.unique(words[words >= COMMON_TERMS])
        common_count = int(rng.integers(MIN_COMMON, MAX_COMMON + 1))
        rare_count = int(rng.integers(MIN_RARE, MAX_RARE + 1))
        pool = common if len(common) >= common_count else COMMON_TERMS
        chosen = [int(word) for word in rng.choice(pool, common_count, replace=False)]
        of_note = [int(word) for word in rng.permutation(rare)]
        while len(chosen) < common_count + rare_count:
            foreign = not of_note or rng.random() < FOREIGN_TERM_SHARE
            word = int(rng.choice(self._topic_words[topic])) if foreign else of_note.pop()
            if word not in chosen:
                chosen.append(word)
        return tuple(int(word) for word in rng.permutation(chosen))

    def _query_vector(self, target: Floats, topic: int, rng: np.random.Generator) -> Floats:
        shared = QUERY_TARGET * target + QUERY_TOPIC * self._directions[topic]
        (vector,) = _unit(shared[np.newaxis] + QUERY_OTHER * self._aspects_and_noise(1, rng))
        return np.asarray(vector, dtype=np.float32)

    @cached_property
    def _common(self) -> NDArray[np.float64]:
        return _zipf(VOCABULARY_SIZE)

    @cached_property
    def _typical(self) -> NDArray[np.float64]:
        return _zipf(TOPIC_TERMS)

    @cached_property
    def _topic_words(self) -> Numbers:
        """The terms of each topic, the most typical first; none of them is common everywhere."""
        rng = np.random.default_rng([self._seed, self.count, 4])
        spread = rng.random((self._topics, TOPIC_TERMS)) ** 2
        return (COMMON_TERMS + (VOCABULARY_SIZE - COMMON_TERMS) * spread).astype(np.int32)

    @cached_property
    def _directions(self) -> Floats:
        return _random_directions(self._topics, np.random.default_rng([self._seed, self.count, 5]))

    @cached_property
    def _aspects(self) -> Floats:
        return _random_directions(ASPECTS, np.random.default_rng([self._seed, self.count, 6]))


def artificial_words(count: int) -> list[str]:
    """Return different words of two or three syllables, the short ones first.

    They are their own stems, so that engines with and without stemming have the same terms.

    >>> artificial_words(4)
    ['baba', 'babo', 'bada', 'bado']
    >>> artificial_words(60_000)[-1]
    'mumipo'
    """
    syllables = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _VOWELS)]
    last = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _LAST_VOWELS)]
    short = ("".join(parts) for parts in product(syllables, last))
    long = ("".join(parts) for parts in product(syllables, syllables, last))
    return list(islice(chain(short, long), count))


def _zipf(count: int) -> NDArray[np.float64]:
    """Return the cumulative probabilities of Zipf's law."""
    added = np.cumsum(1 / np.arange(1, count + 1))
    return np.asarray(added / added[-1], dtype=np.float64)


def _random_directions(count: int, rng: np.random.Generator) -> Floats:
    return _unit(rng.standard_normal((count, DIMENSION), dtype=np.float32))


def _unit(vectors: Floats) -> Floats:
    """Return the vectors with length 1."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / lengths, dtype=np.float32)
