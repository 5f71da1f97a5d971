"""A hit: a note that a search found, and how it got its place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recollect.model.candidate import Candidate

__all__ = ["Hit"]


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """A note that was found: its place, the piece of its text to show, and the candidate with the whole record.

    ``highlights`` are the spans of the snippet (from, to) that match the query.

    >>> hit = Hit(1, Candidate("n1", path="tea.md", score=0.5, snippet="Prefers green tea."), ((8, 17),))
    >>> hit.path, hit.snippet[slice(*hit.highlights[0])]
    ('tea.md', 'green tea')
    >>> hit
    <Hit 1 'tea.md' score=0.5 confidence=None>
    """

    rank: int
    candidate: Candidate
    highlights: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        """Return rank, path or id, score and confidence; no text."""
        confidence = None if self.confidence is None else round(self.confidence, 3)
        return f"<Hit {self.rank} {(self.path or self.id)!r} score={self.score:.4g} confidence={confidence}>"

    @property
    def id(self) -> str:
        """The note's id."""
        return self.candidate.id

    @property
    def path(self) -> str:
        """The note's path; empty if it has none."""
        return self.candidate.path

    @property
    def title(self) -> str:
        """The note's title."""
        return self.candidate.title

    @property
    def summary(self) -> str:
        """The note's summary."""
        return self.candidate.summary

    @property
    def content(self) -> str:
        """The note's whole text."""
        return self.candidate.content

    @property
    def snippet(self) -> str:
        """The piece of the text that fits the query best, on one line."""
        return self.candidate.snippet

    @property
    def created_at(self) -> datetime | None:
        """When the note was made."""
        return self.candidate.created_at

    @property
    def importance(self) -> float:
        """The note's importance, from 0 to 1."""
        return self.candidate.importance

    @property
    def session(self) -> str:
        """The conversation or document that the note belongs to; empty if there is none."""
        return self.candidate.session

    @property
    def position(self) -> int | None:
        """The note's place in its conversation or document."""
        return self.candidate.position

    @property
    def tags(self) -> tuple[str, ...]:
        """The note's tags."""
        return self.candidate.tags

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of the note's metadata."""
        return dict(self.candidate.metadata)

    @property
    def score(self) -> float:
        """The score that the hits are ordered by."""
        return self.candidate.score

    @property
    def relevance(self) -> float | None:
        """The fused score on a scale from 0 to 1."""
        return self.candidate.relevance

    @property
    def confidence(self) -> float | None:
        """The probability, from 0 to 1, that the note answers the query."""
        return self.candidate.confidence

    @property
    def rerank_score(self) -> float | None:
        """What a reranker thought of it; ``None`` where none was asked."""
        return self.candidate.rerank_score

    @property
    def superseded_by(self) -> tuple[str, ...]:
        """The ids of the notes that replaced it."""
        return self.candidate.superseded_by

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON-ready data."""
        found = self.candidate
        return {
            "rank": self.rank,
            "id": found.id,
            "path": found.path,
            "title": found.title,
            "summary": found.summary,
            "snippet": found.snippet,
            "highlights": [list(span) for span in self.highlights],
            "content": found.content,
            "created_at": found.created_at.isoformat().replace("+00:00", "Z") if found.created_at else None,
            "importance": found.importance,
            "session": found.session,
            "position": found.position,
            "tags": list(found.tags),
            "metadata": self.metadata,
            "score": found.score,
            "relevance": found.relevance,
            "confidence": found.confidence,
            "rerank_score": found.rerank_score,
            "superseded_by": list(found.superseded_by),
            "lexical_rank": found.lexical_rank,
            "lexical_score": found.lexical_score,
            "vector_rank": found.vector_rank,
            "vector_similarity": found.vector_similarity,
            "contributions": [part.to_dict() for part in found.contributions],
            "steps": [step.to_dict() for step in found.steps],
        }
