"""The table of the entities that notes list in their metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from recollect.stores.entities import LISTED_AS, entities_in
from recollect.stores.sqlite.fetching import fetch

__all__ = ["problems", "rebuild", "write_entities"]


def write_entities(connection: apsw.Connection, namespace: int, notes: Sequence[tuple[int, str, bool]]) -> None:
    """Give notes the entities of their metadata; each comes with whether it was there before."""
    connection.executemany("DELETE FROM entities WHERE note = ?", [(note,) for note, _, known in notes if known])
    connection.executemany(
        "INSERT INTO entities (note, namespace, name) VALUES (?, ?, ?)",
        [(note, namespace, name) for note, metadata, _ in notes for name in sorted(entities_in(metadata))],
    )


def rebuild(connection: apsw.Connection) -> None:
    """Find all entities anew."""
    connection.execute("DELETE FROM entities")
    for note, namespace, metadata in _listing(connection):
        write_entities(connection, namespace, [(note, metadata, False)])


def problems(connection: apsw.Connection) -> Iterator[str]:
    """Find notes whose entities are not those of their metadata."""
    held: dict[int, set[tuple[int, str]]] = {}
    for note, namespace, name in connection.execute("SELECT note, namespace, name FROM entities"):
        held.setdefault(note, set()).add((namespace, name))
    for note, namespace, metadata in _listing(connection):
        if held.pop(note, set()) != {(namespace, name) for name in entities_in(metadata)}:
            yield f"note {note} has other entities"
    for note in held:
        yield f"note {note} has no entities"


def _listing(connection: apsw.Connection) -> list[tuple[int, int, str]]:
    """Return the notes that may list entities."""
    rows = fetch(connection, "SELECT key, namespace, metadata FROM notes WHERE instr(metadata, ?)", (f'"{LISTED_AS}"',))
    return [(note, namespace, metadata) for note, namespace, metadata in rows]
