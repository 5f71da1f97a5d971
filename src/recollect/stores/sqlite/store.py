"""``SQLiteStore``: a store in one SQLite file, with searches, maintenance and the caches of one process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import apsw

from recollect import arguments
from recollect.model import Candidate, Filters
from recollect.query import Query
from recollect.stores.base import Finding, Model, ModelChangedError, StoreStats
from recollect.stores.name_index import NameIndex
from recollect.stores.rows import to_microseconds, unit_query
from recollect.stores.spelling import Vocabulary
from recollect.stores.sql import tables
from recollect.stores.sql.dialect import MAX_INTEGER, NoteCounts, RevisionCache
from recollect.stores.sql.store import TOUCH_TIMEOUT, SqlStore, new_file
from recollect.stores.sql.tables import active_model, count_rows, remove_expired
from recollect.stores.sqlite import checking, spelling
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.schema import SCHEMA_VERSION
from recollect.stores.sqlite.search import NamespaceSearch, SearchIndexes
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch, hide_expired

if TYPE_CHECKING:
    from recollect.stores.base import Vector

R = TypeVar("R")


class SQLiteStore(SqlStore[SqliteTransaction]):
    """Notes in one SQLite file. Threads and processes may share it: one writes at a time, the others can read."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file; create it if it does not exist, unless ``read_only``."""
        super().__init__(max_term_filters=1)  # the cache has the terms of one namespace
        self.read_only = read_only
        self._connections = Connections(path, read_only=read_only)
        self._indexes = SearchIndexes(self._connections)
        self._written: set[str] = set()  # the names of changed namespaces, whose snapshots close() updates
        # The indexes of paths (False), and of paths and titles (True).
        self._names: dict[bool, RevisionCache[SqliteTransaction, NameIndex]] = {
            titles: RevisionCache(partial(spelling.index_names, titles=titles)) for titles in (False, True)
        }
        self._vocabularies: RevisionCache[SqliteTransaction, Vocabulary] = RevisionCache(spelling.read_vocabulary)
        self._counts: RevisionCache[SqliteTransaction, NoteCounts[str]] = RevisionCache(_start_counts)

    def _read(self, work: Callable[[SqliteTransaction], R], namespace: str | None) -> R:  # noqa: ARG002 (for row-level security)
        with self._connections.reading() as connection:
            hide_expired(connection, to_microseconds(arguments.now()))
            return work(SqliteTransaction(connection))

    @contextmanager
    def _write(
        self,
        namespaces: Collection[str] | None,
        *,
        create: bool = False,  # noqa: ARG002 (a batch creates the namespaces that it writes to)
        accesses_only: bool = False,
    ) -> Iterator[SqliteTransaction]:
        if accesses_only:
            with self._connections.writing(timeout=TOUCH_TIMEOUT) as connection:
                yield SqliteTransaction(connection)
            return
        with self._connections.writing() as connection:
            transaction = SqliteTransaction(connection)
            now = to_microseconds(arguments.now())
            if _has_expired(connection, now):
                self._remove_expired(transaction, now)
            yield transaction
            if namespaces is None:  # the caller may have changed any namespace
                namespaces = [name for (name,) in fetch(connection, "SELECT name FROM namespaces")]
        self._written.update(namespaces)

    def _remove_expired(self, transaction: SqliteTransaction, now: int, limit: int | None = None) -> int:
        """Delete up to ``limit`` expired notes, add their namespaces to ``_written``; return how many were deleted."""
        count = remove_expired(transaction, now, limit=limit)
        # All namespaces in the change log have stale snapshots, whether from these deletions or from other changes.
        sql = "SELECT name FROM namespaces WHERE key IN (SELECT namespace FROM word_changes)"
        self._written.update(name for (name,) in fetch(transaction.connection, sql))
        return count

    def expire(self, now: datetime, *, limit: int | None = None) -> int:
        """Delete up to ``limit`` expired notes, and return their number; raise an error if another writer is active."""
        microseconds = to_microseconds(now)
        if self.read_only:
            return 0
        with self._connections.reading() as connection:
            if not _has_expired(connection, microseconds):
                return 0
        with self._connections.writing(timeout=0) as connection:
            return self._remove_expired(SqliteTransaction(connection), microseconds, limit=limit)

    def _search(self, transaction: SqliteTransaction, namespace_id: int) -> NamespaceSearch:
        return NamespaceSearch(transaction.connection, self._indexes, namespace_id)

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
        """Return the notes with the most similar vectors, by exact search; ties by path, then id."""

        def work(transaction: SqliteTransaction) -> list[Candidate] | None:
            namespace_id, active = transaction.namespace_id(namespace), active_model(transaction)
            if model is not None and active is not None and active.model != model:
                raise ModelChangedError(active.model)
            if namespace_id is None or active is None or limit <= 0:
                return []
            unit_vector = unit_query(vector, active.model)
            candidates = self._search(transaction, namespace_id).search_vectors(
                active, unit_vector, min(limit, MAX_INTEGER), filters, exclusions
            )
            return candidates if active_model(transaction) == active else None

        # Activating a model deletes the vectors of the previous model. If that happened meanwhile, search again.
        while (candidates := self._read(work, namespace)) is None:
            pass
        return candidates

    def note_counts(self, queries: Sequence[Query], *, namespace: str) -> tuple[int, list[int]]:
        """Return how many notes the namespace has, and how many of them each query matches."""

        def work(transaction: SqliteTransaction, namespace_id: int) -> tuple[int, list[int]]:
            search = self._search(transaction, namespace_id)
            counts = search.document_frequencies(queries)  # None if FTS5 has to count
            return counts or search.count_matches(queries, self._counts.get(transaction, namespace_id))

        return self._read_namespace(namespace, (0, [0] * len(queries)), work)

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
        def work(transaction: SqliteTransaction, namespace_id: int) -> list[Candidate]:
            index = self._names[titles].get(transaction, namespace_id)
            search = self._search(transaction, namespace_id)
            return search.search_names(index, words, min(limit, MAX_INTEGER), filters, exclusions)

        return [] if limit <= 0 else self._read_namespace(namespace, [], work)

    def _spelling_index(self, transaction: SqliteTransaction, namespace_id: int) -> spelling.Fts5SpellingIndex:
        return spelling.Fts5SpellingIndex(transaction.connection, namespace_id)

    def _vocabulary(self, transaction: SqliteTransaction, namespace_id: int) -> Vocabulary:
        spelling.open_vocabulary(transaction.connection, namespace_id)
        return self._vocabularies.get(transaction, namespace_id)

    def activate(self, model: Model) -> bool:
        snapshots = self._indexes.snapshots
        with self._write(()) as transaction:
            tokens_before = snapshots.referenced_tokens(transaction.connection)
            activated = tables.activate(transaction, model)
            if activated:  # model 0 stands for the snapshots of posting lists, which remain
                transaction.execute("DELETE FROM snapshots WHERE model <> 0 AND model NOT IN (SELECT key FROM models)")
            outdated_tokens = tokens_before - snapshots.referenced_tokens(transaction.connection)
        snapshots.delete(outdated_tokens)
        return activated

    def stats(self) -> StoreStats:
        def work(transaction: SqliteTransaction) -> StoreStats:
            active, path = active_model(transaction), self._connections.file
            files = [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]
            return StoreStats(
                location=str(self._connections.path),
                engine=f"SQLite {apsw.sqlite_lib_version()}",
                schema=SCHEMA_VERSION,
                model=active.model if active else None,
                bytes=sum(map(_size, [*files, *self._indexes.snapshots.files().values()])),
                **count_rows(transaction),
            )

        return self._read(work, None)

    def check(self) -> list[Finding]:
        with self._connections.maintaining() as connection:
            return checking.check(SqliteTransaction(connection), self._indexes.snapshots)

    def repair(self) -> list[Finding]:
        with self._connections.maintaining() as connection:
            damaged = checking.damaged_fts5_indexes(SqliteTransaction(connection))
        with self._connections.writing() as connection:
            snapshot_tokens = self._indexes.snapshots.referenced_tokens(connection)
            checking.rebuild(SqliteTransaction(connection), damaged)
        self._indexes.snapshots.delete({*snapshot_tokens, *self._indexes.snapshots.files()})
        if damaged:  # the file still has the pages of the damaged indexes; VACUUM frees them
            with self._connections.maintaining() as connection:
                connection.execute("VACUUM")
        self._indexes.clear()
        return self.check()

    def backup(self, target: Path, *, overwrite: bool = False) -> None:
        """Write a compact, consistent copy to a new file; other threads and processes may read and write meanwhile."""
        with new_file(target, overwrite=overwrite, source=self._connections.file) as unfinished:
            self._connections.backup(unfinished)

    def close(self) -> None:
        """Write the snapshots of changed namespaces, so that they contain no deleted text, and close the file."""
        try:
            self._indexes.write_snapshots(self._written)
        finally:
            self._indexes.worker.stop()
            self._connections.close()
            self._indexes.clear()


def _has_expired(connection: apsw.Connection, now: int) -> bool:
    """Return whether a note in the file, hidden or not, has expired at ``now`` (microseconds since 1970)."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM main.notes WHERE expires_at <= ?)", (now,)).get)


def _start_counts(transaction: SqliteTransaction, namespace_id: int, _: NoteCounts[str] | None) -> NoteCounts[str]:
    """Return an empty cache of note counts; its total includes expired notes, because FTS5 indexes them, too."""
    sql = "SELECT count(*) FROM main.notes WHERE namespace = ?"
    return NoteCounts(transaction.connection.execute(sql, (namespace_id,)).get)


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    with suppress(OSError):  # a snapshot may just have been replaced
        return path.stat().st_size
    return 0
