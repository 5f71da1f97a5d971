"""The stages that adjust scores after fusion, each in a module of its own. See ``docs/ranking.md``.

A stage returns adjustments of scores; the pipeline applies them. :data:`STAGES` has every stage by its name in presets.
:func:`run_stage` applies one stage to candidates, sorts them, and records the changes and reasons in their ``steps``.
"""

from recollect.ranking.composite import Composite, CompositeWeights, composite
from recollect.ranking.duplicates import Duplicates
from recollect.ranking.exact_term import ExactTerm
from recollect.ranking.importance import ImportancePrior
from recollect.ranking.intent import Intent, IntentWeights, detect_intent, intent_multiplier, reweight_by_intent
from recollect.ranking.reranking import Unanimity, blend_reranked, merge_reranked, rerank_text, unanimity
from recollect.ranking.session import SessionLift
from recollect.ranking.speaker_turns import SpeakerTurns
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, run_stage
from recollect.ranking.superseded import Superseded
from recollect.ranking.temporal import (
    DEFAULT_TEMPORAL_BOOST,
    AnchorExtractor,
    RegexAnchorExtractor,
    Temporal,
    TemporalBoost,
    TimeAnchor,
    temporal,
)
from recollect.ranking.time_match import TimeMatch, time_match

__all__ = [
    "DEFAULT_TEMPORAL_BOOST",
    "STAGES",
    "Adjustment",
    "AnchorExtractor",
    "Composite",
    "CompositeWeights",
    "Duplicates",
    "ExactTerm",
    "ImportancePrior",
    "Intent",
    "IntentWeights",
    "RegexAnchorExtractor",
    "SessionLift",
    "SpeakerTurns",
    "Stage",
    "StageContext",
    "StageResult",
    "Superseded",
    "Temporal",
    "TemporalBoost",
    "TimeAnchor",
    "TimeMatch",
    "Unanimity",
    "blend_reranked",
    "composite",
    "detect_intent",
    "intent_multiplier",
    "merge_reranked",
    "rerank_text",
    "reweight_by_intent",
    "run_stage",
    "temporal",
    "time_match",
    "unanimity",
]

STAGES: dict[str, type[Stage]] = {
    stage.name: stage
    for stage in (
        IntentWeights,
        Composite,
        Temporal,
        TemporalBoost,
        TimeMatch,
        ImportancePrior,
        ExactTerm,
        SessionLift,
        SpeakerTurns,
        Superseded,
        Duplicates,
    )
}
"""Every stage by its name in presets; a new stage is a new file and an entry here."""
