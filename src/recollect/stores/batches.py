"""One batch of drafts: which notes it changes and creates.

A batch reads the existing notes, computes all changes, and returns a plan of what to write. A draft that cannot be
stored aborts the batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.errors import ArgumentError, IngestError, NoteNotFoundError
from recollect.model import (
    DEFAULT_NAMESPACE,
    TEXT_FIELDS,
    Document,
    Draft,
    EmbeddingText,
    Link,
    Note,
    WriteCounts,
    embedding_text,
)
from recollect.model.note import text_digest
from recollect.stores.base import Model, Pending
from recollect.stores.rows import DOCUMENT_DEFAULTS, Change, NoteRow, merged_row, new_id, note_of

if TYPE_CHECKING:
    from recollect.stores.base import Vector


class Tables(Protocol):
    """What a batch reads in its transaction."""

    def namespace(self, name: str) -> int:
        """Return the key of a namespace; create it if it is new."""

    def notes(self, namespace: int, ids: Sequence[str], paths: Sequence[str]) -> Sequence[NoteRow]:
        """Return the notes with one of these ids, then those with one of these paths; a note may come twice."""

    def links(self, notes: Sequence[int]) -> Mapping[int, tuple[Link, ...]]:
        """Return the links of the notes that have any."""

    def new_key(self) -> int:
        """Return the key of a new note, higher than all earlier ones."""

    def document(self, namespace: int, document: Document) -> int:
        """Return the key of a document."""

    def notes_of(self, document: int) -> Collection[int]:
        """Return the notes that a document has."""

    def document_location(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document."""

    def model(self) -> Model | None:
        """Return the model that the store is searched with."""

    def embedded(self, notes: Sequence[int], model: Model) -> Collection[int]:
        """Return those of the notes that have a vector of ``model``."""


class NewVector(NamedTuple):
    """A vector to write in place of those of the same note and model."""

    note: int
    namespace: int
    digest: bytes
    """The digest of the embedded text."""
    vector: Vector


class Plan(NamedTuple):
    """What a batch writes, in this order."""

    deleted: Mapping[int, Sequence[int]]
    """The notes to delete, by namespace."""
    changes: Sequence[Change]
    """The new and changed notes, by namespace, then key."""
    model: Model | None
    """The model of the vectors, if it is known."""
    vectors: Sequence[NewVector]
    pending: list[Pending]
    """The notes that remain without a vector of the model."""

    @property
    def stale(self) -> list[int]:
        """The notes whose stored vectors, of any model, were computed from another text."""
        return [change.new.key for change in self.changes if change.old and change.text_changed]


