from __future__ import annotations

import numpy as np
import pytest
from benchmarks.peers.generated_notes import (
    BATCH,
    COMMON_TERMS,
    DIMENSION,
    VOCABULARY_SIZE,
    GeneratedNotes,
    artificial_words,
)


def test_seed_determines_notes() -> None:
    first, same = next(GeneratedNotes(200, seed=3).batches()), next(GeneratedNotes(200, seed=3).batches())
    different = next(GeneratedNotes(200, seed=4).batches())
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(first, same, strict=True))
    assert not np.array_equal(first.vectors, different.vectors)


def test_notes_are_the_same_on_every_machine() -> None:
    notes = GeneratedNotes(200)
    batch = next(notes.batches())
    assert [notes.vocabulary[word] for word in batch.words[:6]] == [
        "gemapa",
        "dilaga",
        "butevo",
        "milo",
        "babo",
        "balevo",
    ]
    assert batch.vectors[0, :3].tolist() == pytest.approx([0.03455, -0.04623, 0.03389], abs=1e-5)


def test_batches() -> None:
    sizes = [len(batch.lengths) for batch in GeneratedNotes(BATCH + 7).batches()]
    assert sizes == [BATCH, 7]


def test_term_frequencies_follow_zipf() -> None:
    batch = next(GeneratedNotes(2000).batches())
    counts = np.bincount(batch.words, minlength=1000)
    assert 1.6 < counts[0] / counts[1] < 2.4
    assert 7 < counts[0] / counts[9] < 13
    assert 55 < batch.lengths.mean() < 65


def test_vectors_are_unit_and_near_their_topics() -> None:
    notes = GeneratedNotes(1000)
    vectors = next(notes.batches()).vectors
    assert vectors.dtype == np.float32
    assert vectors.shape == (1000, DIMENSION)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    topics = notes._batch_topics(0)
    similarities = vectors @ vectors.T
    same_topic = topics[:, None] == topics[None]
    assert similarities[same_topic & ~np.eye(1000, dtype=bool)].mean() > similarities[~same_topic].mean() + 0.2


def test_queries_have_common_terms_and_a_near_target() -> None:
    notes = GeneratedNotes(1000)
    batch = next(notes.batches())
    ends = np.cumsum(batch.lengths)
    for query in notes.queries(60):
        words = set(batch.words[ends[query.target] - batch.lengths[query.target] : ends[query.target]].tolist())
        assert 4 <= len(query.words) == len(set(query.words)) <= 8
        assert 1 <= sum(word < COMMON_TERMS for word in query.words) <= 2
        assert words & set(query.words)
        assert query.vector @ batch.vectors[query.target] > 0.3


def test_at_most_one_query_for_each_note() -> None:
    assert len({query.target for query in GeneratedNotes(100).queries(1000)}) == 100


def test_query_for_a_note_without_common_terms() -> None:
    notes = GeneratedNotes(100)
    rng = np.random.default_rng(0)
    words = notes._query_words(np.array([500, 501], dtype=np.int32), 0, rng)
    assert 1 <= sum(word < COMMON_TERMS for word in words) <= 2
    assert len(words) >= 4


def test_artificial_words_are_distinct() -> None:
    words = artificial_words(VOCABULARY_SIZE)
    assert len(set(words)) == VOCABULARY_SIZE
    assert all(word.isascii() and word.isalpha() for word in words)
