"""Parts whose answers are written down, for what a real engine would not do on demand."""

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
    """An index that knows what to answer: ids by canonical query, the dense order, edges and names."""

    words: Mapping[str, Sequence[str]] | Exception = field(default_factory=dict)
    nearest: Sequence[str] | Exception = ()
    links: Sequence[Edge] | Exception = ()
    names: Sequence[str] = ()
    spellings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Mapping[str, Candidate] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    delay: float = 0.0

    def note(self, identifier: str) -> Candidate:
        return (self.notes.get(identifier) or Candidate(identifier, path=f"{identifier}.md", content=identifier)).copy()

    def search_text(self, query: Query, *_: Any, **__: Any) -> list[Candidate]:
        time.sleep(self.delay)
        text = compile_fts5(query)
        self.asked.append(text)
        if isinstance(self.words, Exception):
            raise self.words
        found = [self.note(each) for each in self.words.get(text, ())]
        for place, each in enumerate(found):
            each.score = each.lexical_score = float(len(found) - place)
        return found

    def search_vectors(self, *_: Any, **__: Any) -> list[Candidate]:
        if isinstance(self.nearest, Exception):
            raise self.nearest
        found = [self.note(each) for each in self.nearest]
        for place, each in enumerate(found):
            each.score = each.vector_similarity = 1 - place / 100
        return found

    def edges(self, ids: Sequence[str], *, reach: int, kinds: Collection[str] | None, **_: Any) -> list[Edge]:
        if isinstance(self.links, Exception):
            raise self.links
        near = [edge for edge in self.links if edge.distance <= reach and (kinds is None or edge.kind in kinds)]
        return [edge for each in ids for edge in near if edge.source == each]

    def candidates(self, ids: Iterable[str], *, without: Query | None = None, **_: Any) -> list[Candidate]:
        excluded = {token.text for token in without.tokens if token.operator == "NOT"} if without else set()
        return [note for note in map(self.note, ids) if note.content not in excluded]

    def search_names(self, *_: Any, without: Query | None = None, **__: Any) -> list[Candidate]:
        return self.candidates(self.names, without=without)

    def similar_words(self, *_: Any, **__: Any) -> Mapping[str, Sequence[str]]:
        return self.spellings


class BareIndex:
    """An index with the two searches and nothing else."""

    def __init__(self, index: Index) -> None:
        self.search_text = index.search_text
        self.search_vectors = index.search_vectors


class Embedder:
    """An embedder that answers as it is told to."""

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
    """A reranker that turns the order round, or does what it is told to."""

    name = "turner"

    def __init__(self, verdict: Any = None, *, delay: float = 0.0) -> None:
        self.verdict = verdict
        self.delay = delay
        self.documents: list[list[str]] = []

    def rerank(self, _: str, documents: Sequence[str]) -> Any:
        self.documents.append(list(documents))
        time.sleep(self.delay)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return [(place, float(place)) for place in range(len(documents))] if self.verdict is None else self.verdict


@dataclass
class KnowingIndex(Index):
    """An index that can also tell how many notes hold a word, and how near a note is."""

    counts: Mapping[str, int] | Exception = field(default_factory=dict)
    total: int = 100
    similar: Mapping[str, Any] | Exception = field(default_factory=dict)
    asked_about: list[list[str]] = field(default_factory=list)

    def note_counts(self, queries: Sequence[Query], **_: Any) -> tuple[int, list[int]]:
        if isinstance(self.counts, Exception):
            raise self.counts
        return self.total, [self.counts.get(query.raw, 1) for query in queries]

    def similarities(self, _: Any, ids: Sequence[str], **__: Any) -> Mapping[str, Any]:
        self.asked_about.append(list(ids))
        if isinstance(self.similar, Exception):
            raise self.similar
        return self.similar


@dataclass
class ScoringIndex(KnowingIndex):
    """An index that can also tell the lexical scores of given notes; it writes down how many notes it was asked for."""

    texts: Mapping[str, Any] | Exception = field(default_factory=dict)
    scored: list[list[str]] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)

    def search_text(self, query: Query, limit: int, **_: Any) -> list[Candidate]:
        self.limits.append(limit)
        return super().search_text(query)

    def text_scores(self, _: Query, ids: Sequence[str], **__: Any) -> Mapping[str, Any]:
        self.scored.append(list(ids))
        if isinstance(self.texts, Exception):
            raise self.texts
        return self.texts
