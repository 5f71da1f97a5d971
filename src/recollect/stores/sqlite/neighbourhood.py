"""What lies one step from a note: the turns or chunks beside it, and the notes at both ends of its links."""

from __future__ import annotations

from typing import Literal, NamedTuple

import apsw

from recollect.stores.sqlite.rows import fetch, folded_name

__all__ = ["Edge", "edges", "place_of"]


class Edge(NamedTuple):
    """A connection to the row of another note."""

    note: int
    kind: str
    direction: Literal["out", "in"]


def edges(connection: apsw.Connection, namespace: int, note: int) -> list[Edge]:
    """Return every connection of a note, each once: its place first, then the links from it, then those to it."""
    found = [
        *_beside(connection, namespace, note),
        *_from(connection, namespace, note),
        *_to(connection, namespace, note),
    ]
    return list(dict.fromkeys(found))


def _beside(connection: apsw.Connection, namespace: int, note: int) -> list[Edge]:
    """Return the notes before and behind it in its conversation or document."""
    session, position = connection.execute("SELECT session, position FROM notes WHERE key = ?", (note,)).get
    if session is None or position is None:
        return []
    found = []
    for kind, comparison, order in (("previous", "<", "DESC"), ("next", ">", "ASC")):
        key = connection.execute(
            f"SELECT key FROM notes WHERE namespace = ? AND session = ? AND position {comparison} ? "  # noqa: S608
            f"ORDER BY position {order}, key {order} LIMIT 1",
            (namespace, session, position),
        ).get
        if key is not None:
            found.append(Edge(key, kind, "out"))
    return found


def _from(connection: apsw.Connection, namespace: int, note: int) -> list[Edge]:
    rows = fetch(connection, "SELECT kind, target FROM links WHERE source = ? ORDER BY place", (note,))
    targets = [(kind, _resolved(connection, namespace, target)) for kind, target in rows]
    return [Edge(target, kind, "out") for kind, target in targets if target is not None and target != note]


def _to(connection: apsw.Connection, namespace: int, note: int) -> list[Edge]:
    note_id, path, name = connection.execute("SELECT id, path, name FROM notes WHERE key = ?", (note,)).get
    rows = fetch(
        connection,
        "SELECT source, kind, target FROM links JOIN notes ON notes.key = source "
        "WHERE namespace = ? AND (target IN (?, ?, ?) OR links.name = ?) ORDER BY source, place",
        (namespace, note_id, path, (path or "").removesuffix(".md"), name),
    )
    return [
        Edge(source, kind, "in")
        for source, kind, target in rows
        if source != note and _resolved(connection, namespace, target) == note
    ]


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


def _resolved(connection: apsw.Connection, namespace: int, target: str) -> int | None:
    """Return the note that a link's target means: by id, by path, or, as wikilinks do, by the last part of a path."""
    named = place_of(connection, namespace, target) or place_of(connection, namespace, f"{target}.md")
    if named is not None or "/" in target:
        return named
    nearest: int | None = connection.execute(
        "SELECT key FROM notes WHERE namespace = ? AND name = ? ORDER BY length(path), path LIMIT 1",
        (namespace, folded_name(target)),
    ).get
    return nearest
