"""Rows that several rooms of the store look up, write and delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.errors import NoteNotFoundError
from recollect.model import Link, Note
from recollect.stores.changes import words_of
from recollect.stores.postgres.postings import TextChange, index_notes
from recollect.stores.postgres.text import lookup_hash as mark
from recollect.stores.rows import COLUMNS, NoteRow, folded_name, note_of, to_microseconds

__all__ = [
    "columns",
    "delete_notes",
    "linked_note",
    "links_of",
    "notes_of",
    "places_of",
    "rows_of_notes",
    "touch_notes",
    "write_links",
]


def columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return rows as columns, which is how one statement takes many of them.

    >>> columns([(1, "tea"), (2, "milk")], 2), columns([], 2)
    ([[1, 2], ['tea', 'milk']], [[], []])
    """
    return [[row[place] for row in rows] for place in range(width)]


def places_of(connection: Connection[TupleRow], namespace: int, keys: Sequence[str]) -> list[int | None]:
    """Return for each id, or else path, the row of its note."""
    marks = [mark(key) for key in keys]
    rows = connection.execute(
        "SELECT key, id_mark, false FROM living WHERE namespace = %(home)s AND id_mark = ANY (%(marks)b) "
        "UNION ALL SELECT key, path_mark, true FROM living WHERE namespace = %(home)s AND path_mark = ANY (%(marks)b)",
        {"home": namespace, "marks": marks},
    )
    found = {(called, by_path): key for key, called, by_path in rows}
    return [found.get((each, False), found.get((each, True))) for each in marks]


def rows_of_notes(connection: Connection[TupleRow], keys: Sequence[int]) -> list[NoteRow]:
    """Return the rows of notes, seen or not, in any order."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM notes WHERE key = ANY (%s)", [keys])  # noqa: S608 (names of our own)
    return [NoteRow._make(row) for row in rows]


def notes_of(connection: Connection[TupleRow], keys: Sequence[int]) -> dict[int, Note]:
    """Return notes by the keys of their rows, in the same order."""
    if not keys:
        return {}
    rows = rows_of_notes(connection, keys)
    names: dict[int, str] = dict(
        connection.execute(
            "SELECT key, name FROM namespaces WHERE key = ANY (%s)", [list({row.namespace for row in rows})]
        ).fetchall()
    )
    links = links_of(connection, keys)
    found = {row.key: note_of(row, names[row.namespace], links.get(row.key, ())) for row in rows}
    return {key: found[key] for key in keys}


def linked_note(
    connection: Connection[TupleRow], namespaces: Mapping[str, int], source: str, namespace: str
) -> tuple[int, tuple[Link, ...]]:
    """Return the row of a note by its id or path, and the links that it has."""
    home = namespaces.get(namespace)
    (key,) = (None,) if home is None else places_of(connection, home, [source])
    if key is None:
        raise NoteNotFoundError(f"there is no note {source!r} in namespace {namespace!r}")
    return key, links_of(connection, [key]).get(key, ())


def links_of(connection: Connection[TupleRow], notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
    """Return the links of the notes that have any."""
    found: dict[int, list[Link]] = {}
    if notes:
        rows = connection.execute(
            "SELECT source, kind, target FROM links WHERE source = ANY (%s) ORDER BY source, place", [notes]
        )
        for source, kind, target in rows:
            found.setdefault(source, []).append(Link(kind, target))
    return {source: tuple(links) for source, links in found.items()}


def write_links(connection: Connection[TupleRow], links: Mapping[int, Sequence[Link]]) -> None:
    """Give the notes these links instead of those they have."""
    if not links:
        return
    connection.execute("DELETE FROM links WHERE source = ANY (%s)", [list(links)])
    rows = [
        (source, place, link.kind, link.target, mark(folded_name(link.target)))
        for source, each in links.items()
        for place, link in enumerate(each)
    ]
    if rows:
        connection.execute(_LINK, columns(rows, 5))


def delete_notes(connection: Connection[TupleRow], namespace: int, notes: Sequence[int]) -> None:
    """Delete notes with their words; their vectors, links, names, titles, mentions and entities go with them."""
    if not notes:
        return
    rows = rows_of_notes(connection, notes)
    index_notes(connection, namespace, [TextChange(row.key, words_of(row), None) for row in rows])
    # What is counted goes first, all at once: behind a note it would go one by one.
    for table in ("mentions", "titled", "vectors"):
        connection.execute(f"DELETE FROM {table} WHERE note = ANY (%s)", [notes])  # noqa: S608 (a name of our own)
    connection.execute("DELETE FROM notes WHERE key = ANY (%s)", [notes])


def touch_notes(connection: Connection[TupleRow], namespace: int, accessed: Mapping[str, datetime]) -> int:
    """Set when notes were last accessed, where that is later than what is known; return how many changed."""
    rows = [(mark(note), to_microseconds(moment)) for note, moment in accessed.items()]
    return connection.execute(_TOUCH, [*columns(rows, 2), namespace]).rowcount


_LINK = """
INSERT INTO links (source, namespace, place, kind, target, name_mark)
SELECT new.source, n.namespace, new.place, new.kind, new.target, new.name_mark
FROM unnest(%b::bigint[], %b::int[], %b::text[], %b::text[], %b::bytea[])
    AS new (source, place, kind, target, name_mark)
JOIN notes AS n ON n.key = new.source
"""

# In the order of their keys, so that two who touch the same ones never wait for each other.
_TOUCH = """
WITH late AS MATERIALIZED (
    SELECT n.key, new.moment FROM unnest(%b::bytea[], %b::bigint[]) AS new (note, moment)
    JOIN living AS n ON n.namespace = %s AND n.id_mark = new.note
    WHERE coalesce(n.last_accessed_at < new.moment, true) ORDER BY n.key FOR NO KEY UPDATE OF n
)
UPDATE notes AS n SET last_accessed_at = late.moment FROM late WHERE n.key = late.key
"""
