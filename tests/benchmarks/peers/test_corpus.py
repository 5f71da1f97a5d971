from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers.corpus import Corpus, folder_corpus, generated_corpus, write_corpus
from benchmarks.peers.exact import ExactSearch
from benchmarks.peers.generated_notes import GeneratedNotes, NoteBatch, QuerySpec

from recollect.embedders import FunctionEmbedder
from recollect.errors import ArgumentError, RecollectError


def test_batches_are_read_as_written(corpus: Corpus) -> None:
    notes = GeneratedNotes(300)
    batch = next(notes.batches())
    batches = list(corpus.batches(size=128))
    assert [len(batch.texts) for batch in batches] == [128, 128, 44]
    assert batches[1].ids == range(128, 256)
    assert np.array_equal(np.concatenate([read.vectors for read in batches]), batch.vectors)
    words = " ".join(text for batch in batches for text in batch.texts).split()
    assert words == [notes.vocabulary[word] for word in batch.words]
    assert [len(text.split()) for text in batches[0].texts] == batch.lengths[:128].tolist()


def test_queries_are_read_in_order(corpus: Corpus) -> None:
    specs = GeneratedNotes(300).queries(12)
    for query, spec in zip(corpus.queries(), specs, strict=True):
        assert (query.words, query.target) == (spec.words, spec.target)
        assert query.text.split() == [corpus.vocabulary[word] for word in spec.words]
        assert np.array_equal(query.vector, spec.vector)


def test_existing_corpus_is_used_again(tmp_path: Path) -> None:
    first = generated_corpus(tmp_path, 100, queries=2)
    (first.folder / "words.txt").write_text("changed", encoding="utf-8")
    assert generated_corpus(tmp_path, 100, queries=2).vocabulary == ["changed"]


def test_incomplete_corpus_is_generated_again(tmp_path: Path) -> None:
    first = generated_corpus(tmp_path, 100, queries=2)
    (first.folder / "corpus.json").unlink()
    with pytest.raises(RecollectError, match="the corpus in .* is incomplete; delete it and run again"):
        _ = Corpus(first.folder).notes
    assert generated_corpus(tmp_path, 100, queries=2).notes == 100


def test_texts_are_read_as_written(tmp_path: Path) -> None:
    batch = NoteBatch(
        np.array([0, 1], dtype=np.int32), np.array([2], dtype=np.int32), np.ones((1, 3), dtype=np.float32)
    )
    queries = [QuerySpec((1,), np.ones(3, dtype=np.float32), 0)]
    write_corpus(tmp_path / "own", "mine", ["green", "tea"], [batch], queries, dimension=3, texts=["Green tea!\n"])
    (read,) = Corpus(tmp_path / "own").batches()
    assert read.texts == ["Green tea!\n"]


EMBEDDER = FunctionEmbedder(
    lambda texts: np.array([[len(text), text.count("e") + 1, 1] for text in texts]), dimension=3
)

NOTES = {
    "tea.md": "# Tea\n\nThe kettle squeaks when the sencha is brewed too hot.",
    "bike.txt": "The frame number of the bike is WVB-7741-K, on the left side.",
    "short.md": "The end.",
    "long.md": "The rain falls. " * 400,
}


def write_folder_corpus(tmp_path: Path, notes: dict[str, str], **options: object) -> Corpus:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text, encoding="utf-8")
    arguments: dict[str, object] = {
        "embedder": EMBEDDER,
        "queries": 5,
        "seed": 0,
        "progress": lambda *_: None,
        **options,
    }
    return folder_corpus(tmp_path, folder, **arguments | options)  # type: ignore[arg-type]


def test_folder_corpus(tmp_path: Path) -> None:
    corpus = write_folder_corpus(tmp_path, NOTES)
    assert re.fullmatch(r"notes of vault, .+, [0-9a-f]{8}", corpus.name)
    (batch,) = corpus.batches()
    assert any(text.startswith("Tea ") and "sencha" in text for text in batch.texts)
    assert np.allclose(np.linalg.norm(batch.vectors, axis=1), 1, atol=1e-5)
    for query in corpus.queries():
        words = query.text.split()
        assert set(words) <= set(
            batch.texts[query.target].lower().replace("-", " ").replace(",", " ").replace(".", " ").split()
        )
        assert len(words) >= 3
    exact = ExactSearch(corpus, corpus.queries())
    assert exact.bm25(0, corpus.queries()[0].target, "lucene") > 0


def test_folder_corpus_query_limit(tmp_path: Path) -> None:
    assert len(write_folder_corpus(tmp_path, NOTES, queries=1).queries()) == 1


@pytest.mark.parametrize(
    ("notes", "options", "problem"),
    [
        (NOTES, {"embedder": "none"}, "--embedder: must name a model"),
        ({}, {}, "--notes: .* has no notes"),
        ({"a.md": "tea"}, {}, "--notes: no note of .* has 3 rare terms"),
    ],
)
def test_folder_corpus_errors(tmp_path: Path, notes: dict[str, str], options: dict[str, object], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        write_folder_corpus(tmp_path, notes, **options)
