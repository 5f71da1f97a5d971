"""Caches of what is derived from the notes of a namespace, valid for one revision of it.

A namespace's revision grows with every batch that changes a name or term in it. It is read in the transaction of the
search itself, so that a cached value is used only where it was derived from the very state that the search sees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

__all__ = ["NoteCounts", "RevisionCache"]

MAX_NAMESPACES = 256
"""A server may have a namespace for each person."""
MAX_COUNTS = 10_000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Reader(Protocol):
    """The part of a transaction that a cache needs."""

    def revision(self, namespace_id: int) -> int:
        """Return the revision of a namespace that the transaction sees."""

    def restart(self) -> None:
        """Restart the transaction, so that it sees what others wrote."""


T = TypeVar("T", bound=_Reader)


class _Cached(NamedTuple, Generic[V]):
    revision: int
    value: V


class _Entry(Generic[V]):
    """The value of one namespace, and the lock of the thread that derives it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cached: _Cached[V] | None = None


class RevisionCache(Generic[T, V]):
    """One derived value for each of the namespaces that were used last."""

    def __init__(self, derive: Callable[[T, int, V | None], V]) -> None:
        """Start empty.

        ``derive`` makes a value from what a transaction sees of a namespace. It also gets the value before, which may
        save work and must not be changed, because other threads may be using it.
        """
        self._derive = derive
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry[V]] = {}

    def get(self, transaction: T, namespace_id: int) -> V:
        """Return the value for the state that the transaction sees; one thread derives it at a time.

        The transaction restarts where the value is not cached.
        """
        with self._lock:
            entry = self._entries.pop(namespace_id, None) or _Entry()
            self._entries[namespace_id] = entry
            if len(self._entries) > MAX_NAMESPACES:
                del self._entries[next(iter(self._entries))]
        cached = entry.cached
        if cached is not None and cached.revision == transaction.revision(namespace_id):
            return cached.value
        with entry.lock:
            # Another thread may have derived it meanwhile, from a later state than this transaction saw.
            transaction.restart()
            revision = transaction.revision(namespace_id)
            cached = entry.cached
            if cached is None or cached.revision != revision:
                before = cached.value if cached else None
                cached = entry.cached = _Cached(revision, self._derive(transaction, namespace_id, before))
            return cached.value

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._entries = {}


class NoteCounts(Generic[K]):
    """How many notes of a namespace match expressions, at one revision. Threads may count the same twice.

    >>> counts = NoteCounts[str](total=2)
    >>> counts.get(["tea", "pot"], lambda words: {word: len(word) for word in words})
    [3, 3]
    """

    def __init__(self, total: int) -> None:
        """Start without counts; ``total`` is the number of all notes."""
        self.total = total
        self._counts: dict[K, int] = {}

    def get(self, expressions: Sequence[K | None], count: Callable[[set[K]], dict[K, int]]) -> list[int]:
        """Return how many notes match each expression, ``None`` matches none; ``count`` counts those not yet known."""
        counts = self._counts
        missing = {node for node in expressions if node is not None and node not in counts}
        if len(counts) + len(missing) > MAX_COUNTS:
            counts = self._counts = {node: counts[node] for node in expressions if node is not None and node in counts}
        if missing:
            counts |= count(missing)
        return [0 if node is None else counts[node] for node in expressions]
