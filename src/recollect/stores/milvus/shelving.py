"""Which notes are whose: documents with the notes that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.model import Document
from recollect.stores.base import Shelf
from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.rows import Stored, document_key, namespace_key
from recollect.stores.milvus.tables import Transaction, namespace_names, notes_of_documents
from recollect.stores.milvus.writing import Writer

__all__ = ["SHELVES_AT_ONCE", "Place", "places", "shelves_at", "write_shelves"]

SHELVES_AT_ONCE = 256
"""How many documents a walk reads at a time."""


class Place(NamedTuple):
    """A document, without its notes."""

    key: int
    namespace: str
    root: str
    name: str
    fingerprint: str


def places(reader: Reader, namespace: str | None) -> list[Place]:
    """Return the documents of a namespace, or of all, in the order of their names."""
    names = namespace_names(reader) if namespace is None else {namespace_key(namespace): namespace}
    found = [
        Place(document_key(home, root, document), name, root, document, fingerprint)
        for home, name in names.items()
        for root, document, fingerprint in reader.records("document", home).values()
    ]
    return sorted(found, key=lambda place: place[1:])


def shelves_at(reader: Reader, some: Sequence[Place]) -> list[Shelf]:
    """Return documents with the notes that they have."""
    notes = notes_of_documents(reader, [place.key for place in some])
    found = reader.notes(key for keys in notes.values() for key in keys)
    seen = {key: stored.row.id for key, stored in found.items() if reader.sees(stored)}
    return [
        Shelf(*place[1:], notes=tuple(seen[key] for key in notes.get(place.key, ()) if key in seen)) for place in some
    ]


def write_shelves(writer: Writer, shelves: Sequence[Shelf]) -> None:
    """Let documents have these notes and no others."""
    tables = Transaction(writer)
    homes = [tables.namespace(shelf.namespace) for shelf in shelves]
    documents = [
        tables.document(home, Document(shelf.root, shelf.name, shelf.fingerprint, ()))
        for home, shelf in zip(homes, shelves, strict=True)
    ]
    had = [key for keys in notes_of_documents(writer, documents).values() for key in keys]
    known = dict(writer.notes(had))
    owners: dict[int, int | None] = {key: stored.row.document for key, stored in known.items()}
    for home, document, shelf in zip(homes, documents, shelves, strict=True):
        owners.update((key, None) for key, owner in owners.items() if owner == document)
        for stored in writer.named(home, shelf.notes, []):
            known[stored.row.key] = stored
            owners[stored.row.key] = document
    changed = {
        key: Stored(known[key].row._replace(document=owner), known[key].links)
        for key, owner in owners.items()
        if known[key].row.document != owner
    }
    writer.put(changed, known=list(changed))
