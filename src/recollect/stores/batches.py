"""Plan the writes of a batch of drafts or documents, independently of the engine.

A :class:`Batch` reads the existing notes of the drafts, merges the drafts into them, and returns a :class:`Plan` of the
rows to write, which the engine carries out. A draft that cannot be stored aborts the whole batch.

Notes, namespaces and documents are identified by their integer keys in the tables, except where ids, paths or names are
mentioned.
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
from recollect.stores.base import Model, PendingNote
from recollect.stores.rows import DOCUMENT_DEFAULTS, Change, NoteRow, merged_row, new_id, note_of

if TYPE_CHECKING:
    from recollect.stores.base import Vector


class Tables(Protocol):
    """The queries of a batch on the tables of a store, in the transaction of the batch."""

    def namespace(self, name: str) -> int:
        """Return the key of a namespace; create the namespace if it does not exist."""

    def notes(self, namespace_id: int, ids: Sequence[str], paths: Sequence[str]) -> Sequence[NoteRow]:
        """Return the notes with one of the ids, then the notes with one of the paths; a note may be in both parts."""

    def links(self, notes: Sequence[int]) -> Mapping[int, tuple[Link, ...]]:
        """Return the links of each note; notes without links are left out."""

    def new_key(self) -> int:
        """Return a key for a new note, higher than all keys before."""

    def document_key(self, namespace_id: int, document: Document) -> int:
        """Return the key of a document of the batch."""

    def notes_of(self, document: int) -> Collection[int]:
        """Return the stored notes of a document of the batch."""

    def document_location(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document; ``None`` if it does not exist."""

    def model(self) -> Model | None:
        """Return the active model, with which the store is searched."""

    def notes_with_vector(self, notes: Sequence[int], model: Model) -> Collection[int]:
        """Return the notes among ``notes`` that have a vector of ``model``."""


class NewVector(NamedTuple):
    """A vector to write; it replaces the vectors of the same note and model."""

    note: int
    namespace: int
    digest: bytes  # the digest of the embedded text
    vector: Vector


class Plan(NamedTuple):
    """The rows that a batch deletes and writes, in this order."""

    deleted: Mapping[int, Sequence[int]]  # the notes to delete, by namespace
    changes: Sequence[Change]  # the new and changed notes, sorted by namespace, then key
    model: Model | None  # the model of the vectors; None if the caller did not name one
    vectors: Sequence[NewVector]
    pending: list[PendingNote]  # the notes that have no vector of the model after the batch

    @property
    def notes_with_stale_vectors(self) -> list[int]:
        """The existing notes whose embedded text changes: their stored vectors, of any model, are to be deleted."""
        return [change.new.key for change in self.changes if change.old and change.text_changed]


