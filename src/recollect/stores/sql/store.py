"""The base class of both SQL stores: the methods of ``stores/base.py`` that both engines implement in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from recollect.errors import ArgumentError, StoreError
from recollect.model import DEFAULT_NAMESPACE, Candidate, Document, Draft, Edge, EmbeddingText, Filters, Link, Note
from recollect.query import Query
from recollect.query.expressions import Semantics
from recollect.stores.base import DocumentRecord, DocumentWriteResult, Model, Neighbour, Page, PendingNote, WriteResult
from recollect.stores.batches import Batch, StoredText, texts_to_embed
from recollect.stores.rows import to_microseconds, unit_query
from recollect.stores.spelling import SpellingIndex, Vocabulary, similar_words, unknown_words
from recollect.stores.sql import graph, tables
from recollect.stores.sql.dialect import MAX_INTEGER, SqlTransaction
from recollect.stores.sql.writing import BatchTables, write_plan
from recollect.stores.tokens import TermFilterCache

if TYPE_CHECKING:
    from recollect.stores.base import Vector

BATCH_NOTES = 512  # how many notes one query reads when a caller iterates over all notes
BATCH_DOCUMENTS = 256  # how many documents one query reads when a caller iterates over all documents
TOUCH_TIMEOUT = 1.0  # how many seconds a transaction that writes only access times waits for other writers

T = TypeVar("T", bound=SqlTransaction)
R = TypeVar("R")


class NamespaceSearch(Protocol):
    """The searches of one namespace in a read transaction."""

    def search_text(self, query: Query, semantics: Semantics, limit: int, filters: Filters) -> list[Candidate]:
        """Return the best notes by BM25; ties are ordered by path, then id."""

    def text_scores(self, query: Query, semantics: Semantics, ids: Sequence[str]) -> dict[str, float]:
        """Return the scores of ``search_text``, by id, for the notes with these ids that match the query."""

    def select_candidates(self, ids: Sequence[str], filters: Filters, exclusions: Query | None) -> list[Candidate]:
        """Return those of the notes, in this order, that pass the filters and match no NOT term of ``exclusions``."""

    def similarities(self, active: tables.ActiveModel, vector: Vector, ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine similarities, by id, of the notes with these ids to a unit vector."""


