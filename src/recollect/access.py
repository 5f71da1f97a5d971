"""Record when notes were last accessed: collect the times in memory and write them in a background thread."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from weakref import WeakSet

from recollect.errors import RecollectWarning, StoreBusyError, StoreError
from recollect.stores.base import Store

FLUSH_SECONDS = 60.0  # accesses are collected for this long and then written together
MAX_PENDING = 4096  # when accesses of this many notes are pending, they are written at once


class AccessLog:
    """Collects accesses and writes them to a store.

    A background thread writes the accesses; it starts with the first pending access and ends when none is left. A
    search never fails because of the log: errors of the store become a warning when the log is closed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closed = False
        self._reset()
        _OPEN_LOGS.add(self)

    def _reset(self) -> None:
        """Set the initial state. A forked child does so again: it has no threads and may inherit acquired locks."""
        self._changed = threading.Condition(threading.Lock())  # protects _pending and _thread, and wakes the thread
        self._flush_lock = threading.Lock()
        self._pending: dict[tuple[str, str], datetime] = {}  # access times by namespace and note id
        self._thread: threading.Thread | None = None
        self._store_is_busy = False
        self._lost_count = 0
        self._last_error: StoreError | None = None

    def record(self, ids: Iterable[str], namespace: str) -> None:
        """Record that the notes with these ids were accessed now."""
        now = datetime.now(UTC)
        with self._changed:
            if self._closed:
                return
            self._pending.update({(namespace, note_id): now for note_id in ids})
            if len(self._pending) >= MAX_PENDING:
                self._changed.notify_all()
            if self._pending and not (self._thread and self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="recollect-access", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # the process cannot start more threads: the next record() tries again
                    self._thread = None

    def flush(self) -> int:
        """Write the pending accesses and return how many notes changed. If the store is busy, accesses stay pending."""
        changed_count = 0
        with self._flush_lock:
            with self._changed:
                pending, self._pending = self._pending, {}
            self._store_is_busy = False
            by_namespace: dict[str, dict[str, datetime]] = {}
            for (namespace, note_id), moment in pending.items():
                by_namespace.setdefault(namespace, {})[note_id] = moment
            for namespace, time_by_id in by_namespace.items():
                try:
                    changed_count += self._store.touch(time_by_id, namespace=namespace)
                except StoreError as error:
                    self._last_error = error
                    if not isinstance(error, StoreBusyError):
                        self._lost_count += len(time_by_id)
                        continue
                    self._store_is_busy = True
                    unwritten = {(namespace, note_id): moment for note_id, moment in time_by_id.items()}
                    with self._changed:
                        self._pending = unwritten | self._pending  # accesses recorded during the flush are newer
        return changed_count

    def close(self) -> None:
        """Write the pending accesses, and warn if some could not be written."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self.flush()
        lost_count = self._lost_count + len(self._pending)
        if lost_count:
            notes = "one note" if lost_count == 1 else f"{lost_count} notes"
            warnings.warn(
                f"the last access of {notes} could not be written: {self._last_error}", RecollectWarning, stacklevel=3
            )

    def _run(self) -> None:
        """Flush in the background until no access is pending or the log is closed."""
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
        """Return whether the thread must wake up before ``FLUSH_SECONDS`` have passed."""
        return self._closed or (len(self._pending) >= MAX_PENDING and not self._store_is_busy)


_OPEN_LOGS: WeakSet[AccessLog] = WeakSet()


def _after_fork_in_child() -> None:
    """Drop the pending accesses in the child, because the parent writes them."""
    for log in _OPEN_LOGS:
        log._reset()


if hasattr(os, "register_at_fork"):  # pragma: no branch (platforms without fork need nothing)
    os.register_at_fork(after_in_child=_after_fork_in_child)
