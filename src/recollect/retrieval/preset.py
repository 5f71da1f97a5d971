"""Presets: complete configurations of the search pipeline, and the built-in presets at the end of the module.

A preset has a section of settings for each step, and the stages after fusion in their order. It is plain data, made in
code or read from TOML. Each section checks its settings; an error names the wrong setting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.fusion.base import FusionRules
from recollect.query.expressions import Semantics
from recollect.ranking import (
    STAGES,
    Duplicates,
    ExactTerm,
    ImportancePrior,
    IntentWeights,
    SessionLift,
    SpeakerTurns,
    Stage,
    Superseded,
    Temporal,
    TimeMatch,
)
from recollect.settings import Settings, count, flag, number, one_of, setting, weight_table


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRules(Settings):
    """How a query is parsed.

    >>> QueryRules().semantics
    'strict'
    """

    table: ClassVar[str] = "query"
    semantics: Semantics = setting("strict", one_of("strict", "literal"))
    """``strict``: NOT excludes notes in every leg; ``literal``: only the lexical leg handles NOT, as FTS5 does."""
    match: Literal["any", "all_then_any"] = setting("any", one_of("any", "all_then_any"))
    """``any``: a note must match one term; ``all_then_any``: all terms, or if no note matches all of them, one term."""
    stopwords_alone: bool = flag(default=True)
    """Whether the stopwords of a query that has only stopwords are searched for."""
    max_words: int = setting(128, count())
    """How many words of a long query the lexical leg searches for; 0 means all."""
    question_operators: bool = flag(default=True)
    """Whether AND, OR and NOT in capitals are operators even in a question; if false, they are words in a question."""
    short_words: bool = flag(default=False)
    """Whether words of one or two characters that name something, such as 5, 2b, QA or C#, are search terms."""
    other_forms: bool = flag(default=False)
    """Whether numbers, identifiers and names that no note contains are also searched in other forms: 1240 as 1,240."""
    stem_only_weight: float = setting(1.0, number(0, 1))
    """The weight of a lexical match that shares only the stem with the query's word; an exact match has weight 1."""
    max_document_frequency: float = setting(1.0, number(0, 1))
    """If more than this share of the notes contain a term, the term is left out of the query text that is embedded."""
    time_only: bool = flag(default=False)
    """Whether a query that names nothing but a time, such as "what happened in August", retrieves the notes of that
    time; the preset must have the stage ``time_match``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRules(Settings):
    """The fallback ladder: the queries that the lexical leg tries if the user's query finds nothing.

    >>> LadderRules(on=False).on
    False
    """

    table: ClassVar[str] = "ladder"
    on: bool = flag(default=True)
    titles: bool = flag(default=True)
    """Whether the last step compares the query with titles as well as with the last part of paths."""
    vocabulary: bool = flag(default=True)
    """Whether misspelt words are replaced by the most similar terms of the index."""
    skip_stopwords: bool = flag(default=True)
    """Whether a step whose words are all stopwords is skipped."""
    strict_guesses: bool = flag(default=False)
    """If true: a correction must be close to the word; words with a digit are not compared with note names; a word that
    the fallback dropped without a replacement still counts in coverage; a warning names the fallback query."""
    guess_weight: float = setting(1.0, number(0, 1))
    """Multiplies the lexical leg's weight if its results come from a corrected spelling or a similar note name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRules(Settings):
    """Context rescoring: turns are scored with the turns beside them, long notes with their best chunk.

    >>> ContextRules(on=True).previous
    0.5
    """

    table: ClassVar[str] = "context"
    on: bool = flag(default=False)
    seeds: int = setting(5, count(1, 1000))
    """How many of the best notes of each leg are rescored with their neighbours."""
    reach: int = setting(2, count(1, 10))
    """Notes of the same session at most this many positions before or after a note are its neighbours."""
    previous: float = setting(0.5, number(0, 1))
    """The weight of a term in the previous note; it halves with each further position."""
    next: float = setting(0.3, number(0, 1))
    """The weight of a term in the next note; it halves in the same way."""
    passage: float = setting(0.5, number(0, 1))
    """The share of the best chunk in the score of a long note; the rest is the score of the whole note."""
    k1: float = setting(0.8, number(0, 10))
    """The term frequency saturation of BM25."""
    b: float = setting(0.4, number(0, 1))
    """The length normalisation of BM25."""
    coverage: float = setting(0.0, number(0, 10))
    """A lexical score is multiplied by coverage to the power of this exponent; 0 means no change. Coverage is the share
    of the query's terms that the note contains, weighted by inverse document frequency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRules(Settings):
    """How edges between notes change scores and add candidates.

    >>> GraphRules(use="addition", edges={"next": 0.3}).edges["next"]
    0.3
    """

    table: ClassVar[str] = "graph"
    use: Literal["off", "source", "multiplier", "addition"] = setting(
        "off", one_of("off", "source", "multiplier", "addition")
    )
    """How the score that notes pass on along edges (a transfer) is used. ``source``: as one more list to fuse;
    ``multiplier``: as a factor of the score; ``addition``: as an addend."""
    weight: float = setting(1.0, number(0, 1000))
    """The weight of transfers; ``source`` uses the weight of the leg ``graph`` in the fusion instead."""
    seeds: int = setting(10, count(1, 1000))
    """How many of the best notes transfer a share of their score."""
    reach: int = setting(1, count(1, 10))
    """Notes of the same session at most this many positions before or after a note are its neighbours."""
    degree_penalty: float = setting(0.0, number(0, 1))
    """A transfer is divided by the product of the neighbour counts of both notes to this power; 0 means no change."""
    max_lift: float = setting(0.0, number(0, 1000))
    """``addition`` lifts a note to at most this share of the best score of its source notes; 0 means no limit."""
    min_own_score_ratio: float = setting(0.0, number(0, 1))
    """If the note's own score is below this share of the best score of its source notes, ``addition`` adds
    proportionally less; 0 means that transfers are always added in full."""
    edges: Mapping[str, float] = weight_table()
    """The weight of each kind of edge: previous, next, session, mention, entity, or the kind of a link; ``link`` is the
    weight of all kinds that are not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankRules(Settings):
    """When a second-stage reranker runs, what it reads, and how much its scores count.

    >>> RerankRules().agree_min
    2
    """

    table: ClassVar[str] = "rerank"
    on: bool = flag(default=True)
    agree_min: int = setting(2, count(0, 3))
    """The reranker is skipped if both legs have the same note at this many of the first three ranks; 0: no check."""
    characters: int = setting(0, count())
    """How many characters of the content the reranker reads after title and summary. 0 means that it reads the content
    only if the note has neither title nor summary."""
    passages: int = setting(0, count(0, 20))
    """In how many passages a note of more than ``characters`` is read; the best score of a passage counts. With 0, the
    note's beginning is read, and the reranker is skipped if most of the notes are that long."""
    previous: int = setting(0, count(0, 10))
    """The reranker reads a note with the questions in this many notes before it in its session."""
    blend: float = setting(1.0, number(0, 1))
    """The weight of the reranker's score in a note's new score. With 1, the reranker alone orders the notes,
    and scores do not change."""
    passage_blend: float = setting(1.0, number(0, 1))
    """The same weight if most of the notes are longer than ``characters``: a passage says less than a whole note."""
    max_margin: float = setting(0.0, number(0, 1))
    """The reranker is skipped if the best note leads by more than this share of the highest possible score; 0: no
    check."""
    budget_ms: float = setting(0.0, number(0, 600_000))
    """The target time for reranking, in milliseconds; 0 means no limit. From the third run on, the reranker reads only
    as many notes as its average speed allows."""


