"""Entities: who and what notes are about, as their metadata lists them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from recollect.nesting import with_room
from recollect.stores.sql.dialect import SqlTransaction
from recollect.text import collapse_whitespace

__all__ = ["entities_in", "entity_problems", "rebuild_entities", "write_entities"]

METADATA_KEY = "entities"


def entities_in(metadata: str) -> set[str]:
    """Return the entities that a note's metadata lists, case-folded and with single spaces.

    >>> sorted(entities_in('{"entities": ["Ines  Weber", "ines weber", "Kyoto", 7, " "]}'))
    ['ines weber', 'kyoto']
    """
    if f'"{METADATA_KEY}"' not in metadata:
        return set()
    names = with_room(lambda: json.loads(metadata)).get(METADATA_KEY)
    if not isinstance(names, list):
        return set()
    return {collapse_whitespace(name).casefold() for name in names if isinstance(name, str)} - {""}


def write_entities(
    transaction: SqlTransaction, namespace_id: int, notes: Sequence[tuple[int, str]], changed: Sequence[int] = ()
) -> None:
    """Write the entities of notes, given by key and metadata; ``changed`` are those that existed before."""
    if changed:
        transaction.execute("DELETE FROM entities WHERE note IN LIST(:notes)", notes=changed)
    transaction.insert(
        "entities",
        ("note", "namespace", "name"),
        [(note, namespace_id, name) for note, metadata in notes for name in sorted(entities_in(metadata))],
    )


def rebuild_entities(transaction: SqlTransaction, namespace_id: int) -> None:
    """Find the entities of a namespace again."""
    transaction.execute("DELETE FROM entities WHERE namespace = :namespace", namespace=namespace_id)
    write_entities(transaction, namespace_id, _notes_with_entities(transaction, namespace_id))


def entity_problems(transaction: SqlTransaction, namespace_id: int) -> Iterator[str]:
    """Find notes whose stored entities differ from those of their metadata."""
    stored = transaction.fetch_dict(
        "SELECT note, count(*) FROM entities WHERE namespace = :namespace GROUP BY note", namespace=namespace_id
    )
    for note, metadata in _notes_with_entities(transaction, namespace_id):
        names = entities_in(metadata)
        matching = transaction.fetch_value(
            "SELECT count(*) FROM entities "
            "WHERE note = :note AND namespace = :namespace AND LOOKUP(name) IN LOOKUP_LIST(:names)",
            note=note,
            namespace=namespace_id,
            names=sorted(names),
        )
        if not len(names) == stored.pop(note, 0) == matching:
            yield f"note {note} has other entities"
    for note in stored:
        yield f"note {note} has no entities"


def _notes_with_entities(transaction: SqlTransaction, namespace_id: int) -> list[tuple[int, str]]:
    rows = transaction.fetch(
        "SELECT key, metadata FROM notes WHERE namespace = :namespace AND metadata LIKE :pattern ORDER BY key",
        namespace=namespace_id,
        pattern=f'%"{METADATA_KEY}"%',
    )
    return [(note, metadata) for note, metadata in rows]
