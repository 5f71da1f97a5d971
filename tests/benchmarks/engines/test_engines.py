"""Every engine keeps the contract: it finds what exact search finds, or nearly, and what was just written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from benchmarks.peers.corpus import Corpus
from benchmarks.peers.engines import DEPTH, ENGINES, TOP_K, Engine, engine_named, why_missing
from benchmarks.peers.engines.recollect_memory import GivenVectors
from benchmarks.peers.exact import Exact

from recollect.errors import EmbedderError, RecollectError

SMALL = ("recollect", "sqlite-vec", "tantivy-usearch", "bm25s-numpy")
"""What the tests' own environment has: none of these may be missing. The others are tested where they are installed."""
HERE = [*SMALL, *(name for name in ENGINES if name not in SMALL and not why_missing(name))]

pytestmark = [
    # What other people's packages warn of when they are imported is not for us to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", params=HERE)
def engine(
    request: pytest.FixtureRequest, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("index") / "in" / request.param
    kind = engine_named(request.param)
    kind(folder, corpus.dimension).build(corpus.batches(size=120))
    engine = kind(folder, corpus.dimension)
    engine.open()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def exact(corpus: Corpus) -> Exact:
    return Exact(corpus, corpus.queries())


def test_it_finds_by_words(engine: Engine, corpus: Corpus, exact: Exact) -> None:
    if "words" not in engine.legs:
        with pytest.raises(RecollectError):
            engine.search_words("tea", DEPTH)
        return
    found = [engine.search_words(query.text, DEPTH) for query in corpus.queries()]
    shares = [exact.word_recall(place, ids, DEPTH, engine.idf) for place, ids in enumerate(found)]
    assert np.mean(shares) > 0.95  # tantivy keeps lengths in one byte
    assert engine.search_words("unheardof", DEPTH) == []


def test_it_finds_by_vectors(engine: Engine, corpus: Corpus, exact: Exact) -> None:
    found = [engine.search_vectors(query.vector, DEPTH) for query in corpus.queries()]
    shares = [exact.vector_recall(place, ids, DEPTH) for place, ids in enumerate(found)]
    assert np.mean(shares) == 1 if engine.exact else np.mean(shares) > 0.9


def test_it_finds_by_both(engine: Engine, corpus: Corpus) -> None:
    query = corpus.queries()[0]
    if not engine.hybrids:
        with pytest.raises(RecollectError):
            engine.hybrid("rrf", query.text, query.vector, TOP_K, DEPTH)
    for way in engine.hybrids:
        found = [engine.hybrid(way, each.text, each.vector, TOP_K, DEPTH) for each in corpus.queries()]
        assert {len(ids) for ids in found} == {TOP_K}
        assert np.mean([each.target in ids for each, ids in zip(corpus.queries(), found, strict=True)]) > 0.8


def test_threads_may_search_at_the_same_time(engine: Engine, corpus: Corpus) -> None:
    query = corpus.queries()[0]
    here, there = engine.search_vectors(query.vector, TOP_K), []
    thread = Thread(target=lambda: there.extend(engine.search_vectors(query.vector, TOP_K)))
    thread.start()
    thread.join()
    assert there == here


def test_what_is_written_is_found(engine: Engine, corpus: Corpus) -> None:
    vector = np.zeros(corpus.dimension, dtype=np.float32)
    vector[0] = -1
    if not engine.writes:
        with pytest.raises(RecollectError, match="build it anew"):
            engine.add(corpus.notes, "unheard", vector)
        return
    engine.add(corpus.notes, f"unheard {corpus.vocabulary[0]}", vector)
    assert corpus.notes in engine.search_vectors(vector, DEPTH)
    if "words" in engine.legs:
        assert engine.search_words("unheard", DEPTH) == [corpus.notes]


@pytest.mark.parametrize("name", [name for name in SMALL if engine_named(name).writes])
def test_what_was_written_is_still_there_after_it_is_opened_again(name: str, corpus: Corpus, tmp_path: Path) -> None:
    kind = engine_named(name)
    engine = kind(tmp_path / "index", corpus.dimension)
    engine.build(corpus.batches())
    engine.open()
    engine.add(corpus.notes, "unheard", corpus.queries()[0].vector)
    engine.close()
    engine = kind(tmp_path / "index", corpus.dimension)
    engine.open()
    assert engine.search_words("unheard", DEPTH) == [corpus.notes]
    assert engine.search_vectors(corpus.queries()[0].vector, DEPTH)[0] == corpus.notes
    engine.close()


def test_the_benchmark_embeds_nothing() -> None:
    embedder = GivenVectors(3)
    with pytest.raises(EmbedderError, match="2 texts came without a vector"):
        embedder.embed_documents(["a", "b"])
    with pytest.raises(EmbedderError, match="the query 'tea' came without a vector"):
        embedder.embed_query("tea")
