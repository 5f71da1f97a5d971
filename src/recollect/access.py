"""Record when notes were last accessed: collected in memory and written by a background thread."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from weakref import WeakSet

from recollect.errors import RecollectWarning, StoreBusyError, StoreError
from recollect.stores.base import Store

FLUSH_SECONDS = 60.0
"""How long accesses are collected before they are written together."""
MAX_PENDING = 4096
"""With this many notes, accesses are written without waiting for the time to pass."""


class AccessLog:
    """Collects accesses and writes them to a store.

    Recording takes a lock and a dictionary update. A background thread writes the accesses; it starts with the first
    pending one and ends when none is left. Errors of the store become a warning when the log is closed, and never
    reach a search.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recollect.stores import open_store
    >>> with TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/memory.db")
    ...     (note,), _ = store.write([{"content": "Prefers green tea."}])
    ...     log = AccessLog(store)
    ...     log.record([note.id], "default")
    ...     log.close()
    ...     stored, = store.get([note.id], namespace="default")
    ...     store.close()
    >>> stored.last_accessed_at >= note.created_at
    True
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closed = False
        self._reset()
        _OPEN.add(self)

    def _reset(self) -> None:
        """Drop all state. A forked child needs this, too: it has no threads, and may inherit locked locks."""
        self._changed = threading.Condition(threading.Lock())
        self._flushing = threading.Lock()
        self._pending: dict[tuple[str, str], datetime] = {}
        self._thread: threading.Thread | None = None
        self._busy = False
        self._lost = 0
        self._problem: StoreError | None = None

    def record(self, ids: Iterable[str], namespace: str) -> None:
        """Record that these notes were accessed now."""
        now = datetime.now(UTC)
        with self._changed:
            if self._closed:
                return
            self._pending.update({(namespace, note_id): now for note_id in ids})
            if len(self._pending) >= MAX_PENDING:
                self._changed.notify_all()
            if self._pending and not (self._thread and self._thread.is_alive()):
                self._thread = threading.Thread(target=self._work, name="recollect-access", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # no more threads can start: the next search or close() writes
                    self._thread = None

    def flush(self) -> int:
        """Write the pending accesses and return how many notes changed; what a busy store refuses stays pending."""
        changed = 0
        with self._flushing:
            with self._changed:
                pending, self._pending = self._pending, {}
            self._busy = False
            by_namespace: dict[str, dict[str, datetime]] = {}
            for (namespace, note_id), moment in pending.items():
                by_namespace.setdefault(namespace, {})[note_id] = moment
            for namespace, accessed in by_namespace.items():
                try:
                    changed += self._store.touch(accessed, namespace=namespace)
                except StoreError as error:
                    self._problem = error
                    if not isinstance(error, StoreBusyError):
                        self._lost += len(accessed)
                        continue
                    self._busy = True
                    with self._changed:  # what was recorded meanwhile is newer
                        self._pending = {(namespace, note): moment for note, moment in accessed.items()} | self._pending
        return changed

    def close(self) -> None:
        """Write the pending accesses, and warn if any could not be written."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self.flush()
        lost = self._lost + len(self._pending)
        if lost:
            notes = "one note" if lost == 1 else f"{lost} notes"
            warnings.warn(
                f"the last access of {notes} could not be written: {self._problem}", RecollectWarning, stacklevel=3
            )

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._should_flush, timeout=FLUSH_SECONDS)
                if self._closed:
                    return
            self.flush()
            with self._changed:
                if not self._pending:
                    self._thread = None
                    return

    def _should_flush(self) -> bool:
        return self._closed or (len(self._pending) >= MAX_PENDING and not self._busy)


_OPEN: WeakSet[AccessLog] = WeakSet()


def _after_fork_in_child() -> None:
    """Leave the pending accesses at the time of a fork to the parent."""
    for log in _OPEN:
        log._reset()


if hasattr(os, "register_at_fork"):  # pragma: no branch (platforms without fork need nothing)
    os.register_at_fork(after_in_child=_after_fork_in_child)
