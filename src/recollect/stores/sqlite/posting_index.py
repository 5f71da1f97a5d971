"""The posting lists of one namespace: a snapshot, and a delta that follows its notes.

FTS5 is the source of truth. The lists only serve to rank disjunctions faster than FTS5, which scores every match.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.posting_lists import EMPTY, SCHEMA, PostingLists, PostingsBuilder
from recollect.stores.sqlite.posting_view import DeltaPostings, KeyIndex, PostingsView
from recollect.stores.sqlite.snapshots import (
    LEXICAL,
    WRITE_TIMEOUT,
    SnapshotData,
    SnapshotRef,
    Snapshots,
    changed_since,
    max_delta,
)
from recollect.stores.sqlite.transaction import fetch, revision

MIN_NOTES = 2_000
"""Notes from which on posting lists pay: with fewer, FTS5 takes a millisecond or two."""
READ_NOTES = 2_000

_FIELDS = "path, title, summary, tags, content"


class _State(NamedTuple):
    """A view, and up to where it has followed the notes."""

    view: PostingsView
    ref: SnapshotRef
    revision: int
    last_key: int
    """The highest key at the revision: a note with a higher one is new."""


class PostingsIndex:
    """The posting lists of a namespace."""

    def __init__(self, snapshots: Snapshots, namespace: int) -> None:
        self._snapshots = snapshots
        self._namespace = namespace
        self._lock = threading.Lock()
        self._state: _State | None = None
        self._ref: SnapshotRef | None = None
        """The snapshot that was loaded last."""
        self._checked_revision = -1
        """The last revision at which no new snapshot was due."""
        self._failed: tuple[int, SnapshotRef | None] | None = None
        """The revision that a snapshot could not catch up with."""

    def view(self, connection: apsw.Connection) -> PostingsView | None:
        """Restart the connection's transaction, and return the lists as it sees them; ``None`` if there are none."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            now = revision(connection, self._namespace)
            if self._state is None or self._state.revision != now:
                ref = self._snapshots.current(connection, self._namespace)
                if self._failed == (now, ref):
                    return None
                self._state = self._catch_up(connection, ref, now)
                self._failed = None if self._state else (now, ref)
            return self._state.view if self._state else None

    def is_corrupt(self) -> bool:
        """Return whether a search failed because the snapshot is corrupt; if so, it is not used again."""
        with self._lock:
            if not self._snapshots.is_corrupt(self._ref):
                return False
            self._state, self._checked_revision = None, -1
            return True

    def needs_snapshot(self, connection: apsw.Connection) -> bool:
        """Return whether a new snapshot is soon due; cheap enough for every search."""
        state, now = self._state, revision(connection, self._namespace)
        if now == self._checked_revision:
            return False
        if state is None:
            due = self.is_stale(connection)
        else:
            due = state.view.changes > max_delta(len(state.view.lists.keys)) // 2
        if not due:
            self._checked_revision = now
        return due

    def is_stale(self, connection: apsw.Connection) -> bool:
        """Return whether the snapshot lacks too much, or has what was changed or deleted."""
        count = partial(self._count_added, connection)
        return self._snapshots.is_stale(connection, self._namespace, LEXICAL, SCHEMA, count, MIN_NOTES - 1)

    def _count_added(self, connection: apsw.Connection, last_key: int, limit: int) -> int:
        """Return how many notes have a higher key, up to ``limit`` + 1."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM main.notes WHERE namespace = ? AND key > ? LIMIT ?)"
        count: int = connection.execute(sql, (self._namespace, last_key, limit + 1)).get
        return count

    def write_snapshot(self, stopped: Callable[[], bool], timeout: float = WRITE_TIMEOUT) -> None:
        """Write a new snapshot, unless ``stopped`` becomes true."""
        self._snapshots.write(self._namespace, LEXICAL, partial(self._read_snapshot, stopped=stopped), timeout)

    def _read_snapshot(
        self, connection: apsw.Connection, ref: SnapshotRef | None, stopped: Callable[[], bool]
    ) -> Callable[[], SnapshotData] | None:
        """Read what the current snapshot lacks, or everything; return what builds the new one."""
        state = self._load(ref) if ref and self._snapshots.is_intact(ref) else None
        base, last_key, changed = EMPTY, 0, []
        if state is not None and ref is not None:
            changed = [key for key in changed_since(connection, self._namespace, ref.revision) if key <= ref.last_key]
            tombstones, base = _delete(state.view, changed)[0], state.view.lists
            base = base.without_rows(tombstones) if len(tombstones) else base
            last_key = ref.last_key
            if len(base.tombstones) * 4 > len(base.keys):  # so much was deleted that starting over is cheaper
                base, last_key, changed = EMPTY, 0, []
        builder = PostingsBuilder(base)
        for rows in self._notes_after(connection, last_key):
            if stopped():
                return None
            builder.add(*_split(rows))
            last_key = rows[-1][0]
        if rows := self._notes(connection, changed):
            builder.add(*_split(rows))
        highest = self._highest_key(connection)

        def build() -> SnapshotData:
            lists = builder.build()
            return SnapshotData(lists.to_arrays(), {"average": lists.average_length}, highest)

        return build

    def _catch_up(self, connection: apsw.Connection, ref: SnapshotRef | None, now: int) -> _State | None:
        """Return the lists at a revision; ``None`` if there are none, or they lack too much to read during a search."""
        if ref is None:
            return None
        state = self._state
        # Changes that a snapshot includes are trimmed from the log: a state older than it cannot catch up.
        if (
            state is None
            or state.ref.revision < ref.revision
            or not state.view.delta.is_complete(state.view.delta_size)
        ):
            state, self._ref = self._load(ref), ref
        return None if state is None else self._advance(connection, state, now)

    def _load(self, ref: SnapshotRef) -> _State | None:
        snapshot = self._snapshots.load(ref, SCHEMA)
        if snapshot is None:
            return None
        lists = PostingLists.from_snapshot(snapshot)
        view = PostingsView(
            lists=lists,
            key_index=KeyIndex(lists.keys),
            tombstones=np.empty(0, dtype=np.int32),
            delta=DeltaPostings(),
            delta_size=0,
            delta_tombstones=np.empty(0, dtype=np.int64),
            notes=len(lists.keys) - len(lists.tombstones),
            tokens=int(lists.lengths.sum()),
        )
        return _State(view, ref, ref.revision, ref.last_key)

    def _advance(self, connection: apsw.Connection, state: _State, now: int) -> _State | None:
        """Return a state with the changes since, unless there are too many."""
        view = state.view
        limit = max_delta(len(view.lists.keys))
        changed = changed_since(connection, self._namespace, state.revision)
        if view.changes + len(changed) + self._count_added(connection, state.last_key, limit) > limit:
            return None
        new = next(self._notes_after(connection, state.last_key, limit=limit + 1), [])
        known = [key for key in changed if key <= state.last_key]
        rows = [*self._notes(connection, known), *new]
        tombstones, delta_tombstones, deleted_notes, deleted_tokens = _delete(view, known)
        highest = self._highest_key(connection)
        tokens = view.delta.append(*_split(rows)) if rows else 0
        advanced = view._replace(
            tombstones=tombstones,
            delta_tombstones=delta_tombstones,
            delta_size=view.delta_size + len(rows),
            notes=view.notes - deleted_notes + len(rows),
            tokens=view.tokens - deleted_tokens + tokens,
        )
        return _State(advanced, state.ref, now, highest)

    def _highest_key(self, connection: apsw.Connection) -> int:
        sql = "SELECT coalesce(max(key), 0) FROM main.notes WHERE namespace = ?"
        key: int = connection.execute(sql, (self._namespace,)).get
        return key

    def _notes_after(self, connection: apsw.Connection, last_key: int, limit: int = READ_NOTES) -> Iterator[list[Any]]:
        """Yield batches of the notes after a key; expired ones too, because FTS5 has them."""
        sql = f"SELECT key, {_FIELDS} FROM main.notes WHERE namespace = ? AND key > ? ORDER BY key LIMIT ?"  # noqa: S608 (fixed names)
        while rows := fetch(connection, sql, (self._namespace, last_key, limit)):
            yield rows
            last_key = rows[-1][0]

    def _notes(self, connection: apsw.Connection, keys: Sequence[int]) -> list[Any]:
        sql = f"SELECT key, {_FIELDS} FROM main.notes WHERE namespace = ? AND key = ?"  # noqa: S608 (fixed names)
        return [row for key in sorted(keys) for row in fetch(connection, sql, (self._namespace, key))]


def _split(rows: Sequence[Any]) -> tuple[list[int], list[tuple[Any, ...]]]:
    """Return the keys and the fields of notes."""
    return [key for key, *_ in rows], [tuple(fields) for _, *fields in rows]


def _delete(view: PostingsView, keys: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int64], int, int]:
    """Return the tombstones of a view without these notes, and how many notes and tokens were deleted."""
    if not keys:
        return view.tombstones, view.delta_tombstones, 0, 0
    lists, deleted = view.lists, np.array(keys, dtype=np.int64)
    rows = np.flatnonzero(np.isin(lists.keys, deleted)).astype(np.int32)
    rows = np.setdiff1d(rows, np.union1d(lists.tombstones, view.tombstones))
    delta_rows = np.flatnonzero(np.isin(view.delta.keys(slice(view.delta_size)), deleted))
    delta_rows = np.setdiff1d(delta_rows, view.delta_tombstones)
    tokens = int(lists.lengths[rows].sum() + view.delta.lengths(delta_rows).sum())
    tombstones, delta_tombstones = np.union1d(view.tombstones, rows), np.union1d(view.delta_tombstones, delta_rows)
    return tombstones, delta_tombstones, len(rows) + len(delta_rows), tokens
