"""What a batch asks of the store: notes by their names, documents, keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from recollect.errors import ArgumentError, NoteNotFoundError
from recollect.model import Document, Link
from recollect.stores.base import Model
from recollect.stores.milvus.client import ASKED_AT_ONCE
from recollect.stores.milvus.journal import record
from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.rows import Stored, document_key, namespace_key
from recollect.stores.milvus.schema import LONGEST_TEXT, RECORDS, WHOLE_ROW
from recollect.stores.milvus.writing import Writer
from recollect.stores.rows import NoteRow, to_microseconds

__all__ = [
    "Transaction",
    "document_record",
    "documents_of",
    "meant",
    "namespace_names",
    "notes_of_documents",
    "one_note",
    "remove_documents",
    "touch_notes",
]


class Transaction:
    """What a batch asks of the collections."""

    def __init__(self, writer: Writer) -> None:
        """Look at what is there."""
        self._writer = writer
        self._links: dict[int, tuple[Link, ...]] = {}
        self._documents: list[int] = []
        self._notes: dict[int, list[int]] | None = None

    def namespace(self, name: str) -> int:
        """Return the key of a namespace, which begins here if it is new."""
        return self._writer.namespace(name)

    def notes(self, namespace: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        """Return the notes with one of these ids, then those with one of these paths."""
        found = self._writer.named(namespace, ids, paths)
        self._links.update((stored.row.key, stored.links) for stored in found if stored.links)
        return [stored.row for stored in found]

    def links(self, notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
        """Return the links of the notes that have any; all of them were read before."""
        return {key: self._links[key] for key in notes if key in self._links}

    def new_key(self) -> int:
        """Return the key of a note that begins, higher than those before."""
        return self._writer.keys.new()

    def document(self, namespace: int, document: Document) -> int:
        """Return the key of a document, which begins here if it is new, and has this fingerprint from now on."""
        key = document_key(namespace, document.root, document.name)
        body = json.dumps([document.root, document.name, document.fingerprint], ensure_ascii=False)
        if len(body.encode()) > LONGEST_TEXT:
            raise ArgumentError(
                "document",
                f"root, name and fingerprint have {len(body.encode()):,} bytes together, and Milvus holds "
                f"{LONGEST_TEXT:,}; shorten them",
            )
        self._writer.work.upsert(RECORDS, [record(document_record(key), "document", namespace, body)])
        self._documents.append(key)
        return key

    def notes_of(self, document: int) -> list[int]:
        """Return the notes that a document has; all that were named before are looked up at once."""
        if self._notes is None:
            self._notes = notes_of_documents(self._writer, self._documents)
        return self._notes.get(document, [])

    def owner(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document."""
        held = None if document is None else self._writer.record(document_record(document))
        return None if held is None else (held[0], held[1])

    def model(self) -> Model | None:
        """Return the model that the store is searched with."""
        return self._writer.model

    def embedded(self, notes: Sequence[int], model: Model) -> set[int]:
        """Return those of the notes that have a vector of ``model``."""
        generation = self._writer.state.of(model)
        if generation is None:
            return set()
        return {row["key"] for row in self._writer.get(notes, ["key", "piece"], generation) if row["piece"] >= 0}


def document_record(document: int) -> str:
    """Return the key of a document's record."""
    return f"document/{document}"


def documents_of(reader: Reader, home: int, root: str) -> dict[str, str]:
    """Return the fingerprints of the documents of a namespace below a root by their names."""
    records = reader.records("document", home).values()
    return {name: fingerprint for held, name, fingerprint in records if held == root}


def remove_documents(writer: Writer, home: int, root: str, names: Sequence[str]) -> int:
    """Forget documents and delete their notes; return how many notes there were."""
    keys = list(dict.fromkeys(document_key(home, root, name) for name in names))
    gone = [note for notes in notes_of_documents(writer, keys).values() for note in notes]
    writer.delete({home: gone})
    writer.work.delete(RECORDS, [document_record(key) for key in keys])
    return len(gone)


def meant(notes: Sequence[Stored], keys: Sequence[str]) -> list[Stored | None]:
    """Return for each id or path its note among some; an id goes before a path."""
    by_id = {stored.row.id: stored for stored in notes}
    by_path = {stored.row.path: stored for stored in notes if stored.row.path}
    return [by_id.get(key) or by_path.get(key) for key in keys]


def namespace_names(reader: Reader) -> dict[int, str]:
    """Return the names of all namespaces by their keys."""
    return {namespace_key(held["name"]): held["name"] for held in reader.records("namespace").values()}


def one_note(writer: Writer, key: str, namespace: str) -> Stored:
    """Return the note with this id, or else with this path."""
    found = writer.named(namespace_key(namespace), [key], [key])
    if not found:
        raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r}")
    return found[0]


def touch_notes(writer: Writer, home: int, accessed: Mapping[str, datetime]) -> int:
    """Set when notes were last accessed, where that is later than what is known; return how many changed."""
    moments = {note: to_microseconds(moment) for note, moment in accessed.items()}
    later = {
        stored.row.key: moments[stored.row.id]
        for stored in writer.named(home, list(moments), [])
        if stored.row.last_accessed_at is None or stored.row.last_accessed_at < moments[stored.row.id]
    }
    for generation in writer.state.generations:
        rows = writer.get(list(later), WHOLE_ROW, generation)
        writer.work.upsert(generation.collection, [{**row, "accessed": later[row["key"]]} for row in rows])
    return len(later)


def notes_of_documents(reader: Reader, documents: Sequence[int]) -> dict[int, list[int]]:
    """Return the notes that documents have, of those that have any."""
    found: dict[int, list[int]] = {}
    for start in range(0, len(documents), ASKED_AT_ONCE):
        expression = f"part == 0 and document in {list(documents[start : start + ASKED_AT_ONCE])}"
        for row in reader.query(expression, ["key", "document"]):
            found.setdefault(row["document"], []).append(row["key"])
    return found
