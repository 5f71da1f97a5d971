"""Which retrieval is better, settled with numbers: datasets, measures, significance, reports and tuning."""

from recollect.evaluation.calibration import (
    ReliabilityBin,
    Trust,
    calibration_error_interval,
    expected_calibration_error,
    reliability_bins,
    trust_of,
)
from recollect.evaluation.comparison import Comparison, Standing, compare_outcomes
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.embeddings import KeepingEmbedder
from recollect.evaluation.loading import load_dataset
from recollect.evaluation.lodging import open_collection
from recollect.evaluation.measures import MEASURES, measured
from recollect.evaluation.outcome import Outcome, Ranking
from recollect.evaluation.report import Report, report_of, write_pictures, write_report
from recollect.evaluation.running import evaluate
from recollect.evaluation.significance import Difference, Interval, holm, interval, paired_difference
from recollect.evaluation.sweep import Point, Sweep
from recollect.evaluation.sweeping import SWEPT, sweep_of, swept
from recollect.evaluation.synthetic import exact_tokens, generate_questions, write_questions
from recollect.evaluation.system import System
from recollect.evaluation.trec import read_qrels, read_run, write_qrels, write_run
from recollect.evaluation.tuning import Change, Parameter, Tuning, open_judge, search_space, tune
from recollect.evaluation.win_loss import Answered, WinLoss, win_loss

__all__ = [
    "MEASURES",
    "SWEPT",
    "Answered",
    "Change",
    "Collection",
    "Comparison",
    "Dataset",
    "Difference",
    "Interval",
    "KeepingEmbedder",
    "Outcome",
    "Parameter",
    "Point",
    "Question",
    "Ranking",
    "ReliabilityBin",
    "Report",
    "Standing",
    "Sweep",
    "System",
    "Trust",
    "Tuning",
    "WinLoss",
    "calibration_error_interval",
    "compare_outcomes",
    "evaluate",
    "exact_tokens",
    "expected_calibration_error",
    "generate_questions",
    "holm",
    "interval",
    "load_dataset",
    "measured",
    "open_collection",
    "open_judge",
    "paired_difference",
    "read_qrels",
    "read_run",
    "reliability_bins",
    "report_of",
    "search_space",
    "sweep_of",
    "swept",
    "trust_of",
    "tune",
    "win_loss",
    "write_pictures",
    "write_qrels",
    "write_questions",
    "write_report",
    "write_run",
]
