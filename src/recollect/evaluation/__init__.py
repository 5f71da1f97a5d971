"""Which retrieval is better, settled with numbers: datasets, measures, significance, reports and tuning."""

from recollect.evaluation.calibration import (
    ReliabilityBin,
    TrustMetrics,
    calibration_error_interval,
    expected_calibration_error,
    reliability_bins,
    trust_metrics,
)
from recollect.evaluation.comparison import Comparison, ComparisonResult, compare_outcomes
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.embeddings import CachingEmbedder
from recollect.evaluation.loading import load_dataset
from recollect.evaluation.lodging import open_collection
from recollect.evaluation.measures import MEASURES, compute_measures
from recollect.evaluation.outcome import Outcome, Ranking
from recollect.evaluation.report import Report, build_report, write_plots, write_report
from recollect.evaluation.running import evaluate
from recollect.evaluation.significance import Difference, Interval, holm, interval, paired_difference
from recollect.evaluation.sweep import Sweep, SweepPoint
from recollect.evaluation.sweeping import SWEEP_VALUES, build_sweeps, sweep_systems
from recollect.evaluation.synthetic import exact_tokens, generate_questions, write_questions
from recollect.evaluation.system import System
from recollect.evaluation.trec import read_qrels, read_run, write_qrels, write_run
from recollect.evaluation.tuning import Parameter, SettingChange, TuningResult, open_scorer, search_space, tune
from recollect.evaluation.win_loss import QuestionDifference, WinLoss, win_loss

__all__ = [
    "MEASURES",
    "SWEEP_VALUES",
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
    "Sweep",
    "SweepPoint",
    "System",
    "TrustMetrics",
    "TuningResult",
    "WinLoss",
    "build_report",
    "build_sweeps",
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
    "open_collection",
    "open_scorer",
    "paired_difference",
    "read_qrels",
    "read_run",
    "reliability_bins",
    "search_space",
    "sweep_systems",
    "trust_metrics",
    "tune",
    "win_loss",
    "write_plots",
    "write_qrels",
    "write_questions",
    "write_report",
    "write_run",
]
