"""Snapshots that are made anew behind the back of searches, one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from recollect.stores.sqlite.connections import Connections

__all__ = ["Renewals"]

RESTS = 10
"""How many times as long as a snapshot took no other is begun, even if it could not be kept."""


class Renewals:
    """One thread at most, which gives way to a fork and to the end, and rests most of the time."""

    def __init__(self, connections: Connections) -> None:
        """Begin with none."""
        self._connections = connections
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._rests_until = 0.0
        self._stopping = connections.read_only

    def begin(self, renew: Callable[[Callable[[], bool]], None]) -> None:
        """Begin to make a snapshot, unless one is being made, or was just now: then a later search tries again."""
        with self._lock:
            if self._stopping or (self._worker and self._worker.is_alive()) or time.monotonic() < self._rests_until:
                return
            worker = threading.Thread(target=self._run, args=(renew,), name="recollect-snapshot", daemon=True)
            with suppress(RuntimeError):  # where no thread is to be had, searches take longer
                worker.start()
                self._worker = worker

    def wait(self) -> None:
        """Wait until nothing is being made."""
        with self._lock:
            worker = self._worker
        if worker is not None:
            worker.join()

    def stop(self) -> None:
        """Let go of what is being made."""
        with self._lock:
            self._stopping = True
        self.wait()

    def _run(self, renew: Callable[[Callable[[], bool]], None]) -> None:
        began = time.monotonic()
        try:
            renew(self._stopped)
        finally:
            now = time.monotonic()
            self._rests_until = now + RESTS * (now - began)

    def _stopped(self) -> bool:
        return self._stopping or self._connections.forking
