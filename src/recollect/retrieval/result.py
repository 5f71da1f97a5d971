"""The result of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recollect.model import Hit, RankedHits
from recollect.retrieval.explanation import WIDTH, explain_search, explanation_data
from recollect.retrieval.trace import Trace


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(RankedHits):
    """The hits of a search, best first, and its trace.

    >>> result = SearchResult("tea", (), Trace(mode="bm25", original_query="tea"))
    >>> len(result), list(result), result.trace.mode
    (0, [], 'bm25')
    >>> result
    <SearchResult 'tea': 0 hits, has_answer=False, []>
    """

    query: str
    hits: tuple[Hit, ...]
    trace: Trace

    @property
    def answer_threshold(self) -> float:
        """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""
        return self.trace.answer_threshold

    @property
    def excluded(self) -> tuple[str, ...]:
        """The terms that the query excludes by NOT, as written: no hit contains one."""
        return self.trace.excluded

    @property
    def warnings(self) -> list[str]:
        """What was unavailable to the search, and what to do about it."""
        return self.trace.warnings

    def explain(self, *, limit: int | None = 10, width: int = WIDTH) -> str:
        """Return a drawing of the search for a terminal: what each part did, and how each hit got its score.

        ``limit`` is how many hits are drawn, ``None`` or 0 for all; ``width`` is the number of columns.
        """
        return explain_search(self.trace, limit=limit, width=width)

    def explanation_data(self, *, limit: int | None = 10) -> dict[str, Any]:
        """Return what :meth:`explain` draws as JSON-ready data."""
        return explanation_data(self.trace, limit=limit)

    def to_dict(self) -> dict[str, Any]:
        """Return hits and trace as JSON-ready data."""
        return {
            "query": self.query,
            "has_answer": self.has_answer,
            "answer_threshold": self.answer_threshold,
            "excluded": list(self.excluded),
            "hits": [{**hit.to_dict(), "weak": weak} for hit, weak in zip(self.hits, self.weak_flags, strict=True)],
            "trace": self.trace.to_dict(),
        }
