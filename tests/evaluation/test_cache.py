"""The cache of document vectors, and the embedder that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.embedders import FunctionEmbedder, StaticEmbedder
from recollect.errors import EmbedderError, StoreError
from recollect.evaluation import CachingEmbedder
from recollect.evaluation.cache import VectorCache


class LetterEmbedder:
    """An embedder that counts two letters and records the texts."""

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


def test_documents_are_embedded_once(tmp_path: Path) -> None:
    model = LetterEmbedder()
    first = CachingEmbedder(model, tmp_path).embed_documents(["tea", "bread", "tea"])
    assert model.documents == ["tea", "bread"]
    again = CachingEmbedder(model, tmp_path).embed_documents(["bread", "tea", "milk \ud800"])
    assert model.documents == ["tea", "bread", "milk \ud800"]
    assert first.dtype == again.dtype == np.float32
    assert first.tolist() == [[2, 1], [2, 1], [2, 1]]
    assert again[:2].tolist() == first[:2].tolist()
    assert len(list(tmp_path.iterdir())) == 1
    assert CachingEmbedder(model, tmp_path).embed_documents([]).shape == (0, 2)


def test_models_have_separate_files(tmp_path: Path) -> None:
    models = [
        FunctionEmbedder(lambda texts: [[1.0, 1.0]] * len(texts), name="one", dimension=2),
        FunctionEmbedder(lambda texts: [[2.0, 1.0]] * len(texts), name="two", dimension=2),
    ]
    rows = [CachingEmbedder(model, tmp_path).embed_documents(["tea"]).tolist() for model in models]
    assert rows[0] != rows[1]
    assert len(list(tmp_path.iterdir())) == 2


def test_vectors_of_another_dimension_are_recomputed(tmp_path: Path) -> None:
    CachingEmbedder(LetterEmbedder(), tmp_path).embed_documents(["tea"])
    wider = FunctionEmbedder(lambda texts: [[1.0, 0.0, 0.0]] * len(texts), name=LetterEmbedder.name, dimension=3)
    assert CachingEmbedder(wider, tmp_path).embed_documents(["tea"]).shape == (1, 3)


def test_invalid_vectors_are_not_stored(tmp_path: Path) -> None:
    model = LetterEmbedder()
    model.embed_documents = lambda texts: np.full((len(texts), 2), np.nan, dtype=np.float32)  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(EmbedderError, match="not finite"):
            CachingEmbedder(model, tmp_path).embed_documents(["tea"])


def test_cache_queries_embeds_each_query_once(tmp_path: Path) -> None:
    model = LetterEmbedder()
    for cache_queries, expected in ((False, 2), (True, 1)):
        model.queries.clear()
        embedder = CachingEmbedder(model, tmp_path, cache_queries=cache_queries)
        embedder.clear_query_cache()
        assert embedder.embed_query("tea?").tolist() == embedder.embed_query("tea?").tolist() == [1, 0]
        assert len(model.queries) == expected


def test_caching_embedder_has_the_name_and_vectors_of_its_model(tmp_path: Path) -> None:
    static = StaticEmbedder()
    embedder = CachingEmbedder(static, tmp_path)
    assert (embedder.name, embedder.dimension) == (static.name, static.dimension)
    texts = ["green tea", "", "a bicycle"]
    assert embedder.embed_documents(texts).tolist() == static.embed_documents(texts).tolist()
    assert embedder.embed_documents(texts).tolist() == static.embed_documents(texts).tolist()


def test_clear_query_cache_clears_that_of_the_model(tmp_path: Path) -> None:
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


def key(number: int) -> bytes:
    return number.to_bytes(4)


def fill(path: Path, start: int) -> None:
    cache = VectorCache(path)
    for number in range(start, start + 50):
        cache.put({key(number): np.full(3, number, dtype=np.float32)})


def test_cache_returns_the_same_bits(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "deep" / "a.vectors")
    assert cache.get([b"x"]) == {}
    vectors = {key(number): np.random.default_rng(number).random(5, dtype=np.float32) for number in range(1201)}
    cache.put(vectors)
    result = cache.get([*vectors, b"missing"])
    assert result.keys() == vectors.keys()
    assert all((result[entry] == vectors[entry]).all() for entry in vectors)


def test_put_keeps_the_first_vector(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "a.vectors")
    cache.put({b"x": np.ones(2, dtype=np.float32)})
    cache.put({b"x": np.zeros(2, dtype=np.float32)})
    assert cache.get([b"x"])[b"x"].tolist() == [1, 1]


def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "a.vectors"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(fill, [path, path], [0, 25]))
    assert len(VectorCache(path).get([key(number) for number in range(75)])) == 75


def test_get_reports_a_corrupt_file(tmp_path: Path) -> None:
    (tmp_path / "a.vectors").write_bytes(b"x" * 4096)
    with pytest.raises(
        StoreError, match=r"vectors cannot be stored in .*a.vectors .*: delete the file, or name another"
    ):
        VectorCache(tmp_path / "a.vectors").get([b"x"])
    with pytest.raises(StoreError, match="vectors cannot be stored in"):
        VectorCache(tmp_path / "a.vectors" / "b.vectors").put({b"x": np.ones(2, dtype=np.float32)})
