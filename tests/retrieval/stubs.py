"""Stubs with scripted answers, for cases that a real engine does not produce on demand."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recollect import Candidate
from recollect.model import Edge
from recollect.query import Query, compile_fts5


@dataclass
class Index:
    """An index with scripted answers: ids by canonical query, ids by similarity, edges and names."""

    lexical_ids: Mapping[str, Sequence[str]] | Exception = field(default_factory=dict)
    vector_ids: Sequence[str] | Exception = ()
    links: Sequence[Edge] | Exception = ()
    names: Sequence[str] = ()
    spellings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Mapping[str, Candidate] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    delay: float = 0.0

    def note(self, identifier: str) -> Candidate:
        return (self.notes.get(identifier) or Candidate(identifier, path=f"{identifier}.md", content=identifier)).copy()

    def search_text(self, query: Query, *_: Any, **__: Any) -> list[Candidate]:
        time.sleep(self.delay)
        text = compile_fts5(query)
        self.queries.append(text)
        if isinstance(self.lexical_ids, Exception):
            raise self.lexical_ids
        candidates = [self.note(identifier) for identifier in self.lexical_ids.get(text, ())]
        for rank, candidate in enumerate(candidates):
            candidate.score = candidate.lexical_score = float(len(candidates) - rank)
        return candidates

    def search_vectors(self, *_: Any, **__: Any) -> list[Candidate]:
        if isinstance(self.vector_ids, Exception):
            raise self.vector_ids
        candidates = [self.note(identifier) for identifier in self.vector_ids]
        for rank, candidate in enumerate(candidates):
            candidate.score = candidate.vector_similarity = 1 - rank / 100
        return candidates

    def edges(self, ids: Sequence[str], *, reach: int, kinds: Collection[str] | None, **_: Any) -> list[Edge]:
        if isinstance(self.links, Exception):
            raise self.links
        near = [edge for edge in self.links if edge.distance <= reach and (kinds is None or edge.kind in kinds)]
        return [edge for identifier in ids for edge in near if edge.source == identifier]

    def candidates(self, ids: Iterable[str], *, exclusions: Query | None = None, **_: Any) -> list[Candidate]:
        excluded = {token.text for token in exclusions.tokens if token.operator == "NOT"} if exclusions else set()
        return [note for note in map(self.note, ids) if note.content not in excluded]

    def search_names(self, *_: Any, exclusions: Query | None = None, **__: Any) -> list[Candidate]:
        return self.candidates(self.names, exclusions=exclusions)

    def similar_words(self, *_: Any, **__: Any) -> Mapping[str, Sequence[str]]:
        return self.spellings


class BareIndex:
    """An index with the two searches and nothing else."""

    def __init__(self, index: Index) -> None:
        self.search_text = index.search_text
        self.search_vectors = index.search_vectors


class Embedder:
    """An embedder with a scripted answer."""

    name = "stub"
    dimension = 2

    def __init__(self, answer: Any = (0.6, 0.8), *, delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.texts: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.texts.append(text)
        time.sleep(self.delay)
        if isinstance(self.answer, Exception):
            raise self.answer
        return list(self.answer)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return [self.embed_query(text) for text in texts]


class Reranker:
    """A reranker that reverses the order, or returns a scripted answer."""

    name = "reversing"

    def __init__(self, answer: Any = None, *, delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.documents: list[list[str]] = []

    def rerank(self, _: str, documents: Sequence[str]) -> Any:
        self.documents.append(list(documents))
        time.sleep(self.delay)
        if isinstance(self.answer, Exception):
            raise self.answer
        return [(index, float(index)) for index in range(len(documents))] if self.answer is None else self.answer


@dataclass
class CountingIndex(Index):
    """An index that also has document frequencies and similarities."""

    counts: Mapping[str, int] | Exception = field(default_factory=dict)
    total: int = 100
    similarity_by_id: Mapping[str, Any] | Exception = field(default_factory=dict)
    similarity_calls: list[list[str]] = field(default_factory=list)

    def note_counts(self, queries: Sequence[Query], **_: Any) -> tuple[int, list[int]]:
        if isinstance(self.counts, Exception):
            raise self.counts
        return self.total, [self.counts.get(query.raw, 1) for query in queries]

    def similarities(self, _: Any, ids: Sequence[str], **__: Any) -> Mapping[str, Any]:
        self.similarity_calls.append(list(ids))
        if isinstance(self.similarity_by_id, Exception):
            raise self.similarity_by_id
        return self.similarity_by_id


@dataclass
class ScoringIndex(CountingIndex):
    """An index that also has lexical scores by id, and records the limits of its searches."""

    lexical_scores: Mapping[str, Any] | Exception = field(default_factory=dict)
    text_score_calls: list[list[str]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)

    def search_text(self, query: Query, limit: int, **_: Any) -> list[Candidate]:
        self.limits.append(limit)
        return super().search_text(query)

    def text_scores(self, _: Query, ids: Sequence[str], **__: Any) -> Mapping[str, Any]:
        self.text_score_calls.append(list(ids))
        if isinstance(self.lexical_scores, Exception):
            raise self.lexical_scores
        return self.lexical_scores
