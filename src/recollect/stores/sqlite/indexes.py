"""What is searched beside the tables: the posting lists and the vectors of namespaces, and the snapshots of both."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import apsw

from recollect.errors import StoreError
from recollect.stores.base import Model
from recollect.stores.sql.embedding import active_model
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.postings.index import PostingsIndex
from recollect.stores.sqlite.postings.moment import Moment
from recollect.stores.sqlite.renewing import Renewals
from recollect.stores.sqlite.snapshots import Snapshots
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch
from recollect.stores.sqlite.vectors import VectorIndex

__all__ = ["Indexes"]

MOST_AT_HAND = 128
"""Of how many namespaces vectors, and posting lists, are kept at hand: those that were asked for last."""
RENEWED_AT_MOST = 3
CLOSING_PATIENCE = 3.0
"""Seconds to wait for other writers when what was deleted has to leave the snapshots."""

K = TypeVar("K")
T = TypeVar("T")


class Indexes:
    """The indexes of one memory that are at hand."""

    def __init__(self, connections: Connections) -> None:
        """Begin with none."""
        self._connections = connections
        self.snapshots = Snapshots(connections)
        self.renewals = Renewals(connections)
        self._lock = threading.Lock()
        self._postings: dict[int, PostingsIndex] = {}
        self._vectors: dict[tuple[int, int], VectorIndex] = {}
        self._touched: dict[str, None] = {}

    def touch(self, namespaces: Iterable[str]) -> None:
        """Remember that something was written in these."""
        self._touched.update(dict.fromkeys(namespaces))

    def postings(self, namespace: int) -> PostingsIndex:
        """Return the posting lists of a namespace."""
        with self._lock:
            return _last(self._postings, namespace, lambda: PostingsIndex(self.snapshots, namespace))

    def moment(self, connection: apsw.Connection, namespace: int) -> Moment | None:
        """Return the posting lists of a namespace as the connection's transaction, which begins anew, sees them."""
        index = self.postings(namespace)
        moment = index.view(connection)
        if index.is_due(connection):
            self.renewals.begin(index.renew)
        return moment

    def vectors(self, namespace: int, key: int, model: Model) -> VectorIndex:
        """Return the vectors that a model, of which this is the key, made of a namespace's notes."""
        with self._lock:
            if any(other != key for _, other in self._vectors):  # of a model that gave way to another
                self._vectors = {place: index for place, index in self._vectors.items() if place[1] == key}
            told = namespace, key, model.dimension, model.precision
            return _last(self._vectors, (namespace, key), lambda: VectorIndex(self.snapshots, *told))

    def let_go(self) -> None:
        """Let go of all that is at hand."""
        with self._lock:
            self._postings, self._vectors = {}, {}
        self.snapshots.forget([])  # where what is mapped cannot be deleted, it can now

    def renew(self) -> None:
        """See to it that what was written here is found as quickly by who comes next, and that what is gone is gone.

        Another process may be quicker, with less than what is known here: then again.
        """
        if not self._touched:
            return
        self.renewals.wait()
        with suppress(StoreError):
            for _ in range(RENEWED_AT_MOST):
                with self._connections.reading() as connection:
                    stale = [index for index in self._written(connection) if index.is_stale(connection)]
                for index in stale:
                    index.renew(lambda: False, CLOSING_PATIENCE)
                if not stale:
                    break

    def _written(self, connection: apsw.Connection) -> list[PostingsIndex | VectorIndex]:
        """Return the indexes of the namespaces in which something was written."""
        active = active_model(SqliteTransaction(connection))
        found: list[PostingsIndex | VectorIndex] = []
        sql = "SELECT key FROM namespaces WHERE name IN (SELECT value FROM json_each(?))"
        for (home,) in fetch(connection, sql, (json.dumps(list(self._touched)),)):
            found += [self.postings(home), *([self.vectors(home, *active)] if active else [])]
        return found


def _last(indexes: dict[K, T], place: K, make: Callable[[], T]) -> T:
    """Put an index behind the others, and let go of the first if there are too many: each may hold a file open."""
    found = indexes.pop(place, None)
    index = indexes[place] = make() if found is None else found
    if len(indexes) > MOST_AT_HAND:
        del indexes[next(iter(indexes))]
    return index
