"""Collect the head of each search, the best candidates, with everything that second stages need to reorder it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import log
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.datasets import search_question
from benchmarks.studies.token_vectors import TokenEncoder, Vectors, maxsim
from recollect import Memory
from recollect.embedders import Embedder
from recollect.evaluation import Collection, Dataset, Question, temporary_memory
from recollect.evaluation.memories import latest_date, questions_by_collection
from recollect.model import Candidate
from recollect.model.note import embedding_chunks, embedding_text
from recollect.progress import Progress
from recollect.query.terms import ENGLISH_STOPWORDS
from recollect.ranking import rerank_text
from recollect.rerankers import Reranker
from recollect.retrieval import SearchOptions, SearchResult, presets

__all__ = ["FEATURES", "STORED", "Head", "collect_heads", "expansion_terms", "features", "rocchio"]

Floats: TypeAlias = NDArray[np.float64]

OPTIONS = SearchOptions(top_k=20, rerank=False)
STAGES = ("graph", "session", "speaker_turns", "time_match", "exact_term")
"""The stages whose changes of the score are features."""
FEATURES = (
    *("score", "lexical points", "vector points", "similarity", "coverage", "context", "length", "reciprocal rank"),
    *(f"change by {stage}" for stage in STAGES),
    *("similarity of the previous note", "similarity to the head"),
)
STORED = "stored token vectors"
"""The key of the time of late interaction without encoding the notes and the query."""
FEEDBACK = [(hits, beta) for hits in (2, 5) for beta in (0.15, 0.3, 0.6)]
"""The settings of vector feedback: the number of hits, and the weight of their mean vector."""
EXPANSION_HITS = 3
EXPANSION_TERMS = (1, 2, 4)
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Head:
    """The best candidates of one search by the default preset, without a reranker."""

    question: Question
    candidates: Sequence[Candidate]
    features: Floats
    """A row for each candidate and a column for each of ``FEATURES``; NaN where a candidate lacks a feature."""
    scores: dict[str, Floats] = field(default_factory=dict)
    """The scores of the candidates by ``cross-encoder`` and ``late interaction``."""
    rankings: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """The ids that another search returned, by the row of the table and the settings."""
    milliseconds: dict[str, float] = field(default_factory=dict)
    """The time of each second stage by the row of the table or what several rows use; ``default`` is the search."""

    @property
    def relevant(self) -> NDArray[np.bool_]:
        """Whether each candidate is relevant."""
        return np.array([candidate.id in self.question.relevant for candidate in self.candidates])


def collect_heads(
    dataset: Dataset,
    embedder: Embedder,
    reranker: Reranker | None,
    tokens: TokenEncoder | None,
    *,
    progress: Progress | None = None,
) -> list[Head]:
    """Search for each answerable question of a dataset, run the models on the head, and return the heads.

    Without ``reranker`` or ``tokens`` the heads lack the scores of the cross-encoder or of late interaction.
    """
    heads: list[Head] = []
    for collection, questions in questions_by_collection(dataset, None):
        answerable = [question for question in questions if question.relevant]
        cached_reranker = CachedReranker(reranker) if reranker else None
        with temporary_memory(collection, embedder, reranker=cached_reranker) as (memory, _):
            collector = _HeadCollector(collection, memory, embedder, cached_reranker, tokens)
            for question in answerable:
                heads += collector.collect(question)
                if progress:
                    progress(len(heads), len(dataset.answerable), dataset.name)
    return heads


class CachedReranker:
    """A reranker that computes the score of each pair of a query and a document once."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._scores: dict[tuple[str, str], float] = {}

    @property
    def name(self) -> str:
        """The name of the reranker."""
        return self._reranker.name

    def rerank(self, query: str, documents: Sequence[str]) -> list[tuple[int, float]]:
        """Return (index, score) for each document, in their order."""
        missing = [document for document in dict.fromkeys(documents) if (query, document) not in self._scores]
        for index, score in self._reranker.rerank(query, missing) if missing else ():
            self._scores[query, missing[index]] = score
        return [(index, self._scores[query, document]) for index, document in enumerate(documents)]


