"""The walk from a query to a ranked list, the presets that steer it, and the drawing of what happened on it."""

from recollect.retrieval.catalogue import PresetSpec, preset_from, presets
from recollect.retrieval.explanation import explain
from recollect.retrieval.pipeline import Retrieval
from recollect.retrieval.preset import Preset
from recollect.retrieval.result import SearchResult
from recollect.retrieval.rules import (
    ContextRules,
    FusionRules,
    GraphRules,
    LadderRules,
    QueryRules,
    RerankRules,
    StageRules,
)
from recollect.retrieval.trace import Attempt, Context, StageRun, Trace, recomputed_score

__all__ = [
    "Attempt",
    "Context",
    "ContextRules",
    "FusionRules",
    "GraphRules",
    "LadderRules",
    "Preset",
    "PresetSpec",
    "QueryRules",
    "RerankRules",
    "Retrieval",
    "SearchResult",
    "StageRules",
    "StageRun",
    "Trace",
    "explain",
    "preset_from",
    "presets",
    "recomputed_score",
]
