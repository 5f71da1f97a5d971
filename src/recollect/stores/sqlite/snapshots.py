"""Files beside the memory that hold what is derived from it as arrays, and how they are kept in step with it.

SQLite stays the only truth: a file can be deleted at any time and is made anew. The table ``snapshots`` says which file
belongs to a namespace, and of which revision of it that is. Notes that came since have higher keys than it knows; those
that changed or went since are listed in ``word_changes`` with the revision that did it, from before the file is begun
until every file of the namespace knows of them.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreError
from recollect.stores.sqlite.arrays import Arrays, is_of_arrays, is_whole, load, save
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.transaction import fetch, revision

__all__ = ["PATIENCE", "WORDS", "Kept", "Made", "Shape", "Snapshots", "changed_since", "most_unknown"]

WORDS = 0
"""In the place of a model's key: the snapshot is of words."""
PATIENCE = 1.0
"""Seconds to wait for other writers: what is made here can be made later."""
LEFT_BEHIND = 600.0
"""After so many seconds a file that no table names is one that somebody left unfinished."""


def most_unknown(notes: int) -> int:
    """Return how many notes a snapshot of so many may lack: so many are read when a process begins to search.

    >>> most_unknown(3_000), most_unknown(1_000_000)
    (2000, 20000)
    """
    return max(2_000, notes // 50)


class Kept(NamedTuple):
    """A snapshot that is kept: the end of its file's name, its revision, and the highest key that it knows."""

    token: str
    revision: int
    last: int


class Made(NamedTuple):
    """A snapshot that was just made."""

    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any]
    last: int


class Shape(NamedTuple):
    """What snapshots of some kind consist of."""

    arrays: Set[str]
    facts: Set[str]
    is_sound: Callable[[Mapping[str, NDArray[Any]]], bool]
    """Whether arrays fit together, as far as one sees at a glance."""

    def fits(self, found: Arrays) -> bool:
        """Return whether a file can be one of these."""
        if found.arrays.keys() != self.arrays or not self.facts <= found.facts.keys():
            return False
        try:
            return self.is_sound(found.arrays)
        except (TypeError, LookupError):  # there are fewer axes or numbers than there must be
            return False


