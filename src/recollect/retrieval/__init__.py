"""The search pipeline, its options and presets, and the explanation of a result.

A public name is imported from its module when it is first used. So the command line can read the search options
(:mod:`recollect.retrieval.options`) without loading the pipeline.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.fusion.base import FusionRules
    from recollect.retrieval.explanation import explain
    from recollect.retrieval.graph import ScoreTransfer
    from recollect.retrieval.options import SearchOptions
    from recollect.retrieval.pipeline import Retrieval
    from recollect.retrieval.preset import (
        ContextRules,
        GraphRules,
        LadderRules,
        Preset,
        PresetSpec,
        QueryRules,
        RerankRules,
        preset_from,
        presets,
    )
    from recollect.retrieval.trace import Attempt, Context, SearchResult, StageRun, Trace, recomputed_score

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
    "ScoreTransfer",
    "SearchOptions",
    "SearchResult",
    "StageRun",
    "Trace",
    "explain",
    "preset_from",
    "presets",
    "recomputed_score",
]

_MODULE_OF = {
    "explain": "explanation",
    "ScoreTransfer": "graph",
    "SearchOptions": "options",
    "Retrieval": "pipeline",
    **dict.fromkeys(("Attempt", "Context", "SearchResult", "StageRun", "Trace", "recomputed_score"), "trace"),
}
"""The module of each public name that is not imported from ``preset``."""


def __getattr__(name: str) -> Any:
    """Return the object with a public name; Python calls this function only when the name is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF.get(name, 'preset')}")
    value = globals()[name] = getattr(module, name)
    return value