class SqlStore(ABC, Generic[T]):
    """Notes, their terms, vectors and links in the tables of an SQL engine."""

    def __init__(self, max_term_filters: int) -> None:
        """Start with an empty cache of term filters for at most ``max_term_filters`` namespaces."""
        self._term_filters = TermFilterCache(max_term_filters)

    @abstractmethod
    def _read(self, work: Callable[[T], R], namespace: str | None) -> R:
        """Return the result of ``work`` (it may run twice) in a read transaction on a namespace, or all (``None``)."""

    @abstractmethod
    def _write(
        self, namespaces: Collection[str] | None, *, create: bool = False, accesses_only: bool = False
    ) -> AbstractContextManager[T]:
        """Open a write transaction on some or all (``None``) namespaces; it is committed unless an error is raised.

        The transaction first deletes the expired notes of the namespaces. With ``create``, it creates missing
        namespaces. With ``accesses_only`` it deletes nothing, and waits only :data:`TOUCH_TIMEOUT` seconds for writers.
        """

    @abstractmethod
    def _search(self, transaction: T, namespace_id: int) -> NamespaceSearch:
        """Return the object that searches a namespace in this transaction."""

    def _read_namespace(self, namespace: str, default: R, work: Callable[[T, int], R]) -> R:
        """Return the result of ``work`` for the key of a namespace; ``default`` if nothing was ever stored in it."""

        def read(transaction: T) -> R:
            namespace_id = transaction.namespace_id(namespace)
            return default if namespace_id is None else work(transaction, namespace_id)

        return self._read(read, namespace)

    def _read_one_or_all(self, namespace: str | None, default: R, work: Callable[[T, int | None], R]) -> R:
        """Return the result of ``work`` for a namespace, as :meth:`_read_namespace` does, or for all (``None``)."""
        if namespace is None:
            return self._read(lambda transaction: work(transaction, None), None)
        return self._read_namespace(namespace, default, work)

    @property
    def model(self) -> Model | None:
        """The active model, whose vectors are searched; ``None`` if the store has no vectors yet."""
        active = self._read(tables.active_model, None)
        return active.model if active else None

    def _search_namespace(self, namespace: str, default: R, work: Callable[[NamespaceSearch], R]) -> R:
        return self._read_namespace(
            namespace, default, lambda transaction, namespace_id: work(self._search(transaction, namespace_id))
        )

    def texts_to_embed(self, drafts: Sequence[Draft], *, model: Model) -> list[EmbeddingText]:
        def read(namespace: str, ids: Sequence[str], paths: Sequence[str]) -> list[StoredText]:
            return self._read_namespace(namespace, [], partial(tables.stored_texts, model=model, ids=ids, paths=paths))

        return texts_to_embed(drafts, read)

    def write(
        self,
        drafts: Sequence[Draft],
        *,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        create: bool = True,
    ) -> WriteResult:
        namespaces = {draft.get("namespace", DEFAULT_NAMESPACE) for draft in drafts}
        with self._write(namespaces, create=True) as transaction:  # creates namespaces; ``create`` is about notes
            batch = Batch(BatchTables(transaction, len(drafts)), create=create)
            batch.add(drafts)
            plan = batch.plan(model, vectors or {})
            term_filters = write_plan(transaction, plan, self._term_filters)
        self._term_filters.put(term_filters)
        return WriteResult(batch.notes(), plan.pending)

    def write_documents(
        self,
        documents: Sequence[Document],
        *,
        namespace: str,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        adopt: bool = False,
    ) -> DocumentWriteResult:
        """Write documents, and delete the stored notes of these documents that the documents no longer contain."""
        with self._write([namespace], create=True) as transaction:
            batch_tables = BatchTables(transaction, sum(len(document.drafts) for document in documents))
            batch_tables.write_documents(namespace, documents)
            batch = Batch(batch_tables, adopt=adopt)
            counts = batch.add_documents(documents, namespace)
            plan = batch.plan(model, vectors or {})
            term_filters = write_plan(transaction, plan, self._term_filters)
        self._term_filters.put(term_filters)
        return DocumentWriteResult(counts, plan.pending)

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, semantics: Semantics = "strict"
    ) -> list[Candidate]:
        if limit <= 0:
            return []
        limit = min(limit, MAX_INTEGER)
        return self._search_namespace(
            namespace, [], lambda search: search.search_text(query, semantics, limit, filters)
        )

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, semantics: Semantics = "strict"
    ) -> dict[str, float]:
        return self._search_namespace(namespace, {}, lambda search: search.text_scores(query, semantics, notes))

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, exclusions: Query | None = None
    ) -> list[Candidate]:
        return self._search_namespace(namespace, [], lambda search: search.select_candidates(ids, filters, exclusions))

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        def work(transaction: T, namespace_id: int) -> dict[str, float]:
            active = tables.active_model(transaction)
            if active is None or (model is not None and active.model != model):
                return {}
            unit_vector = unit_query(vector, active.model)
            return self._search(transaction, namespace_id).similarities(active, unit_vector, ids)

        return self._read_namespace(namespace, {}, work)

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        def work(transaction: T, namespace_id: int) -> list[Note | None]:
            note_keys = tables.note_keys(transaction, namespace_id, keys)
            notes = tables.notes_by_key(transaction, list({key for key in note_keys if key is not None}))
            return [None if key is None else notes[key] for key in note_keys]

        return self._read_namespace(namespace, [None] * len(keys), work)

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        with self._write([namespace]) as transaction:
            namespace_id = transaction.namespace_id(namespace)
            if namespace_id is None:
                return 0
            notes = {key for key in tables.note_keys(transaction, namespace_id, keys) if key is not None}
            tables.delete_notes(transaction, namespace_id, sorted(notes))
        return len(notes)

    def touch(self, access_times: Mapping[str, datetime], *, namespace: str) -> int:
        with self._write([namespace], accesses_only=True) as transaction:
            namespace_id = transaction.namespace_id(namespace)
            if namespace_id is None:
                return 0
            microseconds = {note_id: to_microseconds(moment) for note_id, moment in access_times.items()}
            return transaction.touch_notes(namespace_id, microseconds)

    def notes(self, *, namespace: str | None = None, filters: Filters | None = None) -> Iterator[Note]:
        """Iterate over the notes in the order of their creation; concurrent writes may or may not be seen."""
        cursor = 0
        while notes := self._notes_after(cursor, BATCH_NOTES, namespace, filters or Filters()):
            yield from notes.values()
            cursor = max(notes)

    def page(self, limit: int, *, namespace: str, filters: Filters, after: int = 0) -> Page:
        limit = min(limit, MAX_INTEGER - 1)
        notes = self._notes_after(min(after, MAX_INTEGER), limit + 1, namespace, filters)  # + 1 for ``has_next_page``
        keys = list(notes)[:limit]
        has_next_page = bool(keys) and len(notes) > limit
        return Page([notes[key] for key in keys], keys[-1] if has_next_page else None)

    def _notes_after(self, cursor: int, limit: int, namespace: str | None, filters: Filters) -> dict[int, Note]:
        def work(transaction: T, namespace_id: int | None) -> dict[int, Note]:
            keys = transaction.note_keys_after(cursor, limit, namespace_id, filters)
            return tables.notes_by_key(transaction, keys)

        return self._read_one_or_all(namespace, {}, work)

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        def work(transaction: T) -> tuple[Model | None, list[Vector | None]]:
            active = tables.active_model(transaction)
            if active is None:
                return None, [None] * len(notes)
            return active.model, tables.vectors_of(transaction, active, notes)

        return self._read(work, None)

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        read = partial(graph.edges, ids=ids, distance=min(reach, MAX_INTEGER), kinds=kinds)
        return self._read_namespace(namespace, [], read)

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        return self._read_namespace(namespace, {}, partial(graph.successors, ids=ids, created_before=created_before))

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        def work(transaction: T, namespace_id: int) -> dict[str, tuple[str, ...]]:
            index = self._spelling_index(transaction, namespace_id)
            if not unknown_words(index, words):
                return {}
            return similar_words(index, self._vocabulary(transaction, namespace_id), words)

        return self._read_namespace(namespace, {}, work)

    @abstractmethod
    def _spelling_index(self, transaction: T, namespace_id: int) -> SpellingIndex:
        """Return the view of a namespace's lexical index that spelling suggestions need."""

    @abstractmethod
    def _vocabulary(self, transaction: T, namespace_id: int) -> Vocabulary:
        """Return the terms of the lexical index of a namespace."""

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        with self._write([namespace]) as transaction:
            return tables.add_link(transaction, *tables.existing_note(transaction, source, namespace), link)

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        with self._write([namespace]) as transaction:
            return tables.remove_link(transaction, tables.existing_note(transaction, source, namespace)[1], link)

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        def work(transaction: T) -> list[Neighbour]:
            note_edges = graph.edges_of_key(transaction, *tables.existing_note(transaction, key, namespace))
            notes = tables.notes_by_key(transaction, list({edge.target for edge in note_edges}))
            return [Neighbour(notes[edge.target], edge.kind, edge.direction) for edge in note_edges]

        return self._read(work, namespace)

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        return self._read_namespace(namespace, {}, partial(tables.document_fingerprints, root=root))

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        with self._write([namespace]) as transaction:
            namespace_id = transaction.namespace_id(namespace)
            return 0 if namespace_id is None else tables.remove_documents(transaction, namespace_id, root, names)

    def document_records(self, *, namespace: str | None = None) -> Iterator[DocumentRecord]:
        cursor = 0
        no_records: dict[int, DocumentRecord] = {}
        read = partial(tables.document_records_after, limit=BATCH_DOCUMENTS)
        while records := self._read_one_or_all(namespace, no_records, partial(read, cursor=cursor)):
            yield from records.values()
            cursor = max(records)

    def set_document_notes(self, records: Sequence[DocumentRecord]) -> None:
        with self._write({record.namespace for record in records}, create=True) as transaction:
            tables.set_document_notes(
                transaction, [(transaction.ensure_namespace(record.namespace), record) for record in records]
            )

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[PendingNote]:
        limit = min(limit, MAX_INTEGER)
        return self._read(lambda transaction: tables.pending(transaction, model, limit, after or 0), None)

    def embed(self, model: Model, vectors: Sequence[tuple[PendingNote, Vector]]) -> int:
        with self._write(None) as transaction:
            return tables.write_pending_vectors(transaction, model, vectors)


@contextmanager
def new_file(target: Path, *, overwrite: bool, source: Path | None = None) -> Iterator[Path]:
    """Yield the path for a temporary SQLite file, which becomes ``target`` at the end, unless an error is raised.

    An existing ``target`` is an error, unless ``overwrite``. Even then it must not be ``source``, the copied file.
    """
    try:
        if target.exists() and (not overwrite or (source is not None and target.samefile(source))):
            raise ArgumentError("target", f"{target} exists; choose another name")
        if any(target.with_name(target.name + suffix).exists() for suffix in ("-wal", "-journal")):
            raise ArgumentError("target", f"{target} is in use, or was not closed; choose another name")
        temporary_file = target.with_name(f"{target.name}.{urandom(4).hex()}.partial")
        try:
            yield temporary_file
            temporary_file.replace(target)
        finally:
            for suffix in ("", "-wal", "-shm"):
                temporary_file.with_name(temporary_file.name + suffix).unlink(missing_ok=True)
    except (OSError, UnicodeError) as error:
        raise StoreError(f"{str(target)!a} cannot be written: {error}") from error
