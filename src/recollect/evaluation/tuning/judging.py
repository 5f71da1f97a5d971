"""A judge that searches: every question of a dataset is put to a memory under the preset that is to be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.embedders import EmbedderSpec, embedder_from
from recollect.evaluation.dataset import Dataset, Question
from recollect.evaluation.embeddings import CachingEmbedder
from recollect.evaluation.lodging import UNDATED, dated
from recollect.evaluation.measures import compute_measures, cutoff
from recollect.evaluation.outcome import Ranking
from recollect.evaluation.own_memory import Held, held_by
from recollect.evaluation.running import DEPTH, default_cache_folder, questions_by_collection
from recollect.memory import Memory
from recollect.opening import open as open_memory
from recollect.progress import Progress
from recollect.query import parse_question_date
from recollect.retrieval import Preset
from recollect.retrieval.messages import index_warnings
from recollect.retrieval.options import Mode

__all__ = ["SearchJudge", "open_scorer"]


class _Put(NamedTuple):
    """A question, where it is put, and from when it counts time unless it says so itself."""

    question: Question
    namespace: str | None
    now: datetime


class SearchJudge:
    """Gives the value of every question under a preset, by one measure."""

    def __init__(
        self, memory: Memory, questions: Sequence[_Put], measure: str, mode: Mode, held: Held | None = None
    ) -> None:
        """Nothing is searched for yet."""
        self._memory, self._put, self._measure, self._mode, self._held = memory, questions, measure, mode, held
        self.warnings: dict[str, None] = {}
        """What searches had to do without, each once."""

    def __call__(self, preset: Preset) -> NDArray[np.float64]:
        """Search for every question, and return their values in the dataset's order."""
        rankings = {put.question.id: self._ranking(put, preset) for put in self._put}
        return compute_measures([put.question for put in self._put], rankings, [self._measure])[self._measure]

    def _ranking(self, put: _Put, preset: Preset) -> Ranking:
        asked = parse_question_date(put.question.asked) if put.question.asked else None
        result = self._memory.search(
            put.question.text,
            top_k=cutoff(self._measure) or DEPTH,
            mode=self._mode,
            preset=preset,
            question_date=asked,
            now=asked or put.now,  # a time that stays, and no search that notes remember
            namespace=put.namespace,
        )
        self.warnings |= dict.fromkeys(index_warnings(result.trace))
        held = self._held
        if held:
            self.warnings |= dict.fromkeys(held.lacking(put.question))
        names = tuple(held.name(hit) if held else hit.id for hit in result)
        return Ranking(names, tuple(float(hit.score) for hit in result), 0.0)


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
) -> Iterator[SearchJudge]:
    """Give a judge of presets for the questions of a dataset that have an answer, for as long as it is needed.

    The collections of the dataset are put into one memory, a namespace each, once for all presets; vectors are kept in
    ``cache`` as by :func:`~recollect.evaluation.evaluate`, and each query is embedded once. Questions without notes of
    their own are put to ``memory``, in ``namespace``; nothing is written there.

    >>> from recollect import Note, presets
    >>> from recollect.evaluation import Collection
    >>> tea = Collection(id="home", notes=(Note(id="n1", content="Green tea."), Note(id="n2", content="Tea towels.")))
    >>> asked = Question(id="q1", text="tea towel", collection="home", relevant={"n2": 1})
    >>> dataset = Dataset(name="tiny", collections={"home": tea}, questions=(asked,))
    >>> with open_scorer(dataset, measure="mrr", embedder=None) as judge:
    ...     judge(presets()["default"]).tolist()
    [1.0]
    """
    asked = questions_by_collection(dataset, memory)
    if memory is not None:
        held = held_by(memory, namespace, dataset.answerable)
        put_here = [_Put(each, namespace, held.latest) for each in dataset.answerable]
        yield SearchJudge(memory, put_here, measure, mode, held)
        return
    model = embedder_from(embedder)
    folder = default_cache_folder() if cache is None else Path(cache).expanduser()
    kept = CachingEmbedder(model, folder, cache_queries=True) if model else None
    total, done = sum(len(collection.notes) for collection, _ in asked), 0
    with (
        TemporaryDirectory(prefix="recollect-") as place,
        open_memory(Path(place, "memory.db"), embedder=kept, record_access=False) as made,
    ):
        put: dict[str, _Put] = {}
        for number, (collection, questions) in enumerate(asked):
            within = None if progress is None else _within(progress, done, total, collection.id)
            notes = made.add_many(dated(collection), namespace=f"collection {number}", progress=within)
            latest = max((note.created_at or UNDATED for note in notes), default=UNDATED)
            put |= {each.id: _Put(each, f"collection {number}", latest) for each in questions}
            done += len(notes)
        yield SearchJudge(made, [put[each.id] for each in dataset.answerable], measure, mode)


def _within(progress: Progress, before: int, total: int, name: str) -> Progress:
    """Return a progress for one collection, as part of that of all."""
    return lambda done, _total, _name: progress(before + done, total, name)
