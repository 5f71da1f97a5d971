"""A scorer of presets for tuning: it searches for every answerable question of a dataset, and measures the rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from recollect.embedders import EmbedderSpec, embedder_from
from recollect.evaluation.cache import CachingEmbedder, default_cache_folder
from recollect.evaluation.dataset import Dataset, Question
from recollect.evaluation.measures import compute_measures, cutoff
from recollect.evaluation.memories import (
    SearchTarget,
    dated_notes,
    find_judged_notes,
    latest_date,
    questions_by_collection,
)
from recollect.evaluation.runner import DEPTH
from recollect.memory import Memory
from recollect.opening import open as open_memory
from recollect.progress import Progress
from recollect.retrieval import Preset
from recollect.retrieval.options import Mode


class SearchScorer:
    """Returns the value of every question under a preset, by one measure."""

    def __init__(self, questions: Sequence[tuple[Question, SearchTarget]], measure: str, mode: Mode) -> None:
        """Keep the questions, each with the memory that is searched for it."""
        self._questions, self._measure, self._mode = questions, measure, mode
        self.warnings: dict[str, None] = {}
        """The warnings of all searches, each once."""

    def __call__(self, preset: Preset) -> NDArray[np.float64]:
        """Search for every question, and return the values in order."""
        top_k = cutoff(self._measure) or DEPTH
        rankings = {}
        for question, target in self._questions:
            ranking = target.search(question, preset, self._mode, top_k)
            self.warnings |= dict.fromkeys(ranking.warnings)
            rankings[question.id] = ranking
        questions = [question for question, _ in self._questions]
        return compute_measures(questions, rankings, [self._measure])[self._measure]


@contextmanager
def open_scorer(
    dataset: Dataset,
    *,
    measure: str = "ndcg@10",
    mode: Mode = "auto",
    embedder: EmbedderSpec = "auto",
    memory: Memory | None = None,
    namespace: str | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[SearchScorer]:
    """Give a scorer of presets for the answerable questions of a dataset.

    The collections are put into one temporary memory, a namespace each, once for all presets. Vectors are stored in
    ``cache`` as by :func:`~recollect.evaluation.evaluate`, and each query is embedded once. Questions without notes of
    their own are put to ``memory``, in ``namespace``; nothing is written there.

    >>> from recollect import Note, presets
    >>> from recollect.evaluation import Collection
    >>> tea = Collection(id="tea", notes=(Note(id="n1", content="Green tea."), Note(id="n2", content="Tea towels.")))
    >>> question = Question(id="q1", text="tea towel", collection="tea", relevant={"n2": 1})
    >>> dataset = Dataset(name="tiny", collections={"tea": tea}, questions=(question,))
    >>> with open_scorer(dataset, measure="mrr", embedder=None) as scorer:
    ...     scorer(presets()["default"]).tolist()
    [1.0]
    """
    groups = questions_by_collection(dataset, memory)
    if memory is not None:
        judged = find_judged_notes(memory, namespace, dataset.answerable)
        target = SearchTarget(memory, namespace, judged.latest, judged)
        yield SearchScorer([(question, target) for question in dataset.answerable], measure, mode)
        return
    model = embedder_from(embedder)
    folder = default_cache_folder() if cache is None else Path(cache).expanduser()
    caching = CachingEmbedder(model, folder, cache_queries=True) if model else None
    total, done = sum(len(collection.notes) for collection, _ in groups), 0
    with (
        TemporaryDirectory(prefix="recollect-") as temporary,
        open_memory(Path(temporary, "memory.db"), embedder=caching, record_access=False) as temporary_memory,
    ):
        targets: dict[str, SearchTarget] = {}
        for number, (collection, questions) in enumerate(groups):
            name = f"collection {number}"
            reporter = None if progress is None else _offset(progress, done, total, collection.id)
            notes = temporary_memory.add_many(dated_notes(collection), namespace=name, progress=reporter)
            target = SearchTarget(temporary_memory, name, latest_date(notes))
            targets |= dict.fromkeys((question.id for question in questions), target)
            done += len(notes)
        yield SearchScorer([(question, targets[question.id]) for question in dataset.answerable], measure, mode)


def _offset(progress: Progress, before: int, total: int, name: str) -> Progress:
    """Return the progress of one collection as part of that of all."""
    return lambda done, _total, _name: progress(before + done, total, name)
