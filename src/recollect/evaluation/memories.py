"""The memories that an evaluation searches: temporary ones with the notes of a dataset, or the user's own memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from time import perf_counter

from recollect.embedders import Embedder
from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Collection, Dataset, Question
from recollect.evaluation.outcome import Ranking
from recollect.memory import Memory
from recollect.model import DEFAULT_NAMESPACE, TEXT_FIELDS, Note, is_blank
from recollect.opening import open as open_memory
from recollect.progress import Progress
from recollect.query import parse_question_date
from recollect.rerankers import Reranker
from recollect.retrieval import Preset
from recollect.retrieval.messages import index_warnings
from recollect.retrieval.options import Mode
from recollect.stores import open_store

DEFAULT_CREATED_AT = datetime(2000, 1, 1, tzinfo=UTC)
"""The creation time for notes without one. It is the same for all, so that none of them is newer than another."""


@contextmanager
def temporary_memory(
    collection: Collection,
    embedder: Embedder | None = None,
    *,
    reranker: Reranker | None = None,
    store: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Memory, str]]:
    """Open a memory with the notes of a collection; yield the memory and the namespace of the notes.

    By default the memory is a temporary file. If ``store`` (a path or URL) is passed, the notes are written to a new
    namespace of that store, and deleted at the end.

    >>> tea = Collection(id="tea", notes=(Note(id="n1", content="Prefers green tea."),))
    >>> with temporary_memory(tea) as (memory, namespace):
    ...     [hit.id for hit in memory.search("tea", namespace=namespace)]
    ['n1']
    """
    if store is None:
        with (
            TemporaryDirectory(prefix="recollect-") as folder,
            open_memory(Path(folder, "memory.db"), embedder=embedder, reranker=reranker, record_access=False) as memory,
        ):
            memory.add_many(dated_notes(collection), progress=progress)
            yield memory, DEFAULT_NAMESPACE
        return
    try:
        with closing(open_store(store)) as existing_store:
            model = existing_store.model
    except ArgumentError as error:  # open_store calls this argument target
        raise ArgumentError("store" if error.argument == "target" else error.argument, error.problem) from None
    if model and embedder and model.name != embedder.name:  # vector search would be off
        raise ArgumentError("store", f"has vectors of {model.name!r}, not of {embedder.name!r}; name an empty store")
    namespace = f"evaluation-{token_hex(8)}"
    with open_memory(store, embedder=embedder, reranker=reranker, record_access=False) as memory:
        try:
            memory.add_many(dated_notes(collection), namespace=namespace, progress=progress)
            yield memory, namespace
        finally:
            memory.delete(*(note.id for note in memory.notes(namespace=namespace)), namespace=namespace)


def dated_notes(collection: Collection) -> list[Note]:
    """Return the notes of a collection that have text; a note without a creation time gets ``DEFAULT_CREATED_AT``."""
    return [
        note if note.created_at else replace(note, created_at=DEFAULT_CREATED_AT)
        for note in collection.notes
        if not is_blank({name: getattr(note, name) for name in TEXT_FIELDS})
    ]


def latest_date(notes: Sequence[Note]) -> datetime:
    """Return the creation time of the newest note."""
    return max((note.created_at or DEFAULT_CREATED_AT for note in notes), default=DEFAULT_CREATED_AT)


def questions_by_collection(dataset: Dataset, memory: Memory | None) -> list[tuple[Collection, list[Question]]]:
    """Return a pair (collection, its questions) for each collection that has questions.

    Raise ``ArgumentError`` if the dataset has no notes and no memory is passed, or has notes and a memory is passed.
    """
    if not dataset.answerable:
        raise ArgumentError("dataset", f"{dataset.name} has no questions that a note answers")
    by_collection_id: dict[str, list[Question]] = {}
    for question in dataset.questions:
        if question.collection not in dataset.collections:
            raise ArgumentError("dataset", f"{dataset.name} has no collection {question.collection!r}")
        by_collection_id.setdefault(question.collection, []).append(question)
    groups = [(dataset.collections[name], questions) for name, questions in by_collection_id.items()]
    if memory is None and any(not collection.notes for collection, _ in groups):
        raise ArgumentError("memory", f"{dataset.name} has questions but no notes: name the memory that has the notes")
    if memory is not None and any(collection.notes for collection, _ in groups):
        raise ArgumentError("memory", f"{dataset.name} has notes of its own; evaluate it without a memory")
    return groups


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """The memory and the namespace that an evaluation searches."""

    memory: Memory
    namespace: str | None
    now: datetime
    """The current time in a search for a question without a date. It is the creation time of the newest note, so that
    results are repeatable."""
    judged_names: frozenset[str] | None = None
    """The ids and paths in the judgements that a note of the user's own memory has; ``None`` in a temporary memory."""

    def search(self, question: Question, preset: Preset, mode: Mode, top_k: int) -> Ranking:
        """Search for a question, as of the time when it was asked, and return the ranking with the latency."""
        asked_at = parse_question_date(question.asked_at) if question.asked_at else None
        start = perf_counter()
        result = self.memory.search(
            question.text,
            top_k=top_k,
            mode=mode,
            preset=preset,
            namespace=self.namespace,
            now=asked_at or self.now,
            question_date=asked_at,
            rerank_budget_ms=0,  # results must not depend on the speed of the machine
        )
        milliseconds = (perf_counter() - start) * 1000
        warnings = index_warnings(result.trace)
        names = self.judged_names or frozenset()
        if self.judged_names is not None and not question.relevant.keys() <= names:
            warnings.append("judgements name notes that this memory lacks")
        return Ranking(
            # If the judgements name a note by its path and not by its id, the ranking has its path.
            ids=tuple(hit.path if hit.path in names and hit.id not in names else hit.id for hit in result),
            scores=tuple(float(hit.score) for hit in result),
            milliseconds=milliseconds,
            warnings=tuple(warnings),
            confidences=tuple(float(hit.confidence or 0.0) for hit in result),
        )


def judged_target(memory: Memory, namespace: str | None, questions: Sequence[Question]) -> SearchTarget:
    """Return the user's own memory as a target; raise ``ArgumentError`` if the judgements name none of its notes."""
    names_in_judgements = {name for question in questions for name in question.relevant}
    judged_names: set[str] = set()
    latest = None
    for note in memory.notes(namespace=namespace):
        judged_names |= {note.id, note.path} & names_in_judgements
        if latest is None or (note.created_at and note.created_at > latest):
            latest = note.created_at
    if not judged_names or latest is None:
        problem = f"has none of the judged notes in namespace {namespace or DEFAULT_NAMESPACE!r}"
        raise ArgumentError("memory", f"{problem}; name the memory and the namespace that the questions are about")
    return SearchTarget(memory, namespace, latest, frozenset(judged_names))
