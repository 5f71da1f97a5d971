"""Recollect: the legs of its SQLite store, and ``Memory.search`` with two presets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from benchmarks.peers.corpus import TextBatch
from benchmarks.peers.engines.base import Floats, HybridMethod, Leg
from benchmarks.peers.exact import Idf
from recollect.embedders import EmbedderChoice
from recollect.errors import EmbedderError
from recollect.memory import Memory
from recollect.model import DEFAULT_NAMESPACE, Filters
from recollect.query import parse
from recollect.retrieval import FusionRules, LadderRules, Preset, RerankRules
from recollect.stores import open_store

__all__ = ["PLAIN_RRF", "RecollectMemory"]

PLAIN_RRF = Preset(
    name="plain-rrf",
    about="two legs and reciprocal rank fusion, as in the other engines",
    ladder=LadderRules(on=False, titles=False, vocabulary=False),
    fusion=FusionRules(k=60, rank_base=1, ties="first_seen"),
    rerank=RerankRules(on=False),
)
NOW = datetime(2020, 1, 1, tzinfo=UTC)
"""The time of all notes and searches, so that results do not depend on the day of a run."""


class RecollectMemory:
    """One SQLite file, through the public methods; results include snippets, reasons and a trace."""

    about: ClassVar[str] = "Recollect"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[HybridMethod, ...]] = ("rrf", "default")
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "fts5"

    def __init__(self, folder: Path, dimension: int) -> None:
        self._file = folder / "memory.db"
        self._embedder = StoredVectors(dimension)

    def build(self, batches: Iterable[TextBatch]) -> None:
        """Add all notes with their vectors."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.open()
        for batch in batches:
            self._memory.add_many(
                {"id": str(number), "content": text, "vector": vector, "created_at": NOW}
                for number, text, vector in zip(batch.ids, batch.texts, batch.vectors, strict=True)
            )
        self.close()

    def open(self) -> None:
        """Open the file."""
        self._store = open_store(self._file)
        self._memory = Memory(self._store, EmbedderChoice(self._embedder, "of the benchmark"), record_access=False)

    def search_text(self, text: str, depth: int) -> list[int]:
        """Search the lexical leg of the store, including query parsing."""
        hits = self._store.search_text(parse(text), depth, namespace=DEFAULT_NAMESPACE, filters=Filters())
        return [int(hit.id) for hit in hits]

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Search the vector leg of the store."""
        hits = self._store.search_vectors(vector, depth, namespace=DEFAULT_NAMESPACE, filters=Filters())
        return [int(hit.id) for hit in hits]

    def hybrid(self, method: HybridMethod, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:
        """Search with the preset of plain reciprocal rank fusion, or with the default preset."""
        preset = PLAIN_RRF if method == "rrf" else "default"
        result = self._memory.search(text, vector=vector, top_k=top_k, candidate_k=depth, preset=preset, now=NOW)
        return [int(hit.id) for hit in result]

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a note durably."""
        self._memory.add(text, id=str(number), vector=vector, created_at=NOW)

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


class StoredVectors:
    """An embedder for notes and queries that come with vectors; it embeds nothing."""

    name = "vectors of the benchmark"

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Fail: the benchmark measures stores, not models."""
        raise EmbedderError(f"{len(texts)} texts came without a vector, and the benchmark embeds nothing")

    def embed_query(self, text: str) -> Floats:
        """Fail: queries come with vectors, too."""
        raise EmbedderError(f"the query {text!r} came without a vector, and the benchmark embeds nothing")
