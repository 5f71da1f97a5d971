"""The part of the store that searching needs: every search sees one moment of one namespace."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.query.expressions import Reading
from recollect.stores.base import Edge, Model, ModelChangedError
from recollect.stores.postgres import names, neighbourhood, revisions, search, supersession, vocabulary
from recollect.stores.postgres.connections import Connections, Transaction
from recollect.stores.postgres.counting import NoteCounts
from recollect.stores.postgres.embedding import active_model
from recollect.stores.postgres.scoring import ScoreCache
from recollect.stores.postgres.vector_index import VectorIndexes
from recollect.stores.revisions import Kept
from recollect.stores.spelling import similar_words, unknown_words
from recollect.stores.units import unit_query

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["LARGEST", "PostgresIndex"]

LARGEST = 2**62
"""More than any store can hold, and still a number that PostgreSQL can."""


class PostgresIndex:
    """Notes of a database as searches find them."""

    def __init__(self, connections: Connections) -> None:
        """Keep nothing in memory yet."""
        self._connections = connections
        self._vocabularies = Kept(vocabulary.index_vocabulary, revisions)
        self._counts = Kept(NoteCounts.begun, revisions)
        self._scores = ScoreCache()
        self._vector_indexes = VectorIndexes(connections)

    @property
    def model(self) -> Model | None:
        """The model that the stored vectors are searched with."""
        active = self._connections.read(lambda at: active_model(at.connection), namespace=None)
        return active[1] if active else None

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, reading: Reading = "strict"
    ) -> list[Candidate]:
        """Return the best notes by BM25."""

        def work(at: Transaction) -> list[Candidate]:
            home = at.namespaces.get(namespace)
            if home is None:
                return []
            deepest = min(limit, LARGEST)
            return search.search_text(at.connection, home, query, reading, deepest, filters, self._scores)

        return [] if limit <= 0 else self._connections.read(work, namespace=namespace)

    def search_vectors(
        self,
        vector: Vector,
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        without: Query | None = None,
        model: Model | None = None,
    ) -> list[Candidate]:
        """Return the nearest notes; in a namespace of very many, nearly all of them."""

        def work(at: Transaction) -> list[Candidate]:
            home, active = at.namespaces.get(namespace), active_model(at.connection)
            if model is not None and active is not None and active[1] != model:
                raise ModelChangedError(active[1])
            if home is None or active is None or limit <= 0:
                return []
            unit, deepest = unit_query(vector, active[1]), min(limit, LARGEST)
            return search.search_vectors(
                at.connection, home, active, unit, deepest, filters, without, self._vector_indexes
            )

        return self._connections.read(work, namespace=namespace)

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Return every connection of the notes with these ids, or those of some kinds, each once."""

        def work(at: Transaction) -> list[Edge]:
            home = at.namespaces.get(namespace)
            return [] if home is None else neighbourhood.edges(at.connection, home, ids, min(reach, LARGEST), kinds)

        return self._connections.read(work, namespace=namespace)

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return what supersedes these notes, directly and along their chains."""

        def work(at: Transaction) -> dict[str, tuple[str, ...]]:
            namespace_id = at.namespaces.get(namespace)
            if namespace_id is None:
                return {}
            return supersession.successors(at.connection, namespace_id, ids, created_before)

        return self._connections.read(work, namespace=namespace)

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, without: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with these ids that pass the filters."""

        def work(at: Transaction) -> list[Candidate]:
            home = at.namespaces.get(namespace)
            return [] if home is None else search.select_candidates(at.connection, home, ids, filters, without)

        return self._connections.read(work, namespace=namespace)

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return how many notes the namespace has, and how many of them each query finds by its words."""

        def work(at: Transaction) -> tuple[int, list[int]]:
            home = at.namespaces.get(namespace)
            if home is None:
                return 0, [0] * len(queries)
            counts = self._counts.at(at.connection, home)
            return counts.notes, counts.of(at.connection, queries)

        return self._connections.read(work, namespace=namespace)

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        """Return how near the notes with these ids are to a vector."""

        def work(at: Transaction) -> dict[str, float]:
            home, active = at.namespaces.get(namespace), active_model(at.connection)
            if home is None or active is None or (model is not None and active[1] != model):
                return {}  # nobody can tell
            return search.similarities(at.connection, home, active, unit_query(vector, active[1]), ids)

        return self._connections.read(work, namespace=namespace)

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, reading: Reading = "strict"
    ) -> dict[str, float]:
        """Return the BM25 scores of the notes with these ids that match the query."""

        def work(at: Transaction) -> dict[str, float]:
            namespace_id = at.namespaces.get(namespace)
            if namespace_id is None:
                return {}
            return search.text_scores(at.connection, namespace_id, query, reading, notes, self._scores)

        return self._connections.read(work, namespace=namespace)

    def search_names(
        self,
        words: Sequence[str],
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        titles: bool = False,
        without: Query | None = None,
    ) -> list[Candidate]:
        """Return the notes whose name is spelt like one of the words."""

        def work(at: Transaction) -> list[Candidate]:
            home = at.namespaces.get(namespace)
            if home is None:
                return []
            return names.search_names(at.connection, home, words, min(limit, LARGEST), filters, without, titles=titles)

        return [] if limit <= 0 else self._connections.read(work, namespace=namespace)

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return for each word that no note holds the words that notes hold and that are spelt most like it."""

        def work(at: Transaction) -> dict[str, tuple[str, ...]]:
            home = at.namespaces.get(namespace)
            if home is None:
                return {}
            index = vocabulary.WordIndex(at.connection, home)
            if not unknown_words(index, words):
                return {}
            return similar_words(index, self._vocabularies.at(at.connection, home), words)

        return self._connections.read(work, namespace=namespace)