class Batch:
    """A batch of drafts to be written."""

    def __init__(self, tables: Tables, *, create: bool = True, adopt: bool = False) -> None:
        """Start an empty batch in a transaction.

        Without ``create`` it only changes existing notes; with ``adopt``, documents become the owners of existing
        notes at their paths.
        """
        self._tables = tables
        self._create = create
        self._adopt = adopt
        self._moves: dict[tuple[str, str], str] = {}
        """New paths by namespace and id, of drafts that have both an id and a path."""
        self._now = time.time_ns() // 1000
        self._namespaces: dict[str, int] = {}
        self._in_order: list[Change] = []
        """One for each draft; drafts of the same note share one."""
        self._by_key: dict[int, Change] = {}
        self._by_id: dict[tuple[int, str], Change] = {}
        self._by_path: dict[tuple[int, str], Change] = {}
        self._released: set[int] = set()
        """Notes that belong to none of their former documents after this batch."""
        self._deleted: dict[int, list[int]] = {}

    def add(self, drafts: Sequence[Draft]) -> None:
        """Add the changes that the drafts make."""
        self._read_existing(drafts)
        for draft in drafts:
            self._apply_draft(draft)

    def add_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Add the changes that documents make, with the notes that they delete, and return the counts.

        A note may move between two of the documents, in any order.
        """
        namespace_id = self._namespace(namespace)
        latest = {(document.root, document.name): document for document in documents}
        drafts = {
            self._tables.document(namespace_id, document): [
                {**draft, "namespace": namespace} for draft in document.drafts
            ]
            for document in latest.values()
        }
        owned = {note: document for document in drafts for note in self._tables.notes_of(document)}
        self._read_existing([draft for group in drafts.values() for draft in group])
        kept = {
            (change.new.key, document)
            for document, group in drafts.items()
            for change in map(self._existing, group)
            if change
        }
        self._released = {note for note, document in owned.items() if (note, document) not in kept}
        changes = [self._apply_draft(draft, document) for document, group in drafts.items() for draft in group]
        deleted = owned.keys() - {change.new.key for change in changes}
        self._deleted = {namespace_id: sorted(deleted)}
        added = sum(change.old is None for change in changes)
        updated = sum(change.old is not None and change.has_effect for change in changes)
        return WriteCounts(added, updated, len(changes) - added - updated, len(deleted))

    def plan(self, model: Model | None, vectors: Mapping[bytes, Vector]) -> Plan:
        """Return what to write; ``vectors`` has the vectors of texts that notes lack, by the digests of the texts."""
        new, pending = self._vectors(model, vectors)
        active = self._tables.model() if model and (new or pending) else None
        if model and active and active.name == model.name and active != model:
            # Vectors of another dimension would never be found beside the others.
            raise ArgumentError(
                "embedder",
                f"makes vectors of {model.dimension} numbers; those of {model.name} in this memory have "
                f"{active.dimension}; reindex, or give it another name",
            )
        changes = sorted(
            (change for change in self._by_key.values() if change.has_effect),
            key=attrgetter("new.namespace", "new.key"),
        )
        return Plan(self._deleted, changes, model, new, pending)

    def notes(self) -> list[Note]:
        """Return the notes as they are after the batch, in the order of the drafts."""
        return [note_of(change.new, change.namespace, change.links) for change in self._in_order]

    def _vectors(self, model: Model | None, vectors: Mapping[bytes, Vector]) -> tuple[list[NewVector], list[Pending]]:
        """Return the vectors to write, and the notes that need a vector which is not in ``vectors``."""
        new: list[NewVector] = []
        pending: list[Pending] = []
        old = [change.new.key for change in self._by_key.values() if change.old]
        embedded = self._tables.embedded(old, model) if model is not None and old else ()
        for change in self._by_key.values():
            vector = change.vector
            if vector is None and (model is None or (change.new.key in embedded and not change.text_changed)):
                continue
            text = change.new.embedding_text
            digest = text_digest(text)
            vector = vectors.get(digest) if vector is None else vector
            if vector is None:
                pending.append(Pending(change.new.key, text))
            else:
                new.append(NewVector(change.new.key, change.new.namespace, digest, vector))
        return new, pending

    def _namespace(self, name: str) -> int:
        if name not in self._namespaces:
            self._namespaces[name] = self._tables.namespace(name)
        return self._namespaces[name]

    def _read_existing(self, drafts: Sequence[Draft]) -> None:
        """Read the notes that the drafts refer to by id or path."""
        names: dict[str, tuple[list[str], list[str]]] = {}
        for draft in drafts:
            namespace = draft.get("namespace", DEFAULT_NAMESPACE)
            ids, paths = names.setdefault(namespace, ([], []))
            if draft.get("id") and draft.get("path"):
                self._moves[namespace, draft["id"]] = draft["path"]
            if draft.get("id"):
                ids.append(draft["id"])
            if draft.get("path"):
                paths.append(draft["path"])
        for name, (ids, paths) in names.items():
            rows = self._tables.notes(self._namespace(name), ids, paths)
            unread = {row.key: row for row in rows if row.key not in self._by_key}
            links = self._tables.links(list(unread))
            for key, row in unread.items():
                self._add_change(Change(row, row, name, links.get(key, ()), links.get(key, ())))

    def _add_change(self, change: Change) -> None:
        self._by_key[change.new.key] = change
        self._by_id[change.new.namespace, change.new.id] = change
        if change.new.path:
            self._by_path[change.new.namespace, change.new.path] = change

    def _apply_draft(self, draft: Draft, document: int | None = None) -> Change:
        """Merge a draft into its existing note, or create a note; a document's draft replaces the whole note."""
        change = self._existing(draft) or self._create_note(draft)
        row = change.new
        if document is not None:
            if change.old is not None:
                self._check_owner(row, document, draft)
            row = row._replace(document=document)
            draft = {**DOCUMENT_DEFAULTS, **draft}
        merged = merged_row(row, draft)
        links = draft.get("links", change.links)
        if change.old and "updated_at" not in draft and (merged != row or links != change.links):
            merged = merged._replace(updated_at=self._now)
        vector = draft.get("vector")
        if vector is None and change.vector is not None and merged.embedding_text == row.embedding_text:
            vector = change.vector
        if row.key in self._by_key:
            del self._by_id[row.namespace, row.id]
            if self._by_path.get((row.namespace, row.path or "")) is change:  # another may have taken it
                del self._by_path[row.namespace, row.path or ""]
        change.new, change.links, change.vector = merged, links, vector
        self._add_change(change)
        self._in_order.append(change)
        return change

    def _existing(self, draft: Draft) -> Change | None:
        """Return the existing note of a draft: the one with its id, or else the one with its path."""
        namespace = self._namespace(draft.get("namespace", DEFAULT_NAMESPACE))
        with_id = self._by_id.get((namespace, draft.get("id", "")))
        with_path = self._by_path.get((namespace, draft.get("path", "")))
        if with_id and with_path and with_id is not with_path:
            if self._moves.get((with_path.namespace, with_path.new.id), draft["path"]) != draft["path"]:
                return with_id  # the other note moves away in the same batch
            raise ArgumentError(
                "path", f"{draft['path']!r} is the path of another note, {with_path.new.id!r}; delete that first"
            )
        if draft.get("id") and not self._create:
            return with_id  # the path is the new one of this note
        return with_id or with_path

    def _create_note(self, draft: Draft) -> Change:
        if not self._create:
            raise NoteNotFoundError(f"there is no note {draft.get('id') or draft.get('path')!r}")
        if "content" not in draft:
            name = draft.get("path") or draft.get("id")
            missing = f"; {name!r} does not exist yet" if name else ""
            raise ArgumentError("content", f"is needed for a new note{missing}")
        name = draft.get("namespace", DEFAULT_NAMESPACE)
        note_id = draft.get("id") or new_id(self._now)
        row = NoteRow(
            self._tables.new_key(), self._namespace(name), note_id, created_at=self._now, updated_at=self._now
        )
        return Change(None, row, name, (), ())

    def _check_owner(self, row: NoteRow, document: int, draft: Draft) -> None:
        """Raise an error if the note belongs to another source, unless its content is equal or ``adopt`` is set."""
        conflict = row.document != document and row.key not in self._released and row.content != draft.get("content")
        if not conflict or self._adopt:
            return
        owner = self._tables.document_location(row.document)
        origin = "/".join(owner) if owner else "another source"
        raise IngestError(
            f"{row.path} is the path of a note from {origin}; ingest with a prefix, or adopt the existing notes"
        )


