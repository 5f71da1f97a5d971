"""The vectors of one namespace as bytes, and which of them can be among the nearest to a query.

The index is derived from the table ``vectors`` and never the only copy of anything. It begins with what a snapshot has,
which is mapped into memory, and grows by what the table has behind the last key that it knows. What was deleted from
the table is found out when a search comes upon it: the table is asked for every result.

A search works on a view: the index as it was at one moment, and a transaction that began at the same moment. Who takes
a view begins its transaction while no other can, so that a view never lacks what its transaction sees.

A note has a row for each piece of its text, one behind the other under the same key, and is as near as the nearest.

Bytes say of each row between what its score lies (:mod:`recollect.stores.sqlite.codes`). All that can be among the
nearest by that are few; the table has their vectors, which are compared in float64. So a score depends on the two
vectors alone, not on where a row lies, nor on which process asks, and nothing is missed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreDamagedError
from recollect.stores.sqlite.arrays import Arrays
from recollect.stores.sqlite.codes import Codes, encode
from recollect.stores.sqlite.growing import Growing
from recollect.stores.sqlite.scan import Reach, Scan, edge_of
from recollect.stores.sqlite.sieve import AS_THEY_ARE, Sieve, Turn, turn_of
from recollect.stores.sqlite.snapshots import PATIENCE, Kept, Made, Shape, Snapshots, most_unknown
from recollect.stores.sqlite.transaction import fetch

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["VectorIndex", "View"]

LEAST_VECTORS = 10_000
"""From how many vectors on a snapshot is worth its while: so many are read in some ten milliseconds."""
READ_ROWS = 1024
SAMPLED = 8_000
"""How many vectors are looked at to see how all are best turned."""
USUAL = 60
"""How many of the nearest a search usually wants."""


def _fit_together(arrays: Mapping[str, NDArray[Any]]) -> bool:
    rows, ends = len(arrays["heads"]), arrays["ends"]
    return (
        len(arrays["keys"]) == len(ends)
        and ends[-1:].tolist() == [rows] * (len(ends) > 0)
        and all(len(arrays[name]) == rows for name in Sieve._fields if name not in ("axes", "widest"))
    )


SHAPE = Shape(frozenset({*Sieve._fields, "keys", "ends"}), frozenset({"sampled"}), _fit_together)


class View(NamedTuple):
    """The vectors of an index at one moment."""

    parts: list[Sieve]
    keys: NDArray[np.int64]
    """The key of each note, rising."""
    ends: NDArray[np.int64]
    """Where the rows of each note end."""
    dead: frozenset[int]

    def nearest(self, query: Vector, limit: int, allowed: NDArray[np.int64] | None = None) -> list[int]:
        """Return the keys of all notes that can be among the nearest ``limit``, or tie with the last of them.

        With ``allowed``, only those keys count.
        """
        if not len(self.keys):
            return []
        rows, least, most = self._reach(query, limit, self._hidden(allowed))
        if self.ends[-1] > len(self.ends):
            notes, places = np.unique(np.searchsorted(self.ends, rows, side="right"), return_inverse=True)
            each = np.full((2, len(notes)), -np.inf, dtype=np.float32)
            np.maximum.at(each[0], places, least)
            np.maximum.at(each[1], places, most)
            rows, (least, most) = notes, each
        edge = edge_of(least, limit) if limit < len(least) else -np.inf
        found: list[int] = self.keys[rows[most >= edge]].tolist()
        return found

    def without(self, keys: Collection[int]) -> View:
        """Return the same without notes that turned out to be gone."""
        return self._replace(dead=self.dead.union(keys))

    def _reach(self, query: Vector, limit: int, hidden: NDArray[np.bool_] | None) -> Reach:
        """Return the rows of each part that can be among the best of it."""
        if self.ends[-1] > len(self.ends):
            pieces = np.diff(self.ends, prepend=0)
            limit *= int(pieces.max())  # so many rows are of as many notes as are wanted at least
            hidden = None if hidden is None else np.repeat(hidden, pieces)
        found, start = [], 0
        for part in self.parts:
            end = start + len(part.scales)
            rows, least, most = Scan(part, query).reach(limit, None if hidden is None else hidden[start:end])
            found.append(Reach(rows + start, least, most))
            start = end
        return found[0] if len(found) == 1 else Reach(*map(np.concatenate, zip(*found, strict=True)))

    def _hidden(self, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Return which notes do not count; ``None`` where all do."""
        if allowed is None and not self.dead:
            return None
        hidden = np.full(len(self.keys), allowed is not None)
        for keys, value in ((allowed, False), (np.array(sorted(self.dead), dtype=np.int64), True)):
            if keys is not None:
                places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
                hidden[places[self.keys[places] == keys]] = value
        return hidden


