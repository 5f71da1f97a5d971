"""The built-in presets: four published systems and the default."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.fusion.base import FusionRules
from recollect.ranking import (
    Duplicates,
    ExactTerm,
    ImportancePrior,
    IntentWeights,
    SessionLift,
    SpeakerTurns,
    Superseded,
    Temporal,
    TimeMatch,
)
from recollect.retrieval.preset import (
    ContextRules,
    GraphRules,
    LadderRules,
    Preset,
    QueryRules,
    RerankRules,
    preset_from_toml,
)

PresetSpec: TypeAlias = "Preset | str | PathLike[str]"
"""A preset, the name of one, or the path of a TOML file."""

_LITERAL = QueryRules(semantics="literal", stopwords_alone=False, max_words=1000)
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
        chunk_penalty=0.2,
        deviations=6.0,
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
        SpeakerTurns(speaker=0.3, asks=0.1, length=0.1),
        TimeMatch(boost=0.3, combine="add"),
        Superseded(factor=0.5),
        ExactTerm(max_notes=10, lead=0.25),
        Duplicates(),
    ),
    rerank=RerankRules(characters=1000),
    candidate_k=200,
    answer_threshold=0.25,
)

JEFFS_BRAIN = Preset(
    name="jeffs-brain",
    about="reciprocal rank fusion, retry ladder of five steps, intent multipliers, reranker with unanimity shortcut",
    query=_LITERAL,
    ladder=LadderRules(titles=False, vocabulary=False, skip_stopwords=False),
    fusion=FusionRules(k=60, rank_base=1, ties="path"),
    stages=(IntentWeights(),),
)

TROVELLA = Preset(
    name="trovella",
    about="plain reciprocal rank fusion that records the legs of each hit and prefers the keyword snippet",
    query=_LITERAL,
    ladder=_NO_LADDER,
    fusion=FusionRules(k=60, rank_base=1, ties="first_seen"),
    rerank=_NO_RERANK,
)

MEMINI = Preset(
    name="memini",
    about="steep reciprocal rank fusion, re-ranked by relevance, recency, importance and time; duplicates dropped",
    query=_LITERAL,
    ladder=_NO_LADDER,
    fusion=FusionRules(k=5, rank_base=0, ties="first_seen"),
    stages=(
        Temporal(relevance=0.80, recency=0.05, importance=0.15, boost=0.40, combine="add"),
        Duplicates(),
    ),
    rerank=_NO_RERANK,
)

WEIGHTED_GRAPH = Preset(
    name="weighted-graph",
    about="weighted reciprocal rank fusion with a graph leg, and importance as a prior",
    query=QueryRules(semantics="literal", match="all_then_any", stopwords_alone=False, max_words=1000),
    ladder=_NO_LADDER,
    fusion=FusionRules(k=60, rank_base=1, ties="id", weights={"lexical": 1.0, "vector": 1.0, "graph": 0.35}),
    graph=GraphRules(
        use="source",
        seeds=10,
        edges={"previous": 1.0, "next": 1.0, "mention": 1.0, "link": 1.0, "entity": 1.0},
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
    return preset_from_toml(path, _PRESETS)
