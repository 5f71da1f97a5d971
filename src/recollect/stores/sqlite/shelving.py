"""Which notes are whose: documents with the notes that they have."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from recollect.model import Document
from recollect.stores.base import DocumentRecord
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.writing import Transaction

__all__ = ["SHELVES_AT_ONCE", "shelves_behind", "write_shelves"]

SHELVES_AT_ONCE = 256
"""How many documents a walk reads at a time."""


def shelves_behind(
    connection: apsw.Connection, place: int, limit: int, namespace: str | None
) -> dict[int, DocumentRecord]:
    """Return the next documents behind a row, of one namespace or of all, by their rows."""
    rows = fetch(
        connection,
        "SELECT d.key, s.name, root, d.name, fingerprint "
        "FROM documents AS d JOIN namespaces AS s ON s.key = d.namespace "
        "WHERE d.key > ?1 AND (?2 IS NULL OR s.name = ?2) ORDER BY d.key LIMIT ?3",
        (place, namespace, limit),
    )
    notes: dict[int, list[str]] = {}
    for document, note in connection.execute(
        "SELECT document, id FROM notes WHERE document IN (SELECT value FROM json_each(?)) ORDER BY key",
        (json.dumps([key for key, *_ in rows]),),
    ):
        notes.setdefault(document, []).append(note)
    return {key: DocumentRecord._make((*told, tuple(notes.get(key, ())))) for key, *told in rows}


def write_shelves(connection: apsw.Connection, records: Sequence[DocumentRecord]) -> None:
    """Let documents have these notes and no others."""
    tables = Transaction(connection)
    for record in records:
        home = tables.namespace(record.namespace)
        document = tables.document(home, Document(record.root, record.name, record.fingerprint, ()))
        connection.execute("UPDATE notes SET document = NULL WHERE document = ?", (document,))
        connection.execute(
            "UPDATE notes SET document = ? WHERE namespace = ? AND id IN (SELECT value FROM json_each(?))",
            (document, home, json.dumps(record.notes)),
        )
