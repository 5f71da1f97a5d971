"""Vectors in the tables: written with their model, of unit length, and replaced when a model gives way to another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from recollect.errors import ArgumentError
from recollect.model import Note, embedding_text
from recollect.stores.base import Model, Pending, digest
from recollect.stores.batches import StoredText
from recollect.stores.units import rows_of, unit_rows

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = [
    "GIVEN",
    "activate",
    "active_model",
    "embed",
    "model_key",
    "pending",
    "stored_texts",
    "vectors_of",
    "write_vectors",
]

GIVEN = "given"
"""The name of the model whose vectors came from the caller, without a name."""


def active_model(connection: apsw.Connection) -> tuple[int, Model] | None:
    """Return the key and the description of the model that the store is searched with."""
    row = connection.execute("SELECT key, name, dimension, precision FROM models WHERE active = 1").get
    return None if row is None else (row[0], Model(*row[1:]))


def model_key(connection: apsw.Connection, model: Model) -> int:
    """Return the key of a model, which becomes the active one if there is none."""
    connection.execute(
        "INSERT INTO models (name, dimension, precision) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", tuple(model)
    )
    connection.execute(
        "UPDATE models SET active = 1 WHERE (name, dimension, precision) = (?, ?, ?) "
        "AND NOT EXISTS (SELECT 1 FROM models WHERE active = 1)",
        tuple(model),
    )
    key: int = connection.execute(
        "SELECT key FROM models WHERE (name, dimension, precision) = (?, ?, ?)", tuple(model)
    ).get
    return key


def write_vectors(
    connection: apsw.Connection, model: Model | None, vectors: Sequence[tuple[int, int, bytes, Vector]]
) -> None:
    """Write vectors, each with its note, namespace and the digest of its text, in place of those of the same model.

    Vectors without a model are taken to be of the one that the store is searched with, if there is one.
    """
    active = active_model(connection)
    if model is None:
        model = active[1] if active else Model(GIVEN, np.shape(vectors[0][3])[-1])
    for *_, vector in vectors:
        if np.shape(vector)[-1] != model.dimension:
            has = np.shape(vector)[-1]
            raise ArgumentError(
                "vector", f"has {has} numbers; the model {model.name!r} makes vectors of {model.dimension}"
            )
    rows = iter(unit_rows(np.concatenate([np.atleast_2d(vector) for *_, vector in vectors])))
    key = active[0] if active and active[1] == model else model_key(connection, model)
    connection.executemany("DELETE FROM vectors WHERE note = ? AND model = ?", [(note, key) for note, *_ in vectors])
    connection.executemany(
        "INSERT INTO vectors (note, model, namespace, digest, vector) VALUES (?, ?, ?, ?, ?)",
        [
            (note, key, namespace, mark, _blob(islice(rows, len(np.atleast_2d(vector))), model.precision))
            for note, namespace, mark, vector in vectors
        ],
    )


def _blob(rows: Iterable[Vector], precision: str) -> bytes:
    """Return the rows of a note's pieces, one behind the other."""
    return b"".join(row.astype(precision, copy=False).tobytes() for row in rows)


def vectors_of(connection: apsw.Connection, active: tuple[int, Model], notes: Sequence[Note]) -> list[Vector | None]:
    """Return for each note its vector, if it stands for the note's text as it is here."""
    key, model = active
    ids: dict[str, list[str]] = {}
    for note in notes:
        ids.setdefault(note.namespace, []).append(note.id)
    found = {
        (namespace, note): (mark, vector)
        for namespace, asked in ids.items()
        for note, mark, vector in connection.execute(
            "SELECT n.id, v.digest, v.vector FROM json_each(?) AS asked CROSS JOIN notes AS n "
            "ON n.namespace = (SELECT key FROM namespaces WHERE name = ?) AND n.id = asked.value "
            "JOIN vectors AS v ON v.note = n.key AND v.model = ?",
            (json.dumps(asked), namespace, key),
        )
    }
    return [_vector_of(note, model, *found.get((note.namespace, note.id), (b"", b""))) for note in notes]


def _vector_of(note: Note, model: Model, mark: bytes, vector: bytes) -> Vector | None:
    if mark != digest(embedding_text(note.title, note.summary, note.content)):
        return None
    rows = rows_of(vector, model).astype(np.float32)
    return rows[0] if len(rows) == 1 else rows


def stored_texts(
    connection: apsw.Connection, model: Model, namespace: str, ids: Sequence[str], paths: Sequence[str]
) -> list[StoredText]:
    """Return the texts of the notes with one of these ids or paths, and whether they have a vector of ``model``."""
    # One statement for each column: a UNION of both walks over the whole namespace.
    stored: dict[str, StoredText] = {}
    for column, names in (("id", ids), ("path", paths)):
        rows = connection.execute(
            "SELECT id, path, title, summary, content, EXISTS ("  # noqa: S608 (names of our own)
            "SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "
            "WHERE v.note = notes.key AND (m.name, m.dimension, m.precision) = (?, ?, ?)) "
            "FROM notes WHERE namespace = (SELECT key FROM namespaces WHERE name = ?) "
            f"AND {column} IN (SELECT value FROM json_each(?))",
            (*model, namespace, json.dumps(names)),
        )
        stored.update((row[0], StoredText(*row)) for row in rows)
    return list(stored.values())


def pending(connection: apsw.Connection, model: Model, limit: int, after: Any) -> list[Pending]:
    """Return notes of any namespace that have no vector of ``model``, from the one behind ``after`` on."""
    rows = connection.execute(
        "SELECT key, title, summary, content FROM notes WHERE key > ? AND NOT EXISTS ("
        "SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "
        "WHERE v.note = notes.key AND (m.name, m.dimension, m.precision) = (?, ?, ?)) ORDER BY key LIMIT ?",
        (after or 0, *model, limit),
    )
    return [Pending(key, embedding_text(*text)) for key, *text in rows]


def embed(connection: apsw.Connection, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
    """Write vectors of notes whose text is still the one that was embedded; return how many."""
    ready = []
    for waiting, vector in vectors:
        row = connection.execute(
            "SELECT namespace, title, summary, content FROM notes WHERE key = ?", (waiting.key,)
        ).get
        if row and embedding_text(*row[1:]) == waiting.text:
            ready.append((waiting.key, row[0], digest(waiting.text), vector))
    if ready:
        write_vectors(connection, model, ready)
    return len(ready)


def activate(connection: apsw.Connection, model: Model) -> bool:
    """Make ``model`` the one that is searched with and drop all other vectors, if no note lacks one."""
    lacking = connection.execute(
        "SELECT 1 FROM notes WHERE key NOT IN (SELECT note FROM vectors JOIN models ON models.key = model "
        "WHERE (name, dimension, precision) = (?, ?, ?)) LIMIT 1",
        tuple(model),
    ).get
    if lacking:
        return False
    key = model_key(connection, model)
    connection.execute("UPDATE models SET active = NULL WHERE key <> ?", (key,))
    connection.execute("UPDATE models SET active = 1 WHERE key = ?", (key,))
    connection.execute("DELETE FROM vectors WHERE model <> ?", (key,))
    connection.execute("DELETE FROM models WHERE key <> ?", (key,))
    connection.execute("DELETE FROM snapshots WHERE model NOT IN (0, ?)", (key,))
    return True
