"""Fit the constants of ``recollect.retrieval.confidence`` on judged datasets, and measure them on held-out datasets.

    python -m benchmarks.studies.calibration --embedder arctic-embed-s [--level turn] [--pool] COLLECTION COLLECTION ...

A collection is any dataset that ``recollect.evaluation`` reads. The constants are those of a logistic regression: each
search gives a row with features of the first hit and whether this hit is relevant. Rows come from three sources:

- each question, searched for in its own collection, where judgements say whether the first hit is relevant;
- a sample of each collection's questions, searched for in the other collections, where no hit is relevant;
- each question with an answer again, as if its relevant notes were removed; these rows have a tenth of the weight.

Every collection has the same weight. The program prints the constants, and the expected calibration error on each
collection, and on all together, of constants that were fitted on the other collections.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.datasets import search_question
from recollect.embedders import Embedder, embedder_from
from recollect.evaluation import CachingEmbedder, Dataset, Question, load_dataset, temporary_memory
from recollect.evaluation.cache import default_cache_folder
from recollect.evaluation.calibration import calibration_error_interval, expected_calibration_error
from recollect.evaluation.memories import latest_date
from recollect.progress import shown_progress
from recollect.retrieval import SearchOptions, SearchResult
from recollect.retrieval.confidence import ConfidenceEvidence, bounded_margin

MAX_QUESTIONS = 400
"""The maximum number of questions of a collection."""
MAX_FOREIGN_QUESTIONS = 60
"""The maximum number of questions of other collections that are searched for in a collection."""
OPTIONS = SearchOptions(top_k=20)
REMOVED_WEIGHT = 0.1
"""The weight of a row as if the relevant notes were removed."""
COLLECTION_WEIGHT = 300
"""The sum of the weights of a collection's rows."""
REGULARISATION = 0.01
"""The weight of the squared constants in the regression (ridge)."""
NEWTON_STEPS = 60
FEATURES = ("base", "similarity", "coverage", "both", "margin", "time_match")
Floats = NDArray[np.float64]


def rows(dataset: Dataset, foreign: Sequence[Question], embedder: Embedder | None) -> Floats:
    """Return the rows of a dataset: the features of a first hit, whether the hit is relevant, and the row's weight."""
    rng = random.Random(1)  # noqa: S311 (a sample)
    collections = sorted(dataset.collections)
    questions = rng.sample(dataset.questions, min(MAX_QUESTIONS, len(dataset.questions)))
    foreign_by_collection: dict[str, list[Question]] = {name: [] for name in collections}
    for question in foreign:
        foreign_by_collection[rng.choice(collections)].append(question)
    collected: list[list[float]] = []
    for name in collections:
        own_questions = [question for question in questions if question.collection == name]
        foreign_questions = foreign_by_collection[name]
        if not own_questions and not foreign_questions:
            continue
        with (
            shown_progress(f"Embedding {dataset.name}") as progress,
            temporary_memory(dataset.collections[name], embedder, progress=progress) as (memory, _),
        ):
            latest = latest_date(dataset.collections[name].notes)
            for question in own_questions:
                collected += _search_rows(search_question(memory, question, latest, OPTIONS), question.relevant.keys())
            for question in foreign_questions:
                collected += _search_rows(search_question(memory, question, latest, OPTIONS), ())
    return np.array(collected)


def _search_rows(result: SearchResult, relevant: Collection[str]) -> Iterator[list[float]]:
    """Yield the row of the first hit, and the row of the first irrelevant hit as if the relevant ones were removed."""
    if not result:
        return
    first = result.hits[0]
    yield [*features(result.trace.evidence[first.id]), float(first.id in relevant), 1.0]
    irrelevant = [hit for hit in result if hit.id not in relevant]
    if relevant and irrelevant:
        next_score = irrelevant[1].score if len(irrelevant) > 1 else 0.0
        margin = (irrelevant[0].score - next_score) / (irrelevant[0].candidate.ceiling or 1.0)
        yield [*features(result.trace.evidence[irrelevant[0].id]._replace(margin=margin)), 0.0, REMOVED_WEIGHT]


