"""The data of a search: candidates with the records that explain their scores, hits, results and filters.

A search creates hundreds of candidates. So records are named tuples, which are cheaper to create than frozen
dataclasses, and :class:`Candidate` is a slotted dataclass that is not frozen; functions return changed copies.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from math import fsum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.model.note import DEFAULT_IMPORTANCE, field_default, to_json

T = TypeVar("T")
_MAX_HITS_IN_REPR = 3

WEAK_SHARE = 0.1
"""A hit is weak if its confidence is below both the answer threshold and this share of the best confidence."""


class Contribution(NamedTuple):
    """What one leg (``lexical``, ``vector``, ``graph`` or a leg of the caller) added to a fused score.

    ``rank`` (from 1) and ``score`` come from the leg's list. The fused score is the sum of the ``points`` of all legs.

    >>> Contribution(leg="lexical", rank=1, score=7.25, points=1 / 61).points
    0.01639344262295082
    """

    leg: str
    rank: int
    score: float
    points: float

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return self._asdict()


class Step(NamedTuple):
    """What one stage did to a candidate, and why: ``score_after = score_before * factor + addend``.

    Ranks count from 1. A stage that changes nothing has factor 1 and addend 0.

    >>> step = Step("importance", "importance 0.80", 0.94, 0.0, 0.5, 0.47, 2, 1)
    >>> step.factor * step.score_before + step.addend == step.score_after
    True
    """

    stage: str
    reason: str
    factor: float
    addend: float
    score_before: float
    score_after: float
    rank_before: int
    rank_after: int

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return self._asdict()

    def to_trace(self) -> dict[str, Any]:
        """Return the record as JSON-ready data with the camelCase names of a trace."""
        return dict(zip(_TRACE_NAMES, self, strict=True))


_TRACE_NAMES = ("stage", "reason", "factor", "addend", "scoreBefore", "scoreAfter", "rankBefore", "rankAfter")


@dataclass(slots=True)
class Candidate:
    """A note that a search considers, with the records that explain its score.

    Only ``id`` is required. A value of ``None`` counts as missing, and dates may be ISO-8601 strings. Fusion sets
    ``score`` to the sum of the points of :attr:`contributions`. Each stage then changes it, as ``steps`` records.

    >>> Candidate("n1", path="memory/tea.md", score=0.5).importance
    0.5
    """

    id: str
    path: str = ""
    title: str = ""
    summary: str = ""
    content: str = ""
    score: float = 0.0
    lexical_rank: int | None = None
    lexical_score: float | None = None
    vector_rank: int | None = None
    vector_similarity: float | None = None
    snippet: str = ""
    created_at: datetime | None = None
    last_accessed_at: datetime | None = None
    importance: float = DEFAULT_IMPORTANCE
    session: str = ""
    position: int | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rerank_score: float | None = None
    confidence: float | None = None
    """The probability, from 0 to 1, that the note answers the query."""
    superseded_by: tuple[str, ...] = ()
    """The ids of the notes that supersede this one."""
    inherited_relevance: float | None = None
    """The highest relevance of the notes that this one supersedes, if it exceeds the relevance of this note."""
    inherited_confidence: float | None = None
    """The highest confidence of the notes that this one supersedes, if it exceeds the confidence of this note."""
    ceiling: float | None = None
    """The highest score that the fusion could have given to any candidate."""
    evidence: tuple[Any, ...] = ()
    """The contributions as one flat tuple: for each leg its name, rank, score and points. Not ``Trace.evidence``."""
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        for name, (_, default) in _CHECKS.items():
            value = getattr(self, name)
            if value is not default or name == "id":
                setattr(self, name, _checked("", name, value))

    @property
    def in_keyword(self) -> bool:
        """Whether the lexical leg returned the note."""
        return self.lexical_rank is not None

    @property
    def in_semantic(self) -> bool:
        """Whether the vector leg returned the note."""
        return self.vector_rank is not None

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """What each leg added to the fused score."""
        values = iter(self.evidence)
        return tuple(map(Contribution, values, values, values, values))  # each contribution takes the next four values

    @property
    def relevance(self) -> float | None:
        """The fused score as a share of the ceiling, from 0 to 1; ``None`` before fusion.

        A note that supersedes others has at least their relevance.
        """
        if self.inherited_relevance is None:
            return self.own_relevance
        return max(self.inherited_relevance, self.own_relevance or 0.0)

    @property
    def own_relevance(self) -> float | None:
        """The relevance from the note's own fused score, without the relevance of notes that it supersedes."""
        if self.ceiling is None:
            return None
        fused_score = fsum(self.evidence[3::4])  # every fourth value is the points of a leg
        return min(1.0, fused_score / self.ceiling) if self.ceiling > 0 else 0.0

    def copy(self) -> Candidate:
        """Return a copy. Assigning each field is faster than a loop, and a search makes hundreds of copies."""
        copied = object.__new__(Candidate)
        copied.id = self.id
        copied.path = self.path
        copied.title = self.title
        copied.summary = self.summary
        copied.content = self.content
        copied.score = self.score
        copied.lexical_rank = self.lexical_rank
        copied.lexical_score = self.lexical_score
        copied.vector_rank = self.vector_rank
        copied.vector_similarity = self.vector_similarity
        copied.snippet = self.snippet
        copied.created_at = self.created_at
        copied.last_accessed_at = self.last_accessed_at
        copied.importance = self.importance
        copied.session = self.session
        copied.position = self.position
        copied.tags = self.tags
        copied.metadata = self.metadata
        copied.rerank_score = self.rerank_score
        copied.confidence = self.confidence
        copied.superseded_by = self.superseded_by
        copied.inherited_relevance = self.inherited_relevance
        copied.inherited_confidence = self.inherited_confidence
        copied.ceiling = self.ceiling
        copied.evidence = self.evidence
        copied.steps = self.steps
        return copied

    def rescored(self, score: float, steps: Iterable[Step] = ()) -> Candidate:
        """Return a copy with the score ``score``, and with ``steps`` after the steps of this candidate."""
        copied = self.copy()
        copied.score = score
        copied.steps = (*self.steps, *steps)
        return copied

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], *, argument: str = "candidate") -> Candidate:
        """Return a candidate from a mapping of field names to values; evidence, steps and unknown keys are ignored."""
        if not isinstance(values, Mapping):
            raise ArgumentTypeError(
                argument, f"must be a Candidate or a mapping with its fields, got {type(values).__name__}"
            )
        if "id" not in values:
            raise ArgumentError(argument, "has no 'id'; every candidate needs one")
        candidate = BLANK_CANDIDATE.copy()
        for name in _CHECKS:
            if name in values and name not in ("evidence", "steps"):
                setattr(candidate, name, _checked(f"{argument}.", name, values[name]))
        return candidate


