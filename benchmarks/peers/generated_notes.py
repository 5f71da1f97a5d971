"""Notes and queries generated from a seed, the same on every machine.

Term frequencies follow Zipf's law. A topic has terms of its own and a direction in vector space. A note has one topic:
about half of its terms are terms of the topic, the others are drawn from the whole vocabulary, and its vector is near
the direction of the topic. A query has four to eight terms, one or two of them common. It is generated from the note
that a search should find, its target.

Nothing here uses a linear algebra library, whose sums depend on the processor.
"""

from __future__ import annotations

import math
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
"""The number of notes in a batch."""
DIMENSION = 384
"""The dimension of MiniLM's vectors."""
VOCABULARY_SIZE = 60_000
TOPIC_TERMS = 400
"""The number of terms of a topic."""
COMMON_TERMS = 100
"""The terms below this number, the most frequent ones, are common; the others are rare."""
TOPIC_TERM_SHARE = 0.45
"""The share of a note's terms that belong to its topic."""
MEAN_LENGTH, MIN_LENGTH, MAX_LENGTH = 60, 12, 240
"""The length of a note in terms."""
MIN_COMMON, MAX_COMMON = 1, 2
MIN_RARE, MAX_RARE = 3, 6
"""The number of common and of rare terms in a query."""
FOREIGN_TERM_SHARE = 0.5
"""The share of a query's rare terms that come from the topic instead of the target note."""
ASPECTS, ASPECTS_PER_NOTE = 256, 3
"""The number of aspects, which are directions that notes of all topics share, and the number of aspects of a note."""
TOPIC_WEIGHT, ASPECT_WEIGHT, NOISE_WEIGHT = 0.6, 0.7, 0.35
"""The weights of the parts of a note's vector. Noise alone would be harder for approximate indexes than real text."""
QUERY_TARGET_WEIGHT, QUERY_TOPIC_WEIGHT, QUERY_OTHER_WEIGHT = 0.1, 0.45, 0.6
"""The weights of the parts of a query's vector: the target's vector, the topic, and other aspects with noise."""

_CONSONANTS = "bdfgklmnprtvz"
_VOWELS = "aeiou"
_LAST_VOWELS = "ao"
"""Porter's stemmer removes no ending in these letters: words are their own stems."""


class NoteBatch(NamedTuple):
    """The term numbers of all notes, one note after another, the number of terms of each note, and the vectors."""

    words: Numbers
    lengths: Numbers
    vectors: Floats


class QuerySpec(NamedTuple):
    """A query: its term numbers, its vector, and the number of the note that it should find."""

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
        self._topic_count = max(4, round(2 * count**0.5))

    @cached_property
    def vocabulary(self) -> list[str]:
        """All terms, the most frequent first."""
        return artificial_words(VOCABULARY_SIZE)

    def batches(self) -> Iterator[NoteBatch]:
        """Generate the notes in batches."""
        for number in range(math.ceil(self.count / BATCH)):
            yield self._batch(number)

    def queries(self, count: int) -> list[QuerySpec]:
        """Generate ``count`` queries with different targets, or one for each note if there are fewer notes."""
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
        # The mean of this log-normal distribution is MEAN_LENGTH: 0.08 is half of 0.4 squared.
        raw_lengths = rng.lognormal(np.log(MEAN_LENGTH) - 0.08, 0.4, size=len(topics))
        lengths = np.clip(raw_lengths, MIN_LENGTH, MAX_LENGTH).astype(np.int32)
        total = int(lengths.sum())
        words = np.searchsorted(self._vocabulary_distribution, rng.random(total)).astype(np.int32)
        of_topic = rng.random(total) < TOPIC_TERM_SHARE
        topic_terms = np.searchsorted(self._topic_distribution, rng.random(int(of_topic.sum())))
        words[of_topic] = self._topic_words[np.repeat(topics, lengths)[of_topic], topic_terms]
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
        topics: NDArray[np.float64] = self._topic_count * rng.random(size) ** 1.5  # more notes for low numbers
        return topics.astype(np.int64)

    def _query_words(self, words: Numbers, topic: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return the terms of a query for a note with these terms."""
        common, rare = np.unique(words[words < COMMON_TERMS]), np.unique(words[words >= COMMON_TERMS])
        common_count = int(rng.integers(MIN_COMMON, MAX_COMMON + 1))
        rare_count = int(rng.integers(MIN_RARE, MAX_RARE + 1))
        pool = common if len(common) >= common_count else COMMON_TERMS
        chosen = [int(word) for word in rng.choice(pool, common_count, replace=False)]
        note_words = [int(word) for word in rng.permutation(rare)]
        while len(chosen) < common_count + rare_count:
            foreign = not note_words or rng.random() < FOREIGN_TERM_SHARE
            word = int(rng.choice(self._topic_words[topic])) if foreign else note_words.pop()
            if word not in chosen:
                chosen.append(word)
        return tuple(int(word) for word in rng.permutation(chosen))

    def _query_vector(self, target: Floats, topic: int, rng: np.random.Generator) -> Floats:
        shared = QUERY_TARGET_WEIGHT * target + QUERY_TOPIC_WEIGHT * self._directions[topic]
        (vector,) = _unit(shared[np.newaxis] + QUERY_OTHER_WEIGHT * self._aspects_and_noise(1, rng))
        return np.asarray(vector, dtype=np.float32)

    @cached_property
    def _vocabulary_distribution(self) -> NDArray[np.float64]:
        return _zipf(VOCABULARY_SIZE)

    @cached_property
    def _topic_distribution(self) -> NDArray[np.float64]:
        return _zipf(TOPIC_TERMS)

    @cached_property
    def _topic_words(self) -> Numbers:
        """The terms of each topic, the most frequent first; none of them is a common term."""
        rng = np.random.default_rng([self._seed, self.count, 4])
        fractions = rng.random((self._topic_count, TOPIC_TERMS)) ** 2  # more low numbers, which are frequent terms
        return (COMMON_TERMS + (VOCABULARY_SIZE - COMMON_TERMS) * fractions).astype(np.int32)

    @cached_property
    def _directions(self) -> Floats:
        return _random_directions(self._topic_count, np.random.default_rng([self._seed, self.count, 5]))

    @cached_property
    def _aspects(self) -> Floats:
        return _random_directions(ASPECTS, np.random.default_rng([self._seed, self.count, 6]))


def artificial_words(count: int) -> list[str]:
    """Return different words of two or three syllables, the short ones first.

    The words are their own stems, so that engines with and without stemming have the same terms.

    >>> artificial_words(4)
    ['baba', 'babo', 'bada', 'bado']
    >>> artificial_words(60_000)[-1]
    'mumipo'
    """
    syllables = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _VOWELS)]
    last_syllables = [consonant + vowel for consonant, vowel in product(_CONSONANTS, _LAST_VOWELS)]
    short = ("".join(parts) for parts in product(syllables, last_syllables))
    long = ("".join(parts) for parts in product(syllables, syllables, last_syllables))
    return list(islice(chain(short, long), count))


def _zipf(count: int) -> NDArray[np.float64]:
    """Return the cumulative probabilities of ranks 1 to ``count`` by Zipf's law."""
    cumulative = np.cumsum(1 / np.arange(1, count + 1))
    return np.asarray(cumulative / cumulative[-1], dtype=np.float64)


def _random_directions(count: int, rng: np.random.Generator) -> Floats:
    return _unit(rng.standard_normal((count, DIMENSION), dtype=np.float32))


def _unit(vectors: Floats) -> Floats:
    """Return the vectors, each scaled to length 1."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / lengths, dtype=np.float32)
