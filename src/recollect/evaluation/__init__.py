"""Which retrieval is better, settled with numbers: datasets, measures, significance, reports and tuning."""

from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.outcome import Outcome, Ranking

__all__ = ["Collection", "Dataset", "Outcome", "Question", "Ranking"]
