"""Walks over stores, a batch at a time, and what is there of the notes of another store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from recollect.model import Note
from recollect.stores.base import DocumentRecord, Store

__all__ = [
    "BATCH_BYTES",
    "Key",
    "Place",
    "SideBySide",
    "at_paths",
    "batches",
    "by_id",
    "by_namespace",
    "key_of",
    "notes_in",
    "place_of",
    "record_batches",
    "records_in",
    "state_of",
]

BATCH_BYTES = 8 * 2**20
"""How much text of notes a batch has at most; a longer note comes by itself."""

Key = tuple[str, str]
"""What a note is known by in all stores: its namespace and id."""
Place = tuple[str, str, str]
"""What a document is known by: its namespace, root and name."""


def notes_in(store: Store, namespaces: Iterable[str] | None) -> Iterator[Note]:
    """Walk over the notes of some namespaces, or of all."""
    if namespaces is None:
        yield from store.notes()
    for namespace in dict.fromkeys(namespaces or ()):
        yield from store.notes(namespace=namespace)


class SideBySide:
    """Two walks, for as long as they come upon the same notes; what either has from there on is left in it.

    >>> walks = SideBySide(*(iter([Note(content=name, id=name) for name in names]) for names in ("abc", "abd")))
    >>> [note.id for note in walks], [note.id for note in walks.ours], [note.id for note in walks.theirs]
    (['a', 'b'], ['c'], ['d'])
    """

    def __init__(self, ours: Iterator[Note], theirs: Iterator[Note]) -> None:
        """Begin at the beginning of both."""
        self.ours = ours
        self.theirs = theirs
        self.held: dict[Key, Note] = {}
        """The other walk's notes, for whoever takes them out."""

    def __iter__(self) -> Iterator[Note]:
        """Walk over the notes of the first."""
        ours, theirs = self.ours, self.theirs
        for mine, other in zip_longest(ours, theirs):
            if mine is None or other is None or key_of(mine) != key_of(other):
                self.ours, self.theirs = (
                    chain((note,) if note else (), walk) for note, walk in ((mine, ours), (other, theirs))
                )
                return
            self.held[key_of(other)] = other
            yield mine


def records_in(store: Store, namespaces: Iterable[str] | None) -> Iterator[DocumentRecord]:
    """Walk over the documents of some namespaces, or of all."""
    if namespaces is None:
        yield from store.document_records()
    for namespace in dict.fromkeys(namespaces or ()):
        yield from store.document_records(namespace=namespace)


def batches(notes: Iterable[Note], most: int, most_bytes: int = BATCH_BYTES) -> Iterator[list[Note]]:
    """Yield notes in batches of so many at most, and of so many bytes of text; what is larger comes by itself.

    >>> notes = [Note(content="tea" * times) for times in (1, 1, 1, 9, 1)]
    >>> [len(batch) for batch in batches(notes, 2, 20)]
    [2, 1, 1, 1]
    """
    batch: list[Note] = []
    size = 0
    for note in notes:
        weight = sum(len(text.encode()) for text in (note.content, note.title, note.summary))
        if batch and (len(batch) == most or size + weight > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(note)
        size += weight
    if batch:
        yield batch


def by_id(store: Store, keys: Iterable[Key]) -> dict[Key, Note]:
    """Return the notes of a store that have these ids; what merely has such a path is another."""
    asked: dict[str, list[str]] = {}
    for namespace, note in keys:
        asked.setdefault(namespace, []).append(note)
    found = {}
    for namespace, ids in asked.items():
        for note, there in zip(ids, store.get(ids, namespace=namespace), strict=True):
            if there is not None and there.id == note:
                found[namespace, note] = there
    return found


def key_of(note: Note) -> Key:
    """Return what a note is known by in all stores."""
    return note.namespace, note.id


def by_namespace(notes: Iterable[Note]) -> dict[str, list[Note]]:
    """Return notes by their namespaces."""
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.namespace, []).append(note)
    return found


def at_paths(store: Store, notes: Iterable[Note]) -> dict[Key, Note]:
    """Return the notes of a store at the paths of these, by namespace and path, but for these notes themselves."""
    found = {}
    for namespace, each in by_namespace(note for note in notes if note.path).items():
        for note, there in zip(each, store.get([note.path for note in each], namespace=namespace), strict=True):
            if there is not None and there.path == note.path and there.id != note.id:
                found[namespace, note.path] = there
    return found


def record_batches(records: Iterable[DocumentRecord], most: int) -> Iterator[list[DocumentRecord]]:
    """Yield documents in batches of so many notes at most; one that has more comes by itself."""
    batch: list[DocumentRecord] = []
    size = 0
    for record in records:
        weight = 1 + len(record.notes)
        if batch and size + weight > most:
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += weight
    if batch:
        yield batch


def place_of(record: DocumentRecord) -> Place:
    """Return what a document is known by."""
    return record.namespace, record.root, record.name


def state_of(record: DocumentRecord) -> tuple[str, frozenset[str]]:
    """Return what must be the same of a document on both sides."""
    return record.fingerprint, frozenset(record.notes)
