"""Stored vectors and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.embedders import FunctionEmbedder, StaticEmbedder
from recollect.errors import EmbedderError, RecollectError, StoreError
from recollect.evaluation import CachingEmbedder, Collection, Question, Ranking
from recollect.evaluation.cache import RankingCache, VectorCache, code_digest, collection_digest, question_digest
from recollect.model import Note

FOUND = Ranking(("n1", "Ünï"), (0.1 + 0.2, 1e-30), 1.25, confidences=(0.7, 0.1 + 0.2))


def test_ranking_cache_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a.jsonl"
    cache = RankingCache(path)
    assert cache.rankings == {}
    cache.write("q1", FOUND)
    cache.write("q2", Ranking((), (), 0.5))
    assert RankingCache(path).rankings == cache.rankings == {"q1": FOUND, "q2": Ranking((), (), 0.5)}


def test_ranking_cache_ignores_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('["q1", ["n1"], [0.5], 1.25]\n{"version": 3, "question": "q3"}\n7\n')
    assert RankingCache(path).rankings == {}


def test_ranking_cache_in_memory() -> None:
    cache = RankingCache(None)
    cache.write("q1", FOUND)
    assert cache.rankings == {"q1": FOUND}


def test_rankings_with_warnings_are_not_stored(tmp_path: Path) -> None:
    cache = RankingCache(tmp_path / "a.jsonl")
    cache.write("q1", Ranking(("n1",), (0.5,), 1.0, ("the embedder did not answer",)))
    assert cache.rankings["q1"].ids == ("n1",)
    assert RankingCache(tmp_path / "a.jsonl").rankings == {}


def test_incomplete_lines_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    cache = RankingCache(path)
    cache.write("q1", FOUND)
    cache.write("q2", FOUND)
    complete = path.read_bytes()
    for length in range(len(complete)):
        path.write_bytes(complete[:length])
        cache = RankingCache(path)
        assert set(cache.rankings) <= {"q1", "q2"}
        cache.write("q3", FOUND)
        stored = RankingCache(path).rankings
        assert stored["q3"] == FOUND
        assert all(ranking == FOUND for ranking in stored.values())


def test_fresh_ranking_cache(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    RankingCache(path).write("q1", FOUND)
    fresh = RankingCache(path, fresh=True)
    assert fresh.rankings == {}
    fresh.write("q2", FOUND)
    assert list(RankingCache(path).rankings) == ["q2"]


def test_two_writers_of_one_ranking_cache(tmp_path: Path) -> None:
    writers = [RankingCache(tmp_path / "a.jsonl") for _ in range(2)]
    for number in range(20):
        writers[number % 2].write(f"q{number}", FOUND)
    assert len(RankingCache(tmp_path / "a.jsonl").rankings) == 20


def test_ranking_cache_write_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    cache = RankingCache(tmp_path / "taken" / "a.jsonl", fresh=True)
    with pytest.raises(RecollectError, match="--cache"):
        cache.write("q1", FOUND)


def test_digests() -> None:
    tea, milk = Note(id="n1", content="Tea."), Note(id="n1", content="Milk.")
    digests = [collection_digest(Collection(id="a", notes=notes)) for notes in ((), (tea,), (milk,), (tea, milk))]
    assert len(set(digests)) == 4
    question = Question(id="q1", text="tea?", collection="a", relevant={"n1": 1})
    same = Question(id="q2", text="tea?", collection="a", relevant={"n2": 1}, strata=("exact",))
    dated = Question(id="q1", text="tea?", collection="a", relevant={"n1": 1}, asked_at="2026-04-18")
    assert question_digest(question, "x") == question_digest(same, "x")
    assert len({question_digest(question, "x"), question_digest(dated, "x"), question_digest(question, "y")}) == 3
    assert len(code_digest()) == 16


class Letters:
    """Counts two letters, and what it was questions."""

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


def test_models_have_separate_files(tmp_path: Path) -> None:
    models = [
        FunctionEmbedder(lambda texts: [[1.0, 1.0]] * len(texts), name="one", dimension=2),
        FunctionEmbedder(lambda texts: [[2.0, 1.0]] * len(texts), name="two", dimension=2),
    ]
    rows = [CachingEmbedder(model, tmp_path).embed_documents(["tea"]).tolist() for model in models]
    assert rows[0] != rows[1]
    assert len(list(tmp_path.iterdir())) == 2


def test_vectors_of_another_dimension_are_recomputed(tmp_path: Path) -> None:
    CachingEmbedder(Letters(), tmp_path).embed_documents(["tea"])
    wider = FunctionEmbedder(lambda texts: [[1.0, 0.0, 0.0]] * len(texts), name=Letters.name, dimension=3)
    assert CachingEmbedder(wider, tmp_path).embed_documents(["tea"]).shape == (1, 3)


def test_invalid_vectors_are_not_stored(tmp_path: Path) -> None:
    model = Letters()
    model.embed_documents = lambda texts: np.full((len(texts), 2), np.nan, dtype=np.float32)  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(EmbedderError, match="not finite"):
            CachingEmbedder(model, tmp_path).embed_documents(["tea"])


def test_cache_queries_embeds_each_query_once(tmp_path: Path) -> None:
    model = Letters()
    for remember, expected in ((False, 2), (True, 1)):
        model.queries.clear()
        embedder = CachingEmbedder(model, tmp_path, cache_queries=remember)
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
    with pytest.raises(StoreError, match=r"vectors cannot be kept in .*a.vectors .*: delete the file, or name another"):
        VectorCache(tmp_path / "a.vectors").get([b"x"])
    with pytest.raises(StoreError, match="vectors cannot be kept in"):
        VectorCache(tmp_path / "a.vectors" / "b.vectors").put({b"x": np.ones(2, dtype=np.float32)})
