"""The posting lists of one namespace, kept in step with its notes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.postings.added import Added
from recollect.stores.sqlite.postings.building import Builder
from recollect.stores.sqlite.postings.key_index import KeyIndex
from recollect.stores.sqlite.postings.moment import Moment
from recollect.stores.sqlite.postings.snapshot import EMPTY, SHAPE, Snapshot, without
from recollect.stores.sqlite.snapshots import PATIENCE, WORDS, Kept, Made, Snapshots, changed_since, most_unknown
from recollect.stores.sqlite.transaction import fetch, revision

__all__ = ["LEAST_NOTES", "PostingsIndex"]

LEAST_NOTES = 2_000
"""From how many notes on lists are worth their while: before, FTS5 takes less than a millisecond or two."""
READ_NOTES = 2_000
"""How many notes are read at once."""

_TEXTS = "path, title, summary, tags, content"


class _State(NamedTuple):
    """A moment, and what is known of the notes up to it."""

    moment: Moment
    base: Kept
    revision: int
    last: int
    """The highest key that is known and there: a higher one is of a note that is new."""


class PostingsIndex:
    """The lists of a namespace: a snapshot, and in memory what came since."""

    def __init__(self, snapshots: Snapshots, namespace: int) -> None:
        """Begin with none; the first search looks for a snapshot."""
        self._snapshots = snapshots
        self._namespace = namespace
        self._lock = threading.Lock()
        self._state: _State | None = None
        self._base: Kept | None = None
        """The snapshot that was begun with last."""
        self._enough = -1
        """The revision at which no other snapshot was needed when it was last looked."""
        self._failed: tuple[int, Kept | None] | None = None
        """The revision, and the snapshot, that could not be caught up with."""

    def view(self, connection: apsw.Connection) -> Moment | None:
        """Begin the connection's transaction anew, and return the lists as it sees them, if there are any."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            now = revision(connection, self._namespace)
            if self._state is None or self._state.revision != now:
                kept = self._snapshots.current(connection, self._namespace)
                if self._failed == (now, kept):
                    return None
                self._state = self._caught_up(connection, kept, now)
                self._failed = None if self._state else (now, kept)
            return self._state.moment if self._state else None

    def is_to_blame(self) -> bool:
        """Return whether a search that failed did so because the snapshot is damaged; from now on there is none."""
        with self._lock:
            if not self._snapshots.is_to_blame(self._base):
                return False
            self._state, self._enough = None, -1
            return True

    def is_due(self, connection: apsw.Connection) -> bool:
        """Return whether another snapshot is soon needed; asked after each view, and quick."""
        state, now = self._state, revision(connection, self._namespace)
        if now == self._enough:
            return False
        if state is None:
            due = self.is_stale(connection)
        else:
            due = state.moment.since > most_unknown(len(state.moment.snapshot.keys)) // 2
        if not due:
            self._enough = now
        return due

    def is_stale(self, connection: apsw.Connection) -> bool:
        """Return whether the snapshot lacks so much, or still has what is gone, that another is due."""
        count = partial(self._count, connection)
        return self._snapshots.is_stale(connection, (self._namespace, WORDS), SHAPE, count, LEAST_NOTES - 1)

    def _count(self, connection: apsw.Connection, last: int, most: int) -> int:
        """Return how many notes came behind a key, or one more than ``most``."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM main.notes WHERE namespace = ? AND key > ? LIMIT ?)"
        counted: int = connection.execute(sql, (self._namespace, last, most + 1)).get
        return counted

    def renew(self, stopped: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Make another snapshot, unless one is to stop."""
        self._snapshots.renew(
            self._namespace, WORDS, lambda connection, before: self._read(connection, before, stopped), patience
        )

    def _read(
        self, connection: apsw.Connection, before: Kept | None, stopped: Callable[[], bool]
    ) -> Callable[[], Made] | None:
        """Read what the snapshot before lacks, or everything, and return what makes another of both."""
        state = self._loaded(before) if before and self._snapshots.is_whole(before) else None
        base, last, changed = EMPTY, 0, []
        if state is not None and before is not None:
            changed = [key for key in changed_since(connection, self._namespace, before.revision) if key <= before.last]
            dead, base = _without(state.moment, changed)[0], state.moment.snapshot
            base = without(base, dead) if len(dead) else base
            last = before.last
            if len(base.dead) * 4 > len(base.keys):  # so much is gone that it is better to begin anew
                base, last, changed = EMPTY, 0, []
        builder = Builder(base)
        for rows in self._behind(connection, last):
            if stopped():
                return None
            _add(builder, rows)
            last = rows[-1][0]
        if changed:
            _add(builder, self._texts(connection, changed))
        highest = self._highest(connection)

        def made() -> Made:
            snapshot = builder.finish()
            return Made(snapshot.arrays, {"average": snapshot.average}, highest)

        return made

    def _caught_up(self, connection: apsw.Connection, kept: Kept | None, now: int) -> _State | None:
        """Return the lists as of a revision, if there are any and what they lack can be read on the way."""
        if kept is None:
            return None
        state = self._state
        # What changed before a snapshot is not noted any more: what is older cannot catch up.
        if state is None or state.base.revision < kept.revision or not state.moment.added.is_whole(state.moment.size):
            state, self._base = self._loaded(kept), kept
        return None if state is None else self._advanced(connection, state, now)

    def _loaded(self, kept: Kept) -> _State | None:
        found = self._snapshots.opened(kept, SHAPE)
        return _begun(Snapshot.of(found), kept) if found else None

    def _advanced(self, connection: apsw.Connection, state: _State, now: int) -> _State | None:
        """Return a state with what changed since, unless that is too much to take in on the way."""
        moment = state.moment
        most = most_unknown(len(moment.snapshot.keys))
        changed = changed_since(connection, self._namespace, state.revision)
        if moment.since + len(changed) + self._count(connection, state.last, most) > most:
            return None
        new = next(self._behind(connection, state.last, limit=most + 1), [])
        known = [key for key in changed if key <= state.last]
        rows = [*self._texts(connection, known), *new]
        dead, gone, lost_notes, lost_tokens = _without(moment, known)
        highest = self._highest(connection)
        tokens = moment.added.append([key for key, *_ in rows], [tuple(texts) for _, *texts in rows]) if rows else 0
        advanced = moment._replace(
            dead=dead,
            gone=gone,
            size=moment.size + len(rows),
            notes=moment.notes - lost_notes + len(rows),
            tokens=moment.tokens - lost_tokens + tokens,
        )
        return _State(advanced, state.base, now, highest)

    def _highest(self, connection: apsw.Connection) -> int:
        """Return the highest key that is there: that of the last note is used again once it is deleted."""
        sql = "SELECT coalesce(max(key), 0) FROM main.notes WHERE namespace = ?"
        found: int = connection.execute(sql, (self._namespace,)).get
        return found

    def _behind(self, connection: apsw.Connection, last: int, limit: int = READ_NOTES) -> Iterator[list[Any]]:
        """Yield the notes behind a key, some at a time; those that are due, too: the word index has them."""
        sql = f"SELECT key, {_TEXTS} FROM main.notes WHERE namespace = ? AND key > ? ORDER BY key LIMIT ?"  # noqa: S608 (names of our own)
        while rows := fetch(connection, sql, (self._namespace, last, limit)):
            yield rows
            last = rows[-1][0]

    def _texts(self, connection: apsw.Connection, keys: Sequence[int]) -> list[Any]:
        sql = f"SELECT key, {_TEXTS} FROM main.notes WHERE namespace = ? AND key = ?"  # noqa: S608 (as above)
        return [row for key in sorted(keys) for row in fetch(connection, sql, (self._namespace, key))]


