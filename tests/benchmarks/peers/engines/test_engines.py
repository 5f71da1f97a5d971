"""Every engine has the recall that it claims, and finds new notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.engines import DEPTH, ENGINES, TOP_K, Engine, engine_class, unavailable_reason
from benchmarks.peers.engines.recollect_memory import StoredVectors
from benchmarks.peers.exact import ExactSearch

from recollect.errors import EmbedderError, RecollectError

SMALL = ("recollect", "sqlite-vec", "tantivy-usearch", "bm25s-numpy")
"""The engines of the test environment. The others are tested if they are installed."""
INSTALLED = [*SMALL, *(name for name in ENGINES if name not in SMALL and not unavailable_reason(name))]

pytestmark = [
    # Warnings of other packages.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", params=INSTALLED)
def engine(
    request: pytest.FixtureRequest, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("index") / "in" / request.param
    kind = engine_class(request.param)
    kind(folder, corpus.dimension).build(corpus.batches(size=120))
    engine = kind(folder, corpus.dimension)
    engine.open()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def exact(corpus: Corpus) -> ExactSearch:
    return ExactSearch(corpus, corpus.queries())


def test_lexical_recall(engine: Engine, corpus: Corpus, exact: ExactSearch) -> None:
    if "words" not in engine.legs:
        with pytest.raises(RecollectError):
            engine.search_text("tea", DEPTH)
        return
    results = [engine.search_text(query.text, DEPTH) for query in corpus.queries()]
    shares = [exact.lexical_recall(query, ids, DEPTH, engine.idf) for query, ids in enumerate(results)]
    assert np.mean(shares) > 0.95  # tantivy stores lengths in one byte
    assert engine.search_text("unheardof", DEPTH) == []


def test_vector_recall(engine: Engine, corpus: Corpus, exact: ExactSearch) -> None:
    results = [engine.search_vectors(query.vector, DEPTH) for query in corpus.queries()]
    shares = [exact.vector_recall(query, ids, DEPTH) for query, ids in enumerate(results)]
    assert np.mean(shares) == 1 if engine.exact else np.mean(shares) > 0.9


def test_hybrid_finds_targets(engine: Engine, corpus: Corpus) -> None:
    query = corpus.queries()[0]
    if not engine.hybrids:
        with pytest.raises(RecollectError):
            engine.hybrid("rrf", query.text, query.vector, TOP_K, DEPTH)
    for method in engine.hybrids:
        queries = corpus.queries()
        results = [engine.hybrid(method, query.text, query.vector, TOP_K, DEPTH) for query in queries]
        assert {len(ids) for ids in results} == {TOP_K}
        assert np.mean([query.target in ids for query, ids in zip(queries, results, strict=True)]) > 0.8


def test_concurrent_searches(engine: Engine, corpus: Corpus) -> None:
    query = corpus.queries()[0]
    expected, results = engine.search_vectors(query.vector, TOP_K), []
    thread = Thread(target=lambda: results.extend(engine.search_vectors(query.vector, TOP_K)))
    thread.start()
    thread.join()
    assert results == expected


def test_new_note_is_found(engine: Engine, corpus: Corpus) -> None:
    vector = np.zeros(corpus.dimension, dtype=np.float32)
    vector[0] = -1
    if not engine.writes:
        with pytest.raises(RecollectError, match="cannot add a note"):
            engine.add(corpus.notes, "unheard", vector)
        return
    engine.add(corpus.notes, f"unheard {corpus.vocabulary[0]}", vector)
    assert corpus.notes in engine.search_vectors(vector, DEPTH)
    if "words" in engine.legs:
        assert engine.search_text("unheard", DEPTH) == [corpus.notes]


@pytest.mark.parametrize("name", [name for name in SMALL if engine_class(name).writes])
def test_new_note_survives_reopening(name: str, corpus: Corpus, tmp_path: Path) -> None:
    kind = engine_class(name)
    engine = kind(tmp_path / "index", corpus.dimension)
    engine.build(corpus.batches())
    engine.open()
    engine.add(corpus.notes, "unheard", corpus.queries()[0].vector)
    engine.close()
    engine = kind(tmp_path / "index", corpus.dimension)
    engine.open()
    assert engine.search_text("unheard", DEPTH) == [corpus.notes]
    assert engine.search_vectors(corpus.queries()[0].vector, DEPTH)[0] == corpus.notes
    engine.close()


def test_stored_vectors_embed_nothing() -> None:
    embedder = StoredVectors(3)
    with pytest.raises(EmbedderError, match="2 texts came without a vector"):
        embedder.embed_documents(["a", "b"])
    with pytest.raises(EmbedderError, match="the query 'tea' came without a vector"):
        embedder.embed_query("tea")
