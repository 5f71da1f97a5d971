"""What a similarity means: fits the constants of ``recollect.ranking.certainty`` on judged collections.

    python -m studies.calibration --embedder minilm COLLECTION COLLECTION ...

A collection is any dataset that ``recollect.evaluation`` reads. Each question is put to its own collection, where
judgements say which of the ten best notes are relevant, and to the others, where none is. The logistic regression
weighs relevant notes, others of the same collection, and notes of a foreign one 2 : 1 : 1. For each collection it is
told how constants do that were fitted on the others.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.embedders import Embedder, embedder_from
from recollect.evaluation import Dataset, KeepingEmbedder, Question, load_dataset, open_collection
from recollect.evaluation.running import evaluation_folder
from recollect.progress import shown_progress
from recollect.query import parse
from recollect.retrieval.matching import coverage

ASKED = 150
FOREIGN = 100
RELEVANT, OTHER, FOREIGN_NOTE = 1, 0, -1


def rows(dataset: Dataset, foreign: list[Question], embedder: Embedder) -> NDArray[np.float64]:
    """Return similarity, coverage and label of the ten best notes for each question."""
    chance = random.Random(1)  # noqa: S311 (a sample)
    homes = sorted(dataset.collections)
    put: dict[str, list[tuple[Question, bool]]] = {home: [] for home in homes}
    for question in chance.sample(dataset.questions, min(ASKED, len(dataset.questions))):
        put[question.collection].append((question, True))
    for question in foreign:
        put[chance.choice(homes)].append((question, False))
    found = []
    for home, asked in put.items():
        with (
            shown_progress(f"Embedding {dataset.name}") as progress,
            open_collection(dataset.collections[home], embedder, progress) as memory,
        ):
            for question, is_own in asked:
                result = memory.search(question.text, preset="trovella", top_k=10)
                similarities = [hit.candidate.vector_similarity for hit in result]
                least = min((each for each in similarities if each is not None), default=0.0)
                for hit, similarity in zip(result, similarities, strict=True):
                    held = coverage((hit.title, hit.summary, hit.content, hit.path), parse(question.text))
                    label = (RELEVANT if hit.id in question.relevant else OTHER) if is_own else FOREIGN_NOTE
                    found.append((least if similarity is None else similarity, held, label))
    return np.array(found)


def fit(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return base, similarity and coverage of a weighted logistic regression, by Newton's method."""
    features = np.column_stack([np.ones(len(data)), data[:, 0], data[:, 1]])
    relevant = (data[:, 2] == RELEVANT).astype(float)
    shares = {RELEVANT: 1.0, OTHER: 0.5, FOREIGN_NOTE: 0.5}
    counts = {label: max(1, int((data[:, 2] == label).sum())) for label in shares}
    weights = np.array([1000 * shares[int(label)] / counts[int(label)] for label in data[:, 2]])
    constants = np.zeros(3)
    for _ in range(50):
        chances = 1 / (1 + np.exp(-features @ constants))
        slope = features.T @ (weights * (relevant - chances)) - 0.01 * constants
        curvature = (features * (weights * chances * (1 - chances))[:, None]).T @ features + 0.01 * np.eye(3)
        constants = constants + np.linalg.solve(curvature, slope)
    return constants


def main() -> None:
    """Fit and print."""
    reader = argparse.ArgumentParser(prog="python -m studies.calibration", description=__doc__)
    reader.add_argument("collections", nargs="+", type=Path)
    reader.add_argument("--embedder", default="minilm")
    given = reader.parse_args()
    model = embedder_from(given.embedder)
    if model is None:
        reader.error("similarities need an embedder")
    embedder = KeepingEmbedder(model, evaluation_folder())
    datasets = [load_dataset(path) for path in given.collections]
    measured = {}
    for dataset in datasets:
        others = [
            question
            for other in datasets
            if other is not dataset
            for question in random.Random(2).sample(other.questions, min(FOREIGN, len(other.questions)))  # noqa: S311 (a sample)
        ]
        measured[dataset.name] = rows(dataset, others, embedder)
    print("all: base, similarity, coverage", fit(np.vstack(list(measured.values()))).round(2))
    for name, held_out in measured.items() if len(measured) > 1 else ():
        constants = fit(np.vstack([data for other, data in measured.items() if other != name]))
        sure = 1 / (1 + np.exp(-np.column_stack([np.ones(len(held_out)), held_out[:, :2]]) @ constants))
        relevant, foreign = sure[held_out[:, 2] == RELEVANT], sure[held_out[:, 2] == FOREIGN_NOTE]
        print(
            f"{name}, held out: {constants.round(2)};"
            f" relevant above 0.3: {(relevant >= 0.3).mean():.2f}, foreign below 0.3: {(foreign < 0.3).mean():.2f}"
        )


if __name__ == "__main__":
    main()
