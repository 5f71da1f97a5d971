"""``scripts/bench pgvector``: recall and latency of PostgreSQL's vector index, against exact search.

The vectors are those of ``scripts/bench peers``.
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
from benchmarks.stores import SETTINGS
from recollect.model import Filters, draft_of
from recollect.stores.postgres import vector_index
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.vector_index import RecallTest

DEPTHS = (10, 60)
BATCH = 2000

Vectors = NDArray[np.float32]


def vectors(count: int, queries: int) -> tuple[Vectors, Vectors]:
    """Return vectors of notes and of queries."""
    notes = GeneratedNotes(count)
    vectors = np.concatenate([batch.vectors for batch in notes.batches()])
    return vectors, np.stack([query.vector for query in notes.queries(queries)])


def measure(count: int, queries: int) -> dict[str, float]:
    """Return recall, latencies and the time to build the index."""
    notes_vectors, query_vectors = vectors(count, queries)
    truth = [np.argsort(-(notes_vectors @ query), kind="stable")[: max(DEPTHS)].tolist() for query in query_vectors]
    server = Server(durable=True, **SETTINGS)
    try:
        server.start()
        server.prepare()
        database = server.create()
        with closing(PostgresStore(server.address(database))) as store:
            for start in range(0, count, BATCH):
                some = notes_vectors[start : start + BATCH]
                notes = [{"id": str(number), "content": "", "vector": row} for number, row in enumerate(some, start)]
                store.write([draft_of(note) for note in notes])
            vector_index.MAX_EXACT_NOTES, most = count, vector_index.MAX_EXACT_NOTES
            metrics = _measure_searches(store, query_vectors, truth, "exact")
            vector_index.MAX_EXACT_NOTES = min(most, count - 1)
            started = perf_counter()
            store._vector_indexes.ensure()
            metrics["index_seconds"] = perf_counter() - started
            ((comment,),) = server.execute(_TRIAL, database=database)
            test = RecallTest.parse(comment)
            metrics["index_breadth"] = test.ef_search if test else 0
            return metrics | _measure_searches(store, query_vectors, truth, "index")
    finally:
        server.remove()


# How broadly the index must be searched, as its trial found; 0: it misses too much, and every vector is compared.
_TRIAL = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relname LIKE 'vectors_near%'"


def _measure_searches(store: PostgresStore, queries: Vectors, truth: list[list[int]], how: str) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for depth in DEPTHS:
        milliseconds, recall = [], []
        for query, nearest in zip(queries, truth, strict=True):
            started = perf_counter()
            hits = store.search_vectors(query, depth, namespace="default", filters=Filters())
            milliseconds.append(1000 * (perf_counter() - started))
            recall.append(len({int(hit.id) for hit in hits} & set(nearest[:depth])) / depth)
        metrics |= {
            f"{how}_recall@{depth}": float(np.mean(recall)),
            f"{how}_worst_recall@{depth}": min(recall),
            f"{how}_p50_ms@{depth}": float(np.percentile(milliseconds, 50)),
            f"{how}_p95_ms@{depth}": float(np.percentile(milliseconds, 95)),
        }
    return metrics


def main(arguments: Sequence[str] | None = None) -> int:
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
