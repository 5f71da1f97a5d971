from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers.corpus import Corpus, generated_corpus, write_corpus
from benchmarks.peers.generating import GeneratedNotes, Made, Question

from recollect.errors import RecollectError


def test_what_is_written_is_read_again(corpus: Corpus) -> None:
    notes = GeneratedNotes(300)
    made = next(notes.batches())
    batches = list(corpus.batches(size=128))
    assert [len(batch.texts) for batch in batches] == [128, 128, 44]
    assert batches[1].ids == range(128, 256)
    assert np.array_equal(np.concatenate([batch.vectors for batch in batches]), made.vectors)
    words = " ".join(text for batch in batches for text in batch.texts).split()
    assert words == [notes.vocabulary[word] for word in made.words]
    assert [len(text.split()) for text in batches[0].texts] == made.lengths[:128].tolist()


def test_queries_are_read_in_order(corpus: Corpus) -> None:
    asked = GeneratedNotes(300).questions(12)
    for query, question in zip(corpus.queries(), asked, strict=True):
        assert (query.words, query.target) == (question.words, question.target)
        assert query.text.split() == [corpus.vocabulary[word] for word in question.words]
        assert np.array_equal(query.vector, question.vector)


def test_a_corpus_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    first = generated_corpus(tmp_path, 100, questions=2)
    (first.folder / "words.txt").write_text("kept", encoding="utf-8")
    assert generated_corpus(tmp_path, 100, questions=2).vocabulary == ["kept"]


def test_one_that_was_left_unfinished_is(tmp_path: Path) -> None:
    first = generated_corpus(tmp_path, 100, questions=2)
    (first.folder / "corpus.json").unlink()
    with pytest.raises(RecollectError, match="there is no whole corpus in .*; delete it and run bench again"):
        _ = Corpus(first.folder).notes
    assert generated_corpus(tmp_path, 100, questions=2).notes == 100


def test_texts_that_are_more_than_their_words_are_kept(tmp_path: Path) -> None:
    made = Made(np.array([0, 1], dtype=np.int32), np.array([2], dtype=np.int32), np.ones((1, 3), dtype=np.float32))
    asked = [Question((1,), np.ones(3, dtype=np.float32), 0)]
    write_corpus(tmp_path / "own", "mine", ["green", "tea"], [made], asked, dimension=3, texts=["Green tea!\n"])
    (batch,) = Corpus(tmp_path / "own").batches()
    assert batch.texts == ["Green tea!\n"]
