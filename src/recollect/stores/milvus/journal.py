"""What makes a batch whole: it is written down as one entry before anything of it is done, and struck out afterwards.

All steps of an entry can be done twice. Where a process ends between them, whoever opens the store next does them
again; an entry that was not written down as a whole was never begun, and is struck out.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from recollect.stores.milvus.client import MOST_RESULTS, Client, chunks
from recollect.stores.milvus.rows import cut
from recollect.stores.milvus.schema import BLANK_DIMENSION, RECORDS

__all__ = ["Work", "apply", "record", "recover", "strike_out", "write_down"]


class Work:
    """What a batch writes and deletes, collection by collection."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.upserts: dict[str, dict[Any, Mapping[str, Any]]] = {}
        self.deletes: dict[str, dict[Any, None]] = {}
        self.notices: dict[str, Mapping[str, Any]] = {}
        """Records that may be lost with the process: they say that others should read anew."""

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return bool(self.upserts or self.deletes)

    def upsert(self, collection: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows in place of those with the same keys."""
        if rows:
            self.upserts.setdefault(collection, {}).update((row["key"], row) for row in rows)

    def delete(self, collection: str, keys: Collection[Any]) -> None:
        """Delete rows by their keys."""
        if keys:
            self.deletes.setdefault(collection, {}).update(dict.fromkeys(keys))

    def is_one_step(self) -> bool:
        """Return whether Milvus Lite does it at once or not at all: one call, which it logs as one."""
        if len(self.upserts) + len(self.deletes) > 1:
            return False
        for rows in self.upserts.values():
            homes = {row.get("namespace") for row in rows.values()}
            if len(homes) > 1 or sum(1 for _ in chunks(list(rows.values()))) > 1:
                return False
        return all(len(keys) <= MOST_RESULTS for keys in self.deletes.values())

    def text(self) -> str:
        """Return it as an entry holds it."""
        upserts = {name: [_packed(row) for row in rows.values()] for name, rows in self.upserts.items()}
        deletes = {name: list(keys) for name, keys in self.deletes.items()}
        return json.dumps([upserts, deletes, list(map(_packed, self.notices.values()))], ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Work:
        """Return what an entry holds."""
        upserts, deletes, notices = json.loads(text)
        work = cls()
        for name, rows in upserts.items():
            work.upsert(name, list(map(_unpacked, rows)))
        for name, keys in deletes.items():
            work.delete(name, keys)
        work.notices = {row["key"]: row for row in map(_unpacked, notices)}
        return work


def record(key: str, kind: str, owner: int, body: str) -> dict[str, Any]:
    """Return a row of the records."""
    return {"key": key, "kind": kind, "owner": owner, "body": body, "vector": [0.0] * BLANK_DIMENSION}


def write_down(client: Client, number: int, work: Work) -> list[str]:
    """Write an entry, and return the keys of its records."""
    parts = cut(work.text())
    rows = [
        record(f"journal/{number:020}/{place:06}/{len(parts):06}", "journal", number, part)
        for place, part in enumerate(parts)
    ]
    client.upsert(RECORDS, rows)
    return [row["key"] for row in rows]


def apply(client: Client, work: Work, collections: Collection[str] | None = None) -> None:
    """Do all of it; what concerns other collections than these is no longer of interest to anybody."""
    for name, rows in work.upserts.items():
        if collections is None or name in collections:
            client.upsert(name, list(rows.values()))
    for name, keys in work.deletes.items():
        if collections is None or name in collections:
            client.delete(name, list(keys))
    if work.notices:  # last: who reads anew then finds all
        client.upsert(RECORDS, list(work.notices.values()))


def strike_out(client: Client, keys: Sequence[str]) -> None:
    """Forget an entry whose steps are done."""
    client.delete(RECORDS, keys)


def recover(client: Client, before: int, *, first: int = 0) -> int:
    """Do what entries say, oldest first, whose numbers are from ``first`` to below ``before``.

    Return how many of them were whole.
    """
    entries: dict[int, list[dict[str, Any]]] = {}
    expression = f'kind == "journal" and owner >= {first} and owner < {before}'
    for row in client.rows(RECORDS, expression, ["key", "owner", "body"]):
        entries.setdefault(row["owner"], []).append(row)
    collections = client.collections() if entries else []
    done = 0
    for _, rows in sorted(entries.items()):
        if len(rows) == int(rows[0]["key"].rpartition("/")[2]):  # in the order of their keys: of their parts
            apply(client, Work.read("".join(row["body"] for row in rows)), collections)
            done += 1
        strike_out(client, [row["key"] for row in rows])
    return done


def _packed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its vector in fewer letters."""
    return {**row, "vector": b64encode(np.asarray(row["vector"], dtype="<f4").tobytes()).decode()}


def _unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "vector": np.frombuffer(b64decode(row["vector"]), dtype="<f4").tolist()}
