"""Memories that are searched in an evaluation: temporary ones with a collection's notes, or one of the user's own."""

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
from recollect.retrieval import Preset
from recollect.retrieval.messages import index_warnings
from recollect.retrieval.options import Mode
from recollect.stores import open_store

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of notes without one: the same for all, so that none is newer than another."""


@contextmanager
def temporary_memory(
    collection: Collection,
    embedder: Embedder | None = None,
    *,
    store: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Memory, str]]:
    """Open a memory with the notes of a collection; yield it and the namespace of the notes.

    The memory is a temporary file; in a ``store`` the notes have a namespace of their own, which is emptied at the end.

    >>> tea = Collection(id="tea", notes=(Note(id="n1", content="Prefers green tea."),))
    >>> with temporary_memory(tea) as (memory, namespace):
    ...     [hit.id for hit in memory.search("tea", namespace=namespace)]
    ['n1']
    """
    if store is None:
        with (
            TemporaryDirectory(prefix="recollect-") as folder,
            open_memory(Path(folder, "memory.db"), embedder=embedder, record_access=False) as memory,
        ):
            memory.add_many(dated_notes(collection), progress=progress)
            yield memory, DEFAULT_NAMESPACE
        return
    try:
        with closing(open_store(store)) as opened:
            model = opened.model
    except ArgumentError as error:
        raise ArgumentError("store" if error.argument == "target" else error.argument, error.problem) from None
    if model and embedder and model.name != embedder.name:  # vector search would not be available
        raise ArgumentError(
            "store",
            f"is searched with {model.name!r}, not with {embedder.name!r}; name an empty store, or use that embedder",
        )
    namespace = f"evaluation-{token_hex(8)}"
    with open_memory(store, embedder=embedder, record_access=False) as memory:
        try:
            memory.add_many(dated_notes(collection), namespace=namespace, progress=progress)
            yield memory, namespace
        finally:
            memory.delete(*(note.id for note in memory.notes(namespace=namespace)), namespace=namespace)


def dated_notes(collection: Collection) -> list[Note]:
    """Return the notes of a collection that have a text, each with a time."""
    return [
        note if note.created_at else replace(note, created_at=UNDATED)
        for note in collection.notes
        if not is_blank({name: getattr(note, name) for name in TEXT_FIELDS})
    ]


def latest_date(notes: Sequence[Note]) -> datetime:
    """Return the time of the latest note."""
    return max((note.created_at or UNDATED for note in notes), default=UNDATED)


def questions_by_collection(dataset: Dataset, memory: Memory | None) -> list[tuple[Collection, list[Question]]]:
    """Return each collection with its questions; check that either the dataset or ``memory`` has the notes."""
    if not dataset.answerable:
        raise ArgumentError("dataset", f"{dataset.name} has no questions that a note answers")
    by_name: dict[str, list[Question]] = {}
    for question in dataset.questions:
        if question.collection not in dataset.collections:
            raise ArgumentError("dataset", f"{dataset.name} has no collection {question.collection!r}")
        by_name.setdefault(question.collection, []).append(question)
    groups = [(dataset.collections[name], questions) for name, questions in by_name.items()]
    if memory is None and any(not collection.notes for collection, _ in groups):
        raise ArgumentError("memory", f"{dataset.name} has questions and no notes: name the memory that they are for")
    if memory is not None and any(collection.notes for collection, _ in groups):
        raise ArgumentError("memory", f"{dataset.name} has notes of its own; evaluate it without a memory")
    return groups


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """The memory and the namespace that an evaluation searches."""

    memory: Memory
    namespace: str | None
    now: datetime
    """The time of questions without a date: that of the latest note, never today."""
    judged: frozenset[str] | None = None
    """For a memory of the user's own: the ids and paths of notes that judgements name."""

    def search(self, question: Question, preset: Preset, mode: Mode, top_k: int) -> Ranking:
        """Search for a question, as of the time when it was asked, and return the ranking."""
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
        )
        milliseconds = (perf_counter() - start) * 1000
        warnings = index_warnings(result.trace)
        names = self.judged or frozenset()
        if self.judged is not None and not question.relevant.keys() <= names:
            warnings.append("judgements name notes that this memory lacks")
        return Ranking(
            ids=tuple(hit.path if hit.path in names and hit.id not in names else hit.id for hit in result),
            scores=tuple(float(hit.score) for hit in result),
            milliseconds=milliseconds,
            warnings=tuple(warnings),
            confidences=tuple(float(hit.confidence or 0.0) for hit in result),
        )


def judged_target(memory: Memory, namespace: str | None, questions: Sequence[Question]) -> SearchTarget:
    """Return a namespace of a user's memory as target; raise ``ArgumentError`` if judgements name none of its notes."""
    judged_names = {name for question in questions for name in question.relevant}
    judged: set[str] = set()
    latest = None
    for note in memory.notes(namespace=namespace):
        judged |= {note.id, note.path} & judged_names
        if latest is None or (note.created_at and note.created_at > latest):
            latest = note.created_at
    if not judged or latest is None:
        raise ArgumentError(
            "memory",
            f"holds none of the notes that judgements name in namespace {namespace or DEFAULT_NAMESPACE!r}: "
            "name the memory and the namespace that the questions were made for",
        )
    return SearchTarget(memory, namespace, latest, frozenset(judged))
