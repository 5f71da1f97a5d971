"""Run the searches of an evaluation: ``evaluate`` measures systems, ``open_scorer`` measures presets during tuning."""

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
from recollect.rerankers import RerankerSpec, reranker_from
from recollect.retrieval import Preset, PresetSpec
from recollect.retrieval.options import Mode

DEPTH = 20
"""How many hits are requested for a measure without a cutoff, such as ``mrr``; ``evaluate`` never requests fewer."""


def evaluate(
    dataset: Dataset,
    systems: Sequence[System | PresetSpec],
    *,
    embedder: EmbedderSpec = "auto",
    reranker: RerankerSpec = None,
    measures: Sequence[str] = MEASURES,
    memory: Memory | None = None,
    namespace: str | None = None,
    store: str | PathLike[str] | None = None,
    cache: str | PathLike[str] | None = None,
    answer_threshold: float | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Search for every question with every system, and return one outcome for each system, in the same order.

    Measures are means over the answerable questions. Each collection is ingested into a temporary file or, if ``store``
    (a path or URL) is passed, into a new namespace of that store, whose notes are deleted at the end. If the dataset
    has no notes, ``namespace`` of ``memory`` is searched, and judgements name notes of that memory by id or path;
    nothing is written to that memory. A search runs as if it were made on the question's date or, if the question has
    no date, on the date of the newest note.

    ``reranker`` is used for temporary memories; a memory that is passed has its own. Vectors of notes are
    stored in the folder ``cache``, by default in the user's cache. ``answer_threshold`` is the confidence below which a
    search counts as having no answer, for :class:`~recollect.evaluation.TrustMetrics`; the default is the threshold of
    each system's preset.

    >>> from recollect import Note
    >>> from recollect.evaluation import Collection
    >>> tea = Collection(id="tea", notes=(Note(id="n1", content="Prefers green tea."), Note(id="n2", content="Keys.")))
    >>> question = Question(id="q1", text="which tea?", collection="tea", relevant={"n1": 1})
    >>> dataset = Dataset(name="tiny", collections={"tea": tea}, questions=(question,))
    >>> default, memini = evaluate(dataset, ["default", "memini"], embedder=None)
    >>> default.rankings["q1"].ids, memini.mean("mrr")
    (('n1',), 1.0)
    """
    distinct_systems = _distinct_systems(systems)
    depth = max([DEPTH, *map(cutoff, measures)])
    groups = questions_by_collection(dataset, memory)
    if memory is not None and store is not None:
        raise ArgumentError("store", "is for the notes of a dataset; leave it out for questions about a memory")
    model = embedder_from(embedder) if memory is None else memory.embedder
    reranker_model = reranker_from(reranker)
    vector_system = next((system for system in distinct_systems if system.mode in ("hybrid", "semantic")), None)
    if model is None and vector_system:
        raise ArgumentError("embedder", f"must not be none for {vector_system.name}, which needs vector search")
    total = sum(len(collection.notes) + len(questions) * len(distinct_systems) for collection, questions in groups)
    rankings: dict[str, dict[str, Ranking]] = {system.name: {} for system in distinct_systems}
    done = 0
    for collection, questions in groups:
        with ExitStack() as stack:
            if memory is None:
                caching_embedder = CachingEmbedder(model, cache) if model else None
                ingest_progress = _ingest_progress(progress, done, total, collection.id)
                context = temporary_memory(
                    collection, caching_embedder, reranker=reranker_model, store=store, progress=ingest_progress
                )
                collection_memory, own_namespace = stack.enter_context(context)
                target = SearchTarget(collection_memory, own_namespace, latest_date(collection.notes))
                done += len(collection.notes)
            else:
                target = judged_target(memory, namespace, questions)
            for system in distinct_systems:
                # The first search also loads models and indexes, so its result and latency are not used.
                target.search(questions[0], system.loaded_preset, system.mode, depth)
                for question in questions:
                    if isinstance(target.memory.embedder, SupportsQueryCache):
                        target.memory.embedder.clear_query_cache()  # so that the latency includes embedding
                    ranking = target.search(question, system.loaded_preset, system.mode, depth)
                    rankings[system.name][question.id] = ranking
                    done += 1
                    if progress:
                        progress(done, total, system.name)
    embedder_name = model.name if model else "none"
    return [
        _outcome(dataset, system, embedder_name, rankings[system.name], measures, answer_threshold)
        for system in distinct_systems
    ]


def _distinct_systems(systems: Sequence[System | PresetSpec]) -> list[System]:
    """Return each system or preset as a ``System``; raise ``ArgumentError`` if there is none or a name occurs twice."""
    specs = arguments.sequence("systems", systems)
    distinct_systems = [spec if isinstance(spec, System) else System(spec) for spec in specs]
    if not distinct_systems:
        raise ArgumentError("systems", "must have at least one system, got none")
    name, count = Counter(system.name for system in distinct_systems).most_common(1)[0]
    if count > 1:
        raise ArgumentError("systems", f"{count} systems are called {name!r}; their names must differ")
    return distinct_systems


def _outcome(
    dataset: Dataset,
    system: System,
    embedder: str,
    rankings: Mapping[str, Ranking],
    measures: Sequence[str],
    answer_threshold: float | None,
) -> Outcome:
    answerable = dataset.answerable
    strata = {name: np.flatnonzero([name in question.strata for question in answerable]) for name in dataset.strata}
    threshold = system.loaded_preset.answer_threshold if answer_threshold is None else answer_threshold
    return Outcome(
        dataset=dataset.name,
        system=system.name,
        preset=system.loaded_preset.name,
        mode=system.mode,
        embedder=embedder,
        rankings={question.id: rankings[question.id] for question in answerable},
        values=compute_measures(answerable, rankings, measures),
        strata={name: indexes for name, indexes in strata.items() if len(indexes)},
        synthetic=dataset.synthetic,
        trust=trust_metrics(dataset.questions, rankings, threshold),
        unanswerable={question.id: rankings[question.id] for question in dataset.unanswerable},
    )


class SearchScorer:
    """Scores a preset: a call searches for every question and returns the value of one measure for each question."""

    def __init__(self, questions: Sequence[tuple[Question, SearchTarget]], measure: str, mode: Mode) -> None:
        self._questions, self._measure, self._mode = questions, measure, mode
        self.warnings: dict[str, None] = {}
        """The warnings of all searches so far, each once, in order; a dict because sets have no order."""

    def __call__(self, preset: Preset) -> NDArray[np.float64]:
        """Search for every question with a preset, and return one value for each question, in order."""
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
    """Yield a function that searches with a preset and returns the value of ``measure`` for each answerable question.

    The collections are ingested once, for all presets, into one temporary memory with a namespace for each collection.
    Vectors are stored in ``cache`` as in :func:`~recollect.evaluation.evaluate`, and each query is embedded once. If
    the dataset has no notes, ``namespace`` of ``memory`` is searched; nothing is written to ``memory``.

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
    caching_embedder = CachingEmbedder(model, cache, cache_queries=True) if model else None
    total, done = sum(len(collection.notes) for collection, _ in groups), 0
    with (
        TemporaryDirectory(prefix="recollect-") as temporary,
        open_memory(Path(temporary, "memory.db"), embedder=caching_embedder, record_access=False) as joint_memory,
    ):
        target_by_question: dict[str, SearchTarget] = {}
        for number, (collection, questions) in enumerate(groups):
            own_namespace = f"collection {number}"
            ingest_progress = _ingest_progress(progress, done, total, collection.id)
            notes = joint_memory.add_many(dated_notes(collection), namespace=own_namespace, progress=ingest_progress)
            target = SearchTarget(joint_memory, own_namespace, latest_date(notes))
            target_by_question |= dict.fromkeys((question.id for question in questions), target)
            done += len(notes)
        questions_and_targets = [(question, target_by_question[question.id]) for question in dataset.answerable]
        yield SearchScorer(questions_and_targets, measure, mode)


def _ingest_progress(progress: Progress | None, done_before: int, total: int, collection: str) -> Progress | None:
    """Return a callback for ingesting one collection, which reports its notes as part of the whole evaluation."""
    if progress is None:
        return None
    return lambda done, _total, _name: progress(done_before + done, total, collection)
