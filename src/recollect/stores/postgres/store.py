"""The store in a PostgreSQL database: a :class:`~recollect.stores.base.Store`, mostly implemented by ``SqlStore``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from recollect import arguments
from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.stores.base import Finding, Model, ModelChangedError, StoreStats
from recollect.stores.copying import copy_store
from recollect.stores.postgres import checking
from recollect.stores.postgres.connections import WRITE_TIMEOUT, Connections, split_options
from recollect.stores.postgres.names import search_names
from recollect.stores.postgres.postings import ScoreCache, read_vocabulary
from recollect.stores.postgres.schema import SCHEMA_VERSION
from recollect.stores.postgres.search import NamespaceSearch
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.postgres.vector_index import VectorIndexes
from recollect.stores.rows import to_microseconds, unit_query
from recollect.stores.spelling import Vocabulary
from recollect.stores.sql import tables
from recollect.stores.sql.checking import namespaces
from recollect.stores.sql.dialect import MAX_INTEGER, RevisionCache
from recollect.stores.sql.store import TOUCH_TIMEOUT, SqlStore, new_file
from recollect.stores.sql.tables import active_model, count_rows, remove_expired
from recollect.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from recollect.stores.base import Vector

MAX_TERM_FILTERS = 4  # how many term filters (Bloom filters of a namespace's terms) are cached; each takes 4 megabytes
NO_TIMEOUT = 0.0  # for the server, 0 means no limit

R = TypeVar("R")


class PostgresStore(SqlStore[PostgresTransaction]):
    """Notes, their terms, vectors and links in a PostgreSQL database.

    Threads, processes and machines may share the database. Only writers of the same namespace wait for each other.
    """

    def __init__(self, address: str, *, read_only: bool = False, **options: Any) -> None:
        """Open the database at ``address``; create missing tables, unless ``read_only``.

        ``options`` are ``pool_size``, the maximum number of open connections; ``pool_timeout``, the seconds that a
        caller waits for a free connection; and ``statement_timeout``, the seconds after which a statement is canceled.
        """
        super().__init__(MAX_TERM_FILTERS)
        self.read_only = read_only
        self._connections = Connections(address, read_only=read_only, **options)
        self._vocabularies: RevisionCache[PostgresTransaction, Vocabulary] = RevisionCache(read_vocabulary)
        self._scores = ScoreCache()
        self._vector_indexes = VectorIndexes(self._connections)

    @classmethod
    def at(cls, url: str, *, read_only: bool = False) -> Self:
        """Open the database at a URL; its query string may have the options of the constructor."""
        address, options = split_options(url)
        return cls(address, read_only=read_only, **options)

    def _read(self, work: Callable[[PostgresTransaction], R], namespace: str | None) -> R:
        return self._connections.read(work, namespace=namespace)

    @contextmanager
    def _write(
        self, namespaces: Collection[str] | None, *, create: bool = False, accesses_only: bool = False
    ) -> Iterator[PostgresTransaction]:
        timeout = TOUCH_TIMEOUT if accesses_only else WRITE_TIMEOUT
        with self._connections.write(namespaces, create=create, lock=not accesses_only, timeout=timeout) as transaction:
            if namespaces is not None and not accesses_only:
                namespace_ids = list(transaction.namespaces.values())
                remove_expired(transaction, to_microseconds(arguments.now()), namespace_ids=namespace_ids)
            yield transaction

    def expire(self, now: datetime, *, limit: int | None = None) -> int:
        """Delete at most ``limit`` expired notes; raise ``StoreBusyError`` if another writer locks their namespace."""
        if self.read_only:
            return 0
        now_microseconds = to_microseconds(now)
        sql = "SELECT name FROM namespaces WHERE key IN (SELECT namespace FROM notes WHERE expires_at <= :now)"
        names = self._read(lambda transaction: transaction.fetch_column(sql, now=now_microseconds), None)
        if not names:
            return 0
        with self._connections.write(names, timeout=0) as transaction:
            namespace_ids = list(transaction.namespaces.values())
            return remove_expired(transaction, now_microseconds, namespace_ids=namespace_ids, limit=limit)

    def _search(self, transaction: PostgresTransaction, namespace_id: int) -> NamespaceSearch:
        return NamespaceSearch(transaction.connection, namespace_id, self._scores, self._vector_indexes)

    def search_vectors(
        self,
        vector: Vector,
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        exclusions: Query | None = None,
        model: Model | None = None,
    ) -> list[Candidate]:
        """Return the notes with the nearest vectors; a large namespace is searched with an approximate index."""

        def work(transaction: PostgresTransaction) -> list[Candidate]:
            namespace_id, active = transaction.namespace_id(namespace), active_model(transaction)
            if model is not None and active is not None and active.model != model:
                raise ModelChangedError(active.model)
            if namespace_id is None or active is None or limit <= 0:
                return []
            unit_vector, max_notes = unit_query(vector, active.model), min(limit, MAX_INTEGER)
            search = self._search(transaction, namespace_id)
            return search.search_vectors(active, unit_vector, max_notes, filters, exclusions)

        return self._read(work, namespace)

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        return self._read_namespace(
            namespace,
            (0, [0] * len(queries)),
            lambda transaction, namespace_id: self._search(transaction, namespace_id).note_counts(queries),
        )

    def search_names(
        self,
        words: Sequence[str],
        limit: int,
        *,
        namespace: str,
        filters: Filters,
        titles: bool = False,
        exclusions: Query | None = None,
    ) -> list[Candidate]:
        def work(transaction: PostgresTransaction, namespace_id: int) -> list[Candidate]:
            max_notes = min(limit, MAX_INTEGER)
            return search_names(
                transaction.connection, namespace_id, words, max_notes, filters, exclusions, titles=titles
            )

        return [] if limit <= 0 else self._read_namespace(namespace, [], work)

    def _spelling_index(self, transaction: PostgresTransaction, namespace_id: int) -> NamespaceSearch:
        return self._search(transaction, namespace_id)

    def _vocabulary(self, transaction: PostgresTransaction, namespace_id: int) -> Vocabulary:
        return self._vocabularies.get(transaction, namespace_id)

    def activate(self, model: Model) -> bool:
        with self._connections.write(None, statement_timeout=NO_TIMEOUT) as transaction:
            activated = tables.activate(transaction, model)
        if activated:
            self.finish_indexes()
        return activated

    def finish_indexes(self) -> None:
        """Build and test missing vector indexes now; otherwise a later search builds them in the background."""
        self._vector_indexes.finish()

    def stats(self) -> StoreStats:
        def work(transaction: PostgresTransaction) -> StoreStats:
            active = active_model(transaction)
            version = transaction.connection.info.server_version
            return StoreStats(
                location=self._connections.location,
                engine=f"PostgreSQL {version // 10000}.{version % 10000}",
                schema=SCHEMA_VERSION,
                model=active.model if active else None,
                bytes=transaction.fetch_value(_DISK_SIZE),
                **count_rows(transaction),
            )

        return self._connections.read(work, namespace=None, statement_timeout=NO_TIMEOUT)

    def check(self) -> list[Finding]:
        return self._connections.read(checking.check, namespace=None, statement_timeout=NO_TIMEOUT)

    def repair(self) -> list[Finding]:
        with self._connections.write(None, statement_timeout=NO_TIMEOUT) as transaction:
            checking.delete_wrong_vectors(transaction)
            all_namespaces = namespaces(transaction)
        for namespace_id, name in all_namespaces:
            with self._connections.write([name], statement_timeout=NO_TIMEOUT) as transaction:
                checking.rebuild(transaction, namespace_id)
        self.finish_indexes()
        return self.check()

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write the current state of the store to an SQLite file; meanwhile others may read and write the store."""
        with new_file(target, overwrite=overwrite) as temporary_file, self._connections.snapshot() as snapshot:
            snapshot_store = copy(self)
            snapshot_store._connections = snapshot
            with closing(SQLiteStore(temporary_file)) as target_store:
                copy_store(snapshot_store, target_store)

    def close(self) -> None:
        self._vector_indexes.close()
        self._connections.close()


# Select the number of bytes of all tables of the store and of their indexes.
_DISK_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'
"""