class Batch:
    """The changes that drafts make to notes, collected by :meth:`add` or :meth:`add_documents`."""

    def __init__(self, tables: Tables, *, create: bool = True, adopt: bool = False) -> None:
        """Start an empty batch in a transaction.

        If ``create`` is false, a draft without an existing note is an error. If ``adopt`` is true, a document becomes
        the owner of existing notes at its paths, whatever their content.
        """
        self._tables = tables
        self._create = create
        self._adopt = adopt
        self._new_paths: dict[tuple[str, str], str] = {}
        """The paths of drafts that have both an id and a path, by the name of the namespace and the id."""
        self._now = time.time_ns() // 1000  # in microseconds since 1970, as in the tables
        self._namespaces: dict[str, int] = {}  # the key of each namespace by its name
        self._draft_changes: list[Change] = []
        """The change of each draft, in the order of the drafts; drafts of the same note share one change."""
        self._by_key: dict[int, Change] = {}  # all changes by the key of the note
        self._by_id: dict[tuple[int, str], Change] = {}  # by namespace and new id
        self._by_path: dict[tuple[int, str], Change] = {}  # by namespace and new path
        self._released_notes: set[int] = set()
        """Notes that their documents no longer contain: another document of the batch may become their owner."""
        self._deleted_notes: dict[int, list[int]] = {}  # the notes to delete, by namespace

    def add(self, drafts: Sequence[Draft]) -> None:
        """Add the changes that the drafts make."""
        self._read_existing(drafts)
        for draft in drafts:
            self._apply_draft(draft)

    def add_documents(self, documents: Sequence[Document], namespace: str) -> WriteCounts:
        """Add the changes of documents, including the deletion of notes that they no longer contain; return the counts.

        A note may move from one document of the batch to another; the order of the two documents does not matter.
        """
        namespace_id = self._namespace(namespace)
        latest = {(document.root, document.name): document for document in documents}  # the last of equal names counts
        drafts: list[tuple[int, Draft]] = []
        owners: dict[int, int] = {}  # the stored document of each note of these documents
        for document in latest.values():
            document_key = self._tables.document_key(namespace_id, document)
            drafts += [(document_key, {**draft, "namespace": namespace}) for draft in document.drafts]
            owners |= dict.fromkeys(self._tables.notes_of(document_key), document_key)
        self._read_existing([draft for _, draft in drafts])
        existing = [(document_key, self._existing_change(draft)) for document_key, draft in drafts]
        new_owners = {(change.new.key, document_key) for document_key, change in existing if change}
        self._released_notes = {note for note, owner in owners.items() if (note, owner) not in new_owners}
        changes = [self._apply_draft(draft, document_key) for document_key, draft in drafts]
        deleted = owners.keys() - {change.new.key for change in changes}
        self._deleted_notes = {namespace_id: sorted(deleted)}
        added = sum(change.old is None for change in changes)
        updated = sum(change.old is not None and change.has_effect for change in changes)
        return WriteCounts(added, updated, len(changes) - added - updated, len(deleted))

    def plan(self, model: Model | None, vectors: Mapping[bytes, Vector]) -> Plan:
        """Return the plan; ``vectors`` maps the digest of a text (:func:`text_digest`) to its vector of ``model``."""
        new_vectors, pending = self._vectors(model, vectors)
        active = self._tables.model() if model and (new_vectors or pending) else None
        if model and active and active.name == model.name and active != model:
            # A search reads only vectors of the active model's dimension and precision: it would ignore the new ones.
            raise ArgumentError(
                "embedder",
                f"makes vectors of {model.dimension} numbers; those of {model.name} in this memory have "
                f"{active.dimension}; reindex the memory, or choose an embedder with another name",
            )
        changes = sorted(
            (change for change in self._by_key.values() if change.has_effect),
            key=attrgetter("new.namespace", "new.key"),
        )
        return Plan(self._deleted_notes, changes, model, new_vectors, pending)

    def notes(self) -> list[Note]:
        """Return the notes as they are after the batch, in the order of the drafts."""
        return [note_of(change.new, change.namespace_name, change.links) for change in self._draft_changes]

    def _vectors(
        self, model: Model | None, vectors: Mapping[bytes, Vector]
    ) -> tuple[list[NewVector], list[PendingNote]]:
        """Return the vectors to write, and the notes that need a vector which is not in ``vectors``."""
        new_vectors: list[NewVector] = []
        pending: list[PendingNote] = []
        stored = [change.new.key for change in self._by_key.values() if change.old]
        with_vector = self._tables.notes_with_vector(stored, model) if model is not None and stored else ()
        for change in self._by_key.values():
            vector = change.vector
            keeps_vector = change.new.key in with_vector and not change.text_changed
            if vector is None and (model is None or keeps_vector):
                continue
            text = change.new.embedding_text
            digest = text_digest(text)
            vector = vectors.get(digest) if vector is None else vector
            if vector is None:
                pending.append(PendingNote(change.new.key, text))
            else:
                new_vectors.append(NewVector(change.new.key, change.new.namespace, digest, vector))
        return new_vectors, pending

    def _namespace(self, name: str) -> int:
        if name not in self._namespaces:
            self._namespaces[name] = self._tables.namespace(name)
        return self._namespaces[name]

    def _read_existing(self, drafts: Sequence[Draft]) -> None:
        """Read the notes that the drafts refer to by id or path."""
        ids_and_paths: dict[str, tuple[list[str], list[str]]] = {}
        for draft in drafts:
            namespace = draft.get("namespace", DEFAULT_NAMESPACE)
            ids, paths = ids_and_paths.setdefault(namespace, ([], []))
            if draft.get("id") and draft.get("path"):
                self._new_paths[namespace, draft["id"]] = draft["path"]
            if draft.get("id"):
                ids.append(draft["id"])
            if draft.get("path"):
                paths.append(draft["path"])
        for namespace, (ids, paths) in ids_and_paths.items():
            rows = self._tables.notes(self._namespace(namespace), ids, paths)
            unread = {row.key: row for row in rows if row.key not in self._by_key}
            links = self._tables.links(list(unread))
            for key, row in unread.items():
                self._add_change(Change(row, row, namespace, links.get(key, ()), links.get(key, ())))

    def _add_change(self, change: Change) -> None:
        self._by_key[change.new.key] = change
        self._by_id[change.new.namespace, change.new.id] = change
        if change.new.path:
            self._by_path[change.new.namespace, change.new.path] = change

    def _apply_draft(self, draft: Draft, document: int | None = None) -> Change:
        """Merge a draft into its existing note, or create a note; a draft of a document replaces all fields."""
        change = self._existing_change(draft) or self._new_change(draft)
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
            if self._by_path.get((row.namespace, row.path or "")) is change:  # no other note took the path meanwhile
                del self._by_path[row.namespace, row.path or ""]
        change.new, change.links, change.vector = merged, links, vector
        self._add_change(change)
        self._draft_changes.append(change)
        return change

    def _existing_change(self, draft: Draft) -> Change | None:
        """Return the change of the note with the draft's id, or else with its path; ``None`` if there is neither."""
        namespace = self._namespace(draft.get("namespace", DEFAULT_NAMESPACE))
        with_id = self._by_id.get((namespace, draft.get("id", "")))
        with_path = self._by_path.get((namespace, draft.get("path", "")))
        if with_id and with_path and with_id is not with_path:
            new_path = self._new_paths.get((with_path.namespace_name, with_path.new.id))
            if new_path is not None and new_path != draft["path"]:
                return with_id  # another draft of the batch moves the other note to this new path
            raise ArgumentError(
                "path", f"{draft['path']!r} is the path of another note, {with_path.new.id!r}; delete that first"
            )
        if draft.get("id") and not self._create:
            return with_id  # an update by id never falls back to the path: a path in the draft is the new path
        return with_id or with_path

    def _new_change(self, draft: Draft) -> Change:
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
        """Raise an error if the stored note ``row`` belongs to another source, and may not move to the document.

        A note may move if its document released it, if the content of the draft is equal, or if ``adopt`` is true.
        """
        is_available = row.document == document or row.key in self._released_notes
        if is_available or row.content == draft.get("content") or self._adopt:
            return
        owner = self._tables.document_location(row.document)
        origin = "/".join(owner) if owner else "another source"
        raise IngestError(
            f"{row.path} is the path of a note from {origin}; ingest with a prefix, or adopt the existing notes"
        )


