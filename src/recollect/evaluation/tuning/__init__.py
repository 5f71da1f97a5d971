"""Constants for one's own questions: what is tried, how it is chosen, and what the choice is worth."""

from recollect.evaluation.tuning.cross_validated import FEWEST_QUESTIONS, Judge, require_min_questions, tune
from recollect.evaluation.tuning.folds import folds_of
from recollect.evaluation.tuning.judging import SearchJudge, open_scorer
from recollect.evaluation.tuning.recommendation import SettingChange, TuningResult
from recollect.evaluation.tuning.space import Parameter, search_space

__all__ = [
    "FEWEST_QUESTIONS",
    "Judge",
    "Parameter",
    "SearchJudge",
    "SettingChange",
    "TuningResult",
    "folds_of",
    "open_scorer",
    "require_min_questions",
    "search_space",
    "tune",
]
