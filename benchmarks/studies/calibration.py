"""Fits the constants of ``recollect.retrieval.confidence`` on judged collections, leaving one out at a time.

    python -m benchmarks.studies.calibration --embedder minilm [--level turn] [--pool] COLLECTION COLLECTION ...

A collection is any dataset that ``recollect.evaluation`` reads. Each question is put to its own collection, where the
judgements say whether the first hit is relevant, and a sample of each collection's questions to the others, where no
hit is. Each question with an answer is judged once more as if its relevant notes were removed; such rows have a tenth
of the weight. Every collection has the same weight. For each collection, and for all pooled, the expected calibration
error is that of constants that were fitted on the others.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect import Memory
from recollect.embedders import Embedder, embedder_from
from recollect.evaluation import CachingEmbedder, Dataset, Question, load_dataset, temporary_memory
from recollect.evaluation.cache import default_cache_folder
from recollect.evaluation.calibration import calibration_error_interval, expected_calibration_error
from recollect.evaluation.memories import latest_date
from recollect.progress import shown_progress
from recollect.query import parse_question_date
from recollect.retrieval import SearchResult
from recollect.retrieval.confidence import ConfidenceEvidence, bounded_margin

MAX_QUESTIONS = 400
FOREIGN = 60
DEPTH = 20
REMOVED_WEIGHT = 0.1
NAMES = ("base", "similarity", "coverage", "both", "margin", "time_match")
Floats = NDArray[np.float64]


def rows(dataset: Dataset, foreign: Sequence[Question], embedder: Embedder | None) -> Floats:
    """Return a row for each first hit: the regression's features, whether it is relevant, and the row's weight."""
    chance = random.Random(1)  # noqa: S311 (a sample)
    collections = sorted(dataset.collections)
    questions = chance.sample(dataset.questions, min(MAX_QUESTIONS, len(dataset.questions)))
    assigned = [(chance.choice(collections), question) for question in foreign]
    collected: list[list[float]] = []
    for name in collections:
        own = [question for question in questions if question.collection == name]
        others = [question for collection, question in assigned if collection == name]
        if not own and not others:
            continue
        with (
            shown_progress(f"Embedding {dataset.name}") as progress,
            temporary_memory(dataset.collections[name], embedder, progress=progress) as (memory, _),
        ):
            latest = latest_date(dataset.collections[name].notes)
            for question in own:
                collected += _rows_of(_search(memory, question, latest), question.relevant.keys())
            for question in others:
                collected += _rows_of(_search(memory, question, latest), ())
    return np.array(collected)


def _search(memory: Memory, question: Question, latest: datetime) -> SearchResult:
    date = parse_question_date(question.asked_at) if question.asked_at else None
    return memory.search(question.text, top_k=DEPTH, now=date or latest, question_date=date)


def _rows_of(result: SearchResult, relevant: Collection[str]) -> Iterator[list[float]]:
    """Yield the row of the first hit, and the row of the first that is not relevant, as if no other were there."""
    if not result:
        return
    first = result.hits[0]
    yield [*features(result.trace.evidence[first.id]), float(first.id in relevant), 1.0]
    others = [hit for hit in result if hit.id not in relevant]
    if relevant and others:
        following = others[1].score if len(others) > 1 else 0.0
        margin = (others[0].score - following) / (others[0].candidate.ceiling or 1.0)
        yield [*features(result.trace.evidence[others[0].id]._replace(margin=margin)), 0.0, REMOVED_WEIGHT]


def features(evidence: ConfidenceEvidence) -> list[float]:
    """Return the features of the regression, in the order of a calibration's constants."""
    similarity = evidence.similarity or 0.0
    margin = bounded_margin(evidence.margin)
    time_match = evidence.time_match * evidence.coverage
    return [1.0, similarity, evidence.coverage, similarity * evidence.coverage, margin, time_match]


def fit(collections: Sequence[Floats]) -> Floats:
    """Return the constants of a logistic regression over collections of the same weight, by Newton's method."""
    data = np.vstack(collections)
    weights = np.concatenate([300 * rows_[:, -1] / rows_[:, -1].sum() for rows_ in collections])
    inputs, relevant = data[:, : len(NAMES)], data[:, -2]
    constants = np.zeros(len(NAMES))
    for _ in range(60):
        chances = 1 / (1 + np.exp(-inputs @ constants))
        slope = inputs.T @ (weights * (relevant - chances)) - 0.01 * constants
        curvature = (inputs * (weights * chances * (1 - chances))[:, None]).T @ inputs + 0.01 * np.eye(len(NAMES))
        constants = constants + np.linalg.solve(curvature, slope)
    return constants


def held_out(name: str, data: Floats, constants: Floats) -> tuple[Floats, Floats]:
    """Print the calibration error of constants fitted on the other collections; return confidences and labels."""
    first_hits = data[data[:, -1] == 1.0]
    confidences, right = 1 / (1 + np.exp(-first_hits[:, : len(NAMES)] @ constants)), first_hits[:, -2]
    error = expected_calibration_error(confidences.tolist(), right.tolist())
    print(f"{name}, left out: {len(first_hits)} queries, calibration error {error:.3f}, right first {right.mean():.2f}")
    return confidences, right


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit and print."""
    reader = argparse.ArgumentParser(prog="scripts/bench studies.calibration", description=__doc__)
    reader.add_argument("collections", nargs="+", type=Path)
    reader.add_argument("--embedder", default="minilm", help="minilm, static, or none for the lexical leg alone")
    reader.add_argument("--level", default=None, help="turn or session, for conversations")
    reader.add_argument("--pool", action="store_true", help="pool the sessions of LongMemEval files")
    options = reader.parse_args(arguments)
    model = embedder_from(options.embedder)
    embedder = CachingEmbedder(model, default_cache_folder()) if model else None
    datasets = [_load(path, options.level, pool=options.pool) for path in options.collections]
    measured = {}
    for dataset in datasets:
        foreign = [
            question
            for other in datasets
            if other is not dataset
            for question in random.Random(2).sample(other.questions, min(FOREIGN, len(other.questions)))  # noqa: S311 (a sample)
        ]
        foreign = random.Random(3).sample(foreign, min(FOREIGN, len(foreign)))  # noqa: S311 (a sample)
        measured[dataset.name] = rows(dataset, foreign, embedder)
    for name, constant in zip(NAMES, fit(list(measured.values())), strict=True):
        print(f"{name} {constant:.2f}")
    results = [
        held_out(name, data, fit([other for other_name, other in measured.items() if other_name != name]))
        for name, data in (measured.items() if len(measured) > 1 else ())
    ]
    if results:
        confidences, right = (np.concatenate(parts) for parts in zip(*results, strict=True))
        error = calibration_error_interval(confidences.tolist(), right.tolist())
        print(f"pooled: {len(right)} queries, calibration error {error.mean:.3f} ({error.low:.3f} to {error.high:.3f})")
    return 0


def _load(path: Path, level: str | None, *, pool: bool) -> Dataset:
    """Return a dataset; ``level`` and ``pool`` apply to conversation files only."""
    if path.is_dir():
        return load_dataset(path)
    return load_dataset(path, level=level, pool=pool and "longmemeval" in path.name)


if __name__ == "__main__":
    sys.exit(main())
