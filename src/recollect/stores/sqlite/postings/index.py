"""The posting lists of one namespace, kept in step with its notes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.postings.added import Added
from recollect.stores.sqlite.postings.building import Builder
from recollect.stores.sqlite.postings.moment import Moment
from recollect.stores.sqlite.postings.snapshot import EMPTY, Snapshot, without
from recollect.stores.sqlite.revisions import revision
from recollect.stores.sqlite.snapshots import WORDS, Kept, Made, Snapshots, changed_since, most_unknown

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
        self._looked = -1
        """The revision at which it was last looked whether another snapshot is due."""

    def view(self, connection: apsw.Connection) -> Moment | None:
        """Begin the connection's transaction anew, and return the lists as it sees them, if there are any."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            now = revision(connection, self._namespace)
            if self._state is None or self._state.revision != now:
                self._state = self._caught_up(connection, now)
            return self._state.moment if self._state else None

    def is_due(self, connection: apsw.Connection) -> bool:
        """Return whether another snapshot is soon needed; asked after each view, and quick."""
        state, now = self._state, revision(connection, self._namespace)
        if now == self._looked:
            return False
        self._looked = now
        if state is None:
            return self._lacks(connection, self._snapshots.current(connection, self._namespace))
        return state.moment.since > most_unknown(len(state.moment.snapshot.keys)) // 2

    def is_stale(self, connection: apsw.Connection) -> bool:
        """Return whether the snapshot lacks so much, or still has what is gone, that another is due."""
        kept = self._snapshots.current(connection, self._namespace)
        if kept and changed_since(connection, self._namespace, kept.revision):
            return True
        return self._lacks(connection, kept)

    def _lacks(self, connection: apsw.Connection, kept: Kept | None) -> bool:
        """Return whether more came since a snapshot than one reads on the way."""
        found = self._snapshots.opened(kept) if kept else None
        known = len(found.arrays["keys"]) if found else 0
        most = most_unknown(known) if found else LEAST_NOTES - 1
        return self._count(connection, kept.last if kept and found else 0, most) > most

    def _count(self, connection: apsw.Connection, last: int, most: int) -> int:
        """Return how many notes came behind a key, or one more than ``most``."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM main.notes WHERE namespace = ? AND key > ? LIMIT ?)"
        counted: int = connection.execute(sql, (self._namespace, last, most + 1)).get
        return counted

    def renew(self, stopped: Callable[[], bool]) -> None:
        """Make another snapshot, unless one is to stop."""
        self._snapshots.renew(
            self._namespace, WORDS, lambda connection, before: self._made(connection, before, stopped)
        )

    def _made(self, connection: apsw.Connection, before: Kept | None, stopped: Callable[[], bool]) -> Made | None:
        """Return the snapshot before with what changed since, or one that is made from nothing."""
        state = self._loaded(before) if before else None
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
        made = builder.finish()
        return Made(made.arrays, {"average": made.average}, self._highest(connection))

    def _caught_up(self, connection: apsw.Connection, now: int) -> _State | None:
        """Return the lists as of a revision, if there are any and what they lack can be read on the way."""
        state = self._state
        kept = self._snapshots.current(connection, self._namespace)
        if kept is None:
            return None
        if state is None or state.base.revision < kept.revision:
            # What changed before it is not noted any more: those that are older cannot catch up.
            state = self._loaded(kept)
        return None if state is None else self._advanced(connection, state, now)

    def _loaded(self, kept: Kept) -> _State | None:
        found = self._snapshots.opened(kept)
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
        if rows:
            moment.added.append([key for key, *_ in rows], [tuple(texts) for _, *texts in rows])
        size = moment.size + len(rows)
        advanced = moment._replace(
            dead=dead,
            gone=gone,
            size=size,
            notes=moment.notes - lost_notes + len(rows),
            tokens=moment.tokens - lost_tokens + sum(moment.added.lengths[moment.size : size]),
        )
        return _State(advanced, state.base, now, self._highest(connection))

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
    held = np.array(moment.added.keys, dtype=np.int64)[: moment.size]
    added = np.setdiff1d(np.flatnonzero(np.isin(held, asked)), moment.gone)
    tokens = int(base.lengths[rows].sum()) + sum(moment.added.lengths[row] for row in added.tolist())
    return np.union1d(moment.dead, rows), np.union1d(moment.gone, added), len(rows) + len(added), tokens
