"""``scripts/bench pgvector``: recall and latency of PostgreSQL's vector index, against exact search.

The vectors are generated as for ``scripts/bench peers``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from tests.stores.postgres.server import Server

from benchmarks.peers.generated_notes import GeneratedNotes
from benchmarks.stores import POSTGRES_SETTINGS
from recollect.model import Filters, draft_of
from recollect.stores.postgres import vector_index
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.vector_index import RecallTest

DEPTHS = (10, 60)
"""The numbers of results for which recall and latency are measured."""
BATCH = 2000

Vectors = NDArray[np.float32]


def generated_vectors(count: int, queries: int) -> tuple[Vectors, Vectors]:
    """Return a matrix of note vectors and a matrix of query vectors."""
    notes = GeneratedNotes(count)
    note_vectors = np.concatenate([batch.vectors for batch in notes.batches()])
    return note_vectors, np.stack([query.vector for query in notes.queries(queries)])


def measure(count: int, queries: int) -> dict[str, float]:
    """Return recall, latencies in milliseconds and the seconds to build the index, by name."""
    note_vectors, query_vectors = generated_vectors(count, queries)
    nearest = [np.argsort(-(note_vectors @ query), kind="stable")[: max(DEPTHS)].tolist() for query in query_vectors]
    server = Server(durable=True, **POSTGRES_SETTINGS)
    try:
        server.start()
        server.prepare()
        database = server.create()
        with closing(PostgresStore(server.address(database))) as store:
            for start in range(0, count, BATCH):
                batch = note_vectors[start : start + BATCH]
                notes = [{"id": str(number), "content": "", "vector": row} for number, row in enumerate(batch, start)]
                store.write([draft_of(note) for note in notes])
            max_exact_notes = vector_index.MAX_EXACT_NOTES
            vector_index.MAX_EXACT_NOTES = count  # no index
            metrics = _measure_searches(store, query_vectors, nearest, "exact")
            vector_index.MAX_EXACT_NOTES = min(max_exact_notes, count - 1)  # an index
            started = perf_counter()
            store._vector_indexes.ensure()
            metrics["index_seconds"] = perf_counter() - started
            ((comment,),) = server.execute(_RECALL_TEST_SQL, database=database)
            test = RecallTest.parse(comment)
            metrics["index_breadth"] = test.ef_search if test else 0
            return metrics | _measure_searches(store, query_vectors, nearest, "index")
    finally:
        server.remove()


_RECALL_TEST_SQL = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relname LIKE 'vectors_near%'"
"""Selects the comment on the index, which has the result of its recall test.

``index_breadth`` is the ``ef_search`` of that test. It is 0 if the index misses too much and is not used.
"""


def _measure_searches(store: PostgresStore, queries: Vectors, nearest: list[list[int]], name: str) -> dict[str, float]:
    """Return recall and latencies at each depth; ``nearest`` has the exact results of each query."""
    metrics: dict[str, float] = {}
    for depth in DEPTHS:
        milliseconds, recall = [], []
        for query, expected in zip(queries, nearest, strict=True):
            started = perf_counter()
            hits = store.search_vectors(query, depth, namespace="default", filters=Filters())
            milliseconds.append(1000 * (perf_counter() - started))
            recall.append(len({int(hit.id) for hit in hits} & set(expected[:depth])) / depth)
        metrics |= {
            f"{name}_recall@{depth}": float(np.mean(recall)),
            f"{name}_worst_recall@{depth}": min(recall),
            f"{name}_p50_ms@{depth}": float(np.percentile(milliseconds, 50)),
            f"{name}_p95_ms@{depth}": float(np.percentile(milliseconds, 95)),
        }
    return metrics


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench pgvector", description="Recall and latency of PostgreSQL's vector index."
    )
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    metrics = measure(options.notes, options.queries)
    if options.json:
        print(json.dumps(metrics, indent=2))
    else:
        for name, value in metrics.items():
            print(f"{name:<24} {value:>10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
