from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.exact import Exact
from benchmarks.peers.own_notes import corpus_of_folder

from recollect.embedders import FunctionEmbedder
from recollect.errors import ArgumentError

EMBEDDER = FunctionEmbedder(
    lambda texts: np.array([[len(text), text.count("e") + 1, 1] for text in texts]), dimension=3
)

NOTES = {
    "tea.md": "# Tea\n\nThe kettle squeaks when the sencha is brewed too hot.",
    "bike.txt": "The frame number of the bike is WVB-7741-K, on the left side.",
    "short.md": "The end.",
    "long.md": "The rain falls. " * 400,
}


def made(tmp_path: Path, notes: dict[str, str], **options: object) -> Corpus:
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text, encoding="utf-8")
    told: dict[str, object] = {"embedder": EMBEDDER, "questions": 5, "seed": 0, "progress": lambda *_: None, **options}
    return corpus_of_folder(tmp_path, folder, **told)  # type: ignore[arg-type]


def test_a_folder_becomes_a_corpus(tmp_path: Path) -> None:
    corpus = made(tmp_path, NOTES)
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
    exact = Exact(corpus, corpus.queries())
    assert exact.word_score(0, corpus.queries()[0].target, "lucene") > 0


def test_only_so_many_queries_as_were_asked_for(tmp_path: Path) -> None:
    assert len(made(tmp_path, NOTES, questions=1).queries()) == 1


@pytest.mark.parametrize(
    ("notes", "options", "problem"),
    [
        (NOTES, {"embedder": "none"}, "--embedder: must name a model"),
        ({}, {}, "--notes: .* holds no note"),
        ({"a.md": "tea"}, {}, "--notes: no note of .* has 3 words that are its own"),
    ],
)
def test_what_cannot_be_measured_is_told(
    tmp_path: Path, notes: dict[str, str], options: dict[str, object], problem: str
) -> None:
    with pytest.raises(ArgumentError, match=problem):
        made(tmp_path, notes, **options)
