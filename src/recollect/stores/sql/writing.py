"""A batch becomes rows: notes, terms, vectors and links, table by table, in the transaction of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from recollect.model import Document, Link
from recollect.stores.base import Model
from recollect.stores.batches import Plan
from recollect.stores.changes import Change
from recollect.stores.mentions import NoteText
from recollect.stores.rows import COLUMNS, NoteRow
from recollect.stores.sql.dialect import SqlTransaction
from recollect.stores.sql.embedding import active_model, write_vectors
from recollect.stores.sql.entities import write_entities
from recollect.stores.sql.mentions import write_mentions
from recollect.stores.sql.tables import delete_notes, links_by_source, upsert_documents, write_links
from recollect.stores.sql.term_filter import TermFilter, TermFilterCache

__all__ = ["BatchTables", "write_plan"]


class BatchTables:
    """What a batch reads of the tables before it decides what to write."""

    def __init__(self, transaction: SqlTransaction, max_notes: int) -> None:
        """Read nothing yet; at most ``max_notes`` may be new."""
        self._transaction = transaction
        self._max_notes = max_notes
        self._keys: Iterator[int] | None = None
        self._documents: dict[tuple[int, str, str], int] = {}
        self._notes: dict[int, list[int]] = {}

    def namespace(self, name: str) -> int:
        """Return the key of a namespace, which is created if it is new."""
        return self._transaction.ensure_namespace(name)

    def notes(self, namespace_id: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        """Return the notes with one of these ids, then those with one of these paths; a note may come twice."""
        return [
            NoteRow._make(row)
            for column, names in (("id", ids), ("path", paths))
            if names
            for row in self._transaction.fetch(
                f"SELECT {COLUMNS} FROM notes WHERE namespace = :namespace AND LOOKUP({column}) IN LOOKUP_LIST(:names)",  # noqa: S608 (names of our own)
                namespace=namespace_id,
                names=names,
            )
        ]

    def links(self, notes: Sequence[int]) -> Mapping[int, tuple[Link, ...]]:
        """Return the links of the notes that have any."""
        return links_by_source(self._transaction, notes)

    def new_key(self) -> int:
        """Return the key of a new note, higher than those before."""
        if self._keys is None:
            self._keys = self._transaction.new_keys(self._max_notes)
        return next(self._keys)

    def write_documents(self, namespace: str, documents: Sequence[Document]) -> None:
        """Write the fingerprints of the documents of the batch, and read which notes they have."""
        namespace_id = self.namespace(namespace)
        self._documents = upsert_documents(
            self._transaction,
            {(namespace_id, document.root, document.name): document.fingerprint for document in documents},
        )
        self._notes = {key: [] for key in self._documents.values()}
        for document, note in self._transaction.fetch(
            "SELECT document, key FROM notes WHERE document IN LIST(:documents) ORDER BY key",
            documents=list(self._notes),
        ):
            self._notes[document].append(note)

    def document(self, namespace_id: int, document: Document) -> int:
        """Return the key of a document that was written before."""
        return self._documents[namespace_id, document.root, document.name]

    def notes_of(self, document: int) -> list[int]:
        """Return the notes that a document has."""
        return self._notes[document]

    def owner(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document."""
        rows = self._transaction.fetch("SELECT root, name FROM documents WHERE key = :key", key=document)
        return (rows[0][0], rows[0][1]) if rows else None

    def model(self) -> Model | None:
        """Return the model that the store is searched with."""
        active = active_model(self._transaction)
        return active[1] if active else None

    def embedded(self, notes: Sequence[int], model: Model) -> set[int]:
        """Return those of the notes that have a vector of ``model``."""
        rows = self._transaction.fetch(
            "SELECT DISTINCT note FROM vectors AS v JOIN models AS m ON m.key = v.model WHERE note IN LIST(:notes) "
            "AND (m.name, m.dimension, m.precision) = (:name, :dimension, :precision)",
            notes=notes,
            **model._asdict(),
        )
        return {note for (note,) in rows}


def write_plan(transaction: SqlTransaction, plan: Plan, filters: TermFilterCache) -> dict[int, tuple[int, TermFilter]]:
    """Write what a batch decided, and return the term filters to cache, with their revisions, once it is committed."""
    for namespace_id, notes in plan.gone.items():
        delete_notes(transaction, namespace_id, notes)
    by_namespace = {key: list(group) for key, group in groupby(plan.changes, key=attrgetter("new.namespace"))}
    for namespace_id, changes in by_namespace.items():
        transaction.unindex_texts(
            namespace_id, [change.new.key for change in changes if change.old and change.words_changed]
        )
    transaction.update_notes([change for change in plan.changes if change.old])
    transaction.insert_notes([change.new for change in plan.changes if not change.old])
    term_filters = {
        namespace_id: _connect(transaction, namespace_id, changes, filters)
        for namespace_id, changes in by_namespace.items()
    }
    write_links(
        transaction,
        (
            (change.new.key, change.new.namespace, change.links)
            for change in plan.changes
            if change.links != change.old_links
        ),
    )
    if plan.stale:
        transaction.execute("DELETE FROM vectors WHERE note IN LIST(:notes)", notes=plan.stale)
    if plan.vectors:
        write_vectors(transaction, plan.model, plan.vectors)
    return {
        namespace_id: (transaction.revision(namespace_id), term_filter)
        for namespace_id, term_filter in term_filters.items()
        if term_filter is not None
    }


def _connect(
    transaction: SqlTransaction, namespace_id: int, changes: Sequence[Change], filters: TermFilterCache
) -> TermFilter | None:
    """Write what notes mention and list, while the lexical index has all other notes, and add them to it."""
    with_entities = [
        change for change in changes if change.new.metadata != (change.old.metadata if change.old else "{}")
    ]
    write_entities(
        transaction,
        namespace_id,
        [(change.new.key, change.new.metadata) for change in with_entities],
        [change.new.key for change in with_entities if change.old],
    )
    reworded = [change for change in changes if change.words_changed]
    if not reworded and not any(change.renamed for change in changes):
        return None
    texts = [NoteText(new.key, new.title, new.summary, new.content) for new in map(attrgetter("new"), reworded)]
    changed = [change.new.key for change in reworded if change.old]
    term_filter = write_mentions(transaction, namespace_id, texts, changed, filters)
    transaction.index_texts(namespace_id, changes)
    return term_filter
