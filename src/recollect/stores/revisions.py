"""What is derived from the notes of a namespace and kept in memory for as long as they say the same.

A namespace's revision grows with every batch that changes a name or word in it: who writes says so. It is read in the
transaction of the search itself, so that what is kept is used only where it was derived from the very state that the
search sees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

__all__ = ["Kept", "Transactions"]

MOST_NAMESPACES = 256
"""Of how many something is kept: a server may have a namespace for each person."""

T = TypeVar("T")
C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class Transactions(Protocol[C_contra]):
    """What is asked of the transaction that a connection is in."""

    def revision(self, connection: C_contra, namespace: int) -> int:
        """Return the revision of a namespace that the transaction sees."""

    def renew(self, connection: C_contra) -> None:
        """Begin the transaction anew, so that it sees what others wrote."""


class _State(NamedTuple, Generic[T]):
    revision: int
    value: T


class _Place(Generic[T]):
    """What is kept of one namespace, and the lock of who derives it anew."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.state: _State[T] | None = None


class Kept(Generic[C, T]):
    """One derivation of each namespace that was asked for, as far as there is room: those that were asked for last."""

    def __init__(self, derive: Callable[[C, int, T | None], T], transactions: Transactions[C]) -> None:
        """Begin with none.

        ``derive`` makes one from what a connection's transaction sees of a namespace; the one before may help it, and
        must stay as it is, because others may be searching it.
        """
        self._derive = derive
        self._transactions = transactions
        self._lock = threading.Lock()
        self._places: dict[int, _Place[T]] = {}

    def at(self, connection: C, namespace: int) -> T:
        """Return what is derived from the state that the connection's transaction sees.

        The transaction begins anew where that is not at hand. Who derives lets no other derive the same meanwhile.
        """
        with self._lock:
            place = self._places.pop(namespace, None) or _Place()
            self._places[namespace] = place
            if len(self._places) > MOST_NAMESPACES:
                del self._places[next(iter(self._places))]
        state = place.state
        if state is not None and state.revision == self._transactions.revision(connection, namespace):
            return state.value
        with place.lock:
            # Another may have derived it while this one waited, from a later state than its transaction saw.
            self._transactions.renew(connection)
            revision = self._transactions.revision(connection, namespace)
            state = place.state
            if state is None or state.revision != revision:
                state = _State(revision, self._derive(connection, namespace, state.value if state else None))
                place.state = state
            return state.value

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._places = {}
