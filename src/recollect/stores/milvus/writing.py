"""A batch becomes rows of every generation, whole, and what is known in memory follows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ArgumentError, StoreError
from recollect.stores.batches import Plan
from recollect.stores.milvus.client import Client
from recollect.stores.milvus.directory import Directories
from recollect.stores.milvus.generations import Generation, State
from recollect.stores.milvus.journal import Work, record
from recollect.stores.milvus.reading import Reader, namespace_record
from recollect.stores.milvus.rows import Stored, namespace_key, rows_of
from recollect.stores.milvus.schema import NEVER, RECORDS
from recollect.stores.milvus.words import Words

if TYPE_CHECKING:
    from recollect.stores.milvus.keys import Keys

__all__ = ["Effect", "Pieces", "Writer", "write_plan"]


class Pieces(NamedTuple):
    """The vectors of a note in one generation."""

    rows: NDArray[np.float32] | None
    """One for each piece of its text; ``None`` where it has none."""
    digest: str = ""
    """What the text is known by that they stand for."""
    parts: int = 0
    """How many rows of the collection the note has."""


class Effect(NamedTuple):
    """What a batch does to one namespace, for who keeps it in memory."""

    gone: list[int]
    changed: list[Stored]
    words: list[Words]


class Writer(Reader):
    """Reads what a batch depends on, and collects what it writes."""

    def __init__(
        self,
        client: Client,
        state: State,
        now: int,
        directories: Directories,
        *,
        keys: Keys,
        switch: Callable[[State], None],
    ) -> None:
        """Begin with nothing to write; ``switch`` lets all that read from now on see other generations."""
        super().__init__(client, state, now, directories)
        self.keys = keys
        self._switch = switch
        self.work = Work()
        self.effects: dict[int, Effect] = {}
        self.earliest = NEVER
        """When the first of the notes that were written expires."""
        self._namespaces: dict[int, dict[str, Any]] = {}

    def switch(self, state: State) -> None:
        """Let there be these generations from now on, for all."""
        self._switch(state)
        self.state = state

    def namespace(self, name: str) -> int:
        """Return the key of a namespace, which begins here if it is new."""
        home = namespace_key(name)
        if home not in self._namespaces:
            known = self.record(namespace_record(home))
            if known is not None and known["name"] != name:
                raise StoreError(f"namespace {name!r} cannot be told from {known['name']!r} here; choose another name")
            self._namespaces[home] = known or {"name": name, "revision": 0, "last": 0}
            if known is None:
                body = json.dumps(self._namespaces[home])
                self.work.upsert(RECORDS, [record(namespace_record(home), "namespace", home, body)])
        return home

    def put(
        self,
        notes: Mapping[int, Stored],
        *,
        known: Collection[int] = (),
        stale: Collection[int] = (),
        target: Generation | None = None,
        vectors: Mapping[int, Pieces] | None = None,
    ) -> None:
        """Write notes, of which ``known`` are there already, into every generation.

        They keep their vectors, but for those that are ``stale``; into ``target`` go new ones.
        """
        words: dict[int, Words] = {}
        given = vectors or {}
        for generation in self.state.generations:
            held = self.pieces(generation, known)
            for key, stored in notes.items():
                before = held.get(key, Pieces(None))
                pieces = given[key] if generation == target and key in given else before
                if key in stale and pieces is before:
                    pieces = Pieces(None)
                rows = self.rows(stored, pieces, generation)
                self.work.upsert(generation.collection, rows)
                self.work.delete(generation.collection, range(key + len(rows), key + before.parts))
                words[key] = Words(rows[0]["words"], rows[0]["tokens"], rows[0]["whole"])
                self.earliest = min(self.earliest, rows[0]["expires"])
        for key, stored in notes.items():
            effect = self._effect(stored.row.namespace)
            effect.changed.append(stored)
            effect.words.append(words[key])

    def rows(self, stored: Stored, pieces: Pieces, generation: Generation) -> list[dict[str, Any]]:
        """Return the rows of a note in a generation; of one that has no room there, also its namespace is told."""
        try:
            return rows_of(stored, pieces.rows, pieces.digest, generation.dimension)
        except ArgumentError as error:
            name = self._known(stored.row.namespace)["name"]
            raise ArgumentError(error.argument, f"in namespace {name!r}, {error.problem}") from None

    def delete(self, gone: Mapping[int, Iterable[int]]) -> None:
        """Delete notes, given by namespace, from every generation."""
        for home, notes in gone.items():
            keys = list(notes)
            for generation in self.state.generations:
                for row in self.get(keys, ["key", "parts"], generation):
                    self.work.delete(generation.collection, range(row["key"], row["key"] + row["parts"]))
            if keys:
                self._effect(home).gone.extend(keys)

    def pieces(self, generation: Generation, notes: Collection[int]) -> dict[int, Pieces]:
        """Return the vectors that notes have in a generation; each that is there has an entry."""
        fields = ["note", "part", "parts", "piece", "digest", "vector"]
        found = {row["note"]: [row] for row in self.get(list(notes), fields, generation)}
        more = [key + part for key, (row,) in found.items() for part in range(1, row["parts"])]
        for row in sorted(self.get(more, fields, generation), key=lambda row: int(row["part"])):
            found[row["note"]].append(row)
        held = {}
        for key, rows in found.items():
            vectors = [row["vector"] for row in rows if row["piece"] >= 0]
            pieces = np.array(vectors, dtype=np.float32) if vectors else None
            held[key] = Pieces(pieces, rows[0]["digest"], rows[0]["parts"])
        return held

    def finish(self) -> dict[int, tuple[int, int]]:
        """Let others be told that namespaces changed; return the revision of each before and after."""
        revisions = {}
        for home in self.effects:
            known = self._known(home)
            told = {**known, "revision": self.keys.new(), "last": self.keys.last}
            row = record(namespace_record(home), "namespace", home, json.dumps(told))
            self.work.notices[row["key"]] = row
            revisions[home] = (0, 0) if self.lite else (known["revision"], told["revision"])
        return revisions

    def _known(self, home: int) -> dict[str, Any]:
        """Return what is noted of a namespace."""
        return self._namespaces.get(home) or self.record(namespace_record(home)) or {"name": "", "revision": 0}

    def _effect(self, home: int) -> Effect:
        return self.effects.setdefault(home, Effect([], [], []))


def write_plan(writer: Writer, plan: Plan, target: Generation | None, vectors: Mapping[int, Pieces]) -> None:
    """Write all that a batch decided; ``vectors`` are those of the plan, for the generation ``target``."""
    writer.delete(plan.gone)
    changed = {change.new.key: Stored(change.new, change.links) for change in plan.changes}
    known = [change.new.key for change in plan.changes if change.old]
    only_vectors = [key for key in vectors if key not in changed]
    notes = {**changed, **writer.notes(only_vectors)}
    writer.put(notes, known=[*known, *only_vectors], stale=set(plan.stale), target=target, vectors=vectors)
