"""A candidate of a search, and the records that explain its score.

A search creates hundreds of these. So records are named tuples, which are cheaper to create than frozen dataclasses,
and :class:`Candidate` is a slotted dataclass that is not frozen; functions return changed copies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from math import fsum
from typing import Any, NamedTuple

from recollect import arguments
from recollect.arguments import with_deep_stack
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.model.note import DEFAULT_IMPORTANCE, field_default


class Contribution(NamedTuple):
    """What one leg added to a fused score.

    >>> Contribution(leg="lexical", rank=1, score=7.25, points=1 / 61).points
    0.01639344262295082
    """

    leg: str
    """The leg's name: ``lexical``, ``vector``, ``graph`` or the caller's own."""
    rank: int
    """The rank in the leg's list, from 1."""
    score: float
    """The raw score in the leg's list."""
    points: float
    """The addend of the fused score."""

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
    """The reason, as a text for people."""
    factor: float
    """The multiplier of the score; 1 if there is none."""
    addend: float
    """The addend after multiplication; 0 if there is none."""
    score_before: float
    """The score before the stage."""
    score_after: float
    """The score after the stage."""
    rank_before: int
    """The rank before the stage, from 1."""
    rank_after: int
    """The rank after the stage, from 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return self._asdict()

    def to_trace(self) -> dict[str, Any]:
        """Return the record as JSON-ready data with the camelCase names of a trace."""
        return dict(zip(_TRACE_NAMES, self, strict=True))


_TRACE_NAMES = ("stage", "reason", "factor", "addend", "scoreBefore", "scoreAfter", "rankBefore", "rankAfter")


class StoredMetadata(Mapping[str, Any]):
    """A read-only mapping over a JSON object that is decoded when it is first read.

    A search fetches hundreds of candidates and shows few: decoding all metadata would take longer than fetching it.

    >>> metadata = StoredMetadata('{"author": "Ines", "pages": 3}')
    >>> metadata["author"], len(metadata), dict(metadata) == metadata
    ('Ines', 2, True)
    """

    __slots__ = ("_json", "_values")

    def __init__(self, text: str = "{}") -> None:
        self._json = text
        self._values: dict[str, Any] | None = None

    def _decoded(self) -> dict[str, Any]:
        if self._values is None:
            self._values = with_deep_stack(lambda: json.loads(self._json))
        return self._values

    def __getitem__(self, key: str) -> Any:
        return self._decoded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def __bool__(self) -> bool:
        return self._json != "{}"

    def __repr__(self) -> str:
        return repr(self._decoded())


NO_METADATA = StoredMetadata()


def stored_metadata(text: str) -> StoredMetadata:
    """Return the metadata in a JSON text; notes without metadata share :data:`NO_METADATA`.

    >>> stored_metadata("{}") is NO_METADATA
    True
    """
    return NO_METADATA if text == "{}" else StoredMetadata(text)


_TEXT = frozenset((str,))
_RECORD = frozenset((tuple,))
_RANK = frozenset((int, type(None)))
_NUMBER = frozenset((float, type(None)))


@dataclass(slots=True)
class Candidate:
    """A note that a search considers, with the record of its score.

    Only ``id`` is required. ``None`` counts as missing, and dates may be ISO-8601 strings. ``score`` is the sum of
    :attr:`contributions`, the addends of the legs, changed by ``steps``, the effects of the stages.

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
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA)
    rerank_score: float | None = None
    confidence: float | None = None
    """The probability, from 0 to 1, that the note answers the query."""
    superseded_by: tuple[str, ...] = ()
    """The ids of the notes that supersede it."""
    inherited_relevance: float | None = None
    """The best relevance of the notes that it supersedes, if that is higher than its own."""
    inherited_confidence: float | None = None
    """The best confidence of the notes that it supersedes, if that is higher than its own."""
    ceiling: float | None = None
    """The highest score that the fusion could have given to any candidate."""
    evidence: tuple[Any, ...] = ()
    """The contributions as one flat tuple: leg, rank, raw score and points of the first, then of the second, …"""
    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
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
            and self.metadata is NO_METADATA  # metadata of callers is checked
            and all(date is None or (type(date) is datetime and date.tzinfo is UTC) for date in dates)
        ):
            return
        for name in _CHECKS:
            setattr(self, name, _checked("", name, getattr(self, name)))

    @property
    def in_keyword(self) -> bool:
        """Whether the lexical leg returned it."""
        return self.lexical_rank is not None

    @property
    def in_semantic(self) -> bool:
        """Whether the vector leg returned it."""
        return self.vector_rank is not None

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """What each leg added to the fused score."""
        flat = iter(self.evidence)
        return tuple(map(Contribution, flat, flat, flat, flat))

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
        """The relevance without that of superseded notes."""
        if self.ceiling is None:
            return None
        fused = fsum(self.evidence[3::4])
        return min(1.0, fused / self.ceiling) if self.ceiling > 0 else 0.0

    def copy(self) -> Candidate:
        """Return a copy. Written out field by field: the quickest way, and a search makes hundreds."""
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
        """Return a copy with another score and further steps.

        >>> Candidate("n1", score=0.5).rescored(0.4).score
        0.4
        """
        copied = self.copy()
        copied.score = score
        copied.steps = (*self.steps, *steps)
        return copied

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], *, argument: str = "candidate") -> Candidate:
        """Return a candidate from a mapping with its field names as keys; other keys are ignored.

        >>> Candidate.from_mapping({"id": "n1", "score": 2, "created_at": "2026-04-18"}).created_at.year
        2026
        """
        if not isinstance(values, Mapping):
            raise ArgumentTypeError(argument, f"must be a mapping with a candidate's keys, got {type(values).__name__}")
        if "id" not in values:
            raise ArgumentError(argument, "has no 'id'")
        candidate = cls("")
        for name in _CHECKS:
            if name in values and name not in ("evidence", "steps"):
                setattr(candidate, name, _checked(f"{argument}.", name, values[name]))
        return candidate


def as_candidates(argument: str, values: Iterable[Candidate | Mapping[str, Any]]) -> list[Candidate]:
    """Return ``values`` as a new list of candidates; mappings with a candidate's keys become candidates."""
    items = arguments.sequence(argument, values)
    if set(map(type, items)) <= {Candidate}:
        return list(items)
    return [_from_any(f"{argument}[{index}]", value) for index, value in enumerate(items)]


def as_candidate(argument: str, value: Candidate | Mapping[str, Any]) -> Candidate:
    """Return ``value`` as a candidate; unlike in a list, the id may be missing."""
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


_CHECKS = {
    definition.name: (_CHECKS_BY_TYPE[str(definition.type)], field_default(definition))
    for definition in fields(Candidate)
    if str(definition.type) in _CHECKS_BY_TYPE
}
"""The check and the default of each field."""
