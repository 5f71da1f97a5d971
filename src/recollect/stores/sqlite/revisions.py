"""The revisions of namespaces: each grows with every batch that changes a name or word."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

__all__ = ["note_changes", "renew", "revise", "revision"]


def revision(connection: apsw.Connection, namespace: int) -> int:
    """Return the revision of a namespace that the connection's transaction sees."""
    found: int = connection.execute("SELECT revision FROM namespaces WHERE key = ?", (namespace,)).get
    return found


def renew(connection: apsw.Connection) -> None:
    """Begin the connection's transaction anew, so that it sees what others wrote."""
    connection.execute("ROLLBACK; BEGIN")


def note_changes(connection: apsw.Connection, namespace: int, notes: Sequence[int]) -> None:
    """Say of which notes the words change or go in this revision, where a snapshot has to know."""
    if notes and connection.execute("SELECT 1 FROM snapshots WHERE namespace = ? LIMIT 1", (namespace,)).get:
        now = revision(connection, namespace)
        connection.executemany(
            "INSERT OR IGNORE INTO word_changes VALUES (?, ?, ?)", [(namespace, now, note) for note in notes]
        )


def revise(connection: apsw.Connection, namespace: int) -> None:
    """Say that a name or word of the namespace changes in this transaction."""
    connection.execute("UPDATE namespaces SET revision = revision + 1 WHERE key = ?", (namespace,))
