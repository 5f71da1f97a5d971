"""The search pipeline, its options and presets, and the explanation of a result.

Names are loaded when they are first used, so that the command line can list :mod:`recollect.retrieval.options` without
loading the pipeline.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.fusion.base import FusionRules
    from recollect.retrieval.builtin_presets import PresetSpec, preset_from, presets
    from recollect.retrieval.explanation import explain
    from recollect.retrieval.options import SearchOptions
    from recollect.retrieval.pipeline import Retrieval
    from recollect.retrieval.preset import ContextRules, GraphRules, LadderRules, Preset, QueryRules, RerankRules
    from recollect.retrieval.result import SearchResult
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
    "SearchOptions",
    "SearchResult",
    "StageRun",
    "Trace",
    "explain",
    "preset_from",
    "presets",
    "recomputed_score",
]

_MODULES = {
    "builtin_presets": ("PresetSpec", "preset_from", "presets"),
    "explanation": ("explain",),
    "options": ("SearchOptions",),
    "pipeline": ("Retrieval",),
    "preset": (
        "ContextRules",
        "FusionRules",
        "GraphRules",
        "LadderRules",
        "Preset",
        "QueryRules",
        "RerankRules",
    ),
    "result": ("SearchResult",),
    "trace": ("Attempt", "Context", "StageRun", "Trace", "recomputed_score"),
}
_MODULE_OF = {name: f"recollect.retrieval.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value
