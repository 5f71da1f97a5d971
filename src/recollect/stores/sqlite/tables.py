"""Rows that several rooms of the store look up, write and delete."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import apsw

from recollect.errors import NoteNotFoundError
from recollect.model import Link, Note
from recollect.stores.rows import COLUMNS, folded_name, note_of, to_microseconds
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.revisions import note_changes, revise

__all__ = [
    "delete_notes",
    "linked_note",
    "links_of",
    "namespace_key",
    "notes_of",
    "place_of",
    "places_of",
    "touch_notes",
    "write_links",
]


def namespace_key(connection: apsw.Connection, name: str) -> int | None:
    """Return the key of a namespace, or ``None`` if nothing was ever stored in it."""
    key: int | None = connection.execute("SELECT key FROM namespaces WHERE name = ?", (name,)).get
    return key


def place_of(connection: apsw.Connection, namespace: int, key: str) -> int | None:
    """Return the row of the note with this id, or else with this path."""
    for column in ("id", "path"):
        row: int | None = connection.execute(
            f"SELECT key FROM notes WHERE namespace = ? AND {column} = ?",  # noqa: S608 (a name of our own)
            (namespace, key),
        ).get
        if row is not None:
            return row
    return None


def places_of(connection: apsw.Connection, namespace: int, keys: Sequence[str]) -> list[int | None]:
    """Return for each id or path the row of its note, as ``place_of`` does, for all of them at once."""
    found: dict[str, int] = {}
    for column in ("id", "path"):
        asked = [key for key in keys if key not in found]
        if asked:
            rows = fetch(
                connection,
                f"SELECT {column}, key FROM notes "  # noqa: S608 (a name of our own)
                f"WHERE namespace = ? AND {column} IN (SELECT value FROM json_each(?))",
                (namespace, json.dumps(asked)),
            )
            found = {**dict(rows), **found}
    return [found.get(key) for key in keys]


def notes_of(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, Note]:
    """Return notes by the keys of their rows, in the same order."""
    columns = ", ".join(f"n.{column}" for column in COLUMNS.split(", "))
    rows = fetch(
        connection,
        f"SELECT s.name, {columns} FROM notes AS n JOIN namespaces AS s ON s.key = n.namespace "  # noqa: S608 (names of our own)
        "WHERE n.key IN (SELECT value FROM json_each(?))",
        (json.dumps(keys),),
    )
    links = links_of(connection, keys)
    found = {row[1]: note_of(row[1:], row[0], links.get(row[1], ())) for row in rows}
    return {key: found[key] for key in keys}


def linked_note(connection: apsw.Connection, source: str, namespace: str) -> tuple[int, tuple[Link, ...]]:
    """Return the row of a note by its id or path, and the links that it has."""
    home = namespace_key(connection, namespace)
    key = None if home is None else place_of(connection, home, source)
    if key is None:
        raise NoteNotFoundError(f"there is no note {source!r} in namespace {namespace!r}")
    return key, links_of(connection, [key]).get(key, ())


def links_of(connection: apsw.Connection, notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
    """Return the links of the notes that have any."""
    found: dict[int, list[Link]] = {}
    if notes:
        rows = connection.execute(
            "SELECT source, kind, target FROM links WHERE source IN (SELECT value FROM json_each(?)) "
            "ORDER BY source, place",
            (json.dumps(notes),),
        )
        for source, kind, target in rows:
            found.setdefault(source, []).append(Link(kind, target))
    return {source: tuple(links) for source, links in found.items()}


def write_links(connection: apsw.Connection, links: Mapping[int, Sequence[Link]]) -> None:
    """Give the notes these links instead of those they have."""
    connection.executemany("DELETE FROM links WHERE source = ?", [(source,) for source in links])
    connection.executemany(
        "INSERT INTO links (source, place, kind, target, name, namespace) "
        "VALUES (?1, ?2, ?3, ?4, ?5, (SELECT namespace FROM notes WHERE key = ?1))",
        [
            (source, place, link.kind, link.target, folded_name(link.target))
            for source, each in links.items()
            for place, link in enumerate(each)
        ],
    )


def delete_notes(connection: apsw.Connection, namespace: int, notes: Sequence[int]) -> None:
    """Delete notes with their words; their vectors, links, titles, mentions and entities go with them."""
    keys = [(key,) for key in notes]
    if keys:
        revise(connection, namespace)
        note_changes(connection, namespace, notes)
        # The highest key must not be used again: indexes assume that they hold every note with a lower key.
        connection.execute(
            "INSERT INTO sqlite_sequence (name, seq) SELECT 'notes', 0 "
            "WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'notes')"
        )
        connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'notes'", (max(notes),))
    connection.executemany(f"DELETE FROM words_{namespace} WHERE rowid = ?", keys)  # noqa: S608 (a number of our own)
    connection.executemany("DELETE FROM notes WHERE key = ?", keys)


def touch_notes(connection: apsw.Connection, namespace: int | None, accessed: Mapping[str, datetime]) -> int:
    """Set when notes were last accessed, where that is later than what is known; return how many changed."""
    changed = 0
    for note, moment in accessed.items():
        connection.execute(
            "UPDATE notes SET last_accessed_at = ?1 "
            "WHERE namespace = ?2 AND id = ?3 AND coalesce(last_accessed_at < ?1, true)",
            (to_microseconds(moment), namespace, note),
        )
        changed += connection.changes()
    return changed
