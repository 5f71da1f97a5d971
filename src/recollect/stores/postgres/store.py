"""The store in a PostgreSQL database: it keeps the contract of :mod:`recollect.stores.base`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from recollect import clock
from recollect.errors import NoteNotFoundError
from recollect.model import DEFAULT_NAMESPACE, Document, Draft, EmbeddingText, Filters, Link, Note
from recollect.stores.backups import appearing
from recollect.stores.base import (
    DocumentRecord,
    DocumentWriteResult,
    Finding,
    Model,
    Neighbour,
    Page,
    Pending,
    StoreStats,
    WriteResult,
)
from recollect.stores.batches import Batch, StoredText, texts_to_embed
from recollect.stores.copying import copy_store
from recollect.stores.postgres import (
    checking,
    embedding,
    expiry,
    neighbourhood,
    search,
    shelving,
)
from recollect.stores.postgres.connections import (
    POOL_SIZE,
    POOL_TIMEOUT,
    STATEMENT_TIMEOUT,
    Connections,
    SnapshotConnections,
    Transaction,
)
from recollect.stores.postgres.embedding import active_model
from recollect.stores.postgres.figures import count_all
from recollect.stores.postgres.filters import filter_conditions as condition
from recollect.stores.postgres.index import LARGEST, PostgresIndex
from recollect.stores.postgres.mentions import RememberedWords
from recollect.stores.postgres.pool import split_options
from recollect.stores.postgres.schema import SCHEMA_VERSION
from recollect.stores.postgres.tables import (
    delete_notes,
    linked_note,
    notes_of,
    places_of,
    touch_notes,
    write_links,
)
from recollect.stores.postgres.text import lookup_hash as mark
from recollect.stores.postgres.writing import BatchTables, write_plan
from recollect.stores.rows import to_microseconds
from recollect.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["PostgresStore"]

WALK_ROWS = 512
TOUCH_PATIENCE = 1.0
"""Seconds to wait for other writers where that is all there is to write."""
UNHURRIED = 0.0
"""The statement timeout of work that may take as long as it takes."""


class PostgresStore(PostgresIndex):
    """Notes, their words, vectors and links in a PostgreSQL database.

    Threads, processes and machines may share it. Those who write to one namespace wait for each other; the others go
    on.
    """

    def __init__(
        self,
        address: str,
        *,
        read_only: bool = False,
        pool_size: int = POOL_SIZE,
        pool_timeout: float = POOL_TIMEOUT,
        statement_timeout: float = STATEMENT_TIMEOUT,
    ) -> None:
        """Open the database at ``address``; without ``read_only`` the tables are created where they are missing.

        At most ``pool_size`` connections are open at once; who finds none waits for ``pool_timeout`` seconds. No
        statement takes longer than ``statement_timeout`` seconds.
        """
        super().__init__(
            Connections(
                address,
                read_only=read_only,
                pool_size=pool_size,
                pool_timeout=pool_timeout,
                statement_timeout=statement_timeout,
            )
        )
        self._remembered = RememberedWords()

    @classmethod
    def at(cls, address: str, *, read_only: bool = False) -> Self:
        """Open the database at an address, in which ``pool_size`` and the timeouts may stand as options."""
        place, options = split_options(address)
        return cls(place, read_only=read_only, **options)

    @classmethod
    def _as_of(cls, moment: SnapshotConnections) -> Self:
        """Return the store as it is at one moment, for reading."""
        store = cls.__new__(cls)
        PostgresIndex.__init__(store, moment)
        return store

    @property
    def read_only(self) -> bool:
        """Whether the store was opened for reading alone."""
        return self._connections.read_only

    def texts_to_embed(self, drafts: Sequence[Draft], *, model: Model) -> list[EmbeddingText]:
        """Return the distinct texts that need a vector of ``model`` before the drafts are written."""

        def read(namespace: str, ids: Sequence[str], paths: Sequence[str]) -> list[StoredText]:
            def work(at: Transaction) -> list[StoredText]:
                namespace_id = at.namespaces.get(namespace)
                if namespace_id is None:
                    return []
                return embedding.stored_texts(at.connection, model, namespace_id, ids, paths)

            return self._connections.read(work, namespace=namespace)

        return texts_to_embed(drafts, read)

    def write(
        self,
        drafts: Sequence[Draft],
        *,
        model: Model | None = None,
        vectors: Mapping[bytes, Vector] | None = None,
        create: bool = True,
    ) -> WriteResult:
        """Write the drafts in one transaction and return the notes as they are now."""
        homes = {draft.get("namespace", DEFAULT_NAMESPACE) for draft in drafts}
        with self._writing(homes, create=True) as at:
            batch = Batch(BatchTables(at, len(drafts)), create=create)
            batch.add(drafts)
            plan = batch.plan(model, vectors or {})
            left = write_plan(at.connection, plan, self._remembered)
        self._remembered.keep(left)
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
        """Store documents, and delete the notes that they had and no longer have."""
        with self._writing([namespace], create=True) as at:
            tables = BatchTables(at, sum(len(document.drafts) for document in documents))
            tables.write_documents(at.namespaces[namespace], documents)
            batch = Batch(tables, adopt=adopt)
            counts = batch.add_documents(documents, namespace)
            plan = batch.plan(model, vectors or {})
            left = write_plan(at.connection, plan, self._remembered)
        self._remembered.keep(left)
        return DocumentWriteResult(counts, plan.pending)

    def get(self, keys: Sequence[str], *, namespace: str) -> list[Note | None]:
        """Return for each id or path its note."""

        def work(at: Transaction) -> list[Note | None]:
            home = at.namespaces.get(namespace)
            if home is None:
                return [None] * len(keys)
            places = places_of(at.connection, home, keys)
            found = notes_of(at.connection, list({place for place in places if place is not None}))
            return [None if place is None else found[place] for place in places]

        return self._connections.read(work, namespace=namespace)

    def delete(self, keys: Sequence[str], *, namespace: str) -> int:
        """Delete notes by id or path, with all that was derived from them."""
        with self._writing([namespace]) as at:
            home = at.namespaces.get(namespace)
            if home is None:
                return 0
            places = sorted({place for place in places_of(at.connection, home, keys) if place is not None})
            delete_notes(at.connection, home, places)
        return len(places)

    def expire(self, now: datetime, *, most: int | None = None) -> int:
        """Delete the notes that are due, if others do not keep their namespaces busy."""
        moment = to_microseconds(now)
        if self.read_only or not self._connections.read(
            lambda at: expiry.is_due(at.connection, moment), namespace=None
        ):
            return 0
        with self._connections.write(None, timeout=0) as at:
            homes = expiry.lock_due(at.connection, moment, most)
            return expiry.remove(at.connection, homes, moment, most)

    def touch(self, accessed: Mapping[str, datetime], *, namespace: str) -> int:
        """Set when notes were last accessed, where that is later than what is known."""
        with self._connections.write([namespace], lock=False, timeout=TOUCH_PATIENCE) as at:
            home = at.namespaces.get(namespace)
            return 0 if home is None else touch_notes(at.connection, home, accessed)

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

        def work(at: Transaction) -> dict[int, Note]:
            if namespace is not None and namespace not in at.namespaces:
                return {}
            home = "" if namespace is None else "AND n.namespace = %s"
            rows = at.connection.execute(
                f"SELECT n.key FROM living AS n WHERE n.key > %s {home} {conditions} ORDER BY n.key LIMIT %s",  # noqa: S608 (names of our own)
                [place, *at.namespaces.values(), *values, limit],
            )
            return notes_of(at.connection, [key for (key,) in rows])

        return self._connections.read(work, namespace=namespace)

    def vectors_of(self, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
        """Return the model that the store is searched with, and its vectors of these notes as they are here."""

        def work(at: Transaction) -> tuple[Model | None, list[Vector | None]]:
            active = active_model(at.connection)
            if active is None:
                return None, [None] * len(notes)
            return active[1], search.vectors_of(at.connection, active, notes)

        return self._connections.read(work, namespace=None)

    def link(self, source: str, link: Link, *, namespace: str) -> bool:
        """Add a link to a note."""
        with self._writing([namespace]) as at:
            key, links = linked_note(at.connection, at.namespaces, source, namespace)
            if link in links:
                return False
            write_links(at.connection, {key: [*links, link]})
        return True

    def unlink(self, source: str, link: Link, *, namespace: str) -> bool:
        """Take a link from a note."""
        with self._writing([namespace]) as at:
            key, links = linked_note(at.connection, at.namespaces, source, namespace)
            if link not in links:
                return False
            write_links(at.connection, {key: [each for each in links if each != link]})
        return True

    def neighbours(self, key: str, *, namespace: str) -> list[Neighbour]:
        """Return the notes at the other ends of its edges."""

        def work(at: Transaction) -> list[Neighbour]:
            home = at.namespaces.get(namespace)
            (place,) = (None,) if home is None else places_of(at.connection, home, [key])
            if home is None or place is None:
                raise NoteNotFoundError(f"there is no note {key!r} in namespace {namespace!r}")
            steps = neighbourhood.steps(at.connection, home, [place])
            found = notes_of(at.connection, list({step.target for step in steps}))
            return [Neighbour(found[step.target], step.kind, step.direction) for step in steps]

        return self._connections.read(work, namespace=namespace)

    def documents(self, root: str, *, namespace: str) -> dict[str, str]:
        """Return the fingerprints of the documents below ``root`` by their names."""

        def work(at: Transaction) -> dict[str, str]:
            rows: list[Any] = at.connection.execute(
                "SELECT name, fingerprint FROM documents WHERE namespace = %s AND root_mark = %s",
                [at.namespaces.get(namespace), mark(root)],
            ).fetchall()
            return dict(rows)

        return self._connections.read(work, namespace=namespace)

    def remove_documents(self, root: str, names: Sequence[str], *, namespace: str) -> int:
        """Forget documents and delete their notes."""
        with self._writing([namespace]) as at:
            home = at.namespaces.get(namespace)
            if home is None:
                return 0
            marks = [mark(name) for name in names]
            rows = at.connection.execute(
                "SELECT key FROM documents WHERE namespace = %s AND root_mark = %s AND name_mark = ANY (%b)",
                [home, mark(root), marks],
            ).fetchall()
            documents = [key for (key,) in rows]
            rows = at.connection.execute("SELECT key FROM notes WHERE document = ANY (%s)", [documents]).fetchall()
            delete_notes(at.connection, home, [key for (key,) in rows])
            at.connection.execute("DELETE FROM documents WHERE key = ANY (%s)", [documents])
        return len(rows)

    def document_records(self, *, namespace: str | None = None) -> Iterator[DocumentRecord]:
        """Walk over the documents, in the order in which they came."""
        last = 0
        while found := self._connections.read(partial(self._shelves, last, namespace), namespace=namespace):
            yield from found.values()
            last = max(found)

    def _shelves(self, last: int, namespace: str | None, at: Transaction) -> dict[int, DocumentRecord]:
        if namespace is not None and namespace not in at.namespaces:
            return {}
        home = None if namespace is None else at.namespaces[namespace]
        return shelving.shelves_behind(at.connection, last, shelving.SHELVES_AT_ONCE, home)

    def set_document_notes(self, records: Sequence[DocumentRecord]) -> None:
        """Let documents have these fingerprints and just these notes."""
        with self._writing({record.namespace for record in records}, create=True) as at:
            shelving.write_shelves(at.connection, at.namespaces, records)

    def pending(self, model: Model, limit: int, *, after: Any = None) -> list[Pending]:
        """Return notes of any namespace that have no vector of ``model``."""
        return self._connections.read(
            lambda at: embedding.pending(at.connection, model, min(limit, LARGEST), after), namespace=None
        )

    def embed(self, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
        """Store vectors of notes whose text is still the one that was embedded."""
        with self._connections.write(None) as at:
            return embedding.embed(at.connection, model, vectors)

    def activate(self, model: Model) -> bool:
        """Search with ``model`` from now on and drop all other vectors, if no note lacks one."""
        with self._connections.write(None, statement_timeout=UNHURRIED) as at:
            activated = embedding.activate(at.connection, model)
        if activated:
            self.finish_indexes()
        return activated

    def finish_indexes(self) -> None:
        """Build and try the indexes that are missing, however long that takes, rather than behind the next searches."""
        self._vector_indexes.finish()

    def stats(self) -> StoreStats:
        """Return what the store holds."""

        def work(at: Transaction) -> StoreStats:
            active = active_model(at.connection)
            version = at.connection.info.server_version
            return StoreStats(
                location=self._connections.location,
                engine=f"PostgreSQL {version // 10000}.{version % 10000}",
                schema=SCHEMA_VERSION,
                model=active[1] if active else None,
                **count_all(at.connection)._asdict(),
            )

        return self._connections.read(work, namespace=None, statement_timeout=UNHURRIED)

    def check(self) -> list[Finding]:
        """Look at every part and return what was found, the good news too."""
        return self._connections.read(
            lambda at: checking.check(at.connection), namespace=None, statement_timeout=UNHURRIED
        )

    def repair(self) -> list[Finding]:
        """Rebuild what is derived from the notes, a namespace at a time; return what a check finds afterwards."""
        with self._connections.write(None, statement_timeout=UNHURRIED) as at:
            checking.rebuild_vectors(at.connection)
            homes = checking.namespaces(at.connection)
        for _, name in homes:
            with self._connections.write([name], statement_timeout=UNHURRIED) as at:
                checking.rebuild(at.connection, at.namespaces[name])
        self.finish_indexes()
        return self.check()

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write all that there is at this moment to an SQLite file, while others go on reading and writing."""
        with appearing(target, overwrite=overwrite) as unfinished:

            def write(moment: SnapshotConnections) -> None:
                unfinished.unlink(missing_ok=True)  # of an attempt that was cut
                with closing(SQLiteStore(unfinished)) as copy:
                    copy_store(self._as_of(moment), copy)

            self._connections.read_snapshot(write)

    def close(self) -> None:
        """Let go of the server."""
        self._vector_indexes.close()
        self._connections.close()
        self._vocabularies.clear()
        self._counts.clear()
        self._scores.clear()

    @contextmanager
    def _writing(self, namespaces: Collection[str], *, create: bool = False) -> Iterator[Transaction]:
        """Give a transaction that has namespaces to itself, and begins by removing what is due in them."""
        with self._connections.write(namespaces, create=create) as at:
            expiry.remove(at.connection, list(at.namespaces.values()), to_microseconds(clock.now()))
            yield at
