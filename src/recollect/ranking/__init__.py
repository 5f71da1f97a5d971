"""Ranking after fusion, one stage a file. See ``docs/ranking.md``.

A stage returns adjustments of scores; the pipeline applies them. :data:`STAGES` has every stage by its name in presets.
The functions apply one stage to a list and return it, the best first; each candidate's ``steps`` say what the stage did
and why.
"""

from recollect.ranking.composite import Composite, CompositeWeights, composite
from recollect.ranking.duplicates import Duplicates
from recollect.ranking.exact_match import ExactMatch, exact_match
from recollect.ranking.exact_term import ExactTerm, lift_exact_term
from recollect.ranking.importance import ImportancePrior, importance_prior
from recollect.ranking.intent import Intent, IntentWeights, detect_intent, intent_multiplier, reweight_by_intent
from recollect.ranking.propagation import (
    ScoreTransfer,
    add_transfers,
    multiply_by_transfers,
    one_hop,
    random_walk,
)
from recollect.ranking.reranking import Unanimity, merge_reranked, rerank_text, unanimity
from recollect.ranking.session import SessionLift, lift_sessions
from recollect.ranking.speaker_turns import SpeakerTurns, weight_speaker_turns
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, run_stage
from recollect.ranking.superseded import Superseded, demote_superseded
from recollect.ranking.temporal import (
    DEFAULT_TEMPORAL_BOOST,
    AnchorExtractor,
    RegexAnchorExtractor,
    Temporal,
    TemporalBoost,
    TimeAnchor,
    temporal,
    temporal_boost,
)
from recollect.ranking.time_match import DEFAULT_TIME_BOOST, TimeMatch, boost_time_matches, time_match

__all__ = [
    "DEFAULT_TEMPORAL_BOOST",
    "DEFAULT_TIME_BOOST",
    "STAGES",
    "Adjustment",
    "AnchorExtractor",
    "CompositeWeights",
    "Intent",
    "RegexAnchorExtractor",
    "ScoreTransfer",
    "Stage",
    "StageContext",
    "StageResult",
    "TimeAnchor",
    "Unanimity",
    "add_transfers",
    "boost_time_matches",
    "composite",
    "demote_superseded",
    "detect_intent",
    "exact_match",
    "importance_prior",
    "intent_multiplier",
    "lift_exact_term",
    "lift_sessions",
    "merge_reranked",
    "multiply_by_transfers",
    "one_hop",
    "random_walk",
    "rerank_text",
    "reweight_by_intent",
    "run_stage",
    "temporal",
    "temporal_boost",
    "time_match",
    "unanimity",
    "weight_speaker_turns",
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
        ExactMatch,
        ExactTerm,
        SessionLift,
        SpeakerTurns,
        Superseded,
        Duplicates,
    )
}
"""Every stage by its name in presets; a new stage is a new file and an entry here."""
