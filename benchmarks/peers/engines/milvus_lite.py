"""Milvus Lite, by its own client: its BM25 function, its flat index, and its own reciprocal rank fusion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.peers.corpus import Batch
from benchmarks.peers.engines.base import RRF_K, Floats, Hybrid, Leg
from benchmarks.peers.exact import Idf

__all__ = ["MilvusLite"]

NOTES = "notes"
LONGEST = 65_535
AT_ONCE = 2000
"""How many rows one call writes: a message holds 64 MB at most."""


class MilvusLite:
    """One collection with words and vectors."""

    about: ClassVar[str] = "Milvus Lite"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[Hybrid, ...]] = ("rrf",)
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:
        """Keep where it lives."""
        self._place = folder / "milvus.db"
        self._dimension = dimension

    def build(self, batches: Iterable[Batch]) -> None:
        """Make the collection and insert all notes."""
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._connect()
        self._create()
        for batch in batches:
            rows = [
                {"id": number, "text": text, "vector": vector}
                for number, text, vector in zip(batch.ids, batch.texts, batch.vectors, strict=True)
            ]
            for start in range(0, len(rows), AT_ONCE):
                self._client.insert(NOTES, rows[start : start + AT_ONCE])
        self._client.flush(NOTES)
        self.close()

    def open(self) -> None:
        """Open the folder, and load the collection."""
        self._connect()
        self._client.load_collection(NOTES)

    def search_words(self, text: str, depth: int) -> list[int]:
        """Ask for the best by BM25."""
        return self._search(text, "sparse", depth)

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Ask for the nearest."""
        return self._search(vector, "vector", depth)

    def hybrid(self, way: Hybrid, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one way)
        """Have Milvus ask both and fuse."""
        from pymilvus import AnnSearchRequest, RRFRanker  # noqa: PLC0415 (takes a second)

        asked = [
            AnnSearchRequest([text], "sparse", {"metric_type": "BM25"}, depth),
            AnnSearchRequest([vector], "vector", {"metric_type": "IP"}, depth),
        ]
        return _ids(self._client.hybrid_search(NOTES, asked, RRFRanker(RRF_K), top_k, output_fields=["id"]))

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Insert a note; it is in Lite's log when that returns."""
        self._client.insert(NOTES, [{"id": number, "text": text, "vector": vector}])

    def close(self) -> None:
        """Disconnect, and stop what runs in this process."""
        self._client.close()

    def _search(self, asked: Any, field: str, depth: int) -> list[int]:
        # Without a field that is asked for, all come, vectors and texts too.
        return _ids(self._client.search(NOTES, data=[asked], anns_field=field, limit=depth, output_fields=["id"]))

    def _connect(self) -> None:
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # else it prints that its server went away when it is closed
        from pymilvus import MilvusClient  # noqa: PLC0415 (takes a second)

        self._client: Any = MilvusClient(str(self._place))

    def _create(self) -> None:
        from pymilvus import DataType, Function, FunctionType, MilvusClient  # noqa: PLC0415 (takes a second)

        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field(
            "text",
            DataType.VARCHAR,
            max_length=LONGEST,
            enable_analyzer=True,
            analyzer_params={"tokenizer": "standard", "filter": ["lowercase"]},
        )
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self._dimension)
        schema.add_function(Function("bm25", FunctionType.BM25, ["text"], ["sparse"]))
        index = MilvusClient.prepare_index_params()
        # Lite reads what stands in "params", where the client no longer puts it by itself: k1 would be 1.5.
        constants = {"params": {"bm25_k1": 1.2, "bm25_b": 0.75}}
        index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=constants)
        index.add_index("vector", index_type="FLAT", metric_type="IP")
        self._client.create_collection(NOTES, schema=schema, consistency_level="Strong")
        self._client.create_index(NOTES, index, sync=False)
        self._client.load_collection(NOTES)


def _ids(found: Any) -> list[int]:
    return [int(each["id"]) for each in found[0]]
