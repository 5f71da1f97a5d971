"""Every question of a dataset is put to every system, and what comes back is measured."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from recollect import arguments
from recollect.embedders import Embedder, EmbedderSpec, embedder_from
from recollect.errors import ArgumentError, RecollectError
from recollect.evaluation.calibration import trust_metrics
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.embeddings import CachingEmbedder
from recollect.evaluation.journal import Journal, code_digest, collection_digest, question_digest
from recollect.evaluation.lodging import UNDATED, lodge
from recollect.evaluation.measures import MEASURES, compute_measures, cutoff
from recollect.evaluation.outcome import Outcome, Ranking
from recollect.evaluation.own_memory import Held, held_by
from recollect.evaluation.system import System
from recollect.inference.runtime import cache_folder
from recollect.memory import Memory
from recollect.progress import Progress
from recollect.query import parse_question_date
from recollect.retrieval import PresetSpec, SearchResult
from recollect.retrieval.messages import index_warnings

__all__ = ["DEPTH", "default_cache_folder", "evaluate", "questions_by_collection"]

DEPTH = 20
"""How many notes a system returns: enough for measures at 10, and for a first answer that comes late."""


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
    cache_queries: bool = False,
    answer_threshold: float | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Put every question to every system, and return what came of each, in the order of ``systems``.

    Questions that no note answers are asked, too; ``measures`` are means over the others.
    Each collection is a memory of its own, one at a time: in a temporary folder, or, in the ``store`` that is named by
    a path or an address, in a namespace of its own that is emptied when all is asked. Questions of a collection that
    has no notes are put to ``memory``, in ``namespace``, and judged by the ids or paths of its notes; nothing is
    written there. A question counts time from when it was asked; one without a date from the latest note, never from
    today.

    Vectors of notes, and rankings, are kept in the folder ``cache``, by default a part of the user's cache. A second
    run goes on where the first one was; without ``resume`` it begins anew. A ranking is taken over only if the dataset,
    the preset, the mode, the embedder, ``depth``, ``store`` and the code of Recollect are the same. Rankings of
    ``memory`` are not kept, because it may change. With ``cache_queries`` each query is embedded once, so that times
    say less: for sweeps.

    ``answer_threshold`` is the confidence below which a search counts as having no answer, for the measures of
    :class:`~recollect.evaluation.TrustMetrics`; by default it is that of each system's preset.

    >>> from tempfile import TemporaryDirectory
    >>> from recollect import Note
    >>> tea = Collection(id="home", notes=(Note(id="n1", content="Prefers green tea."), Note(id="n2", content="Keys.")))
    >>> asked = Question(id="q1", text="which tea?", collection="home", relevant={"n1": 1})
    >>> dataset = Dataset(name="tiny", collections={"home": tea}, questions=(asked,))
    >>> with TemporaryDirectory() as folder:
    ...     default, memini = evaluate(dataset, ["default", "memini"], embedder=None, cache=folder)
    >>> default.rankings["q1"].ids, memini.mean("mrr")
    (('n1',), 1.0)
    """
    chosen = _distinct(systems)
    deepest = max(map(cutoff, measures), default=0)
    if arguments.at_least_one("depth", depth) < deepest:
        raise ArgumentError("depth", f"must be at least {deepest}, as deep as the measures look, got {depth}")
    folder = default_cache_folder() if cache is None else Path(cache).expanduser()
    asked = questions_by_collection(dataset, memory)
    if memory is not None and store is not None:
        raise ArgumentError("store", "is for the notes of a dataset; these questions are for a memory that has its own")
    model = embedder_from(embedder) if memory is None else memory.embedder
    if model is None and (lacking := next((each for each in chosen if each.mode in ("hybrid", "semantic")), None)):
        raise ArgumentError("embedder", f"must not be none for {lacking.name}, or it would search by words alone")
    name = model.name if model else "none"
    with ExitStack() as stack:
        # A memory may change between two runs: what it answered is not kept.
        kept_in = folder if memory is None else Path(stack.enter_context(TemporaryDirectory(prefix="recollect-")))
        journals = [
            stack.enter_context(Journal(_journal(kept_in, dataset, system, name, depth, store), fresh=not resume))
            for system in chosen
        ]
        work = sum(len(collection.notes) + len(questions) * len(chosen) for collection, questions in asked)
        run = _Run(list(zip(chosen, journals, strict=True)), depth, work, progress, store)
        for collection, questions in asked:
            if memory is None:
                embedding = CachingEmbedder(model, folder, cache_queries=cache_queries) if model else None
                run.ask_collection(collection, questions, embedding)
            else:
                run.ask_memory(memory, questions, namespace)
    return [_outcome(dataset, system, name, run.found[system.name], measures, answer_threshold) for system in chosen]


def default_cache_folder() -> Path:
    """Return where vectors and rankings are kept unless told otherwise."""
    try:
        return cache_folder() / "evaluation"
    except RuntimeError as error:  # there are users without a home, above all in containers
        raise RecollectError(f"there is no folder to keep vectors in ({error}): set RECOLLECT_CACHE to one") from error


