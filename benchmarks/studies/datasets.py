"""The judged collections that the studies measure on, and the search for one of their questions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from recollect import Memory
from recollect.evaluation import Dataset, Question, load_dataset
from recollect.query import parse_question_date
from recollect.retrieval import SearchOptions, SearchResult

__all__ = ["COLLECTIONS", "OWN_DATASETS", "judged_datasets", "search_question"]

COLLECTIONS = {
    "LoCoMo turns": ("locomo*.json", "turn", "mrr"),
    "LoCoMo sessions": ("locomo*.json", "session", "mrr"),
    "LongMemEval turns": ("longmemeval*.json", "turn", "mrr"),
    "LongMemEval sessions": ("longmemeval*.json", "session", "mrr"),
    "SciFact": ("scifact*", None, "ndcg@10"),
    "MuSiQue": ("musique*", None, "recall@10"),
}
"""For each collection, the pattern of its file or folder, its level, and its measure."""
OWN_DATASETS = {"everyday": "mrr", "temporal": "mrr"}
"""The datasets of this repository and their measures."""


def judged_datasets(folder: Path, questions: int) -> Iterator[tuple[str, str, Dataset]]:
    """Yield (name, measure, dataset) of the collections that the folder has, and of ``OWN_DATASETS``.

    Each dataset has at most ``questions`` questions, evenly spaced.
    """
    for name, (pattern, level, measure) in COLLECTIONS.items():
        for path in sorted(folder.glob(pattern))[:1]:
            pool = "longmemeval" in path.name
            dataset = load_dataset(path, level=level, pool=pool) if level else load_dataset(path)
            yield name, measure, dataset.sample(questions)
    for name, measure in OWN_DATASETS.items():
        yield f"{name} set", measure, load_dataset(Path(__file__).parents[1] / "datasets" / name).sample(questions)


def search_question(memory: Memory, question: Question, latest: datetime, options: SearchOptions) -> SearchResult:
    """Search for a question as of its date; ``latest`` is the current time for a question without a date."""
    date = parse_question_date(question.asked_at) if question.asked_at else None
    return memory.search(question.text, options=options, now=date or latest, question_date=date)
