"""Put the questions of a dataset to systems, or to presets that are tuned, and measure the rankings."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from recollect import arguments
from recollect.embedders import Embedder, EmbedderSpec, embedder_from
from recollect.embedders.base import SupportsQueryCache
from recollect.errors import ArgumentError
from recollect.evaluation.cache import (
    CachingEmbedder,
    RankingCache,
    code_digest,
    collection_digest,
    default_cache_folder,
    question_digest,
)
from recollect.evaluation.calibration import trust_metrics
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.measures import MEASURES, compute_measures, cutoff
from recollect.evaluation.memories import (
    SearchTarget,
    dated_notes,
    find_judged_notes,
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
"""The number of hits of a search: enough for measures at 10, and for ``mrr`` of late hits."""


def evaluate(
    dataset: Dataset,
    systems: Sequence[System | PresetSpec],
    *,
    embedder: EmbedderSpec = "auto",
    depth: int = DEPTH,
    measures: Sequence[str] = MEASURES,
    memory: Memory | None = None,
    namespace: str | None = None,
    store: str | PathLike[str] | None = None,
    cache: str | PathLike[str] | None = None,
    resume: bool = True,
    answer_threshold: float | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Put every question to every system, and return their outcomes in the order of ``systems``.

    ``measures`` are means over the answerable questions. Each collection becomes a memory of its own, one at a time: a
    temporary file, or a namespace of ``store`` (a path or address) that is emptied at the end. Questions of a
    collection without notes are put to ``memory``, in ``namespace``, and judged by the ids or paths of its notes;
    nothing is written there. The time of a search is that of the question; without one, that of the latest note.

    Vectors of notes, and rankings, are stored in the folder ``cache``, by default in the user's cache. A second run
    continues the first; without ``resume`` it starts anew. A ranking is reused only if dataset, preset, mode, embedder,
    ``depth``, ``store`` and the code of Recollect are the same; those of ``memory``, which may change, never are.

    ``answer_threshold`` is the confidence below which a search counts as having no answer, for
    :class:`~recollect.evaluation.TrustMetrics`; by default it is that of each system's preset.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect import Note
    >>> tea = Collection(id="tea", notes=(Note(id="n1", content="Prefers green tea."), Note(id="n2", content="Keys.")))
    >>> question = Question(id="q1", text="which tea?", collection="tea", relevant={"n1": 1})
    >>> dataset = Dataset(name="tiny", collections={"tea": tea}, questions=(question,))
    >>> with TemporaryDirectory() as folder:
    ...     default, memini = evaluate(dataset, ["default", "memini"], embedder=None, cache=folder)
    >>> default.rankings["q1"].ids, memini.mean("mrr")
    (('n1',), 1.0)
    """
    chosen = _distinct_systems(systems)
    max_cutoff = max(map(cutoff, measures), default=0)
    if arguments.at_least_one("depth", depth) < max_cutoff:
        raise ArgumentError("depth", f"must be at least {max_cutoff}, as deep as the measures look, got {depth}")
    folder = default_cache_folder() if cache is None else Path(cache).expanduser()
    groups = questions_by_collection(dataset, memory)
    if memory is not None and store is not None:
        raise ArgumentError("store", "is for the notes of a dataset; these questions are for a memory that has its own")
    model = embedder_from(embedder) if memory is None else memory.embedder
    lacking = next((system for system in chosen if system.mode in ("hybrid", "semantic")), None)
    if model is None and lacking:
        raise ArgumentError("embedder", f"must not be none for {lacking.name}, which needs vector search")
    model_name = model.name if model else "none"
    run = _Run(depth, progress)
    for system in chosen:
        key = "\0".join((system.digest(), model_name, str(depth), code_digest(), str(store or "")))
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{dataset.name}.{system.name}")[:80]
        path = folder / "runs" / f"{readable}.{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsonl"
        # A user's memory may change between two runs: its rankings are not stored.
        run.caches.append((system, RankingCache(path if memory is None else None, fresh=not resume)))
    run.work = sum(len(collection.notes) + len(questions) * len(chosen) for collection, questions in groups)
    rankings: dict[str, dict[str, Ranking]] = {system.name: {} for system in chosen}
    for collection, questions in groups:
        digest = collection_digest(collection)
        digests = {question.id: question_digest(question, digest) for question in questions}
        if memory is None:
            caching = CachingEmbedder(model, folder) if model else None
            run.search_collection(collection, questions, digests, caching, store)
        else:
            judged = find_judged_notes(memory, namespace, questions)
            run.search(SearchTarget(memory, namespace, judged.latest, judged), questions, digests)
        for system, cached in run.caches:
            rankings[system.name] |= {name: cached.rankings[digest] for name, digest in digests.items()}
    return [
        _outcome(dataset, system, model_name, rankings[system.name], measures, answer_threshold) for system in chosen
    ]