class _Run:
    """One evaluation on its way: what was found so far, and how far it has come."""

    def __init__(
        self,
        journals: Sequence[tuple[System, Journal]],
        depth: int,
        work: int,
        progress: Progress | None,
        store: str | PathLike[str] | None,
    ) -> None:
        self.found: dict[str, dict[str, Ranking]] = {system.name: {} for system, _ in journals}
        self._journals = journals
        self._depth = depth
        self._work = work
        self._progress = progress
        self._store = store
        self._done = 0

    def ask_collection(self, collection: Collection, questions: Sequence[Question], embedder: Embedder | None) -> None:
        """Put questions to a memory with the notes of their collection, unless all answers are known."""
        digest = collection_digest(collection)
        digests = {question.id: question_digest(question, digest) for question in questions}
        if any(each not in journal.rankings for each in digests.values() for _, journal in self._journals):
            before = self._done
            with lodge(
                collection, self._store, embedder, lambda count, *_: self._tell(before + count, collection.id)
            ) as (memory, namespace):
                self._tell(before + len(collection.notes), collection.id)
                now = max(note.created_at or UNDATED for note in collection.notes)
                self._ask(memory, questions, digests, {"namespace": namespace, "now": now})
        else:
            self._tell(self._done + len(collection.notes) + len(questions) * len(self._journals), collection.id)
        self._collect(questions, digests)

    def ask_memory(self, memory: Memory, questions: Sequence[Question], namespace: str | None) -> None:
        """Put questions to a memory that is there, where judgements may name notes by id or by path."""
        digests = {question.id: question_digest(question, "") for question in questions}
        held = held_by(memory, namespace, questions)
        self._ask(memory, questions, digests, {"namespace": namespace, "now": held.latest}, held)
        self._collect(questions, digests)

    def _ask(
        self,
        memory: Memory,
        questions: Sequence[Question],
        digests: Mapping[str, str],
        options: Mapping[str, Any],
        held: Held | None = None,
    ) -> None:
        forget = getattr(memory.embedder, "clear_query_cache", lambda: None)
        for system, journal in self._journals:
            pending = [question for question in questions if digests[question.id] not in journal.rankings]
            for question in pending[:1]:  # what is loaded with the first search is not format_count with any
                self._search(memory, system, question, options)
            for question in pending:
                forget()  # or a second system would have its queries embedded by the first
                start = perf_counter()
                result = self._search(memory, system, question, options)
                milliseconds = (perf_counter() - start) * 1000
                names = tuple(held.name(hit) if held else hit.id for hit in result)
                scores = tuple(float(hit.score) for hit in result)
                told = (*index_warnings(result.trace), *(held.lacking(question) if held else ()))
                confidences = tuple(float(hit.confidence or 0.0) for hit in result)
                journal.write(digests[question.id], Ranking(names, scores, milliseconds, told, confidences))
                self._tell(self._done + 1, system.name)
            self._tell(self._done + len(questions) - len(pending), system.name)

    def _search(self, memory: Memory, system: System, question: Question, options: Mapping[str, Any]) -> SearchResult:
        asked = parse_question_date(question.asked) if question.asked else None
        dated = {"question_date": asked, "now": asked} if asked else {}
        return memory.search(
            question.text,
            top_k=self._depth,
            mode=system.mode,
            preset=system.rules,
            **{**options, **dated},
        )

    def _collect(self, questions: Sequence[Question], digests: Mapping[str, str]) -> None:
        for system, journal in self._journals:
            self.found[system.name].update(
                (question.id, journal.rankings[digests[question.id]]) for question in questions
            )

    def _tell(self, done: int, name: str) -> None:
        self._done = done
        if self._progress:
            self._progress(done, self._work, name)


def _distinct(systems: Sequence[System | PresetSpec]) -> list[System]:
    """Return the systems, of which no two may be called the same."""
    given = arguments.sequence("systems", systems)
    chosen = [system if isinstance(system, System) else System(system) for system in given]
    if not chosen:
        raise ArgumentError("systems", "must be at least one")
    for place, system in enumerate(chosen):
        if system.name in (other.name for other in chosen[:place]):
            raise ArgumentError("systems", f"two of them are called {system.name!r}; give one another name")
    return chosen


def questions_by_collection(dataset: Dataset, memory: Memory | None) -> list[tuple[Collection, list[Question]]]:
    """Return the collections that are asked, each with its questions."""
    if not dataset.answerable:
        raise ArgumentError("dataset", f"{dataset.name} has no questions that a note answers")
    by_collection: dict[str, list[Question]] = {}
    for question in dataset.questions:
        if question.collection not in dataset.collections:
            raise ArgumentError("dataset", f"{dataset.name} has no collection {question.collection!r}")
        by_collection.setdefault(question.collection, []).append(question)
    asked = [(dataset.collections[name], questions) for name, questions in by_collection.items()]
    if memory is None and any(not collection.notes for collection, _ in asked):
        raise ArgumentError("memory", f"{dataset.name} has questions and no notes: name the memory that they are for")
    if memory is not None and any(collection.notes for collection, _ in asked):
        raise ArgumentError("memory", f"{dataset.name} has notes of its own; evaluate it without a memory")
    return asked


def _journal(
    folder: Path, dataset: Dataset, system: System, embedder: str, depth: int, store: str | PathLike[str] | None
) -> Path:
    """Return where the rankings of a system are kept; a name for people, and a digest of all that matters."""
    told = "\0".join((system.digest(), embedder, str(depth), code_digest(), str(store or "")))
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{dataset.name}.{system.name}")[:80]
    return folder / "runs" / f"{readable}.{hashlib.sha256(told.encode()).hexdigest()[:16]}.jsonl"


def _outcome(
    dataset: Dataset,
    system: System,
    embedder: str,
    found: Mapping[str, Ranking],
    measures: Sequence[str],
    answer_threshold: float | None,
) -> Outcome:
    answerable = dataset.answerable
    threshold = system.answer_threshold if answer_threshold is None else answer_threshold
    rankings = {question.id: found[question.id] for question in answerable}
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
        rankings=rankings,
        values=compute_measures(answerable, rankings, measures),
        strata={stratum: np.array(members, dtype=np.intp) for stratum, members in indexes.items() if members},
        synthetic=dataset.synthetic,
        trust=trust_metrics(dataset.questions, found, threshold),
        unanswerable={question.id: found[question.id] for question in dataset.unanswerable},
    )
