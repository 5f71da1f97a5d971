"""What PostgreSQL's index of vectors finds, and how fast: ``scripts/bench pgvector [--notes 100000] [--json]``.

The vectors are those of ``scripts/bench peers``: they lie around topics, and share what they say beside that. What is
nearest is found by looking at all, here and on the server; what the index leads to is compared with that.
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
    """Return vectors of notes, and of queries about the same topics."""
    notes = GeneratedNotes(count)
    held = np.concatenate([made.vectors for made in notes.batches()])
    return held, np.stack([question.vector for question in notes.queries(queries)])


def measure(count: int, queries: int) -> dict[str, float]:
    """Return the figures."""
    held, asked = vectors(count, queries)
    truth = [np.argsort(-(held @ query), kind="stable")[: max(DEPTHS)].tolist() for query in asked]
    server = Server(durable=True, **SETTINGS)
    try:
        server.start()
        server.prepare()
        database = server.create()
        with closing(PostgresStore(server.address(database))) as store:
            for start in range(0, count, BATCH):
                some = held[start : start + BATCH]
                notes = [{"id": str(place), "content": "", "vector": row} for place, row in enumerate(some, start)]
                store.write([draft_of(note) for note in notes])
            vector_index.MAX_EXACT_NOTES, most = count, vector_index.MAX_EXACT_NOTES
            figures = _searched(store, asked, truth, "exact")
            vector_index.MAX_EXACT_NOTES = min(most, count - 1)
            started = perf_counter()
            store._vector_indexes.ensure()
            figures["index_seconds"] = perf_counter() - started
            ((told,),) = server.execute(_TRIAL, database=database)
            test = RecallTest.parse(told)
            figures["index_breadth"] = test.ef_search if test else 0
            return figures | _searched(store, asked, truth, "index")
    finally:
        server.remove()


# How broadly the index must be searched, as its trial found; 0: it misses too much, and every vector is compared.
_TRIAL = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relname LIKE 'vectors_near%'"


def _searched(store: PostgresStore, asked: Vectors, truth: list[list[int]], how: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for depth in DEPTHS:
        taken, recall = [], []
        for query, nearest in zip(asked, truth, strict=True):
            started = perf_counter()
            found = store.search_vectors(query, depth, namespace="default", filters=Filters())
            taken.append(1000 * (perf_counter() - started))
            recall.append(len({int(each.id) for each in found} & set(nearest[:depth])) / depth)
        figures |= {
            f"{how}_recall@{depth}": float(np.mean(recall)),
            f"{how}_worst_recall@{depth}": min(recall),
            f"{how}_p50_ms@{depth}": float(np.percentile(taken, 50)),
            f"{how}_p95_ms@{depth}": float(np.percentile(taken, 95)),
        }
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    reader = argparse.ArgumentParser(prog="scripts/bench pgvector", description="PostgreSQL's index of vectors.")
    reader.add_argument("--notes", type=int, default=100_000)
    reader.add_argument("--queries", type=int, default=100)
    reader.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = reader.parse_args(arguments)
    figures = measure(given.notes, given.queries)
    if given.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name:<24} {figure:>10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
