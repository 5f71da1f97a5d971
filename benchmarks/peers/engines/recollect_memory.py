"""Recollect itself: the legs of its store, and its search with two presets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from benchmarks.peers.corpus import Batch
from benchmarks.peers.engines.base import Floats, Hybrid, Leg
from benchmarks.peers.exact import Idf
from recollect.embedders import EmbedderChoice
from recollect.errors import EmbedderError
from recollect.memory import Memory
from recollect.model import DEFAULT_NAMESPACE, Filters
from recollect.query import parse
from recollect.retrieval import FusionRules, LadderRules, Preset, RerankRules
from recollect.stores import open_store

__all__ = ["PLAIN", "RecollectMemory"]

PLAIN = Preset(
    name="plain-rrf",
    about="what is glued by hand elsewhere: two legs and reciprocal rank fusion, and nothing else",
    ladder=LadderRules(on=False, titles=False, vocabulary=False),
    fusion=FusionRules(k=60, rank_base=1, ties="first_seen"),
    rerank=RerankRules(on=False),
)
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
"""When all notes were made, and when they are asked for: nothing here hangs on the day of a run."""


class RecollectMemory:
    """One SQLite file, through the methods that users call; what is found comes with snippets, reasons and a trace."""

    about: ClassVar[str] = "Recollect"
    legs: ClassVar[tuple[Leg, ...]] = ("words", "vectors")
    hybrids: ClassVar[tuple[Hybrid, ...]] = ("rrf", "default")
    writes: ClassVar[bool] = True
    durable: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    idf: ClassVar[Idf] = "fts5"

    def __init__(self, folder: Path, dimension: int) -> None:
        """Keep where the file is."""
        self._file = folder / "memory.db"
        self._embedder = GivenVectors(dimension)

    def build(self, batches: Iterable[Batch]) -> None:
        """Add all notes with their vectors."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.open()
        for batch in batches:
            self._memory.add_many(
                {"id": str(number), "content": text, "vector": vector, "created_at": BEGAN}
                for number, text, vector in zip(batch.ids, batch.texts, batch.vectors, strict=True)
            )
        self.close()

    def open(self) -> None:
        """Open the file."""
        self._store = open_store(self._file)
        self._memory = Memory(self._store, EmbedderChoice(self._embedder, "vectors are given"), record_access=False)

    def search_words(self, text: str, depth: int) -> list[int]:
        """Ask the store, as the leg of a search does; what it takes to read the query is part of it."""
        found = self._store.search_text(parse(text), depth, namespace=DEFAULT_NAMESPACE, filters=Filters())
        return [int(each.id) for each in found]

    def search_vectors(self, vector: Floats, depth: int) -> list[int]:
        """Ask the store, as the other leg does."""
        found = self._store.search_vectors(vector, depth, namespace=DEFAULT_NAMESPACE, filters=Filters())
        return [int(each.id) for each in found]

    def hybrid(self, way: Hybrid, text: str, vector: Floats, top_k: int, depth: int) -> list[int]:
        """Search as users do."""
        preset = PLAIN if way == "rrf" else "default"
        found = self._memory.search(text, vector=vector, top_k=top_k, candidate_k=depth, preset=preset, now=BEGAN)
        return [int(hit.id) for hit in found]

    def add(self, number: int, text: str, vector: Floats) -> None:
        """Add a note; when that returns, it is on the disk."""
        self._memory.add(text, id=str(number), vector=vector, created_at=BEGAN)

    def close(self) -> None:
        """Close the memory, and the store with it."""
        self._memory.close()


class GivenVectors:
    """The embedder of a corpus whose vectors are all there already."""

    name = "vectors of the benchmark"

    def __init__(self, dimension: int) -> None:
        """Keep how many numbers a vector has."""
        self.dimension = dimension

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Refuse: whoever measures a store must not measure a model."""
        raise EmbedderError(f"{len(texts)} texts came without a vector, and the benchmark embeds nothing")

    def embed_query(self, text: str) -> Floats:
        """Refuse, likewise."""
        raise EmbedderError(f"the query {text!r} came without a vector, and the benchmark embeds nothing")
