"""A cache of BM25 scores by query: ``text_scores`` asks for the same query right after ``search_text``."""

from __future__ import annotations

import threading
from collections import OrderedDict

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query.expressions import Expression
from recollect.stores.postgres.scoring import Scores, score_notes

__all__ = ["ScoreCache"]

MAX_SCORES = 1_000_000
"""How many scores are cached in all, at 16 bytes each; those of the latest query are always cached."""
MAX_QUERIES = 256


class ScoreCache:
    """The scores of the latest queries; the least recently used are dropped first.

    The key holds the namespace's revision, which grows whenever a word changes, so that no entry is stale.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._queries: OrderedDict[tuple[int, int, Expression], Scores] = OrderedDict()
        self._size = 0

    def scores(self, connection: Connection[TupleRow], namespace: int, node: Expression) -> Scores:
        """Return all notes of a namespace that match ``node``, with their BM25, as the transaction sees them."""
        ((revision,),) = connection.execute("SELECT revision FROM namespaces WHERE key = %s", [namespace]).fetchall()
        key = namespace, revision, node
        with self._lock:
            known = self._queries.get(key)
            if known is not None:
                self._queries.move_to_end(key)
                return known
        scores = score_notes(connection, namespace, node)
        with self._lock:
            another = self._queries.pop(key, None)  # another thread was faster
            self._size += len(scores.notes) - (0 if another is None else len(another.notes))
            self._queries[key] = scores
            while len(self._queries) > 1 and (self._size > MAX_SCORES or len(self._queries) > MAX_QUERIES):
                self._size -= len(self._queries.popitem(last=False)[1].notes)
        return scores

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._queries.clear()
            self._size = 0
