"""The in-memory search indexes of one memory, by namespace, and the thread that writes their snapshots."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TypeVar

import apsw

from recollect.errors import StoreError
from recollect.stores.base import Model
from recollect.stores.sql.tables import active_model
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.posting_index import PostingsIndex
from recollect.stores.sqlite.posting_view import PostingsView
from recollect.stores.sqlite.snapshots import Snapshots
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch
from recollect.stores.sqlite.vector_index import VectorIndex

MAX_NAMESPACES = 128
"""Namespaces whose vectors, and posting lists, stay in memory: the most recently used."""
CLOSE_ATTEMPTS = 3
CLOSE_TIMEOUT = 3.0
"""Seconds to wait for other writers when a memory is closed, so that deleted texts leave the snapshots."""
PAUSE_FACTOR = 10
"""After a snapshot, no other is started for this many times the time it took."""

K = TypeVar("K")
T = TypeVar("T")


class SnapshotWorker:
    """Writes snapshots in a background thread, one at a time; it stops for a fork and when the memory is closed."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._paused_until = 0.0
        self._stopping = connections.read_only

    def start(self, write: Callable[[Callable[[], bool]], None]) -> None:
        """Start to write a snapshot, unless one is being written or was written recently: a later search retries."""
        with self._lock:
            if self._stopping or (self._thread and self._thread.is_alive()) or time.monotonic() < self._paused_until:
                return
            thread = threading.Thread(target=self._run, args=(write,), name="recollect-snapshot", daemon=True)
            with suppress(RuntimeError):  # without a thread, searches only take longer
                thread.start()
                self._thread = thread

    def wait(self) -> None:
        """Wait until no snapshot is being written."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Abandon the snapshot that is being written."""
        with self._lock:
            self._stopping = True
        self.wait()

    def _run(self, write: Callable[[Callable[[], bool]], None]) -> None:
        started = time.monotonic()
        try:
            write(self._stopped)
        finally:
            now = time.monotonic()
            self._paused_until = now + PAUSE_FACTOR * (now - started)

    def _stopped(self) -> bool:
        return self._stopping or self._connections.forking


class SearchIndexes:
    """The posting lists and vectors of the namespaces that were searched last."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.snapshots = Snapshots(connections)
        self.worker = SnapshotWorker(connections)
        self._lock = threading.Lock()
        self._postings: dict[int, PostingsIndex] = {}
        self._vectors: dict[tuple[int, int], VectorIndex] = {}

    def postings(self, namespace: int) -> PostingsIndex:
        """Return the posting lists of a namespace."""
        with self._lock:
            return _get(self._postings, namespace, lambda: PostingsIndex(self.snapshots, namespace))

    def postings_view(self, connection: apsw.Connection, namespace: int) -> PostingsView | None:
        """Restart the connection's transaction, and return the posting lists as it sees them, if there are any."""
        index = self.postings(namespace)
        view = index.view(connection)
        if index.needs_snapshot(connection):
            self.worker.start(index.write_snapshot)
        return view

    def vectors(self, namespace: int, key: int, model: Model) -> VectorIndex:
        """Return the vectors of a namespace by the model with this key."""
        with self._lock:
            if any(other != key for _, other in self._vectors):  # of a model that was replaced
                self._vectors = {pair: index for pair, index in self._vectors.items() if pair[1] == key}
            return _get(
                self._vectors,
                (namespace, key),
                lambda: VectorIndex(self.snapshots, namespace, key, model.dimension, model.precision),
            )

    def clear(self) -> None:
        """Drop all indexes."""
        with self._lock:
            self._postings, self._vectors = {}, {}
        self.snapshots.delete()  # files that were mapped until now can be deleted on every system

    def write_snapshots(self, namespaces: Collection[str]) -> None:
        """Write the snapshots of namespaces that were written to, so that they have no deleted text.

        Another process may finish first with an older revision: then try again.
        """
        if not namespaces:
            return
        self.worker.wait()
        with suppress(StoreError):
            for _ in range(CLOSE_ATTEMPTS):
                with self._connections.reading() as connection:
                    stale = [index for index in self._existing(connection, namespaces) if index.is_stale(connection)]
                for index in stale:
                    index.write_snapshot(lambda: False, CLOSE_TIMEOUT)
                if not stale:
                    break

    def _existing(self, connection: apsw.Connection, namespaces: Collection[str]) -> list[PostingsIndex | VectorIndex]:
        active = active_model(SqliteTransaction(connection))
        indexes: list[PostingsIndex | VectorIndex] = []
        sql = "SELECT key FROM namespaces WHERE name IN (SELECT value FROM json_each(?))"
        for (namespace,) in fetch(connection, sql, (json.dumps(list(namespaces)),)):
            indexes += [self.postings(namespace), *([self.vectors(namespace, *active)] if active else [])]
        return indexes


def _get(indexes: dict[K, T], key: K, create: Callable[[], T]) -> T:
    """Return an index as the most recently used; drop the least recently used if there are too many."""
    known = indexes.pop(key, None)
    index = indexes[key] = create() if known is None else known
    if len(indexes) > MAX_NAMESPACES:
        del indexes[next(iter(indexes))]
    return index
