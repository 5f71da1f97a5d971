"""Vectors and the generations that hold them: one model's each, made when its first vector comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import ArgumentError
from recollect.stores.base import Model, Pending, digest
from recollect.stores.batches import NewVector
from recollect.stores.changes import text_of
from recollect.stores.milvus.client import Client
from recollect.stores.milvus.generations import STATE, Generation, State
from recollect.stores.milvus.journal import record
from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.rows import Stored, rows_of
from recollect.stores.milvus.schema import RECORDS, notes_index, notes_schema
from recollect.stores.milvus.writing import Pieces, Writer
from recollect.stores.units import unit_rows

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["GIVEN", "activate", "begin_generation", "embed", "generation_for", "keep_state", "pending", "unit_pieces"]

GIVEN = "given"
"""The name of the model whose vectors came from the caller, without a name."""
COPIED_AT_ONCE = 500


def unit_pieces(
    state: State, model: Model | None, vectors: Sequence[NewVector]
) -> tuple[Model | None, dict[int, Pieces]]:
    """Return the vectors of notes at unit length, and the model whose they are.

    Vectors without a model are taken to be of the one that the store is searched with, if there is one.
    """
    if not vectors:
        return model, {}
    if model is None:
        model = state.active.model or Model(GIVEN, np.shape(vectors[0].vector)[-1])
    for new in vectors:
        has = np.shape(new.vector)[-1]
        if has != model.dimension:
            raise ArgumentError(
                "vector", f"has {has} numbers; the model {model.name!r} makes vectors of {model.dimension}"
            )
    pieces = {}
    for new in vectors:
        rows = unit_rows(np.atleast_2d(np.asarray(new.vector, dtype=np.float32)))
        pieces[new.note] = Pieces(rows.astype(model.precision).astype(np.float32), new.digest.hex())
    return model, pieces


def begin_generation(client: Client, generation: Generation) -> None:
    """Make the collection of a generation, empty; one that was left half made gives way."""
    if generation.collection in client.collections():
        client.drop(generation.collection)
    client.create(
        generation.collection, notes_schema(generation.dimension, lite=client.lite), notes_index(lite=client.lite)
    )


def keep_state(client: Client, state: State) -> None:
    """Write down which generations there are; from now on that is so. What is no longer among them is dropped."""
    client.upsert(RECORDS, [record(STATE, "store", 0, state.body())])
    wanted = {generation.collection for generation in state.generations}
    for name in client.collections():
        if name.startswith("notes_") and name not in wanted:
            client.drop(name)


def generation_for(writer: Writer, model: Model) -> Generation:
    """Return the generation of a model; a new one begins with all notes and no vectors.

    It is searched from now on if no other model is; the generation without a model gives way to it.
    """
    known = writer.state.of(model)
    if known is not None:
        return known
    state = writer.state
    generation = Generation(state.next_number, model)
    begin_generation(writer.client, generation)
    some: list[int] = []
    for row in writer.walk(None, ["key"]):
        some.append(row["key"])
        if len(some) == COPIED_AT_ONCE:
            _copy(writer, generation, some)
            some = []
    _copy(writer, generation, some)
    first = state.active.model is None
    writer.switch(State((generation,) if first else (*state.generations, generation)))
    return generation


def _copy(writer: Writer, generation: Generation, keys: Sequence[int]) -> None:
    rows = [row for stored in writer.notes(keys).values() for row in rows_of(stored, None, "", generation.dimension)]
    writer.client.upsert(generation.collection, rows)


def pending(reader: Reader, model: Model, limit: int, after: Any) -> list[Pending]:
    """Return notes of any namespace that have no vector of ``model``, from the one behind ``after`` on."""
    generation = reader.state.of(model)
    lacking = "part == 0" if generation is None else "part == 0 and piece < 0"
    place = -1 if after is None else after
    rows = reader.client.rows(
        (generation or reader.state.active).collection,
        f"{lacking} and key > {place} and expires > {reader.now}",
        ["key"],
        limit=limit,
        level=reader.level,
    )
    found = reader.notes([row["key"] for row in rows])
    return [Pending(key, text_of(stored.row)) for key, stored in found.items()]


def embed(writer: Writer, model: Model, vectors: Sequence[tuple[Pending, Vector]]) -> int:
    """Write vectors of notes whose text is still the one that was embedded; return how many."""
    there = writer.notes(waiting.key for waiting, _ in vectors)
    ready: list[NewVector] = []
    notes: dict[int, Stored] = {}
    for waiting, vector in vectors:
        stored = there.get(waiting.key)
        if stored is not None and text_of(stored.row) == waiting.text:
            ready.append(NewVector(waiting.key, stored.row.namespace, digest(waiting.text), vector))
            notes[waiting.key] = stored
    if not ready:
        return 0
    _, pieces = unit_pieces(writer.state, model, ready)
    write_pieces(writer, generation_for(writer, model), notes, pieces)
    return len(ready)


def write_pieces(
    writer: Writer, generation: Generation, notes: Mapping[int, Stored], pieces: Mapping[int, Pieces]
) -> None:
    """Give notes, which say the same as before, these vectors in one generation."""
    held = writer.pieces(generation, list(notes))
    for key, stored in notes.items():
        rows = writer.rows(stored, pieces[key], generation)
        writer.work.upsert(generation.collection, rows)
        writer.work.delete(generation.collection, range(key + len(rows), key + held[key].parts))


def activate(writer: Writer, model: Model) -> bool:
    """Make ``model`` the one that is searched with and drop all other vectors, if no note lacks one."""
    generation = writer.state.of(model)
    lacking = "part == 0" if generation is None else "part == 0 and piece < 0"
    collection = (generation or writer.state.active).collection
    if writer.client.rows(collection, lacking, ["key"], limit=1):
        return False
    writer.switch(State((generation or generation_for(writer, model),)))
    return True