def stage_from(argument: str, value: Any) -> Stage:
    """Return ``value`` as a stage: it is a stage, or a table with the name and settings of a stage."""
    if isinstance(value, Stage):
        return value
    if not isinstance(value, Mapping) or not isinstance(value.get("stage"), str):
        raise ArgumentError(argument, 'must be a table that names a stage, such as stage = "importance"')
    settings = dict(value)
    name = arguments.choice(f"{argument}.stage", settings.pop("stage"), tuple(STAGES))
    setting_names = STAGES[name].names()
    for setting_name in settings:
        if setting_name not in setting_names:
            available = f"there are {', '.join(setting_names)}" if setting_names else "it has none"
            raise ArgumentError(argument, f"the stage {name} has no setting {setting_name!r}; {available}")
    try:
        return STAGES[name](**settings)
    except ArgumentError as error:
        raise ArgumentError(f"{argument}.{error.argument}", error.problem) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A complete configuration of the search pipeline.

    >>> from recollect.retrieval import presets
    >>> presets()["memini"].fusion.k
    5.0
    """

    name: str
    about: str = ""
    query: QueryRules = field(default_factory=QueryRules)
    ladder: LadderRules = field(default_factory=LadderRules)
    fusion: FusionRules = field(default_factory=FusionRules)
    context: ContextRules = field(default_factory=ContextRules)
    graph: GraphRules = field(default_factory=GraphRules)
    stages: tuple[Stage, ...] = ()
    rerank: RerankRules = field(default_factory=RerankRules)
    candidate_k: int = 60
    """How many notes each leg retrieves before fusion, if a search sets no ``candidate_k``."""
    min_confidence: float = 0.0
    """The lowest confidence of a hit, from 0 to 1; candidates below it are dropped."""
    answer_threshold: float = 0.0
    """The lowest confidence at which the best hit counts as an answer, from 0 to 1; with 0 it always does."""

    def __post_init__(self) -> None:
        arguments.name("name", self.name)
        arguments.line("about", self.about)
        tables = arguments.sequence("stages", self.stages)
        stages = tuple(stage_from(f"stages[{index}]", table) for index, table in enumerate(tables))
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "candidate_k", arguments.at_least_one("candidate_k", self.candidate_k))
        for name in ("min_confidence", "answer_threshold"):
            object.__setattr__(self, name, number(0, 1)(name, getattr(self, name)))
        for name, section_type in _SECTIONS.items():
            section = getattr(self, name)
            if not isinstance(section, section_type):
                raise ArgumentTypeError(name, f"must be {section_type.__name__}, got {type(section).__name__}")

    def __reduce__(self) -> tuple[Any, ...]:
        return preset_from_dict, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Return the preset as plain data, from which TOML or JSON can be written."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        data |= {name: getattr(self, name).to_dict() for name in _SECTIONS}
        return data | {"stages": [stage.to_dict() for stage in self.stages]}

    def to_toml(self) -> str:
        """Return the preset as TOML, a starting point for your own presets."""
        import tomli_w  # noqa: PLC0415 (only needed here)

        return tomli_w.dumps(self.to_dict())


_SECTIONS: dict[str, type[Settings]] = {
    "query": QueryRules,
    "ladder": LadderRules,
    "fusion": FusionRules,
    "context": ContextRules,
    "graph": GraphRules,
    "rerank": RerankRules,
}
_PLAIN_FIELDS = ("name", "about", "candidate_k", "min_confidence", "answer_threshold")
_FIELD_NAMES = [entry.name for entry in fields(Preset)]


def changed_preset(base: Preset, changes: Mapping[str, Any]) -> Preset:
    """Return a copy of ``base`` with changed fields.

    Settings of a section that ``changes`` does not name keep their value. ``stages`` is replaced as a whole.
    """
    values = dict(changes)
    for name, value in changes.items():
        if name not in _FIELD_NAMES:
            raise ArgumentError(name, f"is no part of a preset; the parts are base, {', '.join(_FIELD_NAMES)}")
        if name in _SECTIONS:
            values[name] = getattr(base, name).changed(value)
    return replace(base, **values)


def preset_from_dict(data: Mapping[str, Any]) -> Preset:
    """Return the preset whose :meth:`Preset.to_dict` is ``data``."""
    return changed_preset(Preset(name=data["name"]), data)


def _preset_from_toml(path: Path) -> Preset:
    """Return the preset in a TOML file; its key ``base`` names the preset that it changes, by default ``default``."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError("preset", f"{path} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError("preset", f"{path} is not TOML: {error}") from None
    base = data.pop("base", "default")
    if not isinstance(base, str) or base not in _PRESETS:
        raise ArgumentError("preset", f"{path}: base must be one of {', '.join(_PRESETS)}, got {base!r}")
    try:
        return changed_preset(_PRESETS[base], {"name": path.stem, "about": "", **data})
    except ArgumentError as error:
        raise ArgumentError("preset", f"{path}: {error}") from None


