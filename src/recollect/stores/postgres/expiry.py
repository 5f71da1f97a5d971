"""Notes whose time is over. The view ``living`` leaves them out from that instant on; here they are removed.

Nothing is due most of the time, and an index over the few notes that expire at all says so at once.
"""

from __future__ import annotations

from itertools import groupby

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.postgres.tables import delete_notes

__all__ = ["is_due", "lock_due", "remove"]


def is_due(connection: Connection[TupleRow], now: int) -> bool:
    """Return whether a note that the transaction may see is due; ``now`` is in microseconds since 1970."""
    row = connection.execute("SELECT EXISTS (SELECT 1 FROM notes WHERE expires_at <= %s)", [now]).fetchone()
    return bool(row and row[0])


def lock_due(connection: Connection[TupleRow], now: int, most: int | None) -> list[int]:
    """Lock the namespaces of what is due, or of so many of it, without waiting for others; return their keys."""
    rows = connection.execute(
        "SELECT key FROM namespaces WHERE key IN ("
        "SELECT namespace FROM (SELECT namespace FROM notes WHERE expires_at <= %s ORDER BY expires_at LIMIT %s) AS due"
        ") ORDER BY key FOR NO KEY UPDATE NOWAIT",
        [now, most],
    )
    return [key for (key,) in rows]


def remove(connection: Connection[TupleRow], namespaces: list[int], now: int, most: int | None = None) -> int:
    """Delete what is due in namespaces that are locked, or so many of it, the longest due first; return how many."""
    rows = connection.execute(
        "SELECT namespace, key FROM (SELECT namespace, key FROM notes WHERE expires_at <= %s AND namespace = ANY (%s) "
        "ORDER BY expires_at LIMIT %s) AS due ORDER BY namespace, key",
        [now, namespaces, most],
    ).fetchall()
    for namespace, group in groupby(rows, key=lambda row: row[0]):
        delete_notes(connection, namespace, [key for _, key in group])
    return len(rows)
