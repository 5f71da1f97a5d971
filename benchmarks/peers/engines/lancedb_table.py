"""LanceDB: full-text index, and vector search exact or with IVF_HNSW_SQ. Tests do not install its large package."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.engines.base import RRF_K, Floats, HybridMethod, Leg
from benchmarks.peers.exact import Idf

__all__ = ["LanceExact", "LanceHnsw"]


class LanceExact:
    """One table with a full-text index; without a vector index, search is exact."""

    about: ClassVar[str] = "LanceDB, exact"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[HybridMethod, ...]] = ("rrf",)
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Add all notes, compact, and build the indexes."""
        from lancedb.index import FTS  # noqa: PLC0415 (an extra)

        self._table: Any = self._database().create_table("notes", schema=self._schema())
        for batch in batches:
            self._table.add(self._rows(list(batch.ids), batch.texts, batch.vectors))
        self._table.optimize()
        # Without stemming and stop words, like the other engines.
        self._table.create_index("text", config=FTS(stem=False, remove_stop_words=False, ascii_folding=False))
        self._index_vectors()
        self.close()

    def _index_vectors(self) -> None:
        """Build no vector index."""

    def open(self) -> None:
        """Open the table."""
        self._table = self._database().open_table("notes")

    def search_text(self, text: str, depth: int) -> list[int]:
        """Search the full-text index, which matches any term."""
        from lancedb.query import MatchQuery  # noqa: PLC0415 (an extra)

        query = self._table.search(MatchQuery(text, "text"), query_type="fts")
        return self._ids(query.select(["id", "_score"]).limit(depth))

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Search all vectors, or the vector index if there is one."""
        query = self._table.search(vector, vector_column_name="vector").distance_type("cosine")
        return self._ids(query.select(["id", "_distance"]).limit(depth))

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one method)
        """Run LanceDB's hybrid search; its limit is also the depth of each leg."""
        from lancedb.rerankers import RRFReranker  # noqa: PLC0415 (an extra)

        query = self._table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        query = query.vector(vector).text(text).distance_type("cosine").rerank(RRFReranker(RRF_K))
        return self._ids(query.select(["id"]).limit(depth))[:top_k]

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a row as a new version of the table; searches also scan rows that are not indexed yet."""
        self._table.add(self._rows([number], [text], vector))

    def close(self) -> None:
        """Drop the table object."""
        del self._table

    def _database(self) -> Any:
        os.environ.setdefault("LANCEDB_LOG", "error")  # each hybrid search would print two warnings
        import lancedb  # noqa: PLC0415 (an extra)

        return lancedb.connect(str(self._folder))

    def _schema(self) -> Any:
        import pyarrow as pa  # noqa: PLC0415 (comes with LanceDB)

        vector = pa.list_(pa.float32(), self._dimension)
        return pa.schema([("id", pa.int64()), ("text", pa.string()), ("vector", vector)])

    def _rows(self, ids: list[int], texts: list[str], vectors: Floats) -> Any:
        import pyarrow as pa  # noqa: PLC0415 (comes with LanceDB)

        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), self._dimension)
        return pa.Table.from_arrays([pa.array(ids, pa.int64()), pa.array(texts), column], schema=self._schema())

    @staticmethod
    def _ids(query: Any) -> list[int]:
        return [int(number) for number in query.to_arrow()["id"].to_pylist()]


class LanceHnsw(LanceExact):
    """LanceDB with the vector index IVF_HNSW_SQ in its default settings."""

    about: ClassVar[str] = "LanceDB, IVF_HNSW"
    exact: ClassVar[bool] = False

    def _index_vectors(self) -> None:
        from lancedb.index import HnswSq  # noqa: PLC0415 (an extra)

        self._table.create_index("vector", config=HnswSq(distance_type="cosine"))