PresetSpec: TypeAlias = "Preset | str | PathLike[str]"
"""A preset, the name of a built-in preset, or the path of a TOML file."""

_LITERAL_QUERY = QueryRules(semantics="literal", stopwords_alone=False, max_words=1000)
_NO_LADDER = LadderRules(on=False, titles=False, vocabulary=False, skip_stopwords=False)
_NO_RERANK = RerankRules(on=False)

DEFAULT = Preset(
    name="default",
    about="lexical, vector and graph search, context rescoring; exclusions in every leg; superseded notes rank lower",
    query=QueryRules(
        max_document_frequency=0.45,
        question_operators=False,
        short_words=True,
        other_forms=True,
        stem_only_weight=0.1,
        time_only=True,
    ),
    ladder=LadderRules(strict_guesses=True, guess_weight=0.5),
    fusion=FusionRules(
        method="convex",
        weights={"lexical": 0.5, "vector": 0.5},
        min_scores={"lexical": 0.0},
        weight_by_model_quality=True,
        score_union=True,
        chunk_penalty=0.1,
        deviations=6.0,  # standard deviations above the similarity of the vector leg's last candidate
    ),
    context=ContextRules(on=True, coverage=1.0),
    graph=GraphRules(
        use="addition",
        seeds=5,
        degree_penalty=0.5,
        max_lift=0.6,
        min_own_score_ratio=0.1,
        edges={"previous": 0.0, "next": 0.0, "session": 0.0, "mention": 0.6, "link": 0.4, "entity": 0.0}
        | dict.fromkeys(("supersedes", "superseded-by"), 0.0),  # the stage superseded handles these
    ),
    stages=(
        SessionLift(weight=0.33),
        SpeakerTurns(speaker=0.3, asks=0.1, length=0.1, answers=1.0),
        TimeMatch(boost=0.3, combine="add"),
        Superseded(factor=0.5),
        ExactTerm(max_notes=10, lead=0.25),
        Duplicates(),
    ),
    rerank=RerankRules(characters=1200, passages=3, previous=1, blend=0.7, passage_blend=0.5, max_margin=0.15),
    candidate_k=200,
    answer_threshold=0.25,
)