@dataclass(slots=True, eq=False)
class StoredText:
    """The id, path and text fields of a note, and whether its text has a vector of the requested model."""

    id: str = ""
    path: str | None = None
    title: str = ""
    summary: str = ""
    content: str = ""
    embedded: bool = False


def texts_to_embed(
    drafts: Sequence[Draft], read: Callable[[str, Sequence[str], Sequence[str]], Iterable[StoredText]]
) -> list[EmbeddingText]:
    """Return the distinct texts that need a vector before the drafts are written.

    ``read`` takes the name of a namespace, ids and paths; it returns the stored notes with one of these ids or paths.
    """
    by_namespace: dict[str, list[Draft]] = {}
    for draft in drafts:
        by_namespace.setdefault(draft.get("namespace", DEFAULT_NAMESPACE), []).append(draft)
    notes: dict[StoredText, None] = {}  # the notes after the drafts, as an ordered set
    for namespace, group in by_namespace.items():
        ids = [draft["id"] for draft in group if draft.get("id")]
        paths = [draft["path"] for draft in group if draft.get("path")]
        stored = list(read(namespace, ids, paths)) if ids or paths else []
        by_id = {note.id: note for note in stored}
        by_path = {note.path: note for note in stored}
        for draft in group:
            note_id, path = draft.get("id"), draft.get("path")
            with_id = by_id.get(note_id) if note_id else None
            note = with_id or (by_path.get(path) if path else None) or StoredText()
            changed_fields = {name for name in TEXT_FIELDS if name in draft and draft[name] != getattr(note, name)}
            for name in changed_fields:
                setattr(note, name, draft[name])
            note.embedded = draft.get("vector") is not None or (note.embedded and not changed_fields)
            notes[note] = None
            if note_id:
                by_id[note_id] = note
            if path:
                by_path[path] = note
    pending = [note for note in notes if not note.embedded]
    return list(dict.fromkeys(embedding_text(note.title, note.summary, note.content) for note in pending))
