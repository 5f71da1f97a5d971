"""What is derived from the notes of a namespace and kept in memory for as long as they say the same.

A namespace's revision grows with every batch that changes a name or word in it: who writes says so (:func:`revise`).
It is read in the transaction of the search itself, so that what is kept is used only where it was derived from the
very state that the search sees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import apsw

__all__ = ["Kept", "revise"]

T = TypeVar("T")


class _State(NamedTuple, Generic[T]):
    revision: int
    value: T


class _Place(Generic[T]):
    """What is kept of one namespace, and the lock of who derives it anew."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state: _State[T] | None = None


class Kept(Generic[T]):
    """One derivation of each namespace that was asked for."""

    def __init__(self, derive: Callable[[apsw.Connection, int, T | None], T]) -> None:
        """Begin with none.

        ``derive`` makes one from what a connection's transaction sees of a namespace; the one before may help it, and
        must stay as it is, because others may be searching it.
        """
        self._derive = derive
        self._lock = threading.Lock()
        self._places: dict[int, _Place[T]] = {}

    def at(self, connection: apsw.Connection, namespace: int) -> T:
        """Return what is derived from the state that the connection's transaction sees.

        The transaction begins anew where that is not at hand. Who derives lets no other derive the same meanwhile.
        """
        with self._lock:
            place = self._places.setdefault(namespace, _Place())
        state = place.state
        if state is not None and state.revision == _revision(connection, namespace):
            return state.value
        with place.lock:
            # Another may have derived it while this one waited, from a later state than its transaction saw.
            connection.execute("ROLLBACK; BEGIN")
            revision = _revision(connection, namespace)
            state = place.state
            if state is None or state.revision != revision:
                state = _State(revision, self._derive(connection, namespace, state.value if state else None))
                place.state = state
            return state.value

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._places = {}


def _revision(connection: apsw.Connection, namespace: int) -> int:
    revision: int = connection.execute("SELECT revision FROM namespaces WHERE key = ?", (namespace,)).get
    return revision


def revise(connection: apsw.Connection, namespace: int) -> None:
    """Say that a name or word of the namespace changes in this transaction."""
    connection.execute("UPDATE namespaces SET revision = revision + 1 WHERE key = ?", (namespace,))
