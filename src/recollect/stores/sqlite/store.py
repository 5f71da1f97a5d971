"""The store in one SQLite file: it keeps the contract of :mod:`recollect.stores.base`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from recollect import clock
from recollect.errors import NoteNotFoundError
from recollect.model import Candidate, Document, Draft, EmbeddingText, Filters, Link, Note
from recollect.query import Query
from recollect.query.expressions import Reading
from recollect.stores.backups import appearing
from recollect.stores.base import (
    DocumentRecord,
    DocumentWriteResult,
    Edge,
    Finding,
    Model,
    ModelChangedError,
    Neighbour,
    Page,
    Pending,
    StoreStats,
    WriteResult,
)
from recollect.stores.batches import Batch, texts_to_embed
from recollect.stores.known_words import KnownWords
from recollect.stores.names import NameIndex
from recollect.stores.revisions import Kept
from recollect.stores.rows import to_microseconds
from recollect.stores.spelling import similar_words, unknown_words
from recollect.stores.sqlite import (
    checking,
    embedding,
    expiry,
    names,
    neighbourhood,
    revisions,
    search,
    supersession,
    vocabulary,
)
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.counting import NoteCounts
from recollect.stores.sqlite.embedding import active_model
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.figures import count_all
from recollect.stores.sqlite.filters import filter_conditions as condition
from recollect.stores.sqlite.fts5 import render_fts5, render_fts5_exclusion
from recollect.stores.sqlite.schema import SCHEMA_VERSION
from recollect.stores.sqlite.search_indexes import SearchIndexes
from recollect.stores.sqlite.shelving import SHELVES_AT_ONCE, shelves_behind, write_shelves
from recollect.stores.sqlite.tables import (
    delete_notes,
    linked_note,
    namespace_key,
    notes_of,
    place_of,
    places_of,
    touch_notes,
    write_links,
)
from recollect.stores.sqlite.writing import Transaction, write_plan
from recollect.stores.units import unit_query

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["SQLiteStore"]


WALK_ROWS = 512
TOUCH_PATIENCE = 1.0
"""Seconds to wait for other writers where that is all there is to write."""
LARGEST = 2**62
"""More than any store can hold, and still a number that SQLite can."""


class SQLiteStore:
    """Notes, their words, vectors and links in one SQLite file.

    Threads and processes may share it: one writes at a time, the others go on reading.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = SQLiteStore(Path(folder, "memory.db"))
    ...     (note,), _ = store.write([{"content": "Prefers green tea.", "path": "tea.md"}])
    ...     found, = store.get(["tea.md"], namespace="default")
    ...     store.close()
    >>> found == note
    True
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; without ``read_only`` it is created where it is missing."""
        self._connections = Connections(path, read_only=read_only)
        self._indexes = SearchIndexes(self._connections)
        self._names: dict[bool, Kept[apsw.Connection, NameIndex]] = {
            titles: Kept(partial(names.index_names, titles=titles), revisions) for titles in (False, True)
        }
        self._vocabularies = Kept(vocabulary.index_vocabulary, revisions)
        self._counts = Kept(NoteCounts.begun, revisions)
        self._known_words = KnownWords()

    @property
    def read_only(self) -> bool:
        """Whether the file was opened for reading alone."""
        return self._connections.read_only

    @property
    def model(self) -> Model | None:
        """The model that the stored vectors are searched with."""
        with self._connections.reading() as connection:
            active = active_model(connection)
        return active[1] if active else None

    def texts_to_embed(self, drafts: Sequence[Draft], *, model: Model) -> list[EmbeddingText]:
        """Return the distinct texts that need a vector of ``model`` before the drafts are written."""
        with self._reading() as connection:
            return texts_to_embed(drafts, partial(embedding.stored_texts, connection, model))

    def write(
        self,
        drafts: Sequence[Draft],
        *,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        create: bool = True,
    ) -> WriteResult:
        """Write the drafts in one transaction and return the notes as they are now."""
        with self._writing() as connection:
            batch = Batch(Transaction(connection), create=create)
            batch.add(drafts)
            plan = batch.plan(model, vectors or {})
            write_plan(connection, plan, self._known_words)
            written = batch.notes()
        self._indexes.touch(note.namespace for note in written)
        return WriteResult(written, plan.pending)

    def write_documents(
        self,
        documents: Sequence[Document],
        *,
        namespace: str,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        adopt: bool = False,
    ) -> DocumentWriteResult:
        """Store documents, and delete the notes that they had and no longer have."""
        with self._writing() as connection:
            batch = Batch(Transaction(connection), adopt=adopt)
            counts = batch.add_documents(documents, namespace)
            plan = batch.plan(model, vectors or {})
            write_plan(connection, plan, self._known_words)
        self._indexes.touch([namespace])
        return DocumentWriteResult(counts, plan.pending)

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        """Return for each id or path its note."""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            places = [None] * len(keys) if home is None else places_of(connection, home, keys)
            found = notes_of(connection, [place for place in places if place is not None])
        return [None if place is None else found[place] for place in places]

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        """Delete notes by id or path, with all that was derived from them."""
        with self._writing() as connection:
            home = namespace_key(connection, namespace)
            if home is None:
                return 0
            places = {*places_of(connection, home, keys)} - {None}
            delete_notes(connection, home, [place for place in places if place is not None])
        self._indexes.touch([namespace])
        return len(places)

    def expire(self, now: datetime, *, most: int | None = None) -> int:
        """Delete the notes that are due, if others do not keep the file busy."""
        moment = to_microseconds(now)
        if self.read_only:
            return 0
        with self._connections.reading() as connection:
            if not expiry.is_due(connection, moment):
                return 0
        with self._connections.writing(timeout=0) as connection:
            return self._removed(connection, expiry.remove(connection, moment, -1 if most is None else most))

    def touch(self, accessed: Mapping[str, datetime], *, namespace: str) -> int:
        """Set when notes were last accessed, where that is later than what is known."""
        with self._connections.writing(timeout=TOUCH_PATIENCE) as connection:
            return touch_notes(connection, namespace_key(connection, namespace), accessed)

    def notes(self, *, namespace: str | None = None, filters: Filters | None = None) -> Iterator[Note]:
        """Walk over the notes in the order in which they came; what is written meanwhile may or may not be seen."""
        last = 0
        while found := self._behind(last, WALK_ROWS, namespace, filters or Filters()):
            yield from found.values()
            last = max(found)

    def page(self, limit: int, *, namespace: str, filters: Filters, after: int = 0) -> Page:
        """Return the next notes of a walk from behind a place on."""
        deepest = min(limit, LARGEST - 1)
        found = self._behind(min(after, LARGEST), deepest + 1, namespace, filters)
        shown = list(found)[:deepest]
        return Page([found[key] for key in shown], shown[-1] if len(found) > deepest and shown else None)

    def _behind(self, place: int, limit: int, namespace: str | None, filters: Filters) -> dict[int, Note]:
        """Return the next notes behind a row, by their rows."""
        conditions, values = condition(filters)
        if namespace is not None:
            conditions += " AND n.namespace = (SELECT key FROM namespaces WHERE name = ?)"
            values.append(namespace)
        with self._reading() as connection:
            rows = fetch(
                connection,
                f"SELECT n.key FROM notes AS n WHERE n.key > ? {conditions} ORDER BY n.key LIMIT ?",  # noqa: S608 (names of our own)
                (place, *values, limit),
            )
            return notes_of(connection, [key for (key,) in rows])

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        """Return the model that the store is searched with, and its vectors of these notes as they are here."""
        with self._reading() as connection:
            active = active_model(connection)
            if active is None:
                return None, [None] * len(notes)
            return active[1], embedding.vectors_of(connection, active, notes)

    def search_text(
        self, query: Query, limit: int, *, namespace: str, filters: Filters, reading: Reading = "strict"
    ) -> list[Candidate]:
        """Return the best notes by BM25."""
        with self._reading() as connection:
            namespace_id = namespace_key(connection, namespace)
            if namespace_id is None:
                return []
            depth = min(limit, LARGEST)
            return search.search_text(connection, self._indexes, namespace_id, query, reading, depth, filters)

    def search_vectors(
        self,
        vector: Vector,
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        without: Query | None = None,
        model: Model | None = None,
    ) -> list[Candidate]:
        """Return the nearest notes by exact search."""
        with self._reading() as connection:
            home, active = namespace_key(connection, namespace), active_model(connection)
            if model is not None and active is not None and active[1] != model:
                raise ModelChangedError(active[1])
            if home is None or active is None or limit <= 0:
                return []
            unit = unit_query(vector, active[1])
            index, deepest = self._indexes.vectors(home, *active), min(limit, LARGEST)
            excluded = render_fts5_exclusion(without) if without else ""
            found = search.search_vectors(connection, index, home, active[1], unit, deepest, filters, excluded)
            if index.needs_snapshot():
                self._indexes.worker.start(index.write_snapshot)
            if active_model(connection) == active:
                return found
        # Another model took over just now, and took the vectors of the one before with it.
        return self.search_vectors(vector, limit, namespace=namespace, filters=filters, without=without, model=model)

    def edges(
        self, ids: Sequence[str], *, namespace: str, reach: int = 1, kinds: Collection[str] | None = None
    ) -> list[Edge]:
        """Return every connection of the notes with these ids, or those of some kinds, each once."""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            return [] if home is None else neighbourhood.edges(connection, home, ids, min(reach, LARGEST), kinds)

    def successors(
        self, ids: Sequence[str], *, namespace: str, created_before: datetime | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return what supersedes these notes, directly and along their chains."""
        with self._reading() as connection:
            namespace_id = namespace_key(connection, namespace)
            if namespace_id is None:
                return {}
            return supersession.successors(connection, namespace_id, ids, created_before)

    def candidates(
        self, ids: Sequence[str], *, namespace: str, filters: Filters, without: Query | None = None
    ) -> list[Candidate]:
        """Return the notes with these ids that pass the filters."""
        excluded = render_fts5_exclusion(without) if without else ""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            return [] if home is None else search.select_candidates(connection, home, ids, filters, excluded)

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return how many notes the namespace has, and how many of them each query finds by its words."""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            if home is None:
                return 0, [0] * len(queries)
            frequencies = search.document_frequencies(connection, self._indexes, home, queries)
            if frequencies is not None:
                return frequencies
            counts = self._counts.at(connection, home)
            return counts.notes, [counts.of(connection, render_fts5(query)) for query in queries]

    def similarities(
        self, vector: Vector, ids: Sequence[str], *, namespace: str, model: Model | None = None
    ) -> dict[str, float]:
        """Return how near the notes with these ids are to a vector."""
        with self._reading() as connection:
            home, active = namespace_key(connection, namespace), active_model(connection)
            if home is None or active is None or (model is not None and active[1] != model):
                return {}  # nobody can tell
            return search.similarities(connection, home, active, unit_query(vector, active[1]), ids)

    def text_scores(
        self, query: Query, notes: Sequence[str], *, namespace: str, reading: Reading = "strict"
    ) -> dict[str, float]:
        """Return the BM25 scores of the notes with these ids that match the query."""
        with self._reading() as connection:
            namespace_id = namespace_key(connection, namespace)
            if namespace_id is None:
                return {}
            return search.text_scores(connection, self._indexes, namespace_id, query, reading, notes)

    def search_names(
        self,
        words: Sequence[str],
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        titles: bool = False,
        without: Query | None = None,
    ) -> list[Candidate]:
        """Return the notes whose name is spelt like one of the words."""
        excluded = render_fts5_exclusion(without) if without else ""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            if home is None or limit <= 0:
                return []
            index = self._names[titles].at(connection, home)
            passing = names.Passing(connection, home, filters, excluded)
            return names.search_names(passing, index, words, min(limit, LARGEST))

    def similar_words(self, words: Sequence[str], *, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return for each word that no note holds the words that notes hold and that are spelt most like it."""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            if home is None or not unknown_words(vocabulary.WordIndex(connection, home), words):
                return {}
            vocabulary.open_vocabulary(connection, home)
            known = self._vocabularies.at(connection, home)
            return similar_words(vocabulary.WordIndex(connection, home), known, words)

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        """Add a link to a note."""
        with self._writing() as connection:
            key, links = linked_note(connection, source, namespace)
            if link in links:
                return False
            write_links(connection, {key: [*links, link]})
            return True

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        """Take a link from a note."""
        with self._writing() as connection:
            key, links = linked_note(connection, source, namespace)
            if link not in links:
                return False
            write_links(connection, {key: [each for each in links if each != link]})
            return True

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        """Return the notes at the other ends of its edges."""
        with self._reading() as connection:
            home = namespace_key(connection, namespace)
            place = None if home is None else place_of(connection, home, key)
            if home is None or place is None:
                raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r}")
            steps = neighbourhood.steps(connection, home, [place])
            found = notes_of(connection, [step.target for step in steps])
        return [Neighbour(found[step.target], step.kind, step.direction) for step in steps]

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        """Return the fingerprints of the documents below ``root`` by their names."""
        with self._reading() as connection:
            rows = fetch(
                connection,
                "SELECT d.name, fingerprint FROM documents AS d JOIN namespaces AS s ON s.key = d.namespace "
                "WHERE s.name = ? AND root = ?",
                (namespace, root),
            )
            return dict(rows)

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        """Forget documents and delete their notes."""
        removed = 0
        with self._writing() as connection:
            home = namespace_key(connection, namespace)
            if home is None:
                return 0
            for name in names:
                document = connection.execute(
                    "SELECT key FROM documents WHERE (namespace, root, name) = (?, ?, ?)", (home, root, name)
                ).get
                keys = fetch(connection, "SELECT key FROM notes WHERE document = ?", (document,))
                delete_notes(connection, home, [key for (key,) in keys])
                connection.execute("DELETE FROM documents WHERE key = ?", (document,))
                removed += len(keys)
        self._indexes.touch([namespace])
        return removed

    def document_records(self, *, namespace: str | None = None) -> Iterator[DocumentRecord]:
        """Walk over the documents in the order in which they came."""
        last = 0
        while True:
            with self._reading() as connection:
                found = shelves_behind(connection, last, SHELVES_AT_ONCE, namespace)
            if not found:
                return
            yield from found.values()
            last = max(found)

    def set_document_notes(self, records: Sequence[DocumentRecord]) -> None:
        """Let documents have these fingerprints and just these notes."""
        with self._writing() as connection:
            write_shelves(connection, records)

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[Pending]:
        """Return notes of any namespace that have no vector of ``model``."""
        with self._reading() as connection:
            return embedding.pending(connection, model, limit, after)

    def embed(self, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
        """Store vectors of notes whose text is still the one that was embedded."""
        with self._writing() as connection:
            embedded = embedding.embed(connection, model, vectors)
            self._indexes.touch(name for (name,) in fetch(connection, "SELECT name FROM namespaces"))
        return embedded

    def activate(self, model: Model) -> bool:
        """Search with ``model`` from now on and drop all other vectors, if no note lacks one."""
        with self._writing() as connection:
            before = self._indexes.snapshots.tokens(connection)
            activated = embedding.activate(connection, model)
            needless = before - self._indexes.snapshots.tokens(connection)
        self._indexes.snapshots.delete(needless)
        return activated

    def stats(self) -> StoreStats:
        """Return what the store holds."""
        with self._reading() as connection:
            active = active_model(connection)
            figures = count_all(connection, sum(map(_size, self._files())))
        return StoreStats(
            location=str(self._connections.path),
            engine=f"SQLite {apsw.sqlite_lib_version()}",
            schema=SCHEMA_VERSION,
            model=active[1] if active else None,
            **figures._asdict(),
        )

    def check(self) -> list[Finding]:
        """Look at every part and return what was found, the good news too."""
        with self._connections.maintaining() as connection:
            return checking.check(connection, self._indexes.snapshots)

    def repair(self) -> list[Finding]:
        """Rebuild what is derived from the notes, and return what a check finds afterwards."""
        with self._connections.maintaining() as connection:
            unreadable = checking.unreadable_indexes(connection)
        with self._connections.writing() as connection:
            named = self._indexes.snapshots.tokens(connection)
            checking.rebuild(connection, unreadable)
        self._indexes.snapshots.delete_all(named)
        if unreadable:
            self._connections.vacuum()
        self._indexes.clear()
        return self.check()

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write a compact, consistent copy while others go on reading and writing."""
        with appearing(target, overwrite=overwrite, source=self._connections.file) as unfinished:
            self._connections.backup(unfinished)

    def close(self) -> None:
        """Let go of the file."""
        try:
            self._indexes.write_snapshots()
        finally:
            self._indexes.worker.stop()
            self._connections.close()
            self._indexes.clear()
        for kept in self._names.values():
            kept.clear()
        self._vocabularies.clear()
        self._counts.clear()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        """Give a connection on which what is due is not seen."""
        with self._connections.reading() as connection:
            expiry.see_to_it(connection, to_microseconds(clock.now()))
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Give the connection for writing, in a transaction that begins by removing what is due."""
        with self._connections.writing() as connection:
            self._removed(connection, expiry.remove(connection, to_microseconds(clock.now())))
            yield connection

    def _removed(self, connection: apsw.Connection, count: int) -> int:
        """Remember that notes were removed because they were due, wherever that was; return how many there were."""
        if count:
            names = "SELECT name FROM namespaces WHERE key IN (SELECT namespace FROM word_changes)"
            self._indexes.touch(name for (name,) in fetch(connection, names))
        return count

    def _files(self) -> list[Path]:
        path = self._connections.file
        return [
            path,
            *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm")),
            *self._indexes.snapshots.files(),
        ]


def _size(path: Path) -> int:
    with suppress(OSError):  # a snapshot may just have been replaced
        return path.stat().st_size
    return 0
