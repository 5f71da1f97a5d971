"""What changes an order after fusion, one stage a file. See ``docs/ranking.md``.

A stage takes candidates and returns new ones, the best first; each carries a :class:`~recollect.Step` that says what
the stage did to it and why.
"""

from recollect.ranking.agreement import Unanimity, unanimity
from recollect.ranking.anchors import AnchorExtractor, RegexAnchorExtractor, TimeAnchor
from recollect.ranking.blend import CompositeWeights, composite
from recollect.ranking.certainty import Calibration, ConfidenceEvidence, calibration_of, confidence
from recollect.ranking.exactness import exact_match, lift_exact_term
from recollect.ranking.importance import importance_prior
from recollect.ranking.intent import Intent, detect_intent, intent_multiplier, reweight_by_intent
from recollect.ranking.proximity import DEFAULT_TEMPORAL_BOOST, temporal, temporal_boost
from recollect.ranking.replacement import step_back
from recollect.ranking.reranking import merge_reranked, rerank_text
from recollect.ranking.sessions import lift_sessions
from recollect.ranking.spreading import Loan, add_loans, multiply_by_loans, one_hop, random_walk
from recollect.ranking.time_match import DEFAULT_TIME_BOOST, boost_time_matches, time_match
from recollect.ranking.turns import weigh_turns

__all__ = [
    "DEFAULT_TEMPORAL_BOOST",
    "DEFAULT_TIME_BOOST",
    "AnchorExtractor",
    "Calibration",
    "CompositeWeights",
    "ConfidenceEvidence",
    "Intent",
    "Loan",
    "RegexAnchorExtractor",
    "TimeAnchor",
    "Unanimity",
    "add_loans",
    "boost_time_matches",
    "calibration_of",
    "composite",
    "confidence",
    "detect_intent",
    "exact_match",
    "importance_prior",
    "intent_multiplier",
    "lift_exact_term",
    "lift_sessions",
    "merge_reranked",
    "multiply_by_loans",
    "one_hop",
    "random_walk",
    "rerank_text",
    "reweight_by_intent",
    "step_back",
    "temporal",
    "temporal_boost",
    "time_match",
    "unanimity",
    "weigh_turns",
]
