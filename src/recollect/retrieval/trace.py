"""What happened in a search: which legs ran, what they found, how long it took, and what had to be done without.

Together with the candidates that it holds, a trace accounts for every score: what each leg gave, and what each stage
then did, is enough to work it out again (:func:`recomputed_score`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, NamedTuple

from recollect.model import Candidate
from recollect.query import TimeInterval
from recollect.ranking import ConfidenceEvidence, Loan
from recollect.retrieval.substitution import Substitution

__all__ = ["Attempt", "Context", "StageRun", "StemOnly", "Trace", "recomputed_score"]


class Attempt(NamedTuple):
    """One try of the lexical leg: how the query was made, what it was, and how many notes it found.

    >>> Attempt("initial", "green OR tea", 3).to_dict()
    {'strategy': 'initial', 'query': 'green OR tea', 'hits': 3}
    """

    strategy: str
    query: str
    hits: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON-ready data."""
        return self._asdict()


class Context(NamedTuple):
    """What a note was read with.

    >>> Context(3.5, ("n2",)).to_dict()
    {'own': 3.5, 'beside': ['n2']}
    """

    own: float | None
    """What the lexical leg had given to its own words; ``None`` where it had not found it."""
    beside: tuple[str, ...]
    """The ids of the turns beside it that it was read with; none for a long note, which was read by its passages."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return {"own": self.own, "beside": list(self.beside)}


class StemOnly(NamedTuple):
    """A discount of the lexical score: the note holds words of the query only in another form.

    >>> StemOnly(3.5, ("ines",)).to_dict()
    {'before': 3.5, 'words': ['ines']}
    """

    before: float
    """The lexical score before the discount."""
    words: tuple[str, ...]
    """The words of the query that it holds only in another form."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return {"before": self.before, "words": list(self.words)}