def as_candidates(argument: str, values: Iterable[Candidate | Mapping[str, Any]]) -> list[Candidate]:
    """Return ``values`` as a new list of candidates; a mapping is converted by :meth:`Candidate.from_mapping`."""
    items = arguments.sequence(argument, values)
    if set(map(type, items)) <= {Candidate}:
        return list(items)
    return [
        item if isinstance(item, Candidate) else Candidate.from_mapping(item, argument=f"{argument}[{index}]")
        for index, item in enumerate(items)
    ]


def as_candidate(argument: str, value: Candidate | Mapping[str, Any]) -> Candidate:
    """Return ``value`` as a candidate; unlike in :func:`as_candidates`, a mapping may lack an id."""
    if isinstance(value, Candidate):
        return value
    if isinstance(value, Mapping):
        value = {**value, "id": value.get("id") or ""}
    return Candidate.from_mapping(value, argument=argument)


def _checked(prefix: str, name: str, value: Any) -> Any:
    check, default = _CHECKS[name]
    return default if value is None and name != "id" else check(prefix + name, value)


_CHECKS_BY_TYPE: dict[str, Callable[[str, Any], Any]] = {
    "str": arguments.text,
    "float": arguments.number,
    "float | None": arguments.number,
    "int | None": arguments.count,
    "datetime | None": arguments.instant,
    "tuple[str, ...]": arguments.names,
    "tuple[Any, ...]": arguments.as_tuple,
    "Mapping[str, Any]": arguments.json_object,
    "tuple[Step, ...]": arguments.as_tuple,
}
_CHECKS: dict[str, tuple[Callable[[str, Any], Any], Any]] = {
    definition.name: (_CHECKS_BY_TYPE[str(definition.type)], field_default(definition))
    for definition in fields(Candidate)
}
_CHECKS["superseded_by"] = arguments.as_tuple, ()  # not names(): the ids come from a store and need no check
BLANK_CANDIDATE = Candidate("")
"""A candidate with default values. Copying it is faster than calling ``Candidate``, which checks every field."""


