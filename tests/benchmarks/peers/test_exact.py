from __future__ import annotations

import math
from pathlib import Path

import apsw
import numpy as np
import pytest
from benchmarks.peers.corpus import Corpus, write_corpus
from benchmarks.peers.exact import ExactSearch, recall
from benchmarks.peers.generated_notes import NoteBatch, QuerySpec


@pytest.fixture
def small_corpus(tmp_path: Path) -> Corpus:
    """Return four notes over four words: 'a a b', 'a', 'c b', 'd'."""
    words, lengths = [0, 0, 1, 0, 2, 1, 3], [3, 1, 2, 1]
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], dtype=np.float32)
    batch = NoteBatch(np.array(words, dtype=np.int32), np.array(lengths, dtype=np.int32), vectors)
    queries = [
        QuerySpec((0, 2), np.array([1, 0], dtype=np.float32), 0),
        QuerySpec((4,), np.array([0, 1], dtype=np.float32), 1),
    ]
    write_corpus(tmp_path / "small", "small", ["a", "b", "c", "d", "e"], [batch], queries, dimension=2)
    return Corpus(tmp_path / "small")


def test_bm25_by_hand(small_corpus: Corpus) -> None:
    exact = ExactSearch(small_corpus, small_corpus.queries())
    # 'a' is in 2 of 4 notes, twice in the first, which has 3 words where the mean is 7 / 4
    expected = math.log(1 + 2.5 / 2.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 1.75))
    assert exact.bm25(0, 0, "lucene") == pytest.approx(expected)
    assert exact.bm25(0, 0, "fts5") == pytest.approx(1e-6 * expected / math.log(2))
    assert exact.bm25(0, 3, "lucene") == 0


def test_lexical_recall(small_corpus: Corpus) -> None:
    exact = ExactSearch(small_corpus, small_corpus.queries())
    assert exact.lexical_recall(0, [2, 0, 1], 10, "lucene") == 1
    assert exact.lexical_recall(0, [2, 3], 10, "lucene") == pytest.approx(1 / 3)
    assert exact.lexical_recall(0, [], 60, "lucene") == 0
    assert exact.lexical_recall(1, [], 10, "fts5") == 1


def test_vector_recall(small_corpus: Corpus) -> None:
    exact = ExactSearch(small_corpus, small_corpus.queries())
    assert exact.vector_recall(0, [0, 3, 2, 1], 10) == 1
    assert exact.vector_recall(0, [0, 0], 10) == 0.25
    assert exact.vector_recall(0, [], 10) == 0


def test_equal_scores_count() -> None:
    assert recall(np.array([3.0, 1.9]), [7, 8], minimum=2.0, possible=2) == 0.5
    assert recall(np.array([3.0, 2.0, 2.0]), [7, 8, 9], minimum=2.0, possible=2) == 1


@pytest.mark.parametrize(("excess", "recall_of_one"), [(-9e-6, 1.0), (-1e-4, 0.0)])
def test_cosine_tolerance(corpus: Corpus, excess: float, recall_of_one: float) -> None:
    queries = corpus.queries()[:1]
    exact = ExactSearch(corpus, queries)
    nearest = int(np.argmax(corpus.vectors() @ queries[0].vector))
    minima = exact._min_similarity[0]
    minima[10] = float(corpus.vectors()[nearest] @ queries[0].vector) - excess
    assert exact.vector_recall(0, [nearest] * 10, 10) == recall_of_one / 10


def test_bm25_equals_fts5(corpus: Corpus) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
    for batch in corpus.batches():
        connection.executemany(
            "INSERT INTO texts (rowid, text) VALUES (?, ?)", zip(batch.ids, batch.texts, strict=True)
        )
    exact = ExactSearch(corpus, corpus.queries())
    for position, query in enumerate(corpus.queries()):
        expression = " OR ".join(query.text.split())
        rows = connection.execute(
            "SELECT rowid, -rank FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 60", (expression,)
        ).fetchall()
        results = [(int(str(number)), score) for number, score in rows]
        for number, score in results:
            assert exact.bm25(position, number, "fts5") == pytest.approx(score, rel=1e-9)
        assert exact.lexical_recall(position, [number for number, _ in results], 60, "fts5") == 1
