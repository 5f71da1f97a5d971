"""Constants for one's own questions: what is tried, how it is chosen, and what the choice is worth."""

from recollect.evaluation.tuning.cross_validated import FEWEST_QUESTIONS, Judge, require_enough, tune
from recollect.evaluation.tuning.folds import folds_of
from recollect.evaluation.tuning.judging import SearchJudge, open_judge
from recollect.evaluation.tuning.recommendation import Change, Tuning
from recollect.evaluation.tuning.space import Parameter, search_space

__all__ = [
    "FEWEST_QUESTIONS",
    "Change",
    "Judge",
    "Parameter",
    "SearchJudge",
    "Tuning",
    "folds_of",
    "open_judge",
    "require_enough",
    "search_space",
    "tune",
]