class StageRun(NamedTuple):
    """One stage: how many candidates came out of it, and how long it took in milliseconds.

    >>> StageRun("intent", 12, 0.05).to_dict()
    {'stage': 'intent', 'candidates': 12, 'elapsed': 0.05}
    """

    stage: str
    candidates: int
    elapsed: float

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON-ready data."""
        return self._asdict()


@dataclass(slots=True, kw_only=True)
class Trace:
    """The record of one search; times are in milliseconds.

    >>> Trace(mode="bm25", original_query="tea", compiled_query="tea").to_dict()["compiledQuery"]
    'tea'
    """

    mode: str
    """What was searched in the end: ``hybrid``, ``bm25`` or ``semantic``."""
    original_query: str
    compiled_query: str = ""
    candidate_k: int = 60
    rrf_k: float = 60
    bm25_elapsed: float = 0.0
    vector_elapsed: float = 0.0
    fusion_elapsed: float = 0.0
    rerank_elapsed: float = 0.0
    total_elapsed: float = 0.0
    bm25_count: int = 0
    vector_count: int = 0
    fused_count: int = 0
    fell_back_to_bm25: bool = False
    embedder_used: bool = False
    reranked: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    rerank_skipped_reason: str = ""
    """``empty_candidates``, ``mode_off``, ``no_reranker`` or ``unanimity``."""
    rerank_provider: str = ""
    unanimity: int | None = None
    """On how many of the first three places both legs agreed, where that spared the reranker."""
    error_stage: str = ""
    """``bm25`` or ``rerank``: the part that failed."""
    error_detail: str = ""
    preset: str = ""
    embedder: str = ""
    """The model that embedded the query, or would have."""
    embedded_query: str = ""
    """What stood for the query's meaning, where that is not the query as it was written."""
    context_elapsed: float = 0.0
    contexts: Mapping[str, Context] = field(default_factory=dict)
    """What each note was read with, by its id."""
    stem_only: Mapping[str, StemOnly] = field(default_factory=dict)
    """The discounts of notes that hold words of the query only in another form, by note id."""
    fusion: Mapping[str, Any] = field(default_factory=dict)
    """The rules of the fusion: method, k, base of ranks, weights."""
    excluded: tuple[str, ...] = ()
    """The terms that the query excludes, as they were written; no leg returns a note that holds one."""
    only_stopwords: bool = False
    """Whether the query has nothing but stopwords, which were searched for after all."""
    substitutions: tuple[Substitution, ...] = ()
    """The words of the query that no note holds as written, with the forms that were searched for as well."""
    date_hints: tuple[str, ...] = ()
    """The dates that the query's relative times were taken for."""
    times: tuple[TimeInterval, ...] = ()
    """The times that the query names, as they were read."""
    time_only: bool = False
    """Whether the query was taken to ask for nothing but a time."""
    graph_elapsed: float = 0.0
    graph_count: int = 0
    """How many notes connections led to."""
    graph_skipped_reason: str = ""
    evidence: Mapping[str, ConfidenceEvidence] = field(default_factory=dict)
    """The evidence from which the confidence of each result was computed, by note id."""
    loans: Mapping[str, Sequence[Loan]] = field(default_factory=dict)
    """What connected notes lent to each note, by its id."""
    stages: list[StageRun] = field(default_factory=list)
    below_min_confidence: int = 0
    """How many candidates ``min_confidence`` dropped."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer."""
    warnings: list[str] = field(default_factory=list)
    """What had to be done without, and what to do about it."""
    results: Sequence[Candidate] = ()
    """What was found, with the whole record of each score."""

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as JSON-ready data with its documented names."""
        told: dict[str, Any] = {
            "mode": self.mode,
            "originalQuery": self.original_query,
            "compiledQuery": self.compiled_query,
            "candidateK": self.candidate_k,
            "rrfK": self.rrf_k,
            "bm25Elapsed": self.bm25_elapsed,
            "vectorElapsed": self.vector_elapsed,
            "fusionElapsed": self.fusion_elapsed,
            "rerankElapsed": self.rerank_elapsed,
            "totalElapsed": self.total_elapsed,
            "bm25Count": self.bm25_count,
            "vectorCount": self.vector_count,
            "fusedCount": self.fused_count,
            "fellBackToBM25": self.fell_back_to_bm25,
            "embedderUsed": self.embedder_used,
            "reranked": self.reranked,
            "attempts": [attempt.to_dict() for attempt in self.attempts],
        }
        optional = {
            "rerankSkippedReason": self.rerank_skipped_reason,
            "rerankProvider": self.rerank_provider,
            "unanimity": {} if self.unanimity is None else {"agreements": self.unanimity},
            "errorStage": self.error_stage,
            "errorDetail": self.error_detail,
            "preset": self.preset,
            "embedder": self.embedder,
            "embeddedQuery": self.embedded_query,
            "fusion": dict(self.fusion),
            "excluded": list(self.excluded),
            "onlyStopwords": self.only_stopwords,
            "substitutions": [each.to_dict() for each in self.substitutions],
            "dateHints": list(self.date_hints),
            "times": [time.to_dict() for time in self.times],
            "timeOnly": self.time_only,
            "contextElapsed": self.context_elapsed,
            "graphElapsed": self.graph_elapsed,
            "graphCount": self.graph_count,
            "graphSkippedReason": self.graph_skipped_reason,
            "stages": [run.to_dict() for run in self.stages],
            "belowMinConfidence": self.below_min_confidence,
            "answerThreshold": self.answer_threshold,
            "warnings": list(self.warnings),
            "results": [self._result(place, found) for place, found in enumerate(self.results, start=1)],
        }
        return told | {name: value for name, value in optional.items() if value}

    def _result(self, rank: int, found: Candidate) -> dict[str, Any]:
        """Return all that is known of how a result came by its place."""
        told = {
            "rank": rank,
            "id": found.id,
            "path": found.path,
            "score": found.score,
            "relevance": found.relevance,
            "confidence": found.confidence,
            "lexicalRank": found.lexical_rank,
            "lexicalScore": found.lexical_score,
            "vectorRank": found.vector_rank,
            "vectorSimilarity": found.vector_similarity,
            "contributions": [part.to_dict() for part in found.contributions],
            "steps": [step.to_trace() for step in found.steps],
        }
        optional = {
            "rerankScore": found.rerank_score,
            "context": self.contexts[found.id].to_dict() if found.id in self.contexts else None,
            "evidence": self.evidence[found.id].to_dict() if found.id in self.evidence else None,
            "stemOnly": self.stem_only[found.id].to_dict() if found.id in self.stem_only else None,
            "supersededBy": list(found.superseded_by) or None,
            "inheritedRelevance": found.inherited_relevance,
            "inheritedConfidence": found.inherited_confidence,
            "loans": [loan.to_dict() for loan in self.loans.get(found.id, ())] or None,
        }
        return told | {name: value for name, value in optional.items() if value is not None}


def recomputed_score(result: Mapping[str, Any]) -> float:
    """Return the score of one of the ``results`` in a trace's JSON, worked out from its record alone.

    It is the sum of what the legs gave, taken through each step: times its factor, plus its addend.

    >>> recomputed_score({"contributions": [{"points": 0.5}, {"points": 0.25}],
    ...                   "steps": [{"factor": 2.0, "addend": 0.1}]})
    1.6
    """
    score = fsum(part["points"] for part in result["contributions"])
    for step in result["steps"]:
        score = score * step["factor"] + step["addend"]
    return score