class _Held:
    """What an index has: the rows of a snapshot, and those that came since."""

    def __init__(self, dimension: int, kept: Kept | None = None, found: Arrays | None = None) -> None:
        """Begin with a snapshot, or with nothing."""
        self.kept = kept
        arrays = dict(found.arrays) if found else {}
        keys, ends = arrays.pop("keys", np.empty(0, np.int64)), arrays.pop("ends", np.empty(0, np.int64))
        self._keys, self._ends = Growing(keys), Growing(ends)
        self._base = [Sieve(**arrays)] if arrays else []
        none: list[Any] = list(encode(np.empty((0, dimension), np.float32)))
        self._codes: list[Growing[Any]] = [Growing(part) for part in none]
        self._filled = len(keys), 0
        """How many notes there are, and how many rows that are in no snapshot."""

    @property
    def keys(self) -> NDArray[np.int64]:
        """The key of each note."""
        return self._keys.first(self._filled[0])

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where the rows of each note end."""
        return self._ends.first(self._filled[0])

    @property
    def last(self) -> int:
        """The highest key."""
        return max(int(self.keys[-1]) if len(self.keys) else 0, self.kept.last if self.kept else 0)

    @property
    def unsaved(self) -> int:
        """How many rows are in no snapshot."""
        return self._filled[1]

    def view(self, dead: frozenset[int]) -> View:
        """Return all as it is now."""
        parts = list(self._base)
        if self.unsaved:
            codes: list[Any] = [part.first(self.unsaved) for part in self._codes]
            parts.append(Sieve.of(AS_THEY_ARE, Codes(*codes)))
        return View(parts, self.keys, self.ends, dead)

    def append(self, keys: NDArray[np.int64], pieces: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Put rows behind the last; a search going on does not mind, and who is interrupted has put nothing."""
        notes, rows = self._filled
        codes: list[Any] = list(encode(vectors))
        for part, more in zip(self._codes, codes, strict=True):
            part.put(rows, more)
        self._keys.put(notes, keys)
        self._ends.put(notes, sum(self.ends[-1:].tolist()) + np.cumsum(pieces))
        self._filled = notes + len(keys), rows + len(vectors)


