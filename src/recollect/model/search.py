"""The data of a search that callers see: hits, results and filters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.model.candidate import Candidate
from recollect.model.note import to_json

T = TypeVar("T")
_REPR_HITS = 3

WEAK_SHARE = 0.1
"""A hit of a result with an answer is weak if its confidence is below this share of the best, and the threshold."""


class _CandidateField(property, Generic[T]):
    """A read-only attribute of a hit that is an attribute of its candidate."""

    def __init__(self, name: str, doc: str) -> None:
        super().__init__(attrgetter(f"candidate.{name}"), doc=doc)

    if TYPE_CHECKING:

        def __get__(self, hit: Any, owner: type | None = None, /) -> T: ...  # type: ignore[override]


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """A note in a search result: its rank, the candidate with its full record, and what to highlight.

    Three numbers answer three questions:

    - :attr:`confidence` decides "is this an answer?". It is a probability, comparable between queries.
    - :attr:`score` orders the hits of one result. It has no scale: never compare it between queries or presets.
    - :attr:`relevance` is the share of the highest possible fused score. It says how well the legs agree on a note.

    ``highlights`` are the (start, end) spans of the snippet that match the query.

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
        confidence = None if self.confidence is None else round(self.confidence, 3)
        return f"<Hit {self.rank} {(self.path or self.id)!r} score={self.score:.4g} confidence={confidence}>"

    id = _CandidateField[str]("id", "The note's id.")
    path = _CandidateField[str]("path", "The note's path; empty if it has none.")
    title = _CandidateField[str]("title", "The note's title.")
    summary = _CandidateField[str]("summary", "The note's summary.")
    content = _CandidateField[str]("content", "The note's whole text.")
    snippet = _CandidateField[str]("snippet", "The passage of the text that matches the query best, on one line.")
    created_at = _CandidateField[datetime | None]("created_at", "When the note was created.")
    importance = _CandidateField[float]("importance", "The note's importance, from 0 to 1.")
    session = _CandidateField[str](
        "session", "The conversation or document that the note belongs to; empty if there is none."
    )
    position = _CandidateField[int | None]("position", "The note's index in its session, from 0.")
    tags = _CandidateField[tuple[str, ...]]("tags", "The note's tags.")
    score = _CandidateField[float](
        "score", "What the hits of one result are ordered by; not comparable between results."
    )
    relevance = _CandidateField[float | None](
        "relevance", "The fused score as a share of the highest possible one, from 0 to 1."
    )
    confidence = _CandidateField[float | None](
        "confidence", "The probability, from 0 to 1, that the note answers the query; use it to accept or reject a hit."
    )
    rerank_score = _CandidateField[float | None]("rerank_score", "The reranker's score; ``None`` if not reranked.")
    superseded_by = _CandidateField[tuple[str, ...]]("superseded_by", "The ids of the notes that supersede it.")

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of the note's metadata."""
        return dict(self.candidate.metadata)

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON-ready data."""
        candidate = self.candidate
        return {
            "rank": self.rank,
            "id": candidate.id,
            "path": candidate.path,
            "title": candidate.title,
            "summary": candidate.summary,
            "snippet": candidate.snippet,
            "highlights": [list(span) for span in self.highlights],
            "content": candidate.content,
            "created_at": to_json(candidate.created_at),
            "importance": candidate.importance,
            "session": candidate.session,
            "position": candidate.position,
            "tags": list(candidate.tags),
            "metadata": self.metadata,
            "score": candidate.score,
            "relevance": candidate.relevance,
            "confidence": candidate.confidence,
            "rerank_score": candidate.rerank_score,
            "superseded_by": list(candidate.superseded_by),
            "lexical_rank": candidate.lexical_rank,
            "lexical_score": candidate.lexical_score,
            "vector_rank": candidate.vector_rank,
            "vector_similarity": candidate.vector_similarity,
            "contributions": [part.to_dict() for part in candidate.contributions],
            "steps": [step.to_dict() for step in candidate.steps],
        }


class RankedHits(Sequence[Hit]):
    """The hits of a search, best first, as a sequence; base class of local and remote search results."""

    __slots__ = ()
    query: str
    hits: tuple[Hit, ...]

    @property
    @abstractmethod
    def answer_threshold(self) -> float:
        """The lowest confidence at which the best hit counts as an answer, from 0 to 1."""

    @property
    def best_confidence(self) -> float:
        """The highest confidence of the hits; 0 if there is none."""
        return max((hit.confidence or 0.0 for hit in self.hits), default=0.0)

    @property
    def has_answer(self) -> bool:
        """Whether there is a hit and the best confidence is at least the answer threshold."""
        return bool(self.hits) and self.best_confidence >= self.answer_threshold

    @property
    def weak_flags(self) -> list[bool]:
        """For each hit, whether it is weak: user interfaces and tools for models show weak hits only on demand.

        If there is no answer, every hit is weak. If there is one, a hit is weak whose confidence is below the answer
        threshold and below a tenth of the best confidence; a hit without a confidence is not. Neither is a superseded
        note if a note that supersedes it is a hit that is not weak: together they show what changed.
        """
        if not self.has_answer:
            return [True] * len(self.hits)
        limit = min(self.answer_threshold, WEAK_SHARE * self.best_confidence)
        strong = {hit.id for hit in self.hits if hit.confidence is None or hit.confidence >= limit}
        return [hit.id not in strong and strong.isdisjoint(hit.superseded_by) for hit in self.hits]

    @property
    def strong_hits(self) -> tuple[Hit, ...]:
        """The hits that are not weak, best first."""
        return tuple(hit for hit, weak in zip(self.hits, self.weak_flags, strict=True) if not weak)

    @property
    def weak_hits(self) -> tuple[Hit, ...]:
        """The hits that are weak, best first."""
        return tuple(hit for hit, weak in zip(self.hits, self.weak_flags, strict=True) if weak)

    def __repr__(self) -> str:
        names = [hit.path or hit.id for hit in self.hits[:_REPR_HITS]]
        shown = ", ".join(map(repr, names)) + (", …" if len(self.hits) > _REPR_HITS else "")
        return f"<{type(self).__name__} {self.query!r}: {len(self.hits)} hits, has_answer={self.has_answer}, [{shown}]>"

    def marked_text(self, hit: Hit, text: str | None = None) -> str:
        """Return a hit's content, or a part of it, below a line with the notes that supersede it, if any.

        The line names them by path if they are among the hits, else by id.
        """
        shown = hit.content if text is None else text
        if not hit.superseded_by:
            return shown
        paths = {other.id: other.path for other in self.hits}
        names = ", ".join(paths.get(note) or note for note in hit.superseded_by)
        return f"[Out of date: superseded by {names}]\n{shown}"

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]


def _tags(argument: str, value: Any) -> tuple[str, ...]:
    return arguments.names(argument, [value] if isinstance(value, str) else value)


def _session(argument: str, value: Any) -> str | None:
    return None if value is None else arguments.line(argument, value)


_DATE = {"check": arguments.optional_instant}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a note must meet, all of them; the store applies them before ranking.

    A note matches if its path starts with ``path_prefix``, it has all of ``tags``, it belongs to ``session``, its dates
    lie in the intervals (``…_after`` is inclusive, ``…_before`` exclusive), and its metadata has every key of
    ``metadata`` with the same value.

    >>> Filters.of({"tags": ["tea"], "created_after": "2026-01-01"}).tags
    ('tea',)
    """

    path_prefix: str = field(default="", metadata={"check": arguments.line})
    tags: tuple[str, ...] = field(default=(), metadata={"check": _tags})
    session: str | None = field(default=None, metadata={"check": _session})
    created_after: datetime | None = field(default=None, metadata=_DATE)
    created_before: datetime | None = field(default=None, metadata=_DATE)
    updated_after: datetime | None = field(default=None, metadata=_DATE)
    updated_before: datetime | None = field(default=None, metadata=_DATE)
    metadata: Mapping[str, Any] = field(default_factory=dict, metadata={"check": arguments.json_object})

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            object.__setattr__(self, name, check(f"filters.{name}", getattr(self, name)))

    def __bool__(self) -> bool:
        return self != _NO_FILTERS

    @classmethod
    def of(cls, value: Filters | Mapping[str, Any] | None) -> Filters:
        """Return filters, a mapping with the names of conditions as keys, or ``None``, as filters."""
        if value is None:
            return _NO_FILTERS
        if isinstance(value, Filters):
            return value
        if not isinstance(value, Mapping):
            raise ArgumentTypeError("filters", f"must be Filters or a mapping, got {type(value).__name__}")
        unknown = [name for name in value if name not in _CHECKS]
        if unknown:
            raise ArgumentError("filters", f"has no condition {unknown[0]!r}; there are {', '.join(_CHECKS)}")
        return cls(**{name: item for name, item in value.items() if item is not None})


_CHECKS = {declared.name: declared.metadata["check"] for declared in fields(Filters)}
_NO_FILTERS = Filters()
