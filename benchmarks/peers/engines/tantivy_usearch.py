"""tantivy, usearch and reciprocal rank fusion in Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.engines.base import Floats, HybridMethod, Leg, fuse
from benchmarks.peers.exact import Idf

__all__ = ["TantivyUsearch"]

WRITE_BUFFER_BYTES = 200_000_000
"""The size of tantivy's write buffer."""


class TantivyUsearch:
    """A tantivy index, and usearch's HNSW graph in half precision with its default settings."""

    about: ClassVar[str] = "tantivy + usearch, by hand"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[HybridMethod, ...]] = ("rrf",)
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:
        self._words_folder = folder / "words"
        self._vectors_file = folder / "vectors.usearch"
        self._dimension = dimension
        self._writer: Any = None

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Build and save both indexes."""
        self._words_folder.mkdir(parents=True, exist_ok=True)
        self._index, graph = self._words_index(), self._graph()
        for batch in batches:
            for number, text in zip(batch.ids, batch.texts, strict=True):
                self._write(number, text)
            graph.add(np.array(batch.ids, dtype=np.uint64), batch.vectors)
        self._writer.commit()
        graph.save(str(self._vectors_file))
        self.close()

    def open(self) -> None:
        """Open both indexes."""
        self._index = self._words_index()
        self._searcher = self._index.searcher()
        self._vector_index = self._graph()
        self._vector_index.load(str(self._vectors_file))

    def search_text(self, text: str, depth: int) -> list[int]:
        """Search tantivy, whose parser matches any term."""
        query, _ = self._index.parse_query_lenient(text, ["text"])
        addresses = [address for _, address in self._searcher.search(query, depth, count=False).hits]
        return [int(number) for number in self._searcher.fast_field_values("id", addresses)]

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Search the HNSW graph."""
        return [int(number) for number in self._vector_index.search(vector, depth).keys]

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:  # noqa: ARG002 (there is one method)
        """Search both legs and fuse."""
        return fuse([self.search_text(text, depth), self.search_vectors(vector, depth)], top_k)

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Commit to tantivy, and save the whole graph: usearch has no other durable write."""
        self._write(number, text)
        self._writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()
        self._vector_index.add(np.uint64(number), vector)
        new_file = self._vectors_file.with_suffix(".new")
        self._vector_index.save(str(new_file))
        with new_file.open("rb") as saved:
            os.fsync(saved.fileno())
        new_file.replace(self._vectors_file)

    def close(self) -> None:
        """Wait for tantivy's merges."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def _words_index(self) -> Any:
        import tantivy  # noqa: PLC0415 (an extra)

        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("id", fast=True)
        builder.add_text_field("text", tokenizer_name="words", index_option="freq")
        index = tantivy.Index(builder.build(), path=str(self._words_folder))
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase()).build()
        index.register_tokenizer("words", analyzer)  # no stemming, as in the other engines
        return index

    def _write(self, number: int, text: str) -> None:
        import tantivy  # noqa: PLC0415 (an extra)

        if self._writer is None:
            self._writer = self._index.writer(heap_size=WRITE_BUFFER_BYTES)
        self._writer.add_document(tantivy.Document(id=number, text=text))

    def _graph(self) -> Any:
        from usearch.index import Index  # noqa: PLC0415 (an extra)

        return Index(ndim=self._dimension, metric="cos", dtype="f16")
