"""The presets that come with Recollect: four published systems, and our own default."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from recollect.errors import ArgumentError, ArgumentTypeError
from recollect.retrieval.preset import Preset, preset_from_toml
from recollect.retrieval.rules import (
    ContextRules,
    FusionRules,
    GraphRules,
    LadderRules,
    QueryRules,
    RerankRules,
    StageRules,
)

__all__ = ["PresetSpec", "preset_from", "presets"]

PresetSpec: TypeAlias = "Preset | str | PathLike[str]"
"""A preset, the name of one, or the path of a TOML file."""

_LITERAL = QueryRules(reading="literal", stopwords_alone=False, most_words=1000)
_NO_LADDER = LadderRules(on=False, titles=False, vocabulary=False, skip_stopwords=False)
_NO_RERANK = RerankRules(on=False)

DEFAULT = Preset(
    name="default",
    about="words, meaning and connections, read in context; exclusion means exclusion; what was replaced steps back",
    query=QueryRules(
        common=0.45,
        question_operators=False,
        short_words=True,
        other_forms=True,
        stem_only_weight=0.1,
        time_only=True,
    ),
    ladder=LadderRules(strict_guesses=True, trust=0.5),
    fusion=FusionRules(
        method="convex",
        weights={"lexical": 0.5, "vector": 0.5},
        least={"lexical": 0.0},
        by_strength=True,
        score_union=True,
        chunk_penalty=0.2,
        deviations=6.0,
    ),
    context=ContextRules(on=True, coverage=1.0),
    graph=GraphRules(
        use="addition",
        seeds=5,
        hubs=0.5,
        lift=0.6,
        own=0.1,
        edges={"previous": 0.0, "next": 0.0, "session": 0.0, "mention": 0.6, "link": 0.4, "entity": 0.0}
        | dict.fromkeys(("supersedes", "superseded-by"), 0.0),  # the stage below sees to these
    ),
    stages=(
        StageRules("session", {"weight": 0.33}),
        StageRules("turns", {"speaker": 0.3, "asks": 0.1, "length": 0.1}),
        StageRules("time_match", {"boost": 0.3, "combine": "add"}),
        StageRules("replaced", {"factor": 0.5}),
        StageRules("exact_term", {"most": 10, "lead": 0.25}),
        StageRules("duplicates"),
    ),
    rerank=RerankRules(characters=1000),
    candidate_k=200,
    answer_threshold=0.25,
)

JEFFS_BRAIN = Preset(
    name="jeffs-brain",
    about="reciprocal rank fusion, five-rung retry ladder, intent multipliers, reranker with unanimity shortcut",
    query=_LITERAL,
    ladder=LadderRules(titles=False, vocabulary=False, skip_stopwords=False),
    fusion=FusionRules(k=60, rank_base=1, ties="path"),
    stages=(StageRules("intent"),),
)

TROVELLA = Preset(
    name="trovella",
    about="plain reciprocal rank fusion that keeps which leg found what, and prefers the keyword snippet",
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
        StageRules(
            "temporal", {"relevance": 0.80, "recency": 0.05, "importance": 0.15, "boost": 0.40, "combine": "add"}
        ),
        StageRules("duplicates"),
    ),
    rerank=_NO_RERANK,
)

WEIGHTED_GRAPH = Preset(
    name="weighted-graph",
    about="weighted reciprocal rank fusion with a graph leg, and importance as a prior",
    query=QueryRules(reading="literal", match="all_then_any", stopwords_alone=False, most_words=1000),
    ladder=_NO_LADDER,
    fusion=FusionRules(k=60, rank_base=1, ties="id", weights={"lexical": 1.0, "vector": 1.0, "graph": 0.35}),
    graph=GraphRules(
        use="source",
        seeds=10,
        edges={"previous": 1.0, "next": 1.0, "mention": 1.0, "link": 1.0, "entity": 1.0},
    ),
    stages=(StageRules("importance", {"base": 0.7, "slope": 0.3}),),
    rerank=_NO_RERANK,
)

_PRESETS = MappingProxyType(
    {preset.name: preset for preset in (DEFAULT, JEFFS_BRAIN, TROVELLA, MEMINI, WEIGHTED_GRAPH)}
)


def presets() -> Mapping[str, Preset]:
    """Return the presets that come with Recollect, by name.

    >>> ", ".join(presets())
    'default, jeffs-brain, trovella, memini, weighted-graph'
    """
    return _PRESETS


def preset_from(spec: PresetSpec) -> Preset:
    """Return the preset that ``spec`` is, names, or, as the path of a TOML file, describes.

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