class VectorIndex:
    """All vectors of a namespace and model that this process has seen."""

    def __init__(self, snapshots: Snapshots, namespace: int, model: int, dimension: int, precision: str) -> None:
        """Begin with no vector; the first search looks for a snapshot."""
        self._snapshots = snapshots
        self._namespace = namespace
        self._model = model
        self._dimension = dimension
        try:
            self._precision = np.dtype(precision)
        except TypeError as error:
            raise StoreDamagedError(f"the store's vectors are in {precision}, which nobody knows; reindex") from error
        self._lock = threading.Lock()
        self._held = _Held(dimension)
        self._seen: Kept | None = None
        """The snapshot that was last looked for, even if its file was not there."""
        self._dead: frozenset[int] = frozenset()
        self._counted = READ_ROWS
        """How many there were in the table when they were last counted."""

    def view(self, connection: apsw.Connection) -> View:
        """Begin the connection's transaction anew, take in what it sees, and return the index as it is then."""
        with self._lock:
            connection.execute("ROLLBACK; BEGIN")
            self._begin_with(self._snapshots.current(connection, self._namespace, self._model))
            if self._is_mostly_gone(connection):
                self._held, self._dead = _Held(self._dimension), frozenset()
            return self._grown(connection)

    def anew(self, connection: apsw.Connection) -> View:
        """Return the index as the connection's transaction sees it, from the table alone."""
        with self._lock:
            self._held, self._dead = _Held(self._dimension), frozenset()
            return self._grown(connection)

    def _grown(self, connection: apsw.Connection) -> View:
        """Take in what the table has behind the last key, and return the index as it is then."""
        for keys, pieces, vectors in self._read(connection, self._held.last):
            self._held.append(keys, pieces, vectors)
        return self._held.view(self._dead)

    def is_to_blame(self) -> bool:
        """Return whether a search that failed did so because the snapshot is damaged; then the next does without."""
        with self._lock:
            if not self._snapshots.is_to_blame(self._seen):
                return False
            self._held, self._dead = _Held(self._dimension), frozenset()
            return True

    def is_due(self) -> bool:
        """Return whether a snapshot is needed; asked after each view, and quick."""
        held = self._held
        return held.unsaved > (most_unknown(len(held.keys)) if held.kept else LEAST_VECTORS)

    def is_stale(self, connection: apsw.Connection) -> bool:
        """Return whether the snapshot lacks so much, or still has what is gone, that another is due."""
        count = partial(self._count, connection)
        return self._snapshots.is_stale(connection, (self._namespace, self._model), SHAPE, count, LEAST_VECTORS)

    def _count(self, connection: apsw.Connection, last: int, most: int) -> int:
        """Return how many vectors came behind a key, or one more than ``most``."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE namespace = ? AND model = ? AND key > ? LIMIT ?)"
        counted: int = connection.execute(sql, (self._namespace, self._model, last, most + 1)).get
        return counted

    def renew(self, stopped: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Make another snapshot, unless one is to stop."""
        self._snapshots.renew(
            self._namespace, self._model, lambda connection, before: self._taken(connection, before, stopped), patience
        )

    def bury(self, keys: Collection[int]) -> None:
        """Remember that these keys, which a view held, are gone from the table."""
        with self._lock:
            # Since the view was taken, the index may have begun anew, without them.
            here = np.isin(np.fromiter(keys, dtype=np.int64), self._held.keys)
            self._dead = self._dead.union(key for key, known in zip(keys, here, strict=True) if known)

    def __len__(self) -> int:
        """Return how many notes have vectors, those that are gone but not yet found out included."""
        return len(self._held.keys) - len(self._dead)

    def _begin_with(self, kept: Kept | None) -> None:
        """Take a snapshot for a beginning that is another than the one that is held."""
        if kept is None or kept == self._seen:
            return
        self._seen = kept
        found = self._snapshots.opened(kept, SHAPE)
        if found is not None:
            self._held, self._dead = _Held(self._dimension, kept, found), frozenset()
            self._counted = max(self._counted, len(self._held.keys))

    def _is_mostly_gone(self, connection: apsw.Connection) -> bool:
        """Return whether it is time to begin anew: asked when many are known to be gone, or many came."""
        known = len(self._held.keys)
        if known < READ_ROWS or (len(self._dead) * 4 <= known and known < 2 * self._counted):
            return False
        counted: int = connection.execute(
            "SELECT count(*) FROM vectors WHERE namespace = ? AND model = ?", (self._namespace, self._model)
        ).get
        self._counted = counted
        return counted * 4 < known * 3

    def _taken(
        self, connection: apsw.Connection, before: Kept | None, stopped: Callable[[], bool]
    ) -> Callable[[], Made] | None:
        """Read what the snapshot before lacks, or everything, and return what makes another of both."""
        listed = connection.execute(
            "SELECT key FROM vectors WHERE namespace = ? AND model = ? ORDER BY key", (self._namespace, self._model)
        )
        there = np.fromiter((key for (key,) in listed), dtype=np.int64)
        found = self._snapshots.opened(before, SHAPE) if before and self._snapshots.is_whole(before) else None
        if found and len(there) > 2 * found.facts["sampled"]:
            found = None  # so many came that they may differ otherwise
        held = _Held(self._dimension, before, found) if found else _Held(self._dimension)
        sampled = found.facts["sampled"] if found else len(there)
        parts = held.view(frozenset()).parts
        turn = parts[0].turn if parts else self._turn(connection, there)
        keys, pieces = [held.keys], [np.diff(held.ends, prepend=0)]
        for some, rows, vectors in self._read(connection, held.last):
            if stopped():
                return None
            keys.append(some)
            pieces.append(rows)
            parts.append(Sieve.of(turn, turn.encode(vectors)))
        if not parts:
            return None
        last = max(held.last, *there[-1:].tolist(), 0)

        def made() -> Made:
            all_keys, all_pieces = np.concatenate(keys), np.concatenate(pieces)
            alive = np.isin(all_keys, there)
            sieve = Sieve.joined(parts) if len(parts) > 1 else parts[0]
            if not alive.all():
                sieve = sieve.only(np.repeat(alive, all_pieces))
            arrays = {**sieve._asdict(), "keys": all_keys[alive], "ends": np.cumsum(all_pieces[alive])}
            return Made(arrays, {"sampled": sampled}, last)

        return made

    def _turn(self, connection: apsw.Connection, keys: NDArray[np.int64]) -> Turn:
        """Return how vectors like these are best turned and cut."""
        sample = keys[:: max(1, len(keys) // SAMPLED)].tolist()
        found = fetch(
            connection,
            "SELECT vector FROM vectors WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(sample),),
        )
        width = self._dimension * self._precision.itemsize
        rows = [np.frombuffer(vector[:width], dtype=self._precision) for (vector,) in found if len(vector) >= width]
        return turn_of(np.array(rows, dtype=np.float32).reshape(-1, self._dimension), USUAL / max(1, len(keys)))

    def _read(
        self, connection: apsw.Connection, last: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
        """Yield of what lies behind a key the keys of some notes, how many rows each has, and the rows."""
        # Where there is no other namespace, the table is read quicker as it lies than by its index.
        alone = connection.execute("SELECT count(*) < 2 FROM (SELECT 1 FROM namespaces LIMIT 2)").get
        unindexed = "+" if alone else ""
        found = connection.execute(
            f"SELECT key, vector FROM vectors WHERE {unindexed}namespace = ? "  # noqa: S608 (a sign of our own)
            f"AND {unindexed}model = ? AND key > ? ORDER BY key",
            (self._namespace, self._model, last),
        )
        width = self._dimension * self._precision.itemsize
        while batch := list(islice(found, READ_ROWS)):
            keys, vectors = zip(*batch, strict=True)
            if any(not vector or len(vector) % width for vector in vectors):
                raise StoreDamagedError("the store holds a vector of a wrong length; 'recollect doctor --repair' helps")
            matrix = np.frombuffer(b"".join(vectors), dtype=self._precision).reshape(-1, self._dimension)
            pieces = np.array([len(vector) // width for vector in vectors], dtype=np.int64)
            yield np.array(keys, dtype=np.int64), pieces, matrix.astype(np.float32, copy=False)
