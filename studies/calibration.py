"""What a similarity means: fits the constants of ``recollect.ranking.certainty`` on judged collections.

    python -m studies.calibration --embedder minilm COLLECTION COLLECTION ...

A collection is a BEIR folder (corpus.jsonl, queries.jsonl, qrels/*.tsv) or a LoCoMo JSON file. Each question is put to
its own collection, where judgements say which of the ten best notes are relevant, and to the others, where none is. The
logistic regression weighs relevant notes, others of the same collection, and notes of a foreign one 2 : 1 : 1. For each
collection it is told how constants do that were fitted on the others.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import recollect
from recollect.progress import shown_progress
from recollect.query import parse
from recollect.retrieval.matching import coverage

ASKED = 150
FOREIGN = 100
RELEVANT, OTHER, FOREIGN_NOTE = 1, 0, -1


class Question(NamedTuple):
    """A question, the namespace that it is put to, and the ids of the notes that answer it."""

    text: str
    namespace: str
    answers: frozenset[str]


class Collection(NamedTuple):
    """Notes, and questions to them."""

    name: str
    notes: list[dict[str, Any]]
    questions: list[Question]


def read(path: Path) -> Collection:
    """Read a BEIR folder or a LoCoMo file."""
    return _beir(path) if path.is_dir() else _locomo(path)


def _beir(folder: Path) -> Collection:
    notes = [
        {"id": row["_id"], "title": row.get("title", ""), "content": row["text"] or row.get("title") or "-"}
        for row in _lines(folder / "corpus.jsonl")
    ]
    texts = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl")}
    answers: dict[str, set[str]] = {}
    for table in sorted((folder / "qrels").glob("*.tsv")):
        for line in table.read_text(encoding="utf-8").splitlines()[1:]:
            question, note, grade = line.split("\t")
            if int(grade) > 0:
                answers.setdefault(question, set()).add(note)
    questions = [Question(texts[each], "default", frozenset(found)) for each, found in answers.items()]
    return Collection(folder.name, notes, questions)


def _locomo(path: Path) -> Collection:
    notes, questions = [], []
    for sample in json.loads(path.read_text(encoding="utf-8")):
        home = sample["sample_id"]
        for session, turns in sample["conversation"].items():
            if isinstance(turns, list):
                notes += [
                    {"id": turn["dia_id"], "content": f"{turn['speaker']}: {turn['text']}", "namespace": home}
                    | {"session": session, "position": place}
                    for place, turn in enumerate(turns)
                ]
        for each in sample["qa"]:
            evidence = re.findall(r"D(\d+):(\d+)", " ".join(each.get("evidence", [])))
            if evidence:
                found = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in evidence)
                questions.append(Question(each["question"], home, found))
    return Collection(path.stem, notes, questions)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def rows(collection: Collection, foreign: list[Question], embedder: str) -> NDArray[np.float64]:
    """Return similarity, coverage and label of the ten best notes for each question."""
    chance = random.Random(1)  # noqa: S311 (a sample)
    own = chance.sample(collection.questions, min(ASKED, len(collection.questions)))
    homes = sorted({question.namespace for question in collection.questions})
    found = []
    with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=embedder) as memory:
        with shown_progress(f"Embedding {collection.name}") as progress:
            memory.add_many(collection.notes, progress=progress)
        for question, is_own in [*((each, True) for each in own), *((each, False) for each in foreign)]:
            home = question.namespace if is_own else chance.choice(homes)
            result = memory.search(question.text, namespace=home, preset="trovella", top_k=10)
            known = [hit.candidate.vector_similarity for hit in result if hit.candidate.vector_similarity is not None]
            for hit in result:
                similarity = hit.candidate.vector_similarity
                held = coverage((hit.title, hit.summary, hit.content, hit.path), parse(question.text))
                label = (RELEVANT if hit.id in question.answers else OTHER) if is_own else FOREIGN_NOTE
                found.append((min(known, default=0.0) if similarity is None else similarity, held, label))
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
    collections = [read(path) for path in given.collections]
    measured = {}
    for collection in collections:
        others = [
            question
            for other in collections
            if other is not collection
            for question in random.Random(2).sample(other.questions, min(FOREIGN, len(other.questions)))  # noqa: S311
        ]
        measured[collection.name] = rows(collection, others, given.embedder)
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