JEFFS_BRAIN = Preset(
    name="jeffs-brain",
    about="reciprocal rank fusion, retry ladder of five steps, intent multipliers, reranker with unanimity shortcut",
    query=_LITERAL_QUERY,
    ladder=LadderRules(titles=False, vocabulary=False, skip_stopwords=False),
    fusion=FusionRules(k=60, rank_base=1, ties="path"),
    stages=(IntentWeights(),),
)

TROVELLA = Preset(
    name="trovella",
    about="plain reciprocal rank fusion that records the legs of each hit and prefers the keyword snippet",
    query=_LITERAL_QUERY,
    ladder=_NO_LADDER,
    fusion=FusionRules(k=60, rank_base=1, ties="first_seen"),
    rerank=_NO_RERANK,
)

MEMINI = Preset(
    name="memini",
    about="steep reciprocal rank fusion, re-ranked by relevance, recency, importance and time; duplicates dropped",
    query=_LITERAL_QUERY,
    ladder=_NO_LADDER,
    fusion=FusionRules(k=5, rank_base=0, ties="first_seen"),
    stages=(Temporal(relevance=0.80, recency=0.05, importance=0.15, boost=0.40, combine="add"), Duplicates()),
    rerank=_NO_RERANK,
)

WEIGHTED_GRAPH = Preset(
    name="weighted-graph",
    about="weighted reciprocal rank fusion with a graph leg, and importance as a prior",
    query=QueryRules(semantics="literal", match="all_then_any", stopwords_alone=False, max_words=1000),
    ladder=_NO_LADDER,
    fusion=FusionRules(k=60, rank_base=1, ties="id", weights={"lexical": 1.0, "vector": 1.0, "graph": 0.35}),
    graph=GraphRules(
        use="source", seeds=10, edges={"previous": 1.0, "next": 1.0, "mention": 1.0, "link": 1.0, "entity": 1.0}
    ),
    stages=(ImportancePrior(base=0.7, slope=0.3),),
    rerank=_NO_RERANK,
)

_PRESETS = MappingProxyType(
    {preset.name: preset for preset in (DEFAULT, JEFFS_BRAIN, TROVELLA, MEMINI, WEIGHTED_GRAPH)}
)


def presets() -> Mapping[str, Preset]:
    """Return the built-in presets by name.

    >>> ", ".join(presets())
    'default, jeffs-brain, trovella, memini, weighted-graph'
    """
    return _PRESETS


def preset_from(spec: PresetSpec) -> Preset:
    """Return the preset for ``spec``: a preset, the name of a built-in one, or the path of a TOML file.

    >>> preset_from("memini").fusion.rank_base
    0
    """
    if isinstance(spec, Preset):
        return spec
    if isinstance(spec, str) and spec in _PRESETS:
        return _PRESETS[spec]
    if not isinstance(spec, (str, PathLike)):
        raise ArgumentTypeError("preset", f"must be a Preset, a name or a path, got {type(spec).__name__}")
    path = Path(spec).expanduser()
    if isinstance(spec, str) and path.suffix != ".toml":
        raise ArgumentError(
            "preset", f"must be one of {', '.join(_PRESETS)}, or the path of a .toml file, got {spec!r}"
        )
    return _preset_from_toml(path)