class _CandidateField(property, Generic[T]):
    """A read-only attribute of a hit, which returns the attribute with the same name of the hit's candidate."""

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
    session = _CandidateField[str]("session", "The conversation or document that the note belongs to, or empty.")
    position = _CandidateField[int | None]("position", "The note's index in its session, from 0.")
    tags = _CandidateField[tuple[str, ...]]("tags", "The note's tags.")
    score = _CandidateField[float]("score", "Orders the hits of one result; not comparable between results.")
    relevance = _CandidateField[float | None]("relevance", "The share of the highest possible fused score, 0 to 1.")
    confidence = _CandidateField[float | None]("confidence", "The probability that the note answers the query.")
    rerank_score = _CandidateField[float | None]("rerank_score", "The reranker's score; ``None`` if not reranked.")
    superseded_by = _CandidateField[tuple[str, ...]]("superseded_by", "The ids of the notes that supersede it.")

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of the note's metadata."""
        return dict(self.candidate.metadata)

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON-ready data."""
        data: dict[str, Any] = {"rank": self.rank, "highlights": [list(span) for span in self.highlights]}
        return {name: data[name] if name in data else to_json(getattr(self.candidate, name)) for name in _HIT_KEYS}


_HIT_KEYS = (
    *("rank", "id", "path", "title", "summary", "snippet", "highlights", "content", "created_at", "importance"),
    *("session", "position", "tags", "metadata", "score", "relevance", "confidence", "rerank_score", "superseded_by"),
    *("lexical_rank", "lexical_score", "vector_rank", "vector_similarity", "contributions", "steps"),
)


class RankedHits(Sequence[Hit]):
    """The hits of a search, best first, as a sequence; base class of local and remote search results."""

    __slots__ = ()
    query: str
    hits: tuple[Hit, ...]

    @property
    @abstractmethod
    def answer_threshold(self) -> float:
        """The confidence, from 0 to 1, that the best hit must reach to count as an answer."""

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
        """For each hit, whether it is weak: user interfaces and MCP tools show weak hits only on demand.

        If the result has no answer, every hit is weak. Else a hit is weak if its confidence is below the answer
        threshold and below a tenth of the best confidence; a hit without a confidence is not weak. A superseded note is
        not weak if a note that supersedes it is a strong hit: together they show what changed.
        """
        if not self.has_answer:
            return [True] * len(self.hits)
        min_confidence = min(self.answer_threshold, WEAK_SHARE * self.best_confidence)
        strong_ids = {hit.id for hit in self.hits if hit.confidence is None or hit.confidence >= min_confidence}
        return [hit.id not in strong_ids and strong_ids.isdisjoint(hit.superseded_by) for hit in self.hits]

    @property
    def strong_hits(self) -> tuple[Hit, ...]:
        """The hits that are not weak, best first."""
        return tuple(hit for hit, weak in zip(self.hits, self.weak_flags, strict=True) if not weak)

    @property
    def weak_hits(self) -> tuple[Hit, ...]:
        """The hits that are weak, best first."""
        return tuple(hit for hit, weak in zip(self.hits, self.weak_flags, strict=True) if weak)

    def __repr__(self) -> str:
        first = [hit.path or hit.id for hit in self.hits[:_MAX_HITS_IN_REPR]]
        names = ", ".join(map(repr, first)) + (", …" if len(self.hits) > _MAX_HITS_IN_REPR else "")
        return f"<{type(self).__name__} {self.query!r}: {len(self.hits)} hits, has_answer={self.has_answer}, [{names}]>"

    def text_with_superseded_notice(self, hit: Hit, text: str | None = None) -> str:
        """Return ``text``, by default the content of a hit; if the note is superseded, with a notice as first line.

        The notice names each superseding note by its path if that note is among the hits, else by its id.
        """
        body = hit.content if text is None else text
        if not hit.superseded_by:
            return body
        path_by_id = {other.id: other.path for other in self.hits}
        names = ", ".join(path_by_id.get(note_id) or note_id for note_id in hit.superseded_by)
        return f"[Out of date: superseded by {names}]\n{body}"

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


def _check_tags(argument: str, value: Any) -> tuple[str, ...]:
    return arguments.names(argument, [value] if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions on notes, which the store applies before ranking.

    A note must meet all conditions that are set: its path starts with ``path_prefix``, it has all of ``tags``, it
    belongs to ``session``, it was created at or after ``created_after`` and before ``created_before``, it was updated
    at or after ``updated_after`` and before ``updated_before``, and its metadata has every key of ``metadata`` with the
    same value.

    >>> Filters.of({"tags": ["tea"], "created_after": "2026-01-01"}).tags
    ('tea',)
    """

    path_prefix: str = field(default="", metadata={"check": arguments.line})
    tags: tuple[str, ...] = field(default=(), metadata={"check": _check_tags})
    session: str | None = field(default=None, metadata={"check": arguments.line})
    created_after: datetime | None = field(default=None, metadata={"check": arguments.instant})
    created_before: datetime | None = field(default=None, metadata={"check": arguments.instant})
    updated_after: datetime | None = field(default=None, metadata={"check": arguments.instant})
    updated_before: datetime | None = field(default=None, metadata={"check": arguments.instant})
    metadata: Mapping[str, Any] = field(default_factory=dict, metadata={"check": arguments.json_object})

    def __post_init__(self) -> None:
        for name, condition in _CONDITIONS.items():
            value = getattr(self, name)
            if value is not condition.default:
                object.__setattr__(self, name, condition.metadata["check"](f"filters.{name}", value))

    def __bool__(self) -> bool:
        return self != _NO_FILTERS

    @classmethod
    def of(cls, value: Filters | Mapping[str, Any] | None) -> Filters:
        """Convert filters, a mapping of condition names to values, or ``None`` (no condition) to :class:`Filters`."""
        if value is None:
            return _NO_FILTERS
        if isinstance(value, Filters):
            return value
        if not isinstance(value, Mapping):
            raise ArgumentTypeError("filters", f"must be Filters or a mapping, got {type(value).__name__}")
        unknown = [name for name in value if name not in _CONDITIONS]
        if unknown:
            names = ", ".join(_CONDITIONS)
            raise ArgumentError("filters", f"has no condition {unknown[0]!r}; the conditions are {names}")
        return cls(**{name: item for name, item in value.items() if item is not None})


_CONDITIONS = {condition.name: condition for condition in fields(Filters)}
_NO_FILTERS = Filters()
