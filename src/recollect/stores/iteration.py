"""Batches of two stores' notes and documents, and whether they are the same: what copying and comparing share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from hashlib import blake2b
from itertools import chain, zip_longest
from json import JSONEncoder
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.arguments import with_deep_stack
from recollect.model import Note
from recollect.stores.base import DocumentRecord, Store

if TYPE_CHECKING:
    from recollect.stores.base import Vector

BATCH_BYTES = 8 * 2**20
"""How much text of notes a batch has at most; a longer note is a batch by itself."""

NoteKey = tuple[str, str]
"""What identifies a note in all stores: its namespace and id."""
T = TypeVar("T")


def key_of(note: Note) -> NoteKey:
    """Return what identifies a note in all stores."""
    return note.namespace, note.id


def notes_in(store: Store, namespaces: Iterable[str] | None) -> Iterator[Note]:
    """Iterate over the notes of some namespaces, or of all."""
    for namespace in [None] if namespaces is None else dict.fromkeys(namespaces):
        yield from store.notes(namespace=namespace)


def records_in(store: Store, namespaces: Iterable[str] | None) -> Iterator[DocumentRecord]:
    """Iterate over the documents of some namespaces, or of all."""
    for namespace in [None] if namespaces is None else dict.fromkeys(namespaces):
        yield from store.document_records(namespace=namespace)


def document_states(
    store: Store, namespaces: Iterable[str] | None
) -> dict[tuple[str, ...], tuple[str, frozenset[str]]]:
    """Return the fingerprint and notes of the documents of a store, by namespace, root and name."""
    return {record[:3]: document_state(record) for record in records_in(store, namespaces)}


def document_state(record: DocumentRecord) -> tuple[str, frozenset[str]]:
    """Return what must be the same of a document in both stores."""
    return record.fingerprint, frozenset(record.notes)


class CommonPrefix:
    """Two iterations, for as long as they have the same notes; what either has after that is left in it.

    >>> both = CommonPrefix(*(iter([Note(content=name, id=name) for name in names]) for names in ("abc", "abd")))
    >>> [note.id for note in both], [note.id for note in both.source], [note.id for note in both.target]
    (['a', 'b'], ['c'], ['d'])
    """

    def __init__(self, source: Iterator[Note], target: Iterator[Note]) -> None:
        self.source = source
        self.target = target
        self.target_notes: dict[NoteKey, Note] = {}
        """The target's notes so far, for the caller to take out."""

    def __iter__(self) -> Iterator[Note]:
        source, target = self.source, self.target
        for note, other in zip_longest(source, target):
            if note is None or other is None or key_of(note) != key_of(other):
                self.source = chain((note,) if note else (), source)
                self.target = chain((other,) if other else (), target)
                return
            self.target_notes[key_of(other)] = other
            yield note


def batches(items: Iterable[T], limits: Sequence[int], weigh: Callable[[T], Sequence[int]]) -> Iterator[list[T]]:
    """Yield batches whose summed weights are within all limits; an item that exceeds one is a batch by itself.

    >>> list(batches([1, 1, 1, 9, 1], (2, 5), lambda number: (1, number)))
    [[1, 1], [1], [9], [1]]
    """
    batch: list[T] = []
    sums: Sequence[int] = [0] * len(limits)
    for item in items:
        weights = weigh(item)
        if batch and any(total + weight > limit for total, weight, limit in zip(sums, weights, limits, strict=True)):
            yield batch
            batch, sums = [], [0] * len(limits)
        batch.append(item)
        sums = [total + weight for total, weight in zip(sums, weights, strict=True)]
    if batch:
        yield batch


def note_batches(notes: Iterable[Note], max_notes: int) -> Iterator[list[Note]]:
    """Yield notes in batches of ``max_notes`` and :data:`BATCH_BYTES` of text at most."""

    def weigh(note: Note) -> tuple[int, int]:
        return 1, sum(len(text.encode()) for text in (note.content, note.title, note.summary))

    return batches(notes, (max_notes, BATCH_BYTES), weigh)


def notes_by_id(store: Store, keys: Iterable[NoteKey]) -> dict[NoteKey, Note]:
    """Return the notes of a store that have these ids; one that merely has such a path is another."""
    by_namespace: dict[str, list[str]] = {}
    for namespace, note_id in keys:
        by_namespace.setdefault(namespace, []).append(note_id)
    return {
        (namespace, note_id): note
        for namespace, ids in by_namespace.items()
        for note_id, note in zip(ids, store.get(ids, namespace=namespace), strict=True)
        if note is not None and note.id == note_id
    }


def group_by_namespace(notes: Iterable[Note]) -> dict[str, list[Note]]:
    """Return notes by their namespaces."""
    groups: dict[str, list[Note]] = {}
    for note in notes:
        groups.setdefault(note.namespace, []).append(note)
    return groups


def notes_at_same_paths(store: Store, notes: Iterable[Note]) -> list[Note]:
    """Return the other notes of a store at the paths of these."""
    return [
        other
        for namespace, group in group_by_namespace(note for note in notes if note.path).items()
        for note, other in zip(group, store.get([note.path for note in group], namespace=namespace), strict=True)
        if other is not None and other.path == note.path and other.id != note.id
    ]


def vectors_by_key(store: Store, notes: Iterable[Note]) -> dict[NoteKey, Vector]:
    """Return the vectors of those of a store's notes that have one."""
    every = list(notes)
    _, vectors = store.vectors_of(every)
    return {key_of(note): vector for note, vector in zip(every, vectors, strict=True) if vector is not None}


def note_digest(note: Note, vector: Vector | None = None) -> bytes:
    """Return a hash of all fields of a note and of its vector, the same on any engine and machine.

    >>> tea = Note(content="Prefers green tea.", id="n1", metadata={"cups": 3, "milk": False})
    >>> note_digest(tea).hex()
    'b5005158547082fca589148221d007ed'
    >>> note_digest(tea) == note_digest(Note(content="Prefers green tea.", id="n1", metadata={"milk": 0, "cups": 3}))
    False
    """
    hashed = blake2b(_canonical(note.to_dict()).encode(), digest_size=16)
    if vector is not None:
        hashed.update(f"\0{vector.shape}".encode())
        hashed.update(vector.astype("<f4").tobytes())
    return hashed.digest()


def same_note(one: Note, other: Note) -> bool:
    """Return whether two notes have the same digest.

    >>> same_note(Note(content="tea", metadata={"milk": False}), Note(content="tea", metadata={"milk": 0}))
    False
    """
    return one == other and (not one.metadata or _canonical(one.metadata) == _canonical(other.metadata))


def differing_fields(one: Note, other: Note) -> list[str]:
    """Return the names of the fields in which two notes differ.

    >>> differing_fields(Note(content="tea", id="n1"), Note(content="tea", id="n1", metadata={"cups": 3}))
    ['metadata']
    """
    first, second = one.to_dict(), other.to_dict()
    names = [field.name for field in fields(Note)]
    return [name for name in names if _canonical(first[name]) != _canonical(second[name])]


def _canonical(value: Any) -> str:
    """Return JSON that is the same for the same value: Python takes True for 1, and keys may come in any order."""
    return with_deep_stack(lambda: _ENCODER.encode(value))


_ENCODER = JSONEncoder(sort_keys=True, separators=(",", ":"))
