"""Searching by vectors: the engine finds the rows that are near, and the order is computed again, as everywhere.

A note has a row for each piece of its text and is as near as the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.model import Candidate, Filters, Note, embedding_text
from recollect.query import Query
from recollect.stores.base import Model, ModelChangedError, digest
from recollect.stores.milvus.client import MOST_RESULTS
from recollect.stores.milvus.directory import Directory
from recollect.stores.milvus.filtering import among, conditions, within
from recollect.stores.milvus.rows import hashed, namespace_key
from recollect.stores.milvus.searching import View
from recollect.stores.units import nearness, unit_query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.stores.base import Vector
    from recollect.stores.milvus.reading import Reader

__all__ = ["search_vectors", "similarities", "vectors_of"]

SPARE = 16
"""How many rows more than notes are wanted are asked for first."""
ROUNDING = 4e-6
"""More than float32 can be wrong by in the product of two vectors of unit length and a few thousand numbers."""


def search_vectors(
    reader: Reader,
    directory: Directory,
    vector: Vector,
    limit: int,
    filters: Filters,
    without: Query | None = None,
    model: Model | None = None,
) -> list[Candidate]:
    """Return the notes with the nearest vectors; ties by path, then id."""
    active = reader.model
    if model is not None and active is not None and active != model:
        raise ModelChangedError(active)
    if active is None or limit <= 0:
        return []
    unit = unit_query(vector, active)
    view = View(reader, directory)
    excluded = view.excluded(without)
    parts = ["piece >= 0", view.alive, *conditions(filters)]
    if excluded:
        parts.append(f"not ({among(sorted(excluded), 'note')})")
    similarity = _nearest(reader, within(directory.namespace, *parts), unit, limit)
    found = [key for key in similarity if key in directory.notes]
    best = sorted(found, key=lambda key: (-similarity[key], *view.place(key)))[:limit]
    listed = view.candidates(best)
    for rank, (key, candidate) in enumerate(listed.items(), start=1):
        candidate.vector_rank = rank
        candidate.vector_similarity = candidate.score = similarity[key]
    return list(listed.values())


def similarities(
    reader: Reader, directory: Directory, vector: Vector, ids: Sequence[str], model: Model | None = None
) -> dict[str, float]:
    """Return how near the notes with these ids are to a vector, as a search would say it."""
    active = reader.model
    if active is None or (model is not None and active != model):
        return {}  # nobody can tell
    query = unit_query(vector, active).astype(np.float64)
    keys = [directory.ids[each] for each in dict.fromkeys(ids) if each in directory.ids]
    seen = View(reader, directory).passing(keys, Filters())
    pieces = _pieces(reader, directory.namespace, seen)
    return {directory.notes[key].id: nearness(pieces[key], query) for key in seen if key in pieces}


def vectors_of(reader: Reader, notes: Sequence[Note]) -> tuple[Model | None, list[Vector | None]]:
    """Return the model that the store is searched with, and its vectors of notes that say the same here."""
    active = reader.model
    if active is None:
        return None, [None] * len(notes)
    held: dict[tuple[int, int], dict[str, list[list[float]]]] = {}
    for home, wanted in _by_namespace(notes).items():
        expression = within(home, "piece >= 0", f"expires > {reader.now}", among(wanted, "id"))
        for row in reader.query(expression, ["id", "digest", "vector"]):
            held.setdefault((home, row["id"]), {}).setdefault(row["digest"], []).append(row["vector"])
    found: list[Vector | None] = []
    for note in notes:
        mark = digest(embedding_text(note.title, note.summary, note.content)).hex()
        pieces = held.get((namespace_key(note.namespace), hashed("id", note.id)), {}).get(mark)
        rows = None if pieces is None else np.array(pieces, dtype=np.float32)
        found.append(rows[0] if rows is not None and len(rows) == 1 else rows)
    return active, found


def _nearest(reader: Reader, expression: str, unit: Vector, limit: int) -> dict[int, float]:
    """Return the similarities of the nearest notes, all that may be among the nearest so many."""
    query = unit.astype(np.float64)
    reach = limit + SPARE
    while reach <= MOST_RESULTS:
        rows = reader.search("vector", unit.tolist(), expression, _FIELDS, reach)
        found = _similarities(reader, rows, query)
        if len(rows) < reach:
            return found
        # What was not returned is no nearer than the last that was, but for rounding.
        edge = nearness(_matrix([rows[-1]]), query) + ROUNDING
        if sum(each > edge for each in found.values()) >= limit:
            return found
        reach *= 4
    return _similarities(reader, reader.query(expression, _FIELDS), query)


def _similarities(reader: Reader, rows: Sequence[Mapping[str, Any]], query: NDArray[np.float64]) -> dict[int, float]:
    """Return how near the notes of some rows are; of those that have several, all rows count."""
    alone = {row["note"]: _matrix([row]) for row in rows if row["parts"] == 1}
    others = dict.fromkeys(row["note"] for row in rows if row["parts"] > 1)
    pieces = alone | (_pieces(reader, rows[0]["namespace"], list(others)) if others else {})
    return {note: nearness(each, query) for note, each in pieces.items()}


def _pieces(reader: Reader, namespace: int, notes: Sequence[int]) -> dict[int, NDArray[np.float32]]:
    """Return the vectors of notes, those of one in a matrix; notes without any are left out."""
    held: dict[int, list[Mapping[str, Any]]] = {}
    if notes:
        expression = within(namespace, "piece >= 0", among(notes, "note"))
        for row in reader.query(expression, ["note", "vector"]):
            held.setdefault(row["note"], []).append(row)
    return {note: _matrix(rows) for note, rows in held.items()}


def _matrix(rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    return np.array([row["vector"] for row in rows], dtype=np.float32)


def _by_namespace(notes: Sequence[Note]) -> dict[int, list[int]]:
    wanted: dict[int, list[int]] = {}
    for note in notes:
        wanted.setdefault(namespace_key(note.namespace), []).append(hashed("id", note.id))
    return wanted


_FIELDS = ("key", "note", "namespace", "parts", "vector")
