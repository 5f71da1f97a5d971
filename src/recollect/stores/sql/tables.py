"""Rows of notes, links and documents: read, written and deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from recollect.errors import NoteNotFoundError
from recollect.model import Link, Note
from recollect.stores.base import DocumentRecord
from recollect.stores.rows import COLUMNS, folded_name, note_of
from recollect.stores.sql.dialect import MAX_INTEGER, SqlTransaction

__all__ = [
    "delete_notes",
    "document_fingerprints",
    "document_records_after",
    "existing_note",
    "links_by_source",
    "note_keys",
    "notes_by_key",
    "remove_documents",
    "remove_expired",
    "set_document_notes",
    "upsert_documents",
    "write_links",
]

_NOTE_COLUMNS = ", ".join(f"n.{column}" for column in COLUMNS.split(", "))


def note_keys(transaction: SqlTransaction, namespace_id: int, names: Sequence[str]) -> list[int | None]:
    """Return for each id, or else path, the key of its visible note."""
    rows = transaction.fetch(
        "SELECT key, id, 0 FROM visible_notes WHERE namespace = :namespace AND LOOKUP(id) IN LOOKUP_LIST(:names) "
        "UNION ALL "
        "SELECT key, path, 1 FROM visible_notes WHERE namespace = :namespace AND LOOKUP(path) IN LOOKUP_LIST(:names)",
        namespace=namespace_id,
        names=names,
    )
    keys = {(name, by_path): key for key, name, by_path in rows}
    return [keys.get((name, 0), keys.get((name, 1))) for name in names]


def existing_note(transaction: SqlTransaction, name: str, namespace: str) -> tuple[int, int]:
    """Return the keys of a namespace and of a note in it, by id or path; raise an error if it is not there."""
    namespace_id = transaction.namespace_id(namespace)
    (key,) = (None,) if namespace_id is None else note_keys(transaction, namespace_id, [name])
    if namespace_id is None or key is None:
        raise NoteNotFoundError(f"there is no note {name!r} in namespace {namespace!r}")
    return namespace_id, key


def notes_by_key(transaction: SqlTransaction, keys: Sequence[int]) -> dict[int, Note]:
    """Return notes by their keys, in the same order."""
    if not keys:
        return {}
    rows = transaction.fetch(
        f"SELECT s.name, {_NOTE_COLUMNS} FROM notes AS n JOIN namespaces AS s ON s.key = n.namespace "  # noqa: S608 (columns of our own)
        "WHERE n.key IN LIST(:keys)",
        keys=keys,
    )
    links = links_by_source(transaction, keys)
    notes = {row[1]: note_of(row[1:], row[0], links.get(row[1], ())) for row in rows}
    return {key: notes[key] for key in keys}


def links_by_source(transaction: SqlTransaction, notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
    """Return the links of the notes that have any, in their order."""
    if not notes:
        return {}
    rows = transaction.fetch(
        "SELECT source, kind, target FROM links WHERE source IN LIST(:notes) ORDER BY source, place", notes=notes
    )
    return {
        source: tuple(Link(kind, target) for _, kind, target in group)
        for source, group in groupby(rows, key=lambda row: row[0])
    }


def write_links(transaction: SqlTransaction, links: Iterable[tuple[int, int, Sequence[Link]]]) -> None:
    """Replace the links of notes, each given by its key, its namespace and its links."""
    changed = list(links)
    if not changed:
        return
    transaction.execute("DELETE FROM links WHERE source IN LIST(:notes)", notes=[note for note, *_ in changed])
    transaction.insert(
        "links",
        ("source", "namespace", "place", "kind", "target", "name"),
        [
            (note, namespace_id, place, link.kind, link.target, folded_name(link.target))
            for note, namespace_id, note_links in changed
            for place, link in enumerate(note_links)
        ],
    )


def delete_notes(transaction: SqlTransaction, namespace_id: int, notes: Sequence[int]) -> None:
    """Delete notes with everything derived from them: terms, vectors, links, titles, mentions and entities."""
    if notes:
        transaction.remove_from_indexes(namespace_id, notes)
        transaction.execute("DELETE FROM notes WHERE key IN LIST(:notes)", notes=notes)


def remove_expired(
    transaction: SqlTransaction, now: int, *, namespaces: Sequence[int] | None = None, limit: int | None = None
) -> int:
    """Delete notes that have expired at ``now``, in microseconds since 1970, the earliest first; return how many.

    An index over the few notes that expire at all shows at once that there are none.
    """
    within = "" if namespaces is None else "AND namespace IN LIST(:namespaces)"
    rows = transaction.fetch(
        f"SELECT namespace, key FROM notes WHERE expires_at <= :now {within} ORDER BY expires_at LIMIT :limit",  # noqa: S608 (a condition of our own)
        now=now,
        limit=MAX_INTEGER if limit is None else limit,
        **({} if namespaces is None else {"namespaces": namespaces}),
    )
    for namespace_id, group in groupby(sorted(rows), key=lambda row: row[0]):
        delete_notes(transaction, namespace_id, [key for _, key in group])
    return len(rows)


def upsert_documents(
    transaction: SqlTransaction, fingerprints: Mapping[tuple[int, str, str], str]
) -> dict[tuple[int, str, str], int]:
    """Set the fingerprints of documents, given by namespace, root and name; return their keys."""
    rows = transaction.insert(
        "documents",
        ("namespace", "root", "name", "fingerprint"),
        [(*document, fingerprint) for document, fingerprint in fingerprints.items()],
        conflict="UPDATE SET fingerprint = excluded.fingerprint",
        returning="key, namespace, root, name",
    )
    return {(namespace_id, root, name): key for key, namespace_id, root, name in rows}


def document_fingerprints(transaction: SqlTransaction, namespace_id: int, root: str) -> dict[str, str]:
    """Return the fingerprints of the documents below ``root`` by their names."""
    return transaction.fetch_dict(
        "SELECT name, fingerprint FROM documents WHERE namespace = :namespace AND LOOKUP(root) = LOOKUP(:root)",
        namespace=namespace_id,
        root=root,
    )


def remove_documents(transaction: SqlTransaction, namespace_id: int, root: str, names: Sequence[str]) -> int:
    """Delete documents and their notes; return how many notes there were."""
    documents = transaction.fetch_column(
        "SELECT key FROM documents WHERE namespace = :namespace AND LOOKUP(root) = LOOKUP(:root) "
        "AND LOOKUP(name) IN LOOKUP_LIST(:names)",
        namespace=namespace_id,
        root=root,
        names=names,
    )
    notes = transaction.fetch_column("SELECT key FROM notes WHERE document IN LIST(:documents)", documents=documents)
    delete_notes(transaction, namespace_id, notes)
    transaction.execute("DELETE FROM documents WHERE key IN LIST(:documents)", documents=documents)
    return len(notes)


def document_records_after(
    transaction: SqlTransaction, cursor: int, limit: int, namespace_id: int | None
) -> dict[int, DocumentRecord]:
    """Return the next documents after a key, of one namespace or of all, by their keys."""
    within = "" if namespace_id is None else "AND d.namespace = :namespace"
    rows = transaction.fetch(
        "SELECT d.key, s.name, root, d.name, fingerprint "  # noqa: S608 (a condition of our own)
        "FROM documents AS d JOIN namespaces AS s ON s.key = d.namespace "
        f"WHERE d.key > :cursor {within} ORDER BY d.key LIMIT :limit",
        cursor=cursor,
        limit=limit,
        namespace=namespace_id,
    )
    notes: dict[int, list[str]] = {key: [] for key, *_ in rows}
    for document, note in transaction.fetch(
        "SELECT document, id FROM visible_notes WHERE document IN LIST(:documents) ORDER BY key",
        documents=list(notes),
    ):
        notes[document].append(note)
    return {key: DocumentRecord._make((*record, tuple(notes[key]))) for key, *record in rows}


def set_document_notes(transaction: SqlTransaction, records: Sequence[tuple[int, DocumentRecord]]) -> None:
    """Set the fingerprints and the notes of documents, each given with the key of its namespace."""
    keys = upsert_documents(
        transaction, {(namespace_id, record.root, record.name): record.fingerprint for namespace_id, record in records}
    )
    statements: list[tuple[str, dict[str, Any]]] = []
    for namespace_id, record in records:
        document = keys[namespace_id, record.root, record.name]
        statements += [
            ("UPDATE notes SET document = NULL WHERE document = :document", {"document": document}),
            (
                "UPDATE notes SET document = :document "
                "WHERE namespace = :namespace AND LOOKUP(id) IN LOOKUP_LIST(:notes)",
                {"document": document, "namespace": namespace_id, "notes": record.notes},
            ),
        ]
    transaction.execute_together(statements)
