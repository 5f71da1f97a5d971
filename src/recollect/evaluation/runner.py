"""Search for the questions of a dataset with systems, or with presets to tune, and measure the rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from recollect import arguments
from recollect.embedders import EmbedderSpec, embedder_from
from recollect.embedders.base import SupportsQueryCache
from recollect.errors import ArgumentError
from recollect.evaluation.cache import CachingEmbedder
from recollect.evaluation.calibration import trust_metrics
from recollect.evaluation.dataset import Dataset, Question
from recollect.evaluation.measures import MEASURES, compute_measures, cutoff
from recollect.evaluation.memories import (
    SearchTarget,
    dated_notes,
    judged_target,
    latest_date,
    questions_by_collection,
    temporary_memory,
)
from recollect.evaluation.outcome import Outcome, Ranking, System
from recollect.memory import Memory
from recollect.opening import open as open_memory
from recollect.progress import Progress
from recollect.retrieval import Preset, PresetSpec
from recollect.retrieval.options import Mode

DEPTH = 20
"""The least number of hits of a search: enough for measures at 10, and for ``mrr`` of late hits."""


def evaluate(
    dataset: Dataset,
    systems: Sequence[System | PresetSpec],
    *,
    embedder: EmbedderSpec = "auto",
    measures: Sequence[str] = MEASURES,
    memory: Memory | None = None,
    namespace: str | None = None,
    store: str | PathLike[str] | None = None,
    cache: str | PathLike[str] | None = None,
    answer_threshold: float | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Put every question to every system, and return their outcomes in the order of ``systems``.

    ``measures`` are means over the answerable questions. Each collection becomes a memory of its own, one at a time: a
    temporary file, or a namespace of ``store`` (a path or address) that is emptied at the end. Questions of a
    collection without notes are put to ``memory``, in ``namespace``, and judged by the ids or paths of its notes;
    nothing is written there. The time of a search is that of the question; without one, that of the latest note.

    Vectors of notes are stored in the folder ``cache``, by default in the user's cache. ``answer_threshold`` is the
    confidence below which a search counts as having no answer, for :class:`~recollect.evaluation.TrustMetrics`; by
    default it is that of each system's preset.

    >>> from recollect import Note
    >>> from recollect.evaluation import Collection
    >>> tea = Collection(id="tea", notes=(Note(id="n1", content="Prefers green tea."), Note(id="n2", content="Keys.")))
    >>> question = Question(id="q1", text="which tea?", collection="tea", relevant={"n1": 1})
    >>> dataset = Dataset(name="tiny", collections={"tea": tea}, questions=(question,))
    >>> default, memini = evaluate(dataset, ["default", "memini"], embedder=None)
    >>> default.rankings["q1"].ids, memini.mean("mrr")
    (('n1',), 1.0)
    """
    chosen = _distinct_systems(systems)
    depth = max([DEPTH, *map(cutoff, measures)])
    groups = questions_by_collection(dataset, memory)
    if memory is not None and store is not None:
        raise ArgumentError("store", "is for the notes of a dataset; these questions are for a memory that has its own")
    model = embedder_from(embedder) if memory is None else memory.embedder
    needs_vectors = next((system for system in chosen if system.mode in ("hybrid", "semantic")), None)
    if model is None and needs_vectors:
        raise ArgumentError("embedder", f"must not be none for {needs_vectors.name}, which needs vector search")
    total = sum(len(collection.notes) + len(questions) * len(chosen) for collection, questions in groups)
    rankings: dict[str, dict[str, Ranking]] = {system.name: {} for system in chosen}
    done = 0
    for collection, questions in groups:
        with ExitStack() as stack:
            if memory is None:
                caching = CachingEmbedder(model, cache) if model else None
                reporter = _progress_within(progress, done, total, collection.id)
                context = temporary_memory(collection, caching, store=store, progress=reporter)
                target = SearchTarget(*stack.enter_context(context), latest_date(collection.notes))
                done += len(collection.notes)
            else:
                target = judged_target(memory, namespace, questions)
            for system in chosen:
                # The first search loads models and indexes: it is not timed.
                target.search(questions[0], system.loaded_preset, system.mode, depth)
                for question in questions:
                    if isinstance(target.memory.embedder, SupportsQueryCache):
                        target.memory.embedder.clear_query_cache()  # the latency of each system includes embedding
                    ranking = target.search(question, system.loaded_preset, system.mode, depth)
                    rankings[system.name][question.id] = ranking
                    done += 1
                    if progress:
                        progress(done, total, system.name)
    embedder_name = model.name if model else "none"
    return [
        _outcome(dataset, system, embedder_name, rankings[system.name], measures, answer_threshold) for system in chosen
    ]


