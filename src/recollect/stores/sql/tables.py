"""Read, write and delete the rows of notes, links, documents, embedding models and vectors, in either engine.

``dialect.py`` describes the macros of the SQL. An ``int`` is the key of a row, if nothing else is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.errors import ArgumentError, NoteNotFoundError
from recollect.model import Link, Note, embedding_text
from recollect.model.note import text_digest
from recollect.stores.base import DocumentRecord, Model, PendingNote
from recollect.stores.batches import NewVector, StoredText
from recollect.stores.rows import COLUMNS, folded_name, note_of, to_unit_length, vectors_in
from recollect.stores.sql.dialect import MAX_INTEGER, SqlTransaction, VectorRows

if TYPE_CHECKING:
    from recollect.stores.base import Vector

_NOTE_COLUMNS = ", ".join(f"n.{column}" for column in COLUMNS.split(", "))


def note_keys(transaction: SqlTransaction, namespace_id: int, names: Sequence[str]) -> list[int | None]:
    """Return for each name the key of the unexpired note with this id, or else with this path, or else ``None``."""
    rows = transaction.fetch(
        "SELECT key, id, 0 FROM visible_notes WHERE namespace = :namespace AND LOOKUP(id) IN LOOKUP_LIST(:names) "
        "UNION ALL "
        "SELECT key, path, 1 FROM visible_notes WHERE namespace = :namespace AND LOOKUP(path) IN LOOKUP_LIST(:names)",
        namespace=namespace_id,
        names=names,
    )
    keys = {(name, is_path): key for key, name, is_path in rows}
    return [keys.get((name, 0), keys.get((name, 1))) for name in names]


def existing_note(transaction: SqlTransaction, name: str, namespace: str) -> tuple[int, int]:
    """Return the keys of a namespace and of a note in it, given by id or path; raise an error if it is missing."""
    namespace_id = transaction.namespace_id(namespace)
    key = None if namespace_id is None else note_keys(transaction, namespace_id, [name])[0]
    if namespace_id is None or key is None:
        raise NoteNotFoundError(f"there is no note {name!r} in namespace {namespace!r}")
    return namespace_id, key


def notes_by_key(transaction: SqlTransaction, keys: Sequence[int]) -> dict[int, Note]:
    """Return the notes with these keys, by key, in the order of ``keys``."""
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
    """Return the links of each note that has any, by key; the links of a note are in their stored order."""
    if not notes:
        return {}
    rows = transaction.fetch(
        "SELECT source, kind, target FROM links WHERE source IN LIST(:notes) ORDER BY source, place", notes=notes
    )
    return {
        source: tuple(Link(kind, target) for _, kind, target in group)
        for source, group in groupby(rows, key=lambda row: row[0])
    }


def write_links(transaction: SqlTransaction, links: Sequence[tuple[int, int, Sequence[Link]]]) -> None:
    """Replace the links of notes; an item has a note, its namespace and its new links."""
    if not links:
        return
    transaction.execute("DELETE FROM links WHERE source IN LIST(:notes)", notes=[note for note, *_ in links])
    rows = [
        (namespace_id, note, position, link)
        for note, namespace_id, note_links in links
        for position, link in enumerate(note_links)
    ]
    _insert_links(transaction, rows)


def add_link(transaction: SqlTransaction, namespace_id: int, note: int, link: Link) -> bool:
    """Append a link to the links of a note; return False if the note has the link already."""
    positions = _link_positions(transaction, note)
    if link in positions:
        return False
    _insert_links(transaction, [(namespace_id, note, max(positions.values(), default=-1) + 1, link)])
    return True


def remove_link(transaction: SqlTransaction, note: int, link: Link) -> bool:
    """Delete a link of a note; return False if the note does not have the link."""
    position = _link_positions(transaction, note).get(link)
    if position is None:
        return False
    sql = "DELETE FROM links WHERE source = :note AND place = :position"
    transaction.execute(sql, note=note, position=position)
    return True


def _link_positions(transaction: SqlTransaction, note: int) -> dict[Link, int]:
    """Return the position (column ``place``) of each link of a note; the positions may have gaps."""
    rows = transaction.fetch("SELECT kind, target, place FROM links WHERE source = :note", note=note)
    return {Link(kind, target): position for kind, target, position in rows}


def _insert_links(transaction: SqlTransaction, links: Iterable[tuple[int, int, int, Link]]) -> None:
    """Insert links; an item has a namespace, the source note, the position of the link in this note, and the link."""
    transaction.insert(
        "links",
        ("source", "namespace", "place", "kind", "target", "name"),
        [
            (note, namespace_id, position, link.kind, link.target, folded_name(link.target))
            for namespace_id, note, position, link in links
        ],
    )


def delete_notes(transaction: SqlTransaction, namespace_id: int, notes: Sequence[int]) -> None:
    """Delete notes with everything derived from them: terms, vectors, links, titles, mentions and entities."""
    if notes:
        transaction.remove_from_indexes(namespace_id, notes)
        transaction.execute("DELETE FROM notes WHERE key IN LIST(:notes)", notes=notes)


def remove_expired(
    transaction: SqlTransaction, now: int, *, namespace_ids: Sequence[int] | None = None, limit: int | None = None
) -> int:
    """Delete expired notes of some or all (``None``) namespaces; return the number of deleted notes.

    ``now`` is in microseconds since 1970. At most ``limit`` notes are deleted; the notes that expired earliest go
    first. If no note has expired, this takes one lookup in the index of expiring notes.
    """
    condition = "" if namespace_ids is None else "AND namespace IN LIST(:namespaces)"
    rows = transaction.fetch(
        f"SELECT namespace, key FROM notes WHERE expires_at <= :now {condition} ORDER BY expires_at LIMIT :limit",  # noqa: S608 (a condition of our own)
        now=now,
        limit=MAX_INTEGER if limit is None else limit,
        namespaces=namespace_ids or (),
    )
    for namespace_id, group in groupby(sorted(rows), key=lambda row: row[0]):
        delete_notes(transaction, namespace_id, [key for _, key in group])
    return len(rows)


def upsert_documents(
    transaction: SqlTransaction, fingerprints: Mapping[tuple[int, str, str], str]
) -> dict[tuple[int, str, str], int]:
    """Set the fingerprints of documents, given by namespace, root and name; return the keys of these documents."""
    rows = transaction.insert(
        "documents",
        ("namespace", "root", "name", "fingerprint"),
        [(*document, fingerprint) for document, fingerprint in fingerprints.items()],
        conflict="UPDATE SET fingerprint = excluded.fingerprint",
        returning="key, namespace, root, name",
    )
    return {(namespace_id, root, name): key for key, namespace_id, root, name in rows}


def document_fingerprints(transaction: SqlTransaction, namespace_id: int, root: str) -> dict[str, str]:
    """Return the fingerprint of each document below ``root``, by name."""
    return transaction.fetch_dict(
        "SELECT name, fingerprint FROM documents WHERE namespace = :namespace AND LOOKUP(root) = LOOKUP(:root)",
        namespace=namespace_id,
        root=root,
    )


def remove_documents(transaction: SqlTransaction, namespace_id: int, root: str, names: Sequence[str]) -> int:
    """Delete documents and their notes; return the number of deleted notes."""
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
    transaction: SqlTransaction, namespace_id: int | None, cursor: int, limit: int
) -> dict[int, DocumentRecord]:
    """Return the first ``limit`` documents after the key ``cursor``, of one namespace or of all (``None``), by key."""
    condition = "" if namespace_id is None else "AND d.namespace = :namespace"
    rows = transaction.fetch(
        "SELECT d.key, s.name, root, d.name, fingerprint "  # noqa: S608 (a condition of our own)
        "FROM documents AS d JOIN namespaces AS s ON s.key = d.namespace "
        f"WHERE d.key > :cursor {condition} ORDER BY d.key LIMIT :limit",
        cursor=cursor,
        limit=limit,
        namespace=namespace_id,
    )
    notes: dict[int, list[str]] = {key: [] for key, *_ in rows}
    for document, note in transaction.fetch(
        "SELECT document, id FROM visible_notes WHERE document IN LIST(:documents) ORDER BY key", documents=list(notes)
    ):
        notes[document].append(note)
    return {key: DocumentRecord._make((*record, tuple(notes[key]))) for key, *record in rows}


def set_document_notes(transaction: SqlTransaction, records: Sequence[tuple[int, DocumentRecord]]) -> None:
    """Set the fingerprints and the notes of documents; an item of ``records`` has a namespace and a document."""
    keys = upsert_documents(
        transaction, {(namespace_id, record.root, record.name): record.fingerprint for namespace_id, record in records}
    )
    transaction.execute("UPDATE notes SET document = NULL WHERE document IN LIST(:keys)", keys=list(keys.values()))
    for namespace_id, record in records:
        transaction.execute(
            "UPDATE notes SET document = :document WHERE namespace = :namespace AND LOOKUP(id) IN LOOKUP_LIST(:notes)",
            document=keys[namespace_id, record.root, record.name],
            namespace=namespace_id,
            notes=record.notes,
        )


UNNAMED_MODEL = "given"  # the model name for vectors that the caller passed without a model
IS_MODEL = "(m.name, m.dimension, m.precision) = (:name, :dimension, :precision)"
"""The condition that a row of ``models AS m`` is the model whose fields are the parameters of the query."""
_HAS_VECTOR = (
    "EXISTS (SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "  # noqa: S608 (a condition of our own)
    f"WHERE v.note = n.key AND {IS_MODEL})"
)
"""The condition that the note ``n`` has a vector of this model."""


class ActiveModel(NamedTuple):
    """The model whose vectors are searched, and its key in the table ``models``."""

    key: int
    model: Model


def active_model(transaction: SqlTransaction) -> ActiveModel | None:
    """Return the active model; ``None`` if the store has no vectors yet."""
    rows = transaction.fetch("SELECT key, name, dimension, precision FROM models WHERE active")
    return ActiveModel(rows[0][0], Model(*rows[0][1:])) if rows else None


def _model_key(transaction: SqlTransaction, model: Model) -> int:
    """Return the key of a model; insert it if it is new, and make it the active model if no model is active."""
    params = model._asdict()
    transaction.execute(
        "INSERT INTO models (name, dimension, precision) VALUES (:name, :dimension, :precision) ON CONFLICT DO NOTHING",
        **params,
    )
    transaction.execute(
        f"UPDATE models AS m SET active = true WHERE {IS_MODEL} AND NOT EXISTS (SELECT 1 FROM models WHERE active)",  # noqa: S608 (a condition of our own)
        **params,
    )
    key: int = transaction.fetch_value(f"SELECT key FROM models AS m WHERE {IS_MODEL}", **params)  # noqa: S608 (as above)
    return key


def write_vectors(transaction: SqlTransaction, model: Model | None, vectors: Sequence[NewVector]) -> None:
    """Write vectors of a model, and delete the vectors that the notes had of this model.

    ``model`` is ``None`` if it is unknown: then the vectors are assumed to be of the active model, if there is one.
    """
    active = active_model(transaction)
    if active is None or (model is not None and active.model != model):
        transaction.lock_models()
        active = active_model(transaction)  # another transaction may have added a model before the lock
    if model is None:
        model = active.model if active else Model(UNNAMED_MODEL, np.shape(vectors[0].vector)[-1])
    for vector in vectors:
        dimension = np.shape(vector.vector)[-1]
        if dimension != model.dimension:
            raise ArgumentError(
                "vector", f"has {dimension} numbers; the model {model.name!r} makes vectors of {model.dimension}"
            )
    key = active.key if active and active.model == model else _model_key(transaction, model)
    transaction.execute(
        "DELETE FROM vectors WHERE model = :model AND note IN LIST(:notes)",
        model=key,
        notes=[vector.note for vector in vectors],
    )
    matrices = [np.atleast_2d(vector.vector) for vector in vectors]  # a row for each chunk of the note
    rows = to_unit_length(np.concatenate(matrices))
    ends = np.cumsum([len(matrix) for matrix in matrices])
    transaction.insert_vectors(
        key,
        model,
        [
            VectorRows(vector.note, vector.namespace, vector.digest, rows[end - len(matrix) : end])
            for vector, matrix, end in zip(vectors, matrices, ends, strict=True)
        ],
    )


def vectors_of(transaction: SqlTransaction, active: ActiveModel, notes: Sequence[Note]) -> list[Vector | None]:
    """Return the vector of each note (a matrix if it has several chunks), or ``None`` if its present text has none."""
    key, model = active
    digests = [
        (note.namespace, note.id, text_digest(embedding_text(note.title, note.summary, note.content))) for note in notes
    ]
    stored = transaction.stored_vectors(key, digests)
    vectors: list[Vector | None] = [None] * len(notes)
    for index, blob in stored.items():
        rows = vectors_in(blob, model).astype(np.float32)
        vectors[index] = rows[0] if len(rows) == 1 else rows
    return vectors


def stored_texts(
    transaction: SqlTransaction, namespace_id: int, model: Model, ids: Sequence[str], paths: Sequence[str]
) -> list[StoredText]:
    """Return the notes with one of these ids or paths: their texts, and whether they have a vector of ``model``."""
    # One query for each column: with OR, SQLite reads the whole namespace.
    stored: dict[str, StoredText] = {}
    for column, names in (("id", ids), ("path", paths)):
        if names:
            rows = transaction.fetch(
                f"SELECT id, path, title, summary, content, {_HAS_VECTOR} FROM visible_notes AS n "  # noqa: S608 (names of our own)
                f"WHERE namespace = :namespace AND LOOKUP({column}) IN LOOKUP_LIST(:names)",
                namespace=namespace_id,
                names=names,
                **model._asdict(),
            )
            stored |= {row[0]: StoredText(*row) for row in rows}
    return list(stored.values())


def pending(transaction: SqlTransaction, model: Model, limit: int, cursor: int) -> list[PendingNote]:
    """Return the first ``limit`` notes after the key ``cursor``, of any namespace, that have no vector of ``model``."""
    rows = transaction.fetch(
        "SELECT key, title, summary, content FROM visible_notes AS n "  # noqa: S608 (a condition of our own)
        f"WHERE key > :cursor AND NOT {_HAS_VECTOR} ORDER BY key LIMIT :limit",
        cursor=cursor,
        limit=limit,
        **model._asdict(),
    )
    return [PendingNote(key, embedding_text(*text)) for key, *text in rows]


def write_pending_vectors(
    transaction: SqlTransaction, model: Model, vectors: Sequence[tuple[PendingNote, Vector]]
) -> int:
    """Write the vectors of notes whose text has not changed since it was embedded; return the number of these notes."""
    by_key = {note.key: (note, vector) for note, vector in vectors}
    transaction.lock_texts(list(by_key))
    rows = transaction.fetch(
        "SELECT key, namespace, title, summary, content FROM visible_notes WHERE key IN LIST(:keys)", keys=list(by_key)
    )
    stored = {key: (namespace_id, embedding_text(*text)) for key, namespace_id, *text in rows}
    new_vectors = [
        NewVector(key, stored[key][0], text_digest(note.text), vector)
        for key, (note, vector) in by_key.items()
        if key in stored and stored[key][1] == note.text
    ]
    if new_vectors:
        write_vectors(transaction, model, new_vectors)
    return len(new_vectors)


def activate(transaction: SqlTransaction, model: Model) -> bool:
    """Make ``model`` active and delete other vectors; return False, without a change, if a note has no vector of it."""
    transaction.lock_texts(None)
    if transaction.fetch_value(
        f"SELECT EXISTS (SELECT 1 FROM visible_notes AS n WHERE NOT {_HAS_VECTOR})",  # noqa: S608 (a condition of our own)
        **model._asdict(),
    ):
        return False
    transaction.lock_models()
    key = _model_key(transaction, model)
    transaction.execute("DELETE FROM vectors WHERE model <> :key", key=key)
    transaction.execute("DELETE FROM models WHERE key <> :key", key=key)
    transaction.execute("UPDATE models SET active = true WHERE key = :key", key=key)
    return True


def count_rows(transaction: SqlTransaction) -> dict[str, Any]:
    """Return the counts of ``StoreStats``; expired notes, their links and their vectors are not counted."""
    links, vectors = "links", "vectors AS v"
    if transaction.hides_notes():  # without expired notes, counting needs no joins
        links = "links JOIN visible_notes AS n ON n.key = source"
        vectors = "(SELECT vectors.* FROM vectors JOIN visible_notes AS n ON n.key = note) AS v"
    notes = transaction.fetch(
        "SELECT s.name, count(n.key) FROM namespaces AS s LEFT JOIN visible_notes AS n ON n.namespace = s.key "
        "GROUP BY s.key, s.name ORDER BY s.name"
    )
    by_model = transaction.fetch(
        f"SELECT m.name, count(v.note) FROM models AS m "  # noqa: S608 (names of our own)
        f"LEFT JOIN {vectors} ON v.model = m.key AND {transaction.first_chunk} "
        "GROUP BY m.key, m.name, m.active ORDER BY m.name, m.active"
    )
    return {
        "notes": dict(notes),
        "links": transaction.fetch_value(f"SELECT count(*) FROM {links}"),  # noqa: S608 (as above)
        "documents": transaction.fetch_value("SELECT count(*) FROM documents"),
        "vectors": dict(by_model),
        "expiring": transaction.fetch_value("SELECT count(*) FROM visible_notes WHERE expires_at IS NOT NULL"),
    }
