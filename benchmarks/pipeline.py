"""The search pipeline without its legs (parsing, fusion, graph, stages, trace) against FTS5 ranking."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import numpy as np

import recollect
from benchmarks.timing import Comparison, compare
from recollect.query import parse
from recollect.retrieval import Retrieval
from recollect.stores import open_store
from recollect.stores.sqlite.search import render_fts5

NOTES = int(os.environ.get("BENCH_SEARCHED", "10000"))
WORDS_PER_NOTE = 60
QUERIES = 100  # more than any query cache holds
DIMENSION = 64


class CachedIndex:
    """An index that caches the results of another index, so that only the pipeline is measured."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._results: dict[tuple[str, Any], Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return a version of the other index's method that caches results by the first argument."""
        method = getattr(self._index, name)

        def cached(argument: Any, *others: Any, **options: Any) -> Any:
            key = name, _hashable(argument)
            if key not in self._results:
                self._results[key] = method(argument, *others, **options)
            return self._results[key]

        return cached


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return tuple(value) if isinstance(value, list) else value


def texts(count: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Return ``count`` notes whose term frequencies follow Zipf's law, and queries of five terms."""
    rng = random.Random(seed)  # noqa: S311 (sample data)
    vocabulary = [f"word{number}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    words = rng.choices(vocabulary, weights, k=count * WORDS_PER_NOTE)
    starts = range(0, len(words), WORDS_PER_NOTE)
    notes = [" ".join(words[start : start + WORDS_PER_NOTE]) for start in starts]
    return notes, [" ".join(rng.choices(vocabulary, weights, k=5)) for _ in range(QUERIES)]


def comparisons() -> Iterator[Comparison]:
    """Yield each comparison when it is complete."""
    with TemporaryDirectory() as folder:
        yield _without_legs(Path(folder))


def _without_legs(folder: Path) -> Comparison:
    notes, queries = texts(NOTES)
    vectors = np.random.default_rng(1).standard_normal((NOTES + QUERIES, DIMENSION)).astype(np.float32)
    with recollect.open(folder / "memory.db", embedder=None) as memory:
        memory.add_many(
            {"path": f"notes/{number}.md", "content": text, "session": f"s{number // 50}", "position": number % 50}
            | {"vector": vectors[number]}
            for number, text in enumerate(notes)
        )
    store = open_store(folder / "memory.db", read_only=True)
    retrieval = Retrieval(CachedIndex(store))
    requests = list(zip(queries, vectors[NOTES:], strict=True))
    traces = [retrieval.search(query, vector=vector).trace for query, vector in requests]
    assert all(trace.bm25_count == trace.vector_count == 60 for trace in traces), "both legs must have full lists"

    bare = apsw.Connection(str(folder / "bare.db"))
    bare.execute("CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = 'porter unicode61')")
    with bare:
        bare.executemany("INSERT INTO words VALUES (?)", [(text,) for text in notes])
    expressions = [render_fts5(parse(query)) for query in queries]
    ranking_sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 60"

    def ours() -> None:
        for query, vector in requests:
            retrieval.search(query, vector=vector)

    def theirs() -> None:
        for expression in expressions:
            bare.execute(ranking_sql, (expression,)).fetchall()

    comparison = compare(f"{QUERIES} searches without their legs", ours, "FTS5's ORDER BY rank", theirs, at_most=1)
    store.close()
    bare.close()
    return comparison
