"""A note on its way through a search, and the records of what happened to it.

Records made by the hundred in a single search are named tuples: as immutable as a frozen dataclass, and several
times cheaper to make. A :class:`Candidate` is a plain slotted dataclass for the same reason; no function of
Recollect changes one that it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import UTC, datetime
from math import fsum
from typing import Any, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.model.metadata import NO_METADATA

__all__ = ["Candidate", "Contribution", "Step"]


class Contribution(NamedTuple):
    """What one leg's ranked list gave to a fused score.

    >>> Contribution(leg="lexical", rank=1, score=7.25, points=1 / 61).points
    0.01639344262295082
    """

    leg: str
    """The leg's name: ``lexical``, ``vector``, ``graph`` or the caller's own."""
    rank: int
    """The place in the leg's list, from 1."""
    score: float
    """The raw score in the leg's list."""
    points: float
    """What was added to the fused score."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return self._asdict()


class Step(NamedTuple):
    """What one stage did to a candidate: ``score_after = score_before * factor + addend``.

    >>> step = Step("importance", "importance 0.80", 0.94, 0.0, 0.5, 0.47, 2, 1)
    >>> step.factor * step.score_before + step.addend == step.score_after
    True
    """

    stage: str
    """The stage's name."""
    reason: str
    """Why, in words for a person."""
    factor: float
    """What the score was multiplied by; 1 where nothing was."""
    addend: float
    """What was then added to it; 0 where nothing was."""
    score_before: float
    """The score that came in."""
    score_after: float
    """The score that went out."""
    rank_before: int
    """The candidate's place before the stage, from 1."""
    rank_after: int
    """Its place after the whole stage, from 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return self._asdict()

    def to_trace(self) -> dict[str, Any]:
        """Return the record as JSON-ready data with the names of a trace, which are in camelCase."""
        return {
            "stage": self.stage,
            "reason": self.reason,
            "factor": self.factor,
            "addend": self.addend,
            "scoreBefore": self.score_before,
            "scoreAfter": self.score_after,
            "rankBefore": self.rank_before,
            "rankAfter": self.rank_after,
        }


_TEXT = frozenset((str,))
_RECORD = frozenset((tuple,))
_RANK = frozenset((int, type(None)))
_NUMBER = frozenset((float, type(None)))


@dataclass(slots=True)
class Candidate:
    """A note on its way through a search, with all that is known of how it got where it is.

    Only ``id`` is required. ``None`` counts as missing, and dates may be ISO-8601 strings. :attr:`contributions` says
    what each leg gave to the fused score, ``steps`` what each stage did to it afterwards; together they account for
    ``score``.

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
    importance: float = 0.5
    session: str = ""
    position: int | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA)
    """The note's metadata; metadata from a store is decoded when it is first read."""
    rerank_score: float | None = None
    confidence: float | None = None
    """The probability, from 0 to 1, that the note answers the query."""
    superseded_by: tuple[str, ...] = ()
    """The ids of the notes that replaced it."""
    inherited_relevance: float | None = None
    """The best relevance of the notes that it supersedes, where that is more than its own."""
    inherited_confidence: float | None = None
    """The best confidence of the notes that it supersedes, where that is more than its own."""
    ceiling: float | None = None
    """The most that any candidate could have got in the fusion that this one comes from."""
    evidence: tuple[Any, ...] = ()
    """The contributions laid flat: leg, rank, raw score and points of the first, then of the second, and so on."""
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        """Check what a caller passed; the usual types pass at a glance."""
        texts = self.id, self.path, self.title, self.summary, self.content, self.snippet, self.session
        ranks = self.lexical_rank, self.vector_rank, self.position
        numbers = self.lexical_score, self.vector_similarity, self.rerank_score, self.confidence, self.ceiling
        inherited = self.inherited_relevance, self.inherited_confidence
        dates = self.created_at, self.last_accessed_at
        if (
            _TEXT.issuperset(map(type, texts))
            and type(self.score) is type(self.importance) is float
            and self.score - self.score == 0.0 == self.importance - self.importance  # both are finite
            and _RANK.issuperset(map(type, ranks))
            and _NUMBER.issuperset(map(type, numbers))
            and _NUMBER.issuperset(map(type, inherited))
            and _RECORD.issuperset(map(type, (self.evidence, self.steps, self.superseded_by)))
            and self.tags == ()
            and self.metadata is NO_METADATA  # what a caller passes is checked
            and all(date is None or (type(date) is datetime and date.tzinfo is UTC) for date in dates)
        ):
            return
        for name in _CHECKS:
            setattr(self, name, _checked("", name, getattr(self, name)))

    @property
    def in_keyword(self) -> bool:
        """Whether the lexical leg found it."""
        return self.lexical_rank is not None

    @property
    def in_semantic(self) -> bool:
        """Whether the vector leg found it."""
        return self.vector_rank is not None

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """What each leg gave to the fused score."""
        flat = iter(self.evidence)
        return tuple(map(Contribution, flat, flat, flat, flat))

    @property
    def relevance(self) -> float | None:
        """The fused score on a scale from 0 to 1: its share of the ceiling; ``None`` before fusion.

        A note that supersedes others has at least their relevance: it takes over what they matched.
        """
        if self.inherited_relevance is None:
            return self.own_relevance
        return max(self.inherited_relevance, self.own_relevance or 0.0)

    @property
    def own_relevance(self) -> float | None:
        """The relevance of the note itself, without that of notes that it supersedes."""
        if self.ceiling is None:
            return None
        fused = fsum(self.evidence[3::4])
        return min(1.0, fused / self.ceiling) if self.ceiling > 0 else 0.0

    def copy(self) -> Candidate:
        """Return a copy, field by field: a search makes hundreds, and nothing in Python makes them quicker."""
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
        """Return a copy with another score and, behind those there are, the steps that led to it.

        >>> Candidate("n1", score=0.5).rescored(0.4).score
        0.4
        """
        copied = self.copy()
        copied.score = score
        copied.steps = (*self.steps, *steps)
        return copied

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], *, argument: str = "candidate") -> Candidate:
        """Make a candidate from a mapping with its field names as keys; other keys are passed over.

        >>> Candidate.from_mapping({"id": "n1", "score": 2, "created_at": "2026-04-18"}).created_at.year
        2026
        """
        if not isinstance(values, Mapping):
            raise ArgumentTypeError(argument, f"must be a mapping with a candidate's keys, got {type(values).__name__}")
        if "id" not in values:
            raise ArgumentError(argument, "has no 'id'")
        made = cls("")
        for name in _CHECKS:
            if name in values and name not in ("evidence", "steps"):
                setattr(made, name, _checked(f"{argument}.", name, values[name]))
        return made