def features(evidence: ConfidenceEvidence) -> list[float]:
    """Return the features of the regression, in the order of a calibration's constants."""
    similarity = evidence.similarity or 0.0
    margin = bounded_margin(evidence.margin)
    time_match = evidence.time_match * evidence.coverage
    return [1.0, similarity, evidence.coverage, similarity * evidence.coverage, margin, time_match]


def fit(collections: Sequence[Floats]) -> Floats:
    """Return the constants of a logistic regression over collections of the same weight, by Newton's method."""
    count = len(FEATURES)
    data = np.vstack(collections)
    weights = np.concatenate([COLLECTION_WEIGHT * part[:, -1] / part[:, -1].sum() for part in collections])
    inputs, relevant = data[:, :count], data[:, -2]
    constants = np.zeros(count)
    for _ in range(NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-inputs @ constants))
        gradient = inputs.T @ (weights * (relevant - probabilities)) - REGULARISATION * constants
        variances = weights * probabilities * (1 - probabilities)
        hessian = (inputs * variances[:, None]).T @ inputs + REGULARISATION * np.eye(count)
        constants = constants + np.linalg.solve(hessian, gradient)
    return constants


def held_out(name: str, data: Floats, constants: Floats) -> tuple[Floats, Floats]:
    """Print the calibration error of constants fitted on the other collections; return confidences and labels."""
    first_hits = data[data[:, -1] == 1.0]
    confidences = 1 / (1 + np.exp(-first_hits[:, : len(FEATURES)] @ constants))
    relevant = first_hits[:, -2]
    error = expected_calibration_error(confidences.tolist(), relevant.tolist())
    right_first = relevant.mean()
    print(f"{name}, left out: {len(first_hits)} queries, calibration error {error:.3f}, right first {right_first:.2f}")
    return confidences, relevant


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit the constants, print them and their calibration errors; return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/bench studies.calibration", description=__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument(
        "--embedder",
        default="arctic-embed-s",
        help="a model, or none for the lexical leg alone",
    )
    parser.add_argument("--level", default=None, help="turn or session, for conversations")
    parser.add_argument("--pool", action="store_true", help="pool the sessions of LongMemEval files")
    options = parser.parse_args(arguments)
    model = embedder_from(options.embedder)
    embedder = CachingEmbedder(model, default_cache_folder()) if model else None
    datasets = [_load(path, options.level, pool=options.pool) for path in options.collections]
    rows_by_dataset = {}
    for dataset in datasets:
        foreign = [
            question
            for other in datasets
            if other is not dataset
            for question in random.Random(2).sample(other.questions, min(MAX_FOREIGN_QUESTIONS, len(other.questions)))  # noqa: S311 (a sample)
        ]
        foreign = random.Random(3).sample(foreign, min(MAX_FOREIGN_QUESTIONS, len(foreign)))  # noqa: S311 (a sample)
        rows_by_dataset[dataset.name] = rows(dataset, foreign, embedder)
    for name, constant in zip(FEATURES, fit(list(rows_by_dataset.values())), strict=True):
        print(f"{name} {constant:.2f}")
    results = [
        held_out(name, data, fit([other for other_name, other in rows_by_dataset.items() if other_name != name]))
        for name, data in (rows_by_dataset.items() if len(rows_by_dataset) > 1 else ())
    ]
    if results:
        confidences, relevant = (np.concatenate(parts) for parts in zip(*results, strict=True))
        error = calibration_error_interval(confidences.tolist(), relevant.tolist())
        print(
            f"pooled: {len(relevant)} queries, calibration error {error.mean:.3f} ({error.low:.3f} to {error.high:.3f})"
        )
    return 0


def _load(path: Path, level: str | None, *, pool: bool) -> Dataset:
    """Return a dataset; ``level`` and ``pool`` apply to conversation files only."""
    if path.is_dir():
        return load_dataset(path)
    return load_dataset(path, level=level, pool=pool and "longmemeval" in path.name)


if __name__ == "__main__":
    sys.exit(main())
