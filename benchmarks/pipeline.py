"""The pipeline beyond its legs against what FTS5 takes to rank: parse, fuse, follow connections, stages, trace."""

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
from recollect.stores.sqlite.fts5 import render_fts5

NOTES = int(os.environ.get("BENCH_SEARCHED", "10000"))
WORDS = 60
QUERIES = 100  # more than any cache keeps
DIMENSION = 64


class Recorded:
    """An index that gives again what another one gave, at no cost: what is left is the pipeline's own."""

    def __init__(self, index: Any) -> None:
        """Begin with nothing."""
        self._index = index
        self._answers: dict[tuple[str, Any], Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return the other's method, which is asked for each thing once."""
        method = getattr(self._index, name)

        def answered(asked: Any, *places: Any, **options: Any) -> Any:
            key = name, _hashable(asked)
            if key not in self._answers:
                self._answers[key] = method(asked, *places, **options)
            return self._answers[key]

        return answered


def _hashable(asked: Any) -> Any:
    return asked.tobytes() if isinstance(asked, np.ndarray) else tuple(asked) if isinstance(asked, list) else asked


def texts(count: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Return notes of words that are as unevenly common as in a language, and queries of five of them."""
    chance = random.Random(seed)  # noqa: S311 (sample data)
    vocabulary = [f"word{number}" for number in range(20_000)]
    weights = [1 / (place + 10) for place in range(len(vocabulary))]
    words = chance.choices(vocabulary, weights, k=count * WORDS)
    notes = [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]
    return notes, [" ".join(chance.choices(vocabulary, weights, k=5)) for _ in range(QUERIES)]


def comparisons() -> Iterator[Comparison]:
    """Yield each comparison as it is done."""
    with TemporaryDirectory() as folder:
        yield _beyond_the_legs(Path(folder))


def _beyond_the_legs(folder: Path) -> Comparison:
    notes, queries = texts(NOTES)
    vectors = np.random.default_rng(1).standard_normal((NOTES + QUERIES, DIMENSION)).astype(np.float32)
    with recollect.open(folder / "memory.db", embedder=None) as memory:
        memory.add_many(
            {"path": f"notes/{place}.md", "content": text, "session": f"s{place // 50}", "position": place % 50}
            | {"vector": vectors[place]}
            for place, text in enumerate(notes)
        )
    store = open_store(folder / "memory.db", read_only=True)
    walk = Retrieval(Recorded(store))
    asked = list(zip(queries, vectors[NOTES:], strict=True))
    depths = [walk.search(query, vector=vector).trace for query, vector in asked]
    assert all(trace.bm25_count == trace.vector_count == 60 for trace in depths), "two full lists"

    bare = apsw.Connection(str(folder / "bare.db"))
    bare.execute("CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = 'porter unicode61')")
    with bare:
        bare.executemany("INSERT INTO words VALUES (?)", [(text,) for text in notes])
    expressions = [render_fts5(parse(query)) for query in queries]
    ranked = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 60"

    def ours() -> None:
        for query, vector in asked:
            walk.search(query, vector=vector)

    def theirs() -> None:
        for expression in expressions:
            bare.execute(ranked, (expression,)).fetchall()

    found = compare(f"{QUERIES} searches, but for their legs", ours, "FTS5's ORDER BY rank", theirs, at_most=1)
    store.close()
    bare.close()
    return found
