"""Notes whose time is over: removed where that can be, and out of sight where it cannot.

Nothing is due most of the time, and an index over the few notes that expire at all says so at once. Where something is
due and cannot be removed, because the file can only be read or others keep it busy, a view of the same name takes the
place of the table of notes on the connection that reads. Every statement looks at the view then, as it is: no search,
no connection and no count can forget about it.
"""

from __future__ import annotations

from itertools import groupby

import apsw

from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.tables import delete_notes

__all__ = ["hidden", "is_due", "remove", "reveal", "see_to_it"]

_HIDING = "EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = 'notes')"
_STATE = (
    "SELECT EXISTS (SELECT 1 FROM main.notes WHERE expires_at <= ?1), "  # noqa: S608 (names of our own)
    f"EXISTS (SELECT 1 FROM notes WHERE expires_at <= ?1), {_HIDING}"
)


def is_due(connection: apsw.Connection, now: int) -> bool:
    """Return whether a note of the file is due, seen or not; ``now`` is in microseconds since 1970."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM main.notes WHERE expires_at <= ?)", (now,)).get)


def see_to_it(connection: apsw.Connection, now: int) -> None:
    """Let a connection that reads see what is not due, and nothing else; its transaction may begin anew."""
    there, seen, hiding = connection.execute(_STATE, (now,)).get
    if seen:
        # A view takes no values; this one is a number.
        alive = f"SELECT * FROM main.notes WHERE coalesce(expires_at > {now:d}, true)"  # noqa: S608 (names of our own)
        _change(connection, f"DROP VIEW IF EXISTS temp.notes; CREATE TEMP VIEW notes AS {alive}")
    elif hiding and not there:
        _change(connection, "DROP VIEW temp.notes")


def remove(connection: apsw.Connection, now: int, most: int = -1) -> int:
    """Delete what is due, or so many of it, those that are due the longest first; return how many there were."""
    if not is_due(connection, now):
        return 0
    rows = fetch(
        connection,
        "SELECT namespace, key FROM (SELECT namespace, key FROM notes WHERE expires_at <= ? ORDER BY expires_at "
        "LIMIT ?) ORDER BY namespace, key",
        (now, most),
    )
    for namespace, group in groupby(rows, key=lambda row: row[0]):
        delete_notes(connection, namespace, [key for _, key in group])
    return len(rows)


def reveal(connection: apsw.Connection) -> None:
    """Let all be seen again."""
    connection.execute("DROP VIEW IF EXISTS temp.notes")


def hidden(connection: apsw.Connection) -> bool:
    """Return whether there may be notes in the file that are not seen on this connection."""
    return bool(connection.execute(f"SELECT {_HIDING}").get)


def _change(connection: apsw.Connection, sql: str) -> None:
    """Change what lives in the connection alone, also where the file can only be read."""
    connection.execute("ROLLBACK")
    connection.pragma("query_only", value=False)
    try:
        connection.execute(sql)
    finally:
        connection.pragma("query_only", value=True)
    connection.execute("BEGIN")