def as_candidates(argument: str, values: Iterable[Candidate | Mapping[str, Any]]) -> list[Candidate]:
    """Return ``values`` as a new list of candidates; mappings with a candidate's keys become candidates."""
    found = arguments.sequence(argument, values)
    if set(map(type, found)) <= {Candidate}:
        return list(found)
    return [_from_any(f"{argument}[{position}]", value) for position, value in enumerate(found)]


def as_candidate(argument: str, value: Candidate | Mapping[str, Any]) -> Candidate:
    """Return ``value`` as a candidate; on its own, outside a list, it needs no id."""
    if isinstance(value, Mapping):
        value = {**value, "id": value.get("id") or ""}
    return _from_any(argument, value)


def _checked(prefix: str, name: str, value: Any) -> Any:
    check, default = _CHECKS[name]
    return default if value is None and name != "id" else check(prefix + name, value)


def _from_any(argument: str, value: Any) -> Candidate:
    if isinstance(value, Candidate):
        return value
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(argument, f"must be a Candidate or a mapping with its keys, got {type(value).__name__}")
    return Candidate.from_mapping(value, argument=argument)


_CHECKS_BY_TYPE: dict[str, Callable[[str, Any], Any]] = {
    "str": arguments.text,
    "float": arguments.number,
    "float | None": arguments.number,
    "int | None": arguments.count,
    "datetime | None": arguments.instant,
    "tuple[str, ...]": arguments.names,
    "tuple[Any, ...]": arguments.record,
    "Mapping[str, Any]": arguments.json_object,
    "tuple[Step, ...]": arguments.record,
}


def _default(definition: Field[Any]) -> Any:
    if definition.default_factory is not MISSING:
        return definition.default_factory()
    return None if definition.default is MISSING else definition.default


_CHECKS = {
    definition.name: (_CHECKS_BY_TYPE[str(definition.type)], _default(definition))
    for definition in fields(Candidate)
    if str(definition.type) in _CHECKS_BY_TYPE
}
"""For each field that a caller may set: how it is checked, and what it is when it is missing."""
