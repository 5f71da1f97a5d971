"""The table of the entities that notes list in their metadata, by the marks of their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.entities import LISTED_AS, entities_in
from recollect.stores.postgres.tables import columns
from recollect.stores.postgres.text import lookup_hash as mark

__all__ = ["problems", "rebuild", "write_entities"]


def write_entities(
    connection: Connection[TupleRow], namespace: int, notes: Sequence[tuple[int, str]], known: Sequence[int] = ()
) -> None:
    """Give notes the entities of their metadata; ``known`` are those that were there before."""
    if known:
        connection.execute("DELETE FROM entities WHERE note = ANY (%s)", [known])
    rows = [(note, mark(name)) for note, metadata in notes for name in sorted(entities_in(metadata))]
    if rows:
        connection.execute(
            "INSERT INTO entities (namespace, note, name_mark) SELECT %s, * FROM unnest(%b::bigint[], %b::bytea[])",
            [namespace, *columns(rows, 2)],
        )


def rebuild(connection: Connection[TupleRow], namespace: int) -> None:
    """Find the entities of a namespace anew."""
    connection.execute("DELETE FROM entities WHERE namespace = %s", [namespace])
    write_entities(connection, namespace, _listing(connection, namespace))


def problems(connection: Connection[TupleRow], namespace: int) -> Iterator[str]:
    """Find notes whose entities are not those of their metadata."""
    held: dict[int, set[bytes]] = {}
    for note, name in connection.execute("SELECT note, name_mark FROM entities WHERE namespace = %s", [namespace]):
        held.setdefault(note, set()).add(name)
    for note, metadata in _listing(connection, namespace):
        if held.pop(note, set()) != {mark(name) for name in entities_in(metadata)}:
            yield f"note {note} has other entities"
    for note in held:
        yield f"note {note} has no entities"


def _listing(connection: Connection[TupleRow], namespace: int) -> list[tuple[int, str]]:
    """Return the notes that may list entities."""
    return connection.execute(
        "SELECT key, metadata FROM notes WHERE namespace = %s AND strpos(metadata, %s) > 0 ORDER BY key",
        [namespace, f'"{LISTED_AS}"'],
    ).fetchall()
