"""Chroma: vector search with HNSW. Tests do not install its large package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.engines.base import Floats, HybridMethod, Leg
from benchmarks.peers.exact import Idf
from recollect.errors import RecollectError

__all__ = ["Chroma"]


class Chroma:
    """One collection; texts are stored, but there is no lexical ranking."""

    about: ClassVar[str] = "Chroma"
    legs: ClassVar[tuple[Leg, ...]] = ("vectors",)
    hybrids: ClassVar[tuple[HybridMethod, ...]] = ()
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:  # noqa: ARG002 (the first batch tells the dimension)
        self._folder = folder

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Add all notes, in batches of the largest size that Chroma accepts."""
        self._connect()
        collection = self._client.create_collection(
            "notes", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        size = self._client.get_max_batch_size()
        for batch in batches:
            for start in range(0, len(batch.ids), size):
                collection.add(
                    ids=[str(number) for number in batch.ids[start : start + size]],
                    embeddings=batch.vectors[start : start + size],
                    documents=batch.texts[start : start + size],
                )
        self.close()

    def open(self) -> None:
        """Open the collection."""
        self._connect()
        self._collection: Any = self._client.get_collection("notes", embedding_function=None)

    def search_text(self, text: str, depth: int) -> NoReturn:  # noqa: ARG002 (there are none)
        """Fail: there is no lexical ranking."""
        raise RecollectError("Chroma has no lexical ranking")

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Search the HNSW graph."""
        result = self._collection.query(query_embeddings=vector[None], n_results=depth, include=[])
        return [int(number) for number in result["ids"][0]]

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> NoReturn:  # noqa: ARG002 (there is none)
        """Fail: there is no lexical ranking."""
        raise RecollectError("Chroma has no lexical ranking")

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a note; Chroma writes it to its write-ahead log."""
        self._collection.add(ids=[str(number)], embeddings=vector[None], documents=[text])

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _connect(self) -> None:
        import chromadb  # noqa: PLC0415 (an extra)
        from chromadb.config import Settings  # noqa: PLC0415 (an extra)

        self._client: Any = chromadb.PersistentClient(
            path=str(self._folder), settings=Settings(anonymized_telemetry=False)
        )
