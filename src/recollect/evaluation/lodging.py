"""Where the notes of a collection live while they are asked: in a file of their own, or as guests in a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from recollect.embedders import Embedder
from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Collection
from recollect.memory import Memory
from recollect.model import DEFAULT_NAMESPACE, TEXT_FIELDS, Note, is_blank
from recollect.opening import open as open_memory
from recollect.progress import Progress
from recollect.stores import open_store

__all__ = ["UNDATED", "dated", "lodge", "open_collection"]

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
"""When notes were made that do not say: all at one moment, so that none is newer than another."""


@contextmanager
def open_collection(
    collection: Collection, embedder: Embedder | None = None, progress: Progress | None = None
) -> Iterator[Memory]:
    """Give a memory with the notes of a collection, for as long as it is needed.

    >>> tea = Collection(id="home", notes=(Note(id="n1", content="Prefers green tea."),))
    >>> with open_collection(tea) as memory:
    ...     [hit.id for hit in memory.search("tea")]
    ['n1']
    """
    with (
        TemporaryDirectory(prefix="recollect-") as folder,
        open_memory(Path(folder, "memory.db"), embedder=embedder, record_access=False) as memory,
    ):
        memory.add_many(dated(collection), progress=progress)
        yield memory


@contextmanager
def lodge(
    collection: Collection,
    store: str | PathLike[str] | None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Memory, str]]:
    """Give a memory with the notes of a collection, and the namespace that they are in.

    In a ``store`` they have a namespace of their own, which is empty again at the end; without one, a file.
    """
    if store is None:
        with open_collection(collection, embedder, progress) as memory:
            yield memory, DEFAULT_NAMESPACE
        return
    namespace = f"evaluation-{token_hex(8)}"
    with _open_home(store, embedder) as memory:
        try:
            memory.add_many(dated(collection), namespace=namespace, progress=progress)
            yield memory, namespace
        finally:
            memory.delete(*(note.id for note in memory.notes(namespace=namespace)), namespace=namespace)


def _open_home(store: str | PathLike[str], embedder: Embedder | None) -> Memory:
    try:
        with closing(open_store(store)) as home:
            held = home.model
    except ArgumentError as error:
        raise ArgumentError("store" if error.argument == "target" else error.argument, error.problem) from None
    if held and embedder and held.name != embedder.name:  # guests would be found by their words alone
        raise ArgumentError(
            "store", f"is searched with {held.name!r}, not with {embedder.name!r}; name an empty one, or that embedder"
        )
    return open_memory(store, embedder=embedder, record_access=False)


def dated(collection: Collection) -> list[Note]:
    """Return the notes of a collection, each with a time, without those that have no text: no search could find them.

    >>> notes = Note(id="n1", content="Prefers green tea."), Note(id="n2", content=" ")
    >>> [(note.id, note.created_at.year) for note in dated(Collection(id="home", notes=notes))]
    [('n1', 2000)]
    """
    return [
        note if note.created_at else replace(note, created_at=UNDATED)
        for note in collection.notes
        if not is_blank({name: getattr(note, name) for name in TEXT_FIELDS})
    ]
