"""Evaluation of retrieval: datasets, measures, significance, reports and tuning."""

from recollect.evaluation.cache import CachingEmbedder
from recollect.evaluation.calibration import (
    ReliabilityBin,
    TrustMetrics,
    calibration_error_interval,
    expected_calibration_error,
    reliability_bins,
    trust_metrics,
)
from recollect.evaluation.comparison import (
    Comparison,
    ComparisonResult,
    QuestionDifference,
    WinLoss,
    compare_outcomes,
    win_loss,
)
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.datasets import DATASETS, load_dataset
from recollect.evaluation.datasets.trec import read_qrels, write_qrels, write_run
from recollect.evaluation.measures import MEASURES, compute_measures
from recollect.evaluation.memories import temporary_memory
from recollect.evaluation.outcome import Outcome, Ranking, System
from recollect.evaluation.report import Report, build_report, write_report
from recollect.evaluation.runner import evaluate, open_scorer
from recollect.evaluation.significance import Difference, Interval, holm, interval, paired_difference
from recollect.evaluation.synthetic import exact_tokens, generate_questions, write_questions
from recollect.evaluation.tuning import SettingChange, TuningResult, tune
from recollect.evaluation.tuning_space import Parameter, search_space

__all__ = [
    "DATASETS",
    "MEASURES",
    "CachingEmbedder",
    "Collection",
    "Comparison",
    "ComparisonResult",
    "Dataset",
    "Difference",
    "Interval",
    "Outcome",
    "Parameter",
    "Question",
    "QuestionDifference",
    "Ranking",
    "ReliabilityBin",
    "Report",
    "SettingChange",
    "System",
    "TrustMetrics",
    "TuningResult",
    "WinLoss",
    "build_report",
    "calibration_error_interval",
    "compare_outcomes",
    "compute_measures",
    "evaluate",
    "exact_tokens",
    "expected_calibration_error",
    "generate_questions",
    "holm",
    "interval",
    "load_dataset",
    "open_scorer",
    "paired_difference",
    "read_qrels",
    "reliability_bins",
    "search_space",
    "temporary_memory",
    "trust_metrics",
    "tune",
    "win_loss",
    "write_qrels",
    "write_questions",
    "write_report",
    "write_run",
]