class _Run:
    """A running evaluation: the rankings of each system, and the progress."""

    def __init__(self, depth: int, progress: Progress | None) -> None:
        self.caches: list[tuple[System, RankingCache]] = []
        self.work = 0
        self._depth, self._progress, self._done = depth, progress, 0

    def search_collection(
        self,
        collection: Collection,
        questions: Sequence[Question],
        digests: Mapping[str, str],
        embedder: Embedder | None,
        store: str | PathLike[str] | None,
    ) -> None:
        start, end = self._done, self._done + len(collection.notes)
        if all(digest in cache.rankings for digest in digests.values() for _, cache in self.caches):
            self._report(end + len(questions) * len(self.caches), collection.id)
            return
        with temporary_memory(
            collection, embedder, store=store, progress=lambda count, *_: self._report(start + count, collection.id)
        ) as (memory, namespace):
            self._report(end, collection.id)
            self.search(SearchTarget(memory, namespace, latest_date(collection.notes)), questions, digests)

    def search(self, target: SearchTarget, questions: Sequence[Question], digests: Mapping[str, str]) -> None:
        """Search for each question with each system, unless its ranking is cached."""
        embedder = target.memory.embedder
        for system, cache in self.caches:
            pending = [question for question in questions if digests[question.id] not in cache.rankings]
            for question in pending[:1]:  # the first search loads models and indexes: it is not timed
                target.search(question, system.rules, system.mode, self._depth)
            for question in pending:
                if isinstance(embedder, SupportsQueryCache):
                    embedder.clear_query_cache()  # the latency of each system includes embedding
                cache.write(digests[question.id], target.search(question, system.rules, system.mode, self._depth))
                self._report(self._done + 1, system.name)
            self._report(self._done + len(questions) - len(pending), system.name)

    def _report(self, done: int, name: str) -> None:
        self._done = done
        if self._progress:
            self._progress(done, self.work, name)


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
    threshold = system.rules.answer_threshold if answer_threshold is None else answer_threshold
    indexes = {
        stratum: [index for index, question in enumerate(answerable) if stratum in question.strata]
        for stratum in dataset.strata
    }
    return Outcome(
        dataset=dataset.name,
        system=system.name,
        preset=system.rules.name,
        mode=system.mode,
        embedder=embedder,
        rankings={question.id: rankings[question.id] for question in answerable},
        values=compute_measures(answerable, rankings, measures),
        strata={stratum: np.array(members, dtype=np.intp) for stratum, members in indexes.items() if members},
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
        open_memory(Path(temporary, "memory.db"), embedder=caching, record_access=False) as pooled,
    ):
        targets: dict[str, SearchTarget] = {}
        for number, (collection, questions) in enumerate(groups):
            name = f"collection {number}"
            reporter = None if progress is None else _offset(progress, done, total, collection.id)
            notes = pooled.add_many(dated_notes(collection), namespace=name, progress=reporter)
            target = SearchTarget(pooled, name, latest_date(notes))
            targets |= dict.fromkeys((question.id for question in questions), target)
            done += len(notes)
        yield SearchScorer([(question, targets[question.id]) for question in dataset.answerable], measure, mode)


def _offset(progress: Progress, before: int, total: int, name: str) -> Progress:
    """Return the progress of one collection as part of that of all."""
    return lambda done, _total, _name: progress(before + done, total, name)