def _add(builder: Builder, rows: Sequence[Any]) -> None:
    if rows:
        builder.add([key for key, *_ in rows], [tuple(texts) for _, *texts in rows])


def _begun(snapshot: Snapshot, kept: Kept) -> _State:
    moment = Moment(
        snapshot=snapshot,
        key_index=KeyIndex(snapshot.keys),
        dead=np.empty(0, dtype=np.int32),
        added=Added(),
        size=0,
        gone=np.empty(0, dtype=np.int64),
        notes=len(snapshot.keys) - len(snapshot.dead),
        tokens=int(snapshot.lengths.sum()),
    )
    return _State(moment, kept, kept.revision, kept.last)


def _without(moment: Moment, keys: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int64], int, int]:
    """Return which rows are dead and gone without these notes, and how many notes and words less there are."""
    if not keys:
        return moment.dead, moment.gone, 0, 0
    base, asked = moment.snapshot, np.array(keys, dtype=np.int64)
    rows = np.flatnonzero(np.isin(base.keys, asked)).astype(np.int32)
    rows = np.setdiff1d(rows, np.union1d(base.dead, moment.dead))
    held = moment.added.keys(slice(moment.size))
    added = np.setdiff1d(np.flatnonzero(np.isin(held, asked)), moment.gone)
    tokens = int(base.lengths[rows].sum() + moment.added.lengths(added).sum())
    return np.union1d(moment.dead, rows), np.union1d(moment.gone, added), len(rows) + len(added), tokens
