"""Models and vectors: written at unit length with their model, and replaced when a model gives way to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import ArgumentError
from recollect.model import Note, embedding_text
from recollect.stores.base import Model, Pending, digest
from recollect.stores.batches import NewVector, StoredText
from recollect.stores.sql.dialect import SqlTransaction, VectorRows
from recollect.stores.units import rows_of, unit_rows

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["activate", "active_model", "embed", "pending", "stored_texts", "vectors_of", "write_vectors"]

UNNAMED_MODEL = "given"
"""The name of the model whose vectors came from the caller, without a name."""

_IS_MODEL = "(m.name, m.dimension, m.precision) = (:model_name, :dimension, :precision)"
_HAS_VECTOR = (
    "EXISTS (SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "  # noqa: S608 (a condition of our own)
    f"WHERE v.note = n.key AND {_IS_MODEL})"
)


def _params(model: Model) -> dict[str, Any]:
    return {"model_name": model.name, "dimension": model.dimension, "precision": model.precision}


def active_model(transaction: SqlTransaction) -> tuple[int, Model] | None:
    """Return the key and the description of the model that the store is searched with."""
    rows = transaction.fetch("SELECT key, name, dimension, precision FROM models WHERE active")
    return (rows[0][0], Model(*rows[0][1:])) if rows else None


def _model_key(transaction: SqlTransaction, model: Model) -> int:
    """Return the key of a model, which becomes the active one if there is none."""
    params = _params(model)
    transaction.execute(
        "INSERT INTO models (name, dimension, precision) VALUES (:model_name, :dimension, :precision) "
        "ON CONFLICT DO NOTHING",
        **params,
    )
    transaction.execute(
        f"UPDATE models AS m SET active = true WHERE {_IS_MODEL} AND NOT EXISTS (SELECT 1 FROM models WHERE active)",  # noqa: S608 (a condition of our own)
        **params,
    )
    key: int = transaction.fetch_value(f"SELECT key FROM models AS m WHERE {_IS_MODEL}", **params)  # noqa: S608 (as above)
    return key


def write_vectors(transaction: SqlTransaction, model: Model | None, vectors: Sequence[NewVector]) -> None:
    """Write vectors in place of those of the same notes and model.

    Vectors without a model are taken to be of the one that the store is searched with, if there is one.
    """
    active = active_model(transaction)
    if active is None or (model is not None and active[1] != model):
        transaction.lock_models()
        active = active_model(transaction)
    if model is None:
        model = active[1] if active else Model(UNNAMED_MODEL, np.shape(vectors[0].vector)[-1])
    for vector in vectors:
        if np.shape(vector.vector)[-1] != model.dimension:
            dimension = np.shape(vector.vector)[-1]
            raise ArgumentError(
                "vector", f"has {dimension} numbers; the model {model.name!r} makes vectors of {model.dimension}"
            )
    key = active[0] if active and active[1] == model else _model_key(transaction, model)
    transaction.execute(
        "DELETE FROM vectors WHERE model = :model AND note IN LIST(:notes)",
        model=key,
        notes=[vector.note for vector in vectors],
    )
    chunks = [np.atleast_2d(vector.vector) for vector in vectors]
    rows = unit_rows(np.concatenate(chunks))
    ends = np.cumsum([len(chunk) for chunk in chunks])
    transaction.insert_vectors(
        key,
        model,
        [
            VectorRows(vector.note, vector.namespace, vector.digest, rows[end - len(chunk) : end])
            for vector, chunk, end in zip(vectors, chunks, ends, strict=True)
        ],
    )


def vectors_of(transaction: SqlTransaction, active: tuple[int, Model], notes: Sequence[Note]) -> list[Vector | None]:
    """Return for each note its vector, if it was made of the note's text as it is here."""
    key, model = active
    digests = [
        (note.namespace, note.id, digest(embedding_text(note.title, note.summary, note.content))) for note in notes
    ]
    stored = transaction.stored_vectors(key, digests)
    vectors: list[Vector | None] = [None] * len(notes)
    for position, blob in stored.items():
        rows = rows_of(blob, model).astype(np.float32)
        vectors[position] = rows[0] if len(rows) == 1 else rows
    return vectors


def stored_texts(
    transaction: SqlTransaction, model: Model, namespace_id: int, ids: Sequence[str], paths: Sequence[str]
) -> list[StoredText]:
    """Return the texts of the notes with one of these ids or paths, and whether they have a vector of ``model``."""
    # One query for each column: with OR, SQLite reads the whole namespace.
    stored: dict[str, StoredText] = {}
    for column, names in (("id", ids), ("path", paths)):
        if names:
            rows = transaction.fetch(
                f"SELECT id, path, title, summary, content, {_HAS_VECTOR} FROM visible_notes AS n "  # noqa: S608 (names of our own)
                f"WHERE namespace = :namespace AND LOOKUP({column}) IN LOOKUP_LIST(:names)",
                namespace=namespace_id,
                names=names,
                **_params(model),
            )
            stored |= {row[0]: StoredText(*row) for row in rows}
    return list(stored.values())


def pending(transaction: SqlTransaction, model: Model, limit: int, cursor: int) -> list[Pending]:
    """Return the next notes after a key, of any namespace, that have no vector of ``model``."""
    rows = transaction.fetch(
        "SELECT key, title, summary, content FROM visible_notes AS n "  # noqa: S608 (a condition of our own)
        f"WHERE key > :cursor AND NOT {_HAS_VECTOR} ORDER BY key LIMIT :limit",
        cursor=cursor,
        limit=limit,
        **_params(model),
    )
    return [Pending(key, embedding_text(*text)) for key, *text in rows]


def embed(transaction: SqlTransaction, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
    """Write vectors of notes whose text is still the one that was embedded; return how many."""
    latest = {note.key: (note, vector) for note, vector in vectors}
    transaction.lock_texts(list(latest))
    rows = transaction.fetch(
        "SELECT key, namespace, title, summary, content FROM visible_notes WHERE key IN LIST(:keys)", keys=list(latest)
    )
    stored = {key: (namespace_id, embedding_text(*text)) for key, namespace_id, *text in rows}
    current = [
        NewVector(key, stored[key][0], digest(note.text), vector)
        for key, (note, vector) in latest.items()
        if key in stored and stored[key][1] == note.text
    ]
    if current:
        write_vectors(transaction, model, current)
    return len(current)


def activate(transaction: SqlTransaction, model: Model) -> bool:
    """Search with ``model`` from now on and delete all other vectors, if every note has one; return whether."""
    transaction.lock_texts(None)
    if transaction.fetch_value(
        f"SELECT EXISTS (SELECT 1 FROM visible_notes AS n WHERE NOT {_HAS_VECTOR})",  # noqa: S608 (a condition of our own)
        **_params(model),
    ):
        return False
    transaction.lock_models()
    key = _model_key(transaction, model)
    transaction.execute("DELETE FROM vectors WHERE model <> :key", key=key)
    transaction.execute("DELETE FROM models WHERE key <> :key", key=key)
    transaction.execute("UPDATE models SET active = true WHERE key = :key", key=key)
    return True
