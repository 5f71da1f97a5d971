"""LanceDB by its own client: its full-text index, and vectors compared one by one or by IVF_HNSW_SQ.

Its package is large and only comes with the extra ``bench``, so that the tests do without it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.peers.corpus import Batch
from benchmarks.peers.engines.base import RRF_K, Floats, Hybrid, Leg
from benchmarks.peers.exact import Idf

__all__ = ["LanceExact", "LanceHnsw"]


class LanceExact:  # pragma: no cover (not installed in tests)
    """One table with a full-text index; without an index of vectors, every one is compared."""

    about: ClassVar[str] = "LanceDB, exact"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[Hybrid, ...]] = ("rrf",)
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:
        """Keep where the table is."""
        self._folder = folder
        self._dimension = dimension

    def build(self, batches: Iterable[Batch]) -> None:
        """Add all notes, compact, and make the indexes."""
        from lancedb.index import FTS  # noqa: PLC0415 (of an extra)

        self._table: Any = self._database().create_table("notes", schema=self._schema())
        for batch in batches:
            self._table.add(self._rows(list(batch.ids), batch.texts, batch.vectors))
        self._table.optimize()
        # Words as they are: stemming and stop words would make another comparison of it.
        self._table.create_index("text", config=FTS(stem=False, remove_stop_words=False, ascii_folding=False))
        self._index_vectors()
        self.close()

    def _index_vectors(self) -> None:
        """Leave the vectors without an index."""

    def open(self) -> None:
        """Open the table."""
        self._table = self._database().open_table("notes")

    def search_words(self, text: str, depth: int) -> list[int]:
        """Ask its full-text index, which joins words by OR."""
        from lancedb.query import MatchQuery  # noqa: PLC0415 (of an extra)

        asked = self._table.search(MatchQuery(text, "text"), query_type="fts")
        return self._ids(asked.select(["id", "_score"]).limit(depth))

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Ask for the nearest."""
        asked = self._table.search(vector, vector_column_name="vector").distance_type("cosine")
        return self._ids(asked.select(["id", "_distance"]).limit(depth))

    def hybrid(self, way: Hybrid, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one way)
        """Have LanceDB ask both and fuse; its limit is the depth of each leg, too."""
        from lancedb.rerankers import RRFReranker  # noqa: PLC0415 (of an extra)

        asked = self._table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
        asked = asked.vector(vector).text(text).distance_type("cosine").rerank(RRFReranker(RRF_K))
        return self._ids(asked.select(["id"]).limit(depth))[:top_k]

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a row, which is a new version of the table; indexes do not know it, and searches look beside them."""
        self._table.add(self._rows([number], [text], vector))

    def close(self) -> None:
        """Let go of the table."""
        del self._table

    def _database(self) -> Any:
        os.environ.setdefault("LANCEDB_LOG", "error")  # else each hybrid search prints two warnings, which take time
        import lancedb  # noqa: PLC0415 (of an extra)

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
    def _ids(asked: Any) -> list[int]:
        return [int(number) for number in asked.to_arrow()["id"].to_pylist()]


class LanceHnsw(LanceExact):  # pragma: no cover (not installed in tests)
    """The same with its index IVF_HNSW_SQ over the vectors, as it is set up by default."""

    about: ClassVar[str] = "LanceDB, IVF_HNSW"
    exact: ClassVar[bool] = False

    def _index_vectors(self) -> None:
        from lancedb.index import HnswSq  # noqa: PLC0415 (of an extra)

        self._table.create_index("vector", config=HnswSq(distance_type="cosine"))