class _HeadCollector:
    """Collects the heads of the questions about one collection."""

    def __init__(
        self,
        collection: Collection,
        memory: Memory,
        embedder: Embedder,
        reranker: Reranker | None,
        tokens: TokenEncoder | None,
    ) -> None:
        self._memory, self._embedder, self._reranker, self._tokens = memory, embedder, reranker, tokens
        self._latest = latest_date(collection.notes)
        self._rules = presets()["default"].rerank
        contents = {
            (note.session, note.position): note.content
            for note in collection.notes
            if note.session and note.position is not None
        }
        self._previous = {
            note.id: contents.get((note.session, note.position - 1), "")
            for note in collection.notes
            if note.session and note.position is not None
        }
        frequencies = Counter(word for note in collection.notes for word in set(words(note.content)))
        self._idf = {word: log(len(collection.notes) / count) for word, count in frequencies.items()}
        self._text_vectors = lru_cache(maxsize=512)(self._timed_text_vectors)

    def collect(self, question: Question) -> Iterator[Head]:
        """Yield the head of a question, or nothing if the search has no hits."""
        started = perf_counter()
        result = search_question(self._memory, question, self._latest, OPTIONS)
        elapsed = milliseconds_since(started)
        candidates = list(result.trace.results)
        if not candidates:
            return
        query_vector = self._embedder.embed_query(result.trace.embedded_query or question.text)
        note_vectors = self._nearest_chunks([_note_text(candidate) for candidate in candidates], query_vector)
        previous = [self._previous.get(candidate.id, "") for candidate in candidates]
        previous_similarities = self._nearest_chunks(previous, query_vector) @ query_vector
        previous_similarities[[not text for text in previous]] = np.nan
        started = perf_counter()
        rows = features(result, note_vectors, previous_similarities)
        head = Head(question, candidates, rows)
        head.milliseconds.update({"default": elapsed, "features": milliseconds_since(started)})
        documents = [
            rerank_text(candidate, characters=self._rules.characters, previous=text)
            for candidate, text in zip(candidates, previous, strict=True)
        ]
        if self._reranker:
            self._run_reranker(head, documents, self._reranker)
        if self._tokens:
            self._run_late_interaction(head, documents, self._tokens)
        for hits, beta in FEEDBACK:
            vector = rocchio(query_vector, note_vectors[:hits], beta)
            self._search_again(head, ("vector feedback", f"{hits} hits, beta {beta:g}"), question.text, vector)
        for count in EXPANSION_TERMS:
            terms = expansion_terms(question.text, candidates[:EXPANSION_HITS], self._idf, count)
            text = " ".join((question.text, *terms))
            self._search_again(head, ("query expansion", f"{count} terms"), text, query_vector)
        yield head

    def _run_reranker(self, head: Head, documents: Sequence[str], reranker: Reranker) -> None:
        """Add the scores of the cross-encoder, and the ranking of the default preset by its own rules."""
        started = perf_counter()
        head.scores["cross-encoder"] = np.array([score for _, score in reranker.rerank(head.question.text, documents)])
        head.milliseconds["cross-encoder"] = milliseconds_since(started)
        result = search_question(self._memory, head.question, self._latest, replace(OPTIONS, rerank=True))
        row = "cross-encoder, skipped by the default's rules"
        head.rankings[row, ""] = [hit.id for hit in result]
        head.milliseconds[row] = head.milliseconds["cross-encoder"] if result.trace.reranked else 0.0

    def _run_late_interaction(self, head: Head, documents: Sequence[str], tokens: TokenEncoder) -> None:
        """Add the scores of late interaction; the time includes that of encoding the query and the notes."""
        started = perf_counter()
        query = tokens.query_vectors(head.question.text)
        elapsed = milliseconds_since(started)
        encoded = [self._text_vectors(document) for document in documents]
        started = perf_counter()
        head.scores["late interaction"] = np.array([maxsim(query, vectors) for vectors, _ in encoded])
        head.milliseconds[STORED] = milliseconds_since(started)
        elapsed += head.milliseconds[STORED]
        head.milliseconds["late interaction"] = elapsed + sum(milliseconds for _, milliseconds in encoded)

    def _timed_text_vectors(self, text: str) -> tuple[Vectors, float]:
        assert self._tokens
        started = perf_counter()
        return self._tokens.text_vectors(text), milliseconds_since(started)

    def _search_again(self, head: Head, key: tuple[str, str], text: str, vector: Vectors) -> None:
        """Add the ranking of a search for another text or vector."""
        started = perf_counter()
        result = search_question(
            self._memory, replace(head.question, text=text), self._latest, replace(OPTIONS, vector=vector)
        )
        head.milliseconds[key[0]] = milliseconds_since(started)
        head.rankings[key] = [hit.id for hit in result]

    def _nearest_chunks(self, texts: Sequence[str], query_vector: Vectors) -> Vectors:
        """Return for each text the vector of the chunk that is nearest to the query."""
        chunks = [embedding_chunks(text) or [""] for text in texts]
        vectors = self._embedder.embed_documents([chunk for parts in chunks for chunk in parts])
        rows, start = [], 0
        for parts in chunks:
            part_vectors = vectors[start : start + len(parts)]
            rows.append(part_vectors[int((part_vectors @ query_vector).argmax())])
            start += len(parts)
        return np.array(rows)


