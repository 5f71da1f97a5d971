"""Chroma by its own client: vectors alone, by HNSW.

Its package is large and only comes with the extra ``bench``, so that the tests do without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from benchmarks.peers.corpus import Batch
from benchmarks.peers.engines.base import Floats, Hybrid, Leg
from benchmarks.peers.exact import Idf
from recollect.errors import RecollectError

__all__ = ["Chroma"]


class Chroma:  # pragma: no cover (not installed in tests)
    """One collection; texts are stored beside the vectors, but not ranked by their words."""

    about: ClassVar[str] = "Chroma"
    legs: ClassVar[tuple[Leg, ...]] = ("vectors",)
    hybrids: ClassVar[tuple[Hybrid, ...]] = ()
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = False
    idf: ClassVar[Idf] = "lucene"

    def __init__(self, folder: Path, dimension: int) -> None:  # noqa: ARG002 (it learns the dimension from the first)
        """Keep where it lives."""
        self._folder = folder

    def build(self, batches: Iterable[Batch]) -> None:
        """Add all notes, as many at once as it takes."""
        self._connect()
        collection = self._client.create_collection(
            "notes", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        most = self._client.get_max_batch_size()
        for batch in batches:
            for start in range(0, len(batch.ids), most):
                collection.add(
                    ids=[str(number) for number in batch.ids[start : start + most]],
                    embeddings=batch.vectors[start : start + most],
                    documents=batch.texts[start : start + most],
                )
        self.close()

    def open(self) -> None:
        """Open the collection."""
        self._connect()
        self._collection: Any = self._client.get_collection("notes", embedding_function=None)

    def search_words(self, text: str, depth: int) -> NoReturn:  # noqa: ARG002 (there are none)
        """Refuse: it can filter by words, not rank by them."""
        raise RecollectError("Chroma does not rank by words here")

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Ask for what is near."""
        found = self._collection.query(query_embeddings=vector[None], n_results=depth, include=[])
        return [int(number) for number in found["ids"][0]]

    def hybrid(self, way: Hybrid, text: str, vector: Floats, top_k: int, depth: int) -> NoReturn:  # noqa: ARG002 (there is none)
        """Refuse, for want of words."""
        raise RecollectError("Chroma does not rank by words here")

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a note; it is in the log of its SQLite file when that returns."""
        self._collection.add(ids=[str(number)], embeddings=vector[None], documents=[text])

    def close(self) -> None:
        """Let go of the folder."""
        self._client.close()

    def _connect(self) -> None:
        import chromadb  # noqa: PLC0415 (of an extra)
        from chromadb.config import Settings  # noqa: PLC0415 (of an extra)

        self._client: Any = chromadb.PersistentClient(
            path=str(self._folder), settings=Settings(anonymized_telemetry=False)
        )