@dataclass(slots=True, eq=False)
class StoredText:
    """The text fields of a stored note, and whether it has a vector of the model in question."""

    id: str = ""
    path: str | None = None
    title: str = ""
    summary: str = ""
    content: str = ""
    embedded: bool = False


def texts_to_embed(
    drafts: Sequence[Draft], read: Callable[[str, Sequence[str], Sequence[str]], Iterable[StoredText]]
) -> list[EmbeddingText]:
    """Return the distinct texts of drafts that need a vector; ``read`` takes a namespace, ids and paths."""
    by_namespace: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_namespace.setdefault(draft.get("namespace", DEFAULT_NAMESPACE), []).append(draft)
    notes: dict[StoredText, None] = {}
    for namespace, group in by_namespace.items():
        ids = [draft["id"] for draft in group if draft.get("id")]
        paths = [draft["path"] for draft in group if draft.get("path")]
        stored = list(read(namespace, ids, paths)) if ids or paths else []
        by_id = {note.id: note for note in stored}
        by_path = {note.path: note for note in stored}
        for draft in group:
            note_id, path = draft.get("id"), draft.get("path")
            note = (by_id.get(note_id) if note_id else None) or (by_path.get(path) if path else None) or StoredText()
            changed = {name for name in TEXT_FIELDS if name in draft and draft[name] != getattr(note, name)}
            for name in changed:
                setattr(note, name, draft[name])
            note.embedded = draft.get("vector") is not None or (note.embedded and not changed)
            notes[note] = None
            if note_id:
                by_id[note_id] = note
            if path:
                by_path[path] = note
    pending = [note for note in notes if not note.embedded]
    return list(dict.fromkeys(embedding_text(note.title, note.summary, note.content) for note in pending))
