"""The sections of a preset: plain data that checks itself, whether it is made in code or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.fusion import DEFAULT_K
from recollect.fusion.pool import LEGS, Ties
from recollect.query.expressions import Semantics
from recollect.retrieval.stages import check_stage

__all__ = [
    "ContextRules",
    "FusionRules",
    "GraphRules",
    "LadderRules",
    "QueryRules",
    "RerankRules",
    "Section",
    "StageRules",
    "checked",
]

_LARGEST = 1000
_MANY = 10**6


def checked(default: Any, check: Callable[[str, Any], Any]) -> Any:
    """Return a field with a default and what a value is checked by."""
    return field(default=default, metadata={"check": check})


def _table_of(check: Callable[[str, Any], Any]) -> Any:
    """Return a field that holds a table of weights, empty by default."""
    return field(default_factory=dict, metadata={"check": check})


def _one_of(*choices: str) -> Callable[[str, Any], str]:
    return lambda argument, value: arguments.choice(argument, value, choices)


def number_between(at_least: float, at_most: float = inf) -> Callable[[str, Any], float]:
    """Return a check of numbers."""
    return partial(arguments.number, at_least=at_least, at_most=at_most)


def _count_between(at_least: int, at_most: int) -> Callable[[str, Any], int]:
    def check(argument: str, value: Any) -> int:
        number = arguments.count(argument, value)
        if not at_least <= number <= at_most:
            raise ArgumentError(argument, f"must lie between {at_least} and {at_most}, got {number}")
        return number

    return check


def _damping(argument: str, value: Any) -> float:
    """Return the constant of reciprocal ranks; 0 means the paper's, here as everywhere."""
    return number_between(0, _MANY)(argument, value) or float(DEFAULT_K)


