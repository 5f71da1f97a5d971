"""What one call reads: the generation that is searched, at one consistency and by one clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from recollect.stores.base import Model
from recollect.stores.milvus.client import ASKED_AT_ONCE, Client
from recollect.stores.milvus.directory import Directories
from recollect.stores.milvus.generations import Generation, State
from recollect.stores.milvus.levels import STRONG
from recollect.stores.milvus.rows import Stored, hashed, stored_of
from recollect.stores.milvus.schema import NOTE_FIELDS, RECORDS

__all__ = ["RECORD_FIELDS", "Reader", "namespace_record"]

RECORD_FIELDS = ("key", "kind", "owner", "body")


class Reader:
    """Reads for one call."""

    def __init__(
        self, client: Client, state: State, now: int, directories: Directories, *, level: str = STRONG
    ) -> None:
        """Read what ``state`` says is searched; ``now`` is in microseconds since 1970."""
        self.client = client
        self.state = state
        self.now = now
        self.level = level
        self._directories = directories

    @property
    def lite(self) -> bool:
        """Whether this is Milvus Lite."""
        return self.client.lite

    @property
    def model(self) -> Model | None:
        """The model whose vectors are searched."""
        return self.state.active.model

    def query(self, expression: str, fields: Sequence[str], limit: int | None = None) -> list[dict[str, Any]]:
        """Return the rows that an expression holds for, in the order of their keys."""
        return self.client.rows(self.state.active.collection, expression, fields, limit=limit, level=self.level)

    def search(
        self,
        field: str,
        query: Any,
        expression: str,
        fields: Sequence[str],
        limit: int,
        params: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the rows whose vector in a field is nearest to a query, nearest first, each with its ``distance``."""
        collection = self.state.active.collection
        return self.client.search(collection, field, query, expression, fields, limit, level=self.level, params=params)

    def get(
        self, keys: Sequence[int], fields: Sequence[str], generation: Generation | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows with these keys that are there."""
        collection = (generation or self.state.active).collection
        return self.client.get(collection, keys, fields, level=self.level)

    def count(self, expression: str) -> int:
        """Return how many rows an expression holds for."""
        return self.client.count(self.state.active.collection, expression, level=self.level)

    def walk(self, home: int | None, fields: Sequence[str], after: int = -1) -> Iterator[dict[str, Any]]:
        """Yield row 0 of every note of a namespace, or of all, in the order in which they came."""
        wall = "" if home is None else f"namespace == {home} and "
        expression = f"{wall}part == 0 and key > {after}"
        for page in self.client.pages(self.state.active.collection, expression, fields, level=self.level):
            yield from page

    def found(self, expression: str, limit: int | None = None) -> dict[int, Stored]:
        """Return the notes whose row 0 an expression holds for, by their keys, in the order in which they came."""
        rows = self.query(f"part == 0 and {expression}", NOTE_FIELDS, limit)
        long = self.notes(row["note"] for row in rows if row["parts"] > 1)
        return {row["note"]: long.get(row["note"]) or stored_of([row]) for row in rows}

    def notes(self, keys: Iterable[int], generation: Generation | None = None) -> dict[int, Stored]:
        """Return notes by their keys, in that order, those that are there."""
        wanted = list(keys)
        found = {row["note"]: [row] for row in self.get(wanted, NOTE_FIELDS, generation)}
        more = [key + part for key, (row,) in found.items() for part in range(1, row["parts"])]
        for row in sorted(self.get(more, NOTE_FIELDS, generation), key=lambda row: int(row["part"])):
            found[row["note"]].append(row)
        return {key: stored_of(found[key]) for key in wanted if key in found}

    def sees(self, stored: Stored) -> bool:
        """Return whether a note is not due yet."""
        return stored.row.expires_at is None or stored.row.expires_at > self.now

    def keys_named(self, home: int, ids: Sequence[str], paths: Sequence[str]) -> list[int]:
        """Return the keys of notes that may have one of these ids or paths.

        Lite would look at every row: where nobody else writes, what is known in memory is as good.
        """
        known = self._directories.known(self, home) if self.lite else None
        if known is not None:
            keys = [*map(known.ids.get, ids), *map(known.paths.get, paths)]
            return list(dict.fromkeys(key for key in keys if key is not None))
        found: dict[int, None] = {}
        for field, kind, names in (("id", "id", ids), ("path_hash", "path", paths)):
            numbers = [hashed(kind, name) for name in names]
            for start in range(0, len(numbers), ASKED_AT_ONCE):
                expression = (
                    f"namespace == {home} and part == 0 and {field} in {numbers[start : start + ASKED_AT_ONCE]}"
                )
                found.update((row["key"], None) for row in self.query(expression, ["key"]))
        return list(found)

    def named(self, home: int, ids: Sequence[str], paths: Sequence[str]) -> list[Stored]:
        """Return the notes with one of these ids, then those with one of these paths."""
        notes = list(self.notes(self.keys_named(home, ids, paths)).values())
        with_id, with_path = set(ids), set(paths)
        return [
            *(stored for stored in notes if stored.row.id in with_id),
            *(stored for stored in notes if stored.row.id not in with_id and stored.row.path in with_path),
        ]

    def record(self, key: str) -> Any:
        """Return what a record says."""
        rows = self.client.get(RECORDS, [key], RECORD_FIELDS, level=self.level)
        return json.loads(rows[0]["body"]) if rows else None

    def records(self, kind: str, owner: int | None = None) -> dict[str, Any]:
        """Return the records of a kind by their keys, or those that one namespace has."""
        expression = f'kind == "{kind}"' if owner is None else f'kind == "{kind}" and owner == {owner}'
        return {
            row["key"]: json.loads(row["body"])
            for row in self.client.rows(RECORDS, expression, RECORD_FIELDS, level=self.level)
        }

    def revision(self, home: int) -> int:
        """Return a number that is the same as long as no other process writes to a namespace."""
        if self.lite:
            return 0
        record = self.record(namespace_record(home))
        return int(record["revision"]) if record else 0


def namespace_record(home: int) -> str:
    """Return the key of a namespace's record."""
    return f"namespace/{home}"
