"""A batch plans the changes of notes without an engine; here the tables are dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest

from recollect.errors import ArgumentError, IngestError, NoteNotFoundError
from recollect.model import Document, Draft, Link, WriteCounts, embedding_text
from recollect.model.note import text_digest
from recollect.stores.base import Model
from recollect.stores.batches import Batch, Plan, Tables
from recollect.stores.rows import NoteRow

TINY = Model("tiny", 2)
VECTOR = np.array([1, 0], dtype=np.float32)


class MemoryTables:
    """The tables of a batch in memory."""

    def __init__(self) -> None:
        self.rows: dict[int, NoteRow] = {}
        self.linked: dict[int, tuple[Link, ...]] = {}
        self.vectors: dict[int, Model | None] = {}
        self.namespaces: dict[str, int] = {}
        self.documents: dict[tuple[int, str, str], int] = {}
        self.active: Model | None = None
        self.keys = count(1)

    def namespace(self, name: str) -> int:
        return self.namespaces.setdefault(name, len(self.namespaces) + 1)

    def notes(self, namespace: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        rows = [row for row in self.rows.values() if row.namespace == namespace]
        return [row for row in rows if row.id in ids] + [row for row in rows if row.path in paths]

    def links(self, notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
        return {note: self.linked[note] for note in notes if note in self.linked}

    def new_key(self) -> int:
        return next(self.keys)

    def document_key(self, namespace: int, document: Document) -> int:
        return self.documents.setdefault((namespace, document.root, document.name), len(self.documents) + 1)

    def notes_of(self, document: int) -> list[int]:
        return [row.key for row in self.rows.values() if row.document == document]

    def document_location(self, document: int | None) -> tuple[str, str] | None:
        return next(((root, name) for (_, root, name), key in self.documents.items() if key == document), None)

    def model(self) -> Model | None:
        return self.active

    def notes_with_vector(self, notes: Sequence[int], model: Model) -> set[int]:
        return {note for note in notes if self.vectors.get(note) == model}

    def apply(self, plan: Plan) -> None:
        for note in [note for notes in plan.deleted.values() for note in notes]:
            del self.rows[note]
        self.rows.update((change.new.key, change.new) for change in plan.changes)
        self.linked.update(links_of(plan))
        for note in plan.notes_with_stale_vectors:
            self.vectors.pop(note, None)
        self.vectors.update((new.note, plan.model) for new in plan.vectors)


def links_of(plan: Plan) -> dict[int, tuple[Link, ...]]:
    return {change.new.key: change.links for change in plan.changes if change.links != change.old_links}


def write(stored: MemoryTables, *drafts: Draft, model: Model | None = None, create: bool = True) -> Plan:
    tables: Tables = stored
    batch = Batch(tables, create=create)
    batch.add(drafts)
    texts = [embedding_text("", "", draft.get("content", "")) for draft in drafts]
    plan = batch.plan(model, {text_digest(text): VECTOR for text in texts})
    stored.apply(plan)
    assert [note.id for note in batch.notes()] == [
        draft.get("id", note.id) for draft, note in zip(drafts, batch.notes(), strict=True)
    ]
    return plan


def write_documents(
    stored: MemoryTables, root: str, *documents: tuple[str, Sequence[Draft]], adopt: bool = False
) -> WriteCounts:
    """Write documents, each given by its name and drafts."""
    batch = Batch(stored, adopt=adopt)
    counts = batch.add_documents([Document(root, name, "1", drafts) for name, drafts in documents], "default")
    stored.apply(batch.plan(None, {}))
    return counts


def test_notes_are_created_and_changed() -> None:
    stored = MemoryTables()
    plan = write(stored, {"id": "a", "content": "tea"}, {"id": "b", "content": "milk", "namespace": "alice"})
    assert [(change.old, change.new.key, change.new.namespace) for change in plan.changes] == [
        (None, 1, 1),
        (None, 2, 2),
    ]
    again = write(stored, {"id": "a", "content": "tea"}, {"id": "b", "title": "Milk", "namespace": "alice"})
    assert [(change.new.key, change.new.title, change.new.content) for change in again.changes] == [(2, "Milk", "milk")]
    assert again.notes_with_stale_vectors == [2]


def test_changes_are_sorted_by_namespace_then_key() -> None:
    stored = MemoryTables()
    plan = write(stored, *({"id": f"{n}", "content": "x", "namespace": "ab"[n % 2]} for n in range(4)))
    assert [(change.new.namespace, change.new.key) for change in plan.changes] == [(1, 1), (1, 3), (2, 2), (2, 4)]


def test_notes_swap_paths() -> None:
    stored = MemoryTables()
    write(stored, {"id": "a", "path": "one", "content": "x"}, {"id": "b", "path": "two", "content": "y"})
    plan = write(stored, {"id": "a", "path": "two"}, {"id": "b", "path": "one"})
    assert [(change.new.id, change.new.path, change.renamed) for change in plan.changes] == [
        ("a", "two", True),
        ("b", "one", True),
    ]
    with pytest.raises(ArgumentError, match="'one' is the path of another note, 'b'"):
        write(stored, {"id": "a", "path": "one"})


def test_only_changed_links_are_written() -> None:
    stored = MemoryTables()
    link = Link("related", "b")
    plan = write(stored, {"id": "a", "content": "x", "links": (link,)}, {"id": "b", "content": "y"})
    assert links_of(plan) == {1: (link,)}
    assert write(stored, {"id": "a", "links": (link,)}).changes == []
    assert links_of(write(stored, {"id": "a", "links": ()})) == {1: ()}


def test_changed_texts_need_vectors() -> None:
    stored = MemoryTables()
    plan = write(stored, {"id": "a", "content": "tea"}, model=TINY)
    assert [(new.note, new.digest) for new in plan.vectors] == [(1, text_digest(embedding_text("", "", "tea")))]
    assert write(stored, {"id": "a", "importance": 1.0, "content": "tea"}, model=TINY).vectors == []
    plan = write(stored, {"id": "a", "title": "Tea"}, model=TINY)
    assert [(note.key, note.text) for note in plan.pending] == [(1, embedding_text("Tea", "", "tea"))]
    stored.active = TINY
    with pytest.raises(ArgumentError, match="makes vectors of 3 numbers; those of tiny in this memory have 2"):
        write(stored, {"id": "a", "content": "milk"}, model=Model("tiny", 3))


def test_missing_note_cannot_be_changed() -> None:
    with pytest.raises(NoteNotFoundError, match="there is no note 'a'"):
        write(MemoryTables(), {"id": "a", "content": "x"}, create=False)


def test_documents_replace_their_notes() -> None:
    stored = MemoryTables()
    drafts: list[Draft] = [{"path": "a#1", "content": "x"}, {"path": "a#2", "content": "y"}]
    assert write_documents(stored, "/notes", ("a", drafts)) == WriteCounts(added=2)
    new_draft: Draft = {"path": "b", "content": "z"}
    counts = write_documents(stored, "/notes", ("a", drafts[:1]), ("b", [new_draft]))
    assert counts == WriteCounts(added=1, unchanged=1, removed=1)
    assert sorted(row.path or "" for row in stored.rows.values()) == ["a#1", "b"]
    assert write_documents(stored, "/notes", ("a", [])) == WriteCounts(removed=1)
    with pytest.raises(IngestError, match="b is the path of a note from /notes/b"):
        write_documents(stored, "/other", ("b", [{**new_draft, "content": "another"}]))
    counts = write_documents(stored, "/other", ("b", [{**new_draft, "content": "another"}]), adopt=True)
    assert counts == WriteCounts(updated=1)