def _distinct_systems(systems: Sequence[System | PresetSpec]) -> list[System]:
    """Return the systems; raise ``ArgumentError`` if there is none, or two have the same name."""
    given = arguments.sequence("systems", systems)
    chosen = [system if isinstance(system, System) else System(system) for system in given]
    if not chosen:
        raise ArgumentError("systems", "must be at least one")
    name, count = Counter(system.name for system in chosen).most_common(1)[0]
    if count > 1:
        raise ArgumentError("systems", f"two of them are called {name!r}; give one another name")
    return chosen


def _outcome(
    dataset: Dataset,
    system: System,
    embedder: str,
    rankings: Mapping[str, Ranking],
    measures: Sequence[str],
    answer_threshold: float | None,
) -> Outcome:
    answerable = dataset.answerable
    strata = {
        stratum: np.flatnonzero([stratum in question.strata for question in answerable]) for stratum in dataset.strata
    }
    threshold = system.loaded_preset.answer_threshold if answer_threshold is None else answer_threshold
    return Outcome(
        dataset=dataset.name,
        system=system.name,
        preset=system.loaded_preset.name,
        mode=system.mode,
        embedder=embedder,
        rankings={question.id: rankings[question.id] for question in answerable},
        values=compute_measures(answerable, rankings, measures),
        strata={stratum: indexes for stratum, indexes in strata.items() if len(indexes)},
        synthetic=dataset.synthetic,
        trust=trust_metrics(dataset.questions, rankings, threshold),
        unanswerable={question.id: rankings[question.id] for question in dataset.unanswerable},
    )


class SearchScorer:
    """Returns the value of every question under a preset, by one measure."""

    def __init__(self, questions: Sequence[tuple[Question, SearchTarget]], measure: str, mode: Mode) -> None:
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
    """Open a scorer of presets on the answerable questions of a dataset.

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
        target = judged_target(memory, namespace, dataset.answerable)
        yield SearchScorer([(question, target) for question in dataset.answerable], measure, mode)
        return
    model = embedder_from(embedder)
    caching = CachingEmbedder(model, cache, cache_queries=True) if model else None
    total, done = sum(len(collection.notes) for collection, _ in groups), 0
    with (
        TemporaryDirectory(prefix="recollect-") as temporary,
        open_memory(Path(temporary, "memory.db"), embedder=caching, record_access=False) as pooled,
    ):
        targets: dict[str, SearchTarget] = {}
        for number, (collection, questions) in enumerate(groups):
            name = f"collection {number}"
            reporter = _progress_within(progress, done, total, collection.id)
            notes = pooled.add_many(dated_notes(collection), namespace=name, progress=reporter)
            target = SearchTarget(pooled, name, latest_date(notes))
            targets |= dict.fromkeys((question.id for question in questions), target)
            done += len(notes)
        yield SearchScorer([(question, targets[question.id]) for question in dataset.answerable], measure, mode)


def _progress_within(progress: Progress | None, before: int, total: int, name: str) -> Progress | None:
    """Return a callback that reports the progress of one collection as part of the whole."""
    return progress and (lambda done, _total, _name: progress(before + done, total, name))
