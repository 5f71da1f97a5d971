from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.embedders import FunctionEmbedder, StaticEmbedder
from recollect.errors import EmbedderError
from recollect.evaluation import CachingEmbedder


class Letters:
    """Counts two letters, and what it was asked."""

    name = "letters/α"
    dimension = 2

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.documents += texts
        return np.array([[text.count("a") + 1, text.count("e")] for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.queries.append(text)
        return np.array([1, 0], dtype=np.float32)


def test_no_document_is_embedded_twice(tmp_path: Path) -> None:
    model = Letters()
    first = CachingEmbedder(model, tmp_path).embed_documents(["tea", "bread", "tea"])
    assert model.documents == ["tea", "bread"]
    again = CachingEmbedder(model, tmp_path).embed_documents(["bread", "tea", "milk \ud800"])
    assert model.documents == ["tea", "bread", "milk \ud800"]
    assert first.dtype == again.dtype == np.float32
    assert first.tolist() == [[2, 1], [2, 1], [2, 1]]
    assert again[:2].tolist() == first[:2].tolist()
    assert len(list(tmp_path.iterdir())) == 1
    assert CachingEmbedder(model, tmp_path).embed_documents([]).shape == (0, 2)


def test_models_do_not_meet(tmp_path: Path) -> None:
    models = [
        FunctionEmbedder(lambda texts: [[1.0, 1.0]] * len(texts), name="one", dimension=2),
        FunctionEmbedder(lambda texts: [[2.0, 1.0]] * len(texts), name="two", dimension=2),
    ]
    rows = [CachingEmbedder(model, tmp_path).embed_documents(["tea"]).tolist() for model in models]
    assert rows[0] != rows[1]
    assert len(list(tmp_path.iterdir())) == 2


def test_vectors_of_another_dimension_under_the_same_name_are_made_anew(tmp_path: Path) -> None:
    CachingEmbedder(Letters(), tmp_path).embed_documents(["tea"])
    wider = FunctionEmbedder(lambda texts: [[1.0, 0.0, 0.0]] * len(texts), name=Letters.name, dimension=3)
    assert CachingEmbedder(wider, tmp_path).embed_documents(["tea"]).shape == (1, 3)


def test_what_is_wrong_is_not_kept(tmp_path: Path) -> None:
    model = Letters()
    model.embed_documents = lambda texts: np.full((len(texts), 2), np.nan, dtype=np.float32)  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(EmbedderError, match="not finite"):
            CachingEmbedder(model, tmp_path).embed_documents(["tea"])


def test_queries_are_embedded_each_time_unless_they_are_to_be_remembered(tmp_path: Path) -> None:
    model = Letters()
    for remember, expected in ((False, 2), (True, 1)):
        model.queries.clear()
        embedder = CachingEmbedder(model, tmp_path, cache_queries=remember)
        embedder.clear_query_cache()
        assert embedder.embed_query("tea?").tolist() == embedder.embed_query("tea?").tolist() == [1, 0]
        assert len(model.queries) == expected


def test_it_is_the_model_under_its_own_name(tmp_path: Path) -> None:
    static = StaticEmbedder()
    embedder = CachingEmbedder(static, tmp_path)
    assert (embedder.name, embedder.dimension) == (static.name, static.dimension)
    texts = ["green tea", "", "a bicycle"]
    assert embedder.embed_documents(texts).tolist() == static.embed_documents(texts).tolist()
    assert embedder.embed_documents(texts).tolist() == static.embed_documents(texts).tolist()


def test_a_models_own_memory_of_queries_is_emptied(tmp_path: Path) -> None:
    calls: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        calls.extend(texts)
        return [[1.0, 0.0]] * len(texts)

    embedder = CachingEmbedder(FunctionEmbedder(embed, name="two", dimension=2), tmp_path)
    for _ in range(2):
        embedder.embed_query("tea?")
    assert calls == ["tea?"]
    embedder.clear_query_cache()
    embedder.embed_query("tea?")
    assert calls == ["tea?", "tea?"]