class Snapshots:
    """The snapshots of one memory."""

    def __init__(self, connections: Connections) -> None:
        """Begin without a look at any."""
        self._connections = connections
        self._needless: set[str] = set()
        """The ends of the names of files that could not be deleted yet."""
        self._damaged: set[str] = set()
        """Likewise, of files that led a search astray."""

    def current(self, connection: apsw.Connection, namespace: int, model: int = WORDS) -> Kept | None:
        """Return which snapshot a connection's transaction sees, if there is one."""
        row = connection.execute(_KEPT, (namespace, model)).get
        return Kept(*row) if row and row[0] else None

    def opened(self, kept: Kept, shape: Shape) -> Arrays | None:
        """Map a snapshot's file into memory, if it is there, is the one that was made, and has this shape.

        A copy of the memory elsewhere has none.
        """
        if kept.token in self._damaged:
            return None
        with suppress(StoreError, OSError):
            found = load(self._file(kept.token))
            if found.facts.get("token") == kept.token and shape.fits(found):
                return found
        return None

    def is_stale(
        self,
        connection: apsw.Connection,
        place: tuple[int, int],
        shape: Shape,
        count: Callable[[int, int], int],
        least: int,
    ) -> bool:
        """Return whether a snapshot lacks so much, or still has what is gone, that another is due.

        ``place`` is its namespace and model, ``count`` says how many came behind a key, or one more than so many; where
        there is no snapshot, more than ``least`` must have come.
        """
        kept = self.current(connection, *place)
        if kept is None:
            return count(0, least) > least
        found = self.opened(kept, shape)
        if found is None or changed_since(connection, place[0], kept.revision):
            return True
        most = most_unknown(len(found.arrays["keys"]))
        return count(kept.last, most) > most

    def is_whole(self, kept: Kept) -> bool:
        """Return whether every byte of a snapshot's file is as it was written."""
        return is_whole(self._file(kept.token))

    def is_to_blame(self, kept: Kept | None) -> bool:
        """Return whether a snapshot with which a search failed is not as it was written: then it is used no more."""
        if kept is None or (kept.token not in self._damaged and self.is_whole(kept)):
            return False
        self._damaged.add(kept.token)
        return True

    def renew(
        self,
        namespace: int,
        model: int,
        read: Callable[[apsw.Connection, Kept | None], Callable[[], Made] | None],
        patience: float = PATIENCE,
    ) -> None:
        """Have another snapshot made of what is there now, and keep it.

        ``read`` reads what it takes, and returns what makes the snapshot when the connection is no longer needed. Where
        that cannot be, because the disk is full or others write or were quicker, all stays as it is.
        """
        with suppress(StoreError, OSError, MemoryError, np.linalg.LinAlgError):
            self._announce(namespace, model, patience)
            with self._connections.reading() as connection:
                before = self.current(connection, namespace, model)
                begun = revision(connection, namespace)
                make = read(connection, before)
            if make is not None:
                self._keep(namespace, model, before, begun, make(), patience)
            elif before is None:
                self._withdraw(namespace, model, patience)

    def tokens(self, connection: apsw.Connection) -> set[str]:
        """Return the ends of the names of all files that are needed."""
        return {token for (token,) in fetch(connection, "SELECT token FROM snapshots WHERE token <> ''")}

    def forget(self, tokens: Iterable[str]) -> None:
        """Delete files that are not needed any more; where one is open it may not be deleted, and is tried again."""
        for token in [*tokens, *self._needless]:
            try:
                self._file(token).unlink(missing_ok=True)
                self._needless.discard(token)
            except OSError:
                self._needless.add(token)

    def files(self) -> list[Path]:
        """Return all files, those included that nobody needs any more."""
        path = self._connections.file
        ours = re.compile(re.escape(path.name) + "-snapshot-[0-9a-f]{16}")
        with suppress(OSError):
            return [each for each in path.parent.iterdir() if ours.fullmatch(each.name)]
        return []

    def problem(self, connection: apsw.Connection) -> str:
        """Return what is wrong with the files, in words, if anything is."""
        tokens = self.tokens(connection)
        files = {token: self._file(token) for token in sorted(tokens)}
        broken = [path.name for token, path in files.items() if path.exists() and not _is_as_written(path, token)]
        left = [path.name for path in self._left_behind(tokens)]
        problems = [
            f"{what}: {', '.join(names)}"
            for what, names in (("not as it was written", broken), ("left behind, needed by nobody", left))
            if names
        ]
        return "; ".join(problems)

    def drop_all(self, named: Set[str]) -> None:
        """Delete the files that tables named, and those that somebody left behind."""
        self.forget({*named, *map(_token_of, self._ours())})

    def _announce(self, namespace: int, model: int, patience: float) -> None:
        """See to it that from now on is noted what changes."""
        with self._connections.reading() as connection:
            if connection.execute(_KEPT, (namespace, model)).get:
                return
        with self._connections.writing(patience=patience) as connection:
            connection.execute(
                "INSERT OR IGNORE INTO snapshots SELECT key, ?, '', revision, 0 FROM namespaces WHERE key = ?",
                (model, namespace),
            )

    def _withdraw(self, namespace: int, model: int, patience: float) -> None:
        """Let nothing be noted any more for a snapshot that was not made."""
        with self._connections.writing(patience=patience) as connection:
            connection.execute(
                "DELETE FROM snapshots WHERE namespace = ? AND model = ? AND token = ''", (namespace, model)
            )
            _strike_out(connection, namespace)

    def _keep(self, namespace: int, model: int, before: Kept | None, begun: int, made: Made, patience: float) -> None:
        token = token_hex(8)
        path = self._file(token)
        try:
            save(path, made.arrays, {**made.facts, "token": token})
            self._let_be_read_like_the_memory(path)
            with self._connections.writing(patience=patience) as connection:
                # Only in the place of the one that was there: what a later one struck out would be missing.
                connection.execute(
                    "UPDATE snapshots SET token = ?1, revision = ?2, last = ?3 "
                    "WHERE namespace = ?4 AND model = ?5 AND token = ?6 AND revision <= ?2",
                    (token, begun, made.last, namespace, model, before.token if before else ""),
                )
                if not connection.changes():
                    path.unlink()
                    return
                _strike_out(connection, namespace)
                needed = self.tokens(connection)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if before:
            self.forget([before.token])
        self._sweep(needed)

    def _let_be_read_like_the_memory(self, path: Path) -> None:
        """Give a file the owner and the permissions of the memory, as SQLite does with its own."""
        memory = self._connections.file.stat()
        with suppress(OSError, AttributeError):  # only an administrator may give files away, and not on every system
            os.chown(path, memory.st_uid, memory.st_gid)
        path.chmod(memory.st_mode & 0o777)

    def _sweep(self, needed: Set[str]) -> None:
        """Delete the files that somebody left behind."""
        for path in self._left_behind(needed):
            with suppress(OSError):  # another may be quicker
                path.unlink()

    def _left_behind(self, needed: Set[str]) -> list[Path]:
        """Return the files that are not needed, and older than what is being made."""
        with suppress(OSError):  # another may delete one
            latest = time.time() - LEFT_BEHIND
            return [path for path in self._ours() if _token_of(path) not in needed and path.stat().st_mtime < latest]
        return []

    def _ours(self) -> list[Path]:
        """Return the files that are snapshots, not only named like one."""
        found = []
        for path in self.files():
            with suppress(OSError):
                if is_of_arrays(path):
                    found.append(path)
        return found

    def _file(self, token: str) -> Path:
        path = self._connections.file
        return path.with_name(f"{path.name}-snapshot-{token}")


def _token_of(path: Path) -> str:
    return path.name.rpartition("-")[2]


def _is_as_written(path: Path, token: str) -> bool:
    """Return whether a file is the one that has this name, and each byte of it is right."""
    with suppress(StoreError, OSError):
        return load(path).facts.get("token") == token and is_whole(path)
    return False


def _strike_out(connection: apsw.Connection, namespace: int) -> None:
    """Forget the changes that every snapshot of a namespace knows of."""
    connection.execute(
        "DELETE FROM word_changes WHERE namespace = ?1 "
        "AND revision <= coalesce((SELECT min(revision) FROM snapshots WHERE namespace = ?1), revision)",
        (namespace,),
    )


def changed_since(connection: apsw.Connection, namespace: int, last: int) -> list[int]:
    """Return the notes whose words changed or went after a revision."""
    sql = "SELECT DISTINCT note FROM word_changes WHERE namespace = ? AND revision > ?"
    return [note for (note,) in fetch(connection, sql, (namespace, last))]


_KEPT = "SELECT token, revision, last FROM snapshots WHERE namespace = ? AND model = ?"