def features(result: SearchResult, note_vectors: Vectors, previous_similarities: Vectors) -> Floats:
    """Return a row of ``FEATURES`` for each result of a search.

    ``note_vectors`` are the vectors of the results; ``previous_similarities`` those of the query to the notes before
    the results in their sessions. Points and changes of the score are divided by the highest possible score.
    """
    similarities = note_vectors @ note_vectors.T
    others = max(1, len(note_vectors) - 1)
    centrality = (similarities.sum(axis=1) - similarities.diagonal()) / others
    rows = []
    for index, candidate in enumerate(result.trace.results):
        scale = candidate.ceiling or 1.0
        evidence = result.trace.evidence[candidate.id]
        points = {contribution.leg: contribution.points / scale for contribution in candidate.contributions}
        changes = dict.fromkeys(STAGES, 0.0)
        for step in candidate.steps:
            if step.stage in changes:
                changes[step.stage] += (step.score_after - step.score_before) / scale
        context = result.trace.contexts.get(candidate.id)
        row = (
            candidate.score / scale,
            points.get("lexical", 0.0),
            points.get("vector", 0.0),
            np.nan if evidence.similarity is None else evidence.similarity,
            evidence.coverage,
            float(bool(context and context.neighbours)),
            log(1 + len(_note_text(candidate))),
            1 / (index + 1),
            *changes.values(),
            previous_similarities[index],
            centrality[index],
        )
        rows.append(row)
    return np.array(rows, dtype=np.float64)


def rocchio(query_vector: Vectors, hit_vectors: Vectors, beta: float) -> Vectors:
    """Return the unit vector of ``query + beta * mean(hits)``.

    Rocchio, "Relevance feedback in information retrieval", 1971, without irrelevant notes.
    """
    moved = query_vector + beta * hit_vectors.mean(axis=0)
    return np.asarray(moved / np.linalg.norm(moved), dtype=np.float32)


def expansion_terms(query: str, hits: Sequence[Candidate], idf: dict[str, float], count: int) -> list[str]:
    """Return the ``count`` words of the first hits that weigh most, without the words of the query.

    The weight of a word is the sum over the hits of score · frequency / length · inverse document frequency, as in RM3
    (Abdul-Jaleel et al., "UMass at TREC 2004", 2004) with the score instead of the query likelihood.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        frequencies = Counter(words(hit.content))
        length = sum(frequencies.values())
        for word, frequency in frequencies.items():
            weights[word] += hit.score * frequency / length * idf.get(word, 0.0)
    for word in words(query):
        weights.pop(word, None)
    return sorted(weights, key=lambda word: (-weights[word], word))[:count]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without stopwords, numbers and words of one or two letters."""
    return [word for word in _WORD.findall(text.lower()) if word not in ENGLISH_STOPWORDS]


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since ``started``, a value of ``perf_counter``."""
    return (perf_counter() - started) * 1000


def _note_text(candidate: Candidate) -> str:
    return embedding_text(candidate.title, candidate.summary, candidate.content)
