"""Vectors in the tables: written with their model, of unit length, and replaced when a model gives way to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.errors import ArgumentError
from recollect.model import embedding_text
from recollect.stores.base import Model, Pending, digest
from recollect.stores.batches import NewVector, StoredText
from recollect.stores.postgres.tables import columns
from recollect.stores.postgres.text import FloatArray as Numbers
from recollect.stores.postgres.text import lookup_hash as mark
from recollect.stores.units import unit_rows

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["GIVEN", "activate", "active_model", "embed", "pending", "stored_texts", "write_vectors"]

GIVEN = "given"
"""The name of the model whose vectors came from the caller, without a name."""

WIDEST = 16_000
"""How many numbers PostgreSQL's own vectors may have; those that have more are kept, but not as such."""


def active_model(connection: Connection[TupleRow]) -> tuple[int, Model] | None:
    """Return the key and the description of the model that the store is searched with."""
    row = connection.execute("SELECT key, name, dimension, precision FROM models WHERE active").fetchone()
    return None if row is None else (row[0], Model(*row[1:]))


def _alone_with_models(connection: Connection[TupleRow]) -> tuple[int, Model] | None:
    """Let nobody else bring a model until the transaction ends, and return the active one as it is then."""
    connection.execute("LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE")
    return active_model(connection)


def _model_key(connection: Connection[TupleRow], model: Model) -> int:
    """Return the key of a model, which becomes the active one if there is none."""
    connection.execute(
        "INSERT INTO models (name, dimension, precision, active) "
        "SELECT %s, %s, %s, NOT EXISTS (SELECT 1 FROM models WHERE active) ON CONFLICT DO NOTHING",
        [*model],
    )
    ((key,),) = connection.execute(
        "SELECT key FROM models WHERE (name, dimension, precision) = (%s, %s, %s)", [*model]
    ).fetchall()
    return int(key)


def write_vectors(connection: Connection[TupleRow], model: Model | None, vectors: Sequence[NewVector]) -> None:
    """Write vectors in place of those of the same notes and model.

    Vectors without a model are taken to be of the one that the store is searched with, if there is one.
    """
    active = active_model(connection)
    if active is None or (model is not None and active[1] != model):
        active = _alone_with_models(connection)
    if model is None:
        model = active[1] if active else Model(GIVEN, np.shape(vectors[0].vector)[-1])
    for each in vectors:
        if np.shape(each.vector)[-1] != model.dimension:
            has = np.shape(each.vector)[-1]
            raise ArgumentError(
                "vector", f"has {has} numbers; the model {model.name!r} makes vectors of {model.dimension}"
            )
    pieces = [np.atleast_2d(each.vector) for each in vectors]
    rows = unit_rows(np.concatenate(pieces))
    key = active[0] if active and active[1] == model else _model_key(connection, model)
    held = rows.astype(model.precision, copy=False)
    owners = [(each, piece) for each, parts in zip(vectors, pieces, strict=True) for piece in range(len(parts))]
    given = [
        (each.note, piece, each.namespace, each.digest, row.tobytes())
        for (each, piece), row in zip(owners, held, strict=True)
    ]
    connection.execute(
        "DELETE FROM vectors WHERE model = %s AND note = ANY (%s)", [key, [each.note for each in vectors]]
    )
    near = model.dimension if model.dimension <= WIDEST else None
    connection.execute(_WRITE, [key, near, Numbers.of(rows if near else rows[:0]), near, near, *columns(given, 5)])


def stored_texts(
    connection: Connection[TupleRow], model: Model, namespace: int, ids: Sequence[str], paths: Sequence[str]
) -> list[StoredText]:
    """Return the texts of the notes with one of these ids or paths, and whether they have a vector of ``model``."""
    rows = connection.execute(
        "SELECT id, path, title, summary, content, EXISTS ("
        "SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "
        "WHERE v.note = n.key AND (m.name, m.dimension, m.precision) = (%s, %s, %s)) "
        "FROM living AS n WHERE namespace = %s AND (id_mark = ANY (%b) OR path_mark = ANY (%b))",
        [*model, namespace, [mark(name) for name in ids], [mark(name) for name in paths]],
    )
    return [StoredText(*row) for row in rows]


def pending(connection: Connection[TupleRow], model: Model, limit: int, after: Any) -> list[Pending]:
    """Return notes of any namespace that have no vector of ``model``, from the one behind ``after`` on."""
    rows = connection.execute(
        "SELECT key, title, summary, content FROM living AS n WHERE key > %s AND NOT EXISTS ("
        "SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "
        "WHERE v.note = n.key AND (m.name, dimension, precision) = (%s, %s, %s)) ORDER BY key LIMIT %s",
        [after or 0, *model, limit],
    )
    return [Pending(key, embedding_text(*text)) for key, *text in rows]


def embed(connection: Connection[TupleRow], model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
    """Write vectors of notes whose text is still the one that was embedded; return how many."""
    latest = {waiting.key: (waiting, vector) for waiting, vector in vectors}
    # Who changes a text has its namespace to itself.
    connection.execute(
        "SELECT key FROM namespaces WHERE key IN (SELECT namespace FROM notes WHERE key = ANY (%s)) "
        "ORDER BY key FOR NO KEY UPDATE",
        [list(latest)],
    )
    rows = connection.execute(
        "SELECT key, namespace, title, summary, content FROM living WHERE key = ANY (%s)", [list(latest)]
    )
    there = {key: (namespace, embedding_text(*text)) for key, namespace, *text in rows}
    ready = [
        NewVector(waiting.key, there[waiting.key][0], digest(waiting.text), vector)
        for waiting, vector in latest.values()
        if waiting.key in there and there[waiting.key][1] == waiting.text
    ]
    if ready:
        write_vectors(connection, model, ready)
    return len(ready)


def activate(connection: Connection[TupleRow], model: Model) -> bool:
    """Make ``model`` the one that is searched with and drop all other vectors, if no note lacks one."""
    # All who write begin with the row of their namespace: they wait, and those who are at it are waited for.
    connection.execute("LOCK TABLE namespaces IN EXCLUSIVE MODE")
    ((lacking,),) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM living AS n WHERE NOT EXISTS ("
        "SELECT 1 FROM vectors AS v JOIN models AS m ON m.key = v.model "
        "WHERE v.note = n.key AND (m.name, dimension, precision) = (%s, %s, %s)))",
        [*model],
    ).fetchall()
    if lacking:
        return False
    _alone_with_models(connection)
    key = _model_key(connection, model)
    connection.execute("UPDATE models SET active = false WHERE active AND key <> %s", [key])
    connection.execute("UPDATE models SET active = true WHERE key = %s", [key])
    connection.execute("DELETE FROM vectors WHERE model <> %s", [key])
    connection.execute("DELETE FROM models WHERE key <> %s", [key])
    return True


_WRITE = """
INSERT INTO vectors (model, near, note, piece, namespace, digest, vector)
SELECT %s, CASE WHEN %s::int IS NOT NULL THEN (%s)[(at - 1) * %s + 1 : at * %s]::halfvec END,
    note, piece, namespace, digest, vector
FROM unnest(%b::bigint[], %b::int[], %b::int[], %b::bytea[], %b::bytea[])
    WITH ORDINALITY AS new (note, piece, namespace, digest, vector, at)
"""
