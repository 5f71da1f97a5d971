"""When notes were last read: collected while searches go on, and written behind their back."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from weakref import WeakSet

from recollect.errors import RecollectWarning, StoreBusyError, StoreError
from recollect.stores.base import Store

__all__ = ["FLUSH_SECONDS", "MOST_WAITING", "AccessLog"]

FLUSH_SECONDS = 60.0
"""How long an access waits for others, to be written together with them."""
MOST_WAITING = 4096
"""How many notes wait at most, before they are written earlier."""


class AccessLog:
    """Which notes were read and when, on their way into a store.

    Noting costs a search no more than a lock and a dictionary. A thread of its own writes what has come together; it
    begins when something waits and ends when nothing does. Whatever goes wrong with the store is told when the log is
    closed, and never to a search.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recollect.stores import open_store
    >>> with TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/memory.db")
    ...     (note,), _ = store.write([{"content": "Prefers green tea."}])
    ...     log = AccessLog(store)
    ...     log.note([note.id], "default")
    ...     log.close()
    ...     found, = store.get([note.id], namespace="default")
    ...     store.close()
    >>> found.last_accessed_at >= note.created_at
    True
    """

    def __init__(self, store: Store) -> None:
        """Begin with nothing that waits."""
        self._store = store
        self._closed = False
        self._begin()
        _OPEN.add(self)

    def _begin(self) -> None:
        """Begin anew: also in the child of a fork, where no thread goes on and locks stay as others held them."""
        self._changed = threading.Condition(threading.Lock())
        self._flushing = threading.Lock()
        self._waiting: dict[tuple[str, str], datetime] = {}
        self._thread: threading.Thread | None = None
        self._busy = False
        self._lost = 0
        self._problem: StoreError | None = None

    def note(self, ids: Iterable[str], namespace: str) -> None:
        """Remember that these notes were read just now."""
        now = datetime.now(UTC)
        with self._changed:
            if self._closed:
                return
            self._waiting.update({(namespace, each): now for each in ids})
            if len(self._waiting) >= MOST_WAITING:
                self._changed.notify_all()
            if self._waiting and not (self._thread and self._thread.is_alive()):
                self._start()

    def flush(self) -> int:
        """Write what waits and return how many notes changed; what a busy store does not take waits on."""
        changed = 0
        with self._flushing:
            with self._changed:
                waiting, self._waiting = self._waiting, {}
            self._busy = False
            by_namespace: dict[str, dict[str, datetime]] = {}
            for (namespace, each), moment in waiting.items():
                by_namespace.setdefault(namespace, {})[each] = moment
            for namespace, accessed in by_namespace.items():
                try:
                    changed += self._store.touch(accessed, namespace=namespace)
                except StoreError as error:
                    self._problem = error
                    if isinstance(error, StoreBusyError):
                        self._keep(namespace, accessed)
                    else:
                        self._lost += len(accessed)
        return changed

    def close(self) -> None:
        """Write what waits, and warn if that, or what came before, could not be written."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self.flush()
        lost = self._lost + len(self._waiting)
        if lost:
            notes = "one note was" if lost == 1 else f"{lost} notes were"
            warnings.warn(
                f"when {notes} last read could not be written: {self._problem}", RecollectWarning, stacklevel=3
            )

    def _keep(self, namespace: str, accessed: Mapping[str, datetime]) -> None:
        """Let what a busy store did not take wait again; what was noted meanwhile is newer."""
        self._busy = True
        with self._changed:
            self._waiting = {(namespace, each): moment for each, moment in accessed.items()} | self._waiting

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="recollect-access", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # there can be no more threads: it waits for the next search, or for the end
            self._thread = None

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_time, timeout=FLUSH_SECONDS)
                if self._closed:
                    return
            self.flush()
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    return

    def _is_time(self) -> bool:
        return self._closed or (len(self._waiting) >= MOST_WAITING and not self._busy)


_OPEN: WeakSet[AccessLog] = WeakSet()


def _after_fork_in_child() -> None:
    """Leave what waits at the moment of a fork to the parent."""
    for log in _OPEN:
        log._begin()


if hasattr(os, "register_at_fork"):  # pragma: no branch (wherever there is no fork, nothing is to be done)
    os.register_at_fork(after_in_child=_after_fork_in_child)
