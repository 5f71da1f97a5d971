"""Who may do what at a time in one process: many read, one decides what to write; while it is written nobody reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.errors import StoreBusyError

__all__ = ["PATIENCE", "Turns"]

PATIENCE = 60.0
"""Seconds to wait for other writers before giving up."""


class Turns:
    """The turns at one store."""

    def __init__(self) -> None:
        """Begin with nobody in."""
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._readers = 0
        self._closing_in = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See the store as it is between two batches."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closing_in)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator[None]:
        """Be the only one who writes; others go on reading."""
        if not self._writing.acquire(timeout=patience) if patience else not self._writing.acquire(blocking=False):
            raise StoreBusyError(f"others kept the store busy; nothing was written after {patience:.0f} seconds")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody reads, and let nobody begin; for who is writing."""
        with self._changed:
            self._closing_in = True
            try:
                self._changed.wait_for(lambda: not self._readers)
            except BaseException:
                self._closing_in = False
                self._changed.notify_all()
                raise
        try:
            yield
        finally:
            with self._changed:
                self._closing_in = False
                self._changed.notify_all()
