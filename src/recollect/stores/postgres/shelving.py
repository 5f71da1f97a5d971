"""Which notes are whose: documents with the notes that they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.base import DocumentRecord
from recollect.stores.postgres.tables import columns
from recollect.stores.postgres.text import lookup_hash as mark

__all__ = ["SHELVES_AT_ONCE", "Place", "shelves_behind", "write_documents", "write_shelves"]

SHELVES_AT_ONCE = 256
"""How many documents a walk reads at a time."""

Place = tuple[int, str, str]
"""What a document is known by: the key of its namespace, its root and its name."""


def shelves_behind(
    connection: Connection[TupleRow], place: int, limit: int, namespace: int | None
) -> dict[int, DocumentRecord]:
    """Return the next documents behind a row, of one namespace or of all, by their rows."""
    rows = connection.execute(_SHELVES, {"place": place, "home": namespace, "limit": limit})
    return {key: DocumentRecord._make((*told, tuple(notes))) for key, *told, notes in rows}


def write_documents(connection: Connection[TupleRow], documents: Mapping[Place, str]) -> dict[Place, int]:
    """Let documents have these fingerprints, and return their keys; those that are new begin."""
    rows = [(*place, fingerprint) for place, fingerprint in documents.items()]
    written = connection.execute(_DOCUMENTS, columns(rows, 4))
    return {(namespace, root, name): key for key, namespace, root, name in written}


def write_shelves(
    connection: Connection[TupleRow], namespaces: Mapping[str, int], records: Sequence[DocumentRecord]
) -> None:
    """Let documents have these notes and no others."""
    places = [(namespaces[record.namespace], record.root, record.name) for record in records]
    keys = write_documents(
        connection, {place: record.fingerprint for place, record in zip(places, records, strict=True)}
    )
    owners: dict[tuple[int, str], Place | None] = {}
    for place, record in zip(places, records, strict=True):
        owners |= {note: None for note, owner in owners.items() if owner == place}
        owners |= {(place[0], note): place for note in record.notes}
    connection.execute("UPDATE notes SET document = NULL WHERE document = ANY (%s)", [list(keys.values())])
    rows = [(namespace, mark(note), owner and keys[owner]) for (namespace, note), owner in owners.items()]
    connection.execute(_SHELVE, columns(rows, 3))


_SHELVES = """
SELECT d.key, s.name, root, d.name, fingerprint,
    ARRAY(SELECT id FROM living AS n WHERE n.document = d.key ORDER BY n.key)
FROM documents AS d JOIN namespaces AS s ON s.key = d.namespace
WHERE d.key > %(place)s AND (%(home)s::int IS NULL OR d.namespace = %(home)s) ORDER BY d.key LIMIT %(limit)s
"""

_DOCUMENTS = """
INSERT INTO documents (namespace, root, name, fingerprint)
SELECT * FROM unnest(%b::int[], %b::text[], %b::text[], %b::text[])
ON CONFLICT (namespace, root_mark, name_mark) DO UPDATE SET fingerprint = excluded.fingerprint
RETURNING key, namespace, root, name
"""

_SHELVE = """
UPDATE notes AS n SET document = new.document
FROM unnest(%b::int[], %b::bytea[], %b::bigint[]) AS new (namespace, note, document)
WHERE n.namespace = new.namespace AND n.id_mark = new.note
"""
