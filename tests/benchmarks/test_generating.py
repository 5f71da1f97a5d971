from __future__ import annotations

import numpy as np
import pytest
from benchmarks.peers import generating
from benchmarks.peers.generating import BATCH, DIMENSION, USUAL, GeneratedNotes


def test_the_same_seed_makes_the_same_notes_and_another_others() -> None:
    one, same = next(GeneratedNotes(200, seed=3).batches()), next(GeneratedNotes(200, seed=3).batches())
    other = next(GeneratedNotes(200, seed=4).batches())
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(one, same, strict=True))
    assert not np.array_equal(one.vectors, other.vectors)


def test_these_very_notes_are_made_everywhere() -> None:
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


def test_notes_come_in_batches_that_do_not_hang_on_each_other() -> None:
    sizes = [len(batch.lengths) for batch in GeneratedNotes(BATCH + 7).batches()]
    assert sizes == [BATCH, 7]


def test_words_follow_zipf() -> None:
    batch = next(GeneratedNotes(2000).batches())
    counts = np.bincount(batch.words, minlength=1000)
    assert 1.6 < counts[0] / counts[1] < 2.4
    assert 7 < counts[0] / counts[9] < 13
    assert 55 < batch.lengths.mean() < 65


def test_vectors_have_length_one_and_lie_near_their_topics() -> None:
    notes = GeneratedNotes(1000)
    vectors = next(notes.batches()).vectors
    assert vectors.dtype == np.float32
    assert vectors.shape == (1000, DIMENSION)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    topics = notes._topics_of(0)
    alike = vectors @ vectors.T
    same = topics[:, None] == topics[None]
    assert alike[same & ~np.eye(1000, dtype=bool)].mean() > alike[~same].mean() + 0.2


def test_queries_have_common_words_and_a_target_that_is_near() -> None:
    notes = GeneratedNotes(1000)
    batch = next(notes.batches())
    ends = np.cumsum(batch.lengths)
    for question in notes.questions(60):
        words = set(
            batch.words[ends[question.target] - batch.lengths[question.target] : ends[question.target]].tolist()
        )
        assert 4 <= len(question.words) == len(set(question.words)) <= 8
        assert 1 <= sum(word < USUAL for word in question.words) <= 2
        assert words & set(question.words)
        assert question.vector @ batch.vectors[question.target] > 0.3


def test_no_more_queries_than_notes() -> None:
    assert len({question.target for question in GeneratedNotes(100).questions(1000)}) == 100


def test_a_note_without_common_words_gets_a_query_with_some_all_the_same() -> None:
    notes = GeneratedNotes(100)
    chance = np.random.default_rng(0)
    asked = notes._asked(np.array([500, 501], dtype=np.int32), 0, chance)
    assert 1 <= sum(word < generating.USUAL for word in asked) <= 2
    assert len(asked) >= 4
