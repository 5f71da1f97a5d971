"""A request that is over: what may be known of it by logs, metrics and traces. No words of a note or a query are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from recollect.retrieval import Trace

__all__ = ["Finished", "Observer", "SearchTimes"]


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """Where the time of a search went, in seconds."""

    waited: float
    """For a thread."""
    total: float
    """In the search itself."""
    parts: Mapping[str, float]
    """Of that: ``words``, ``meaning`` (a model and a store), ``context``, ``graph``, ``ranking`` and ``rerank``."""

    @classmethod
    def of(cls, trace: Trace, waited: float) -> SearchTimes:
        """Return what a trace says of it."""
        parts = {
            "words": trace.bm25_elapsed,
            "meaning": trace.vector_elapsed,
            "context": trace.context_elapsed,
            "graph": trace.graph_elapsed,
            "ranking": trace.fusion_elapsed,
            "rerank": trace.rerank_elapsed,
        }
        return cls(waited, trace.total_elapsed / 1000, {name: took / 1000 for name, took in parts.items()})

    @property
    def legs(self) -> float:
        """How long the legs took at least: a query is embedded while its words are looked for."""
        return max(self.parts["words"], self.parts["meaning"])

    @property
    def rest(self) -> float:
        """How much of the search went into none of its parts, at most."""
        others = sum(self.parts[name] for name in ("context", "graph", "ranking", "rerank"))
        return max(0.0, self.total - self.legs - others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What is known of a request when it was answered."""

    method: str
    route: str
    """The template, such as ``/v1/notes/{key}``, never what was filled in; empty where there is none."""
    status: int
    started: int
    """In nanoseconds since 1970."""
    seconds: float
    request_id: str
    key_id: str = ""
    parent: str = ""
    """The ``traceparent`` that the request came with."""
    searches: list[SearchTimes] = field(default_factory=list)
    fault: BaseException | None = None
    """What failed, where that was not foreseen."""


Observer: TypeAlias = Callable[[Finished], None]