def _weights(*known: str, at_least: float = 0) -> Callable[[str, Any], Mapping[str, float]]:
    """Return a check of weights by name; where none is known, every name is."""

    def check(argument: str, value: Any) -> Mapping[str, float]:
        if not isinstance(value, Mapping):
            raise ArgumentTypeError(argument, f"must be a table of weights, got {type(value).__name__}")
        for name in value:
            arguments.name(f"a name in {argument}", name)
            if known and name not in known:
                raise ArgumentError(argument, f"has no {name!r}; there are {', '.join(known)}")
        weight = number_between(at_least, _LARGEST)
        return MappingProxyType({name: weight(f"{argument}.{name}", held) for name, held in value.items()})

    return check


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table of settings, each with its check."""

    table: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check each setting."""
        for each in fields(self):
            value = each.metadata["check"](f"{self.table}.{each.name}", getattr(self, each.name))
            object.__setattr__(self, each.name, value)

    def changed(self, settings: Any) -> Self:
        """Return the section with what a mapping says of it."""
        if isinstance(settings, type(self)):
            return settings
        if not isinstance(settings, Mapping):
            raise ArgumentTypeError(self.table, f"must be a table of settings, got {type(settings).__name__}")
        known = [each.name for each in fields(self)]
        for name in settings:
            if name not in known:
                raise ArgumentError(self.table, f"has no setting {name!r}; there are {', '.join(known)}")
        return replace(self, **settings)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        held = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in held.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRules(Section):
    """How a person's words are read.

    >>> QueryRules().reading
    'strict'
    """

    table: ClassVar[str] = "query"
    reading: Semantics = checked("strict", _one_of("strict", "literal"))
    """``strict``: exclusion means exclusion, in every leg; ``literal``: as the source documents have it."""
    match: Literal["any", "all_then_any"] = checked("any", _one_of("any", "all_then_any"))
    """``any`` word may match; ``all_then_any``: all must, and only where that finds nothing, any may."""
    stopwords_alone: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether a query of nothing but stopwords is searched with its words after all."""
    most_words: int = checked(128, _count_between(0, _MANY))
    """How many words of a long text are looked for; 0 for all."""
    question_operators: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether AND, OR and NOT in capitals are operators inside an ordinary question, too; if not, they are words."""
    short_words: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether words of one or two characters that name something, such as 5, 2b, QA or C#, are looked for."""
    other_forms: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether numbers, identifiers and names that no note holds are looked for in other forms: 1240 as 1,240."""
    stem_only_weight: float = checked(1.0, number_between(0, 1))
    """The weight of a lexical match that shares only the stem with the query's word; an exact match has weight 1."""
    common: float = checked(1.0, number_between(0, 1))
    """A word that more than this share of the notes hold is left out of the query's vector; 1: none is."""
    time_only: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether a query that names a time and nothing else, such as "what happened in August", finds the notes of that
    time; it needs the stage ``time_match``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRules(Section):
    """What is tried when the words find nothing.

    >>> LadderRules(on=False).on
    False
    """

    table: ClassVar[str] = "ladder"
    on: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    titles: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether the last rung compares titles, too, and not only the last part of paths."""
    vocabulary: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether misspelt words are replaced by those of the index that are most like them."""
    skip_stopwords: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether a fallback step whose words are all stopwords is left out."""
    strict_guesses: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether a guess must be near the word, words with a digit are never guessed, the words that were not replaced
    still count in coverage, and a warning names the fallback query."""
    trust: float = checked(1.0, number_between(0, 1))
    """What the lexical leg counts, as a share of its weight, where it could only guess which words were meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionRules(Section):
    """How the lists of several legs become one.

    >>> FusionRules(method="convex", weights={"vector": 0.5}).weights["vector"]
    0.5
    """

    table: ClassVar[str] = "fusion"
    method: Literal["rrf", "convex"] = checked("rrf", _one_of("rrf", "convex"))
    k: float = checked(DEFAULT_K, _damping)
    rank_base: int = checked(1, _count_between(0, 1))
    ties: Ties = checked("path", _one_of("path", "id", "first_seen"))
    weights: Mapping[str, float] = _table_of(_weights(*LEGS))
    """What each leg counts; 1 for those that are not named."""
    least: Mapping[str, float] = _table_of(_weights(*LEGS, at_least=-_LARGEST))
    """In a convex combination, the raw score of a leg that counts as 0; the worst in its list where none is named."""
    by_strength: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether the vector leg counts less where its model is known to be weak."""
    score_union: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    """Whether both legs score every candidate, including those that only the other leg retrieved."""
    chunk_penalty: float = checked(0.0, number_between(0, 1))
    """What a note of several chunks loses in the vector leg, times the natural logarithm of their number, as a share of
    the span between the leg's best score and its last: the best of many chunks is nearer by chance."""
    deviations: float = checked(0.0, number_between(0, _LARGEST))
    """How many standard deviations above the background a similarity must lie to count in full; 0: the best similarity
    always counts in full. Where no similarity is an outlier, the lexical leg has more influence."""

    @property
    def scales_similarities(self) -> bool:
        """Whether the scores of the vector leg are counted from the background of the query."""
        return self.score_union or self.chunk_penalty > 0 or self.deviations > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRules(Section):
    """How the best notes are read more closely: turns with those beside them, long notes piece by piece.

    >>> ContextRules(on=True).previous
    0.5
    """

    table: ClassVar[str] = "context"
    on: bool = checked(False, arguments.flag)  # noqa: FBT003 (the setting's default)
    seeds: int = checked(5, _count_between(1, _LARGEST))
    """How many of the best notes of each leg are read with those beside them."""
    reach: int = checked(2, _count_between(1, 10))
    """How many places before and behind a note count as beside it."""
    previous: float = checked(0.5, number_between(0, 1))
    """What a word of the note before counts, where one of the note itself counts 1; half of it a place further on."""
    next: float = checked(0.3, number_between(0, 1))
    """What a word of the note behind counts."""
    passage: float = checked(0.5, number_between(0, 1))
    """What the best piece of a long note counts, as a share; the rest is what the note as a whole counts."""
    k1: float = checked(0.8, number_between(0, 10))
    """How soon a word that is repeated stops to count more."""
    b: float = checked(0.4, number_between(0, 1))
    """How much long notes are marked down; 0: not at all."""
    coverage: float = checked(0.0, number_between(0, 10))
    """The exponent of coverage, the share of the query's term weights that a note holds, by which a lexical score is
    multiplied; 0: not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRules(Section):
    """How notes that are connected with what was found come in.

    >>> GraphRules(use="addition", edges={"next": 0.3}).edges["next"]
    0.3
    """

    table: ClassVar[str] = "graph"
    use: Literal["off", "source", "multiplier", "addition"] = checked(
        "off", _one_of("off", "source", "multiplier", "addition")
    )
    """As one more list to fuse (``source``), as a factor (``multiplier``), or as score that is lent (``addition``)."""
    spread: Literal["one_hop", "random_walk"] = checked("one_hop", _one_of("one_hop", "random_walk"))
    weight: float = checked(1.0, number_between(0, _LARGEST))
    """What a loan counts; as a source, the leg's weight in the fusion does that."""
    seeds: int = checked(10, _count_between(1, _LARGEST))
    """How many of the best notes lend."""
    reach: int = checked(1, _count_between(1, 10))
    """How many places before and behind a note count as beside it."""
    hubs: float = checked(0.0, number_between(0, 1))
    """To which power a loan is divided by the number of edges at either end; 0: not at all."""
    lift: float = checked(0.0, number_between(0, _LARGEST))
    """Loans that are added lift a note no higher than this share of the best score that it was lent from; 0: as high as
    they may."""
    own: float = checked(0.0, number_between(0, 1))
    """A note gets the whole of loans that are added only if its own score is at least this share of the best score that
    it was lent from; less has less; 0: it gets them anyway."""
    damping: float = checked(0.5, number_between(0, 1))
    """The chance that a random walk goes on."""
    edges: Mapping[str, float] = _table_of(_weights())
    """What each kind of edge counts: previous, next, session, mention, entity, a link's kind, or ``link`` for all that
    are not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRules(Section):
    """When a second-stage reranker runs.

    >>> RerankRules().agree_min
    2
    """

    table: ClassVar[str] = "rerank"
    on: bool = checked(True, arguments.flag)  # noqa: FBT003 (the setting's default)
    agree_min: int = checked(2, _count_between(0, 3))
    """On how many of the first three places both legs must agree for it to be spared; 0: it never is."""
    characters: int = checked(0, _count_between(0, _MANY))
    """How much of a note's content it reads behind title and summary; 0: content only where there is neither."""


class StageRules(NamedTuple):
    """A stage and its constants.

    >>> StageRules("importance", {"base": 0.7, "slope": 0.3}).to_dict()
    {'stage': 'importance', 'base': 0.7, 'slope': 0.3}
    """

    stage: str
    settings: Mapping[str, Any] = MappingProxyType({})

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as a table of TOML."""
        return {"stage": self.stage, **self.settings}

    @classmethod
    def of(cls, argument: str, value: Any) -> StageRules:
        """Return ``value``, a stage or a table with its name and constants, as a stage that is known to work."""
        told = value.to_dict() if isinstance(value, StageRules) else value
        if not isinstance(told, Mapping) or not isinstance(told.get("stage"), str):
            raise ArgumentError(argument, 'must be a table that names a stage, such as stage = "importance"')
        settings = {name: held for name, held in told.items() if name != "stage"}
        check_stage(argument, told["stage"], settings)
        return cls(told["stage"], MappingProxyType(settings))


def stages(argument: str, value: Any) -> tuple[StageRules, ...]:
    """Return ``value`` as stages in their order."""
    return tuple(
        StageRules.of(f"{argument}[{place}]", each) for place, each in enumerate(arguments.sequence(argument, value))
    )
