"""What happened in a search: which legs ran, what they found, how long it took, and what had to be done without."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Attempt", "Trace"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of the lexical leg: how the query was made, what it was, and how many notes it found."""

    strategy: str
    query: str
    hits: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON-ready data."""
        return {"strategy": self.strategy, "query": self.query, "hits": self.hits}


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
    rrf_k: int = 60
    bm25_elapsed: float = 0.0
    vector_elapsed: float = 0.0
    fusion_elapsed: float = 0.0
    total_elapsed: float = 0.0
    bm25_count: int = 0
    vector_count: int = 0
    fused_count: int = 0
    fell_back_to_bm25: bool = False
    embedder_used: bool = False
    embedder: str = ""
    """The model that embedded the query, or would have."""
    attempts: list[Attempt] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What had to be done without, and what to do about it."""
    error_stage: str = ""
    error_detail: str = ""

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
            "totalElapsed": self.total_elapsed,
            "bm25Count": self.bm25_count,
            "vectorCount": self.vector_count,
            "fusedCount": self.fused_count,
            "fellBackToBM25": self.fell_back_to_bm25,
            "embedderUsed": self.embedder_used,
            "attempts": [attempt.to_dict() for attempt in self.attempts],
        }
        optional = {
            "embedder": self.embedder,
            "warnings": list(self.warnings),
            "errorStage": self.error_stage,
            "errorDetail": self.error_detail,
        }
        return told | {name: value for name, value in optional.items() if value}
