"""How much a store holds, is every part of it whole, and what can be rebuilt if it is not."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.base import Finding, StoreStats, digest
from recollect.stores.changes import new_id, text_of
from recollect.stores.milvus.generations import Generation
from recollect.stores.milvus.reading import Reader
from recollect.stores.milvus.rows import Stored, rows_of, stored_of
from recollect.stores.milvus.schema import NEVER, SCHEMA_VERSION, WHOLE_ROW
from recollect.stores.milvus.tables import document_record, namespace_names
from recollect.stores.milvus.writing import Writer

__all__ = ["check", "rebuild", "stats"]

SHOWN = 3
"""How many of many problems are named."""

Rows = Sequence[dict[str, Any]]


def stats(reader: Reader) -> StoreStats:
    """Count all that can be seen."""
    names = namespace_names(reader)
    figures = (_counted_here if reader.lite else _counted_there)(reader, names)
    return StoreStats(
        location=reader.client.location,
        engine=reader.client.server(),
        schema=SCHEMA_VERSION,
        notes={names[home]: figures.notes.get(home, 0) for home in sorted(names, key=names.__getitem__)},
        expiring=figures.expiring,
        links=figures.links,
        documents=len(reader.records("document")),
        model=reader.model,
        vectors=figures.vectors,
        bytes=reader.client.size(),
    )


class _Figures(NamedTuple):
    notes: Mapping[int, int]
    expiring: int
    links: int
    vectors: Mapping[str, int]


def _alive(reader: Reader) -> str:
    return f"part == 0 and expires > {reader.now}"


def _models(reader: Reader) -> list[tuple[str, Generation]]:
    """Return the generations that have a model, in the order of its name."""
    found = [(each.model.name, each) for each in reader.state.generations if each.model]
    return sorted(found, key=lambda named: (named[0], named[1].number))


def _counted_here(reader: Reader, _: Mapping[int, str]) -> _Figures:
    """Count by one look at every row: to Lite each count would be one."""
    fields = ["namespace", "expires", "links", "piece"]
    seen = {
        each: reader.client.rows(each.collection, _alive(reader), fields, level=reader.level)
        for each in reader.state.generations
    }
    rows = seen[reader.state.active]
    return _Figures(
        notes=Counter(row["namespace"] for row in rows),
        expiring=sum(row["expires"] < NEVER for row in rows),
        links=sum(row["links"] for row in rows),
        vectors={name: sum(row["piece"] >= 0 for row in seen[each]) for name, each in _models(reader)},
    )


def _counted_there(reader: Reader, names: Mapping[int, str]) -> _Figures:
    """Let a cluster count."""
    alive, count = _alive(reader), reader.client.count
    return _Figures(
        notes={home: reader.count(f"namespace == {home} and {alive}") for home in names},
        expiring=reader.count(f"{alive} and expires < {NEVER}"),
        links=sum(row["links"] for row in reader.query(f"{alive} and links > 0", ["links"])),
        vectors={
            name: count(each.collection, f"{alive} and piece >= 0", level=reader.level)
            for name, each in _models(reader)
        },
    )


def check(reader: Reader) -> list[Finding]:
    """Look at every part."""
    problems: dict[str, list[str]] = {part: [] for part in ("notes", "names", "references", "rows", "vectors")}
    names, documents = namespace_names(reader), reader.records("document")
    taken: set[tuple[int, str, str]] = set()
    seen: set[int] = set()
    for generation in reader.state.generations:
        active = generation == reader.state.active
        there = set()
        for rows in _notes(reader, generation):
            stored = _read(rows)
            if stored is None:
                problems["notes"].append(f"note {rows[0]['note']} in {generation.collection} cannot be read")
                continue
            there.add(stored.row.key)
            if active:
                problems["names"] += _doubles(stored, taken)
                problems["references"] += _lost(stored, names, documents)
            vectors = _vectors(rows)
            if vectors is not None and rows[0]["digest"] != _digest(stored):
                problems["vectors"].append(f"the vector of note {stored.row.id} stands for another text")
            if not _alike(rows, rows_of(stored, vectors, rows[0]["digest"], generation.dimension)):
                problems["rows"].append(f"the words and filters of note {stored.row.id} are not those of its text")
        if not active and there != seen:
            problems["references"].append(f"{generation.collection} has other notes than the one that is searched")
        seen = seen or there
    return [Finding(part, _listed(found), repairable=part != "notes") for part, found in problems.items()]


def rebuild(writer: Writer) -> None:
    """Write every row anew from what its note says, keep the vectors that stand for it, and let no two share a name.

    Of two notes with one path or id the older keeps it. What cannot be read stays as it is.
    """
    documents = writer.records("document")
    taken: set[tuple[int, str, str]] = set()
    notes: dict[int, Stored] = {}
    for rows in _notes(writer, writer.state.active):
        stored = _read(rows)
        if stored is not None:
            notes[stored.row.key] = _mended(stored, taken, documents)
    for generation in writer.state.generations:
        missing = dict(notes)
        for rows in _notes(writer, generation):
            key = rows[0]["note"]
            if key in missing:
                _rewrite(writer, generation, missing.pop(key), rows)
            elif generation != writer.state.active:
                writer.client.delete(generation.collection, [row["key"] for row in rows])
        for stored in missing.values():
            _rewrite(writer, generation, stored, [])


def _rewrite(writer: Writer, generation: Generation, stored: Stored, rows: Rows) -> None:
    vectors = _vectors(rows)
    if vectors is not None and rows[0]["digest"] != _digest(stored):
        vectors = None
    right = rows_of(stored, vectors, _digest(stored), generation.dimension)
    if not _alike(rows, right):
        writer.client.upsert(generation.collection, right)
        kept = {row["key"] for row in right}
        writer.client.delete(generation.collection, [row["key"] for row in rows if row["key"] not in kept])


def _notes(reader: Reader, generation: Generation) -> Iterator[Rows]:
    """Yield the rows of each note of a generation."""

    def walk() -> Iterator[dict[str, Any]]:
        for page in reader.client.pages(generation.collection, "key >= 0", WHOLE_ROW):
            yield from page

    for _, rows in groupby(walk(), key=itemgetter("note")):
        yield list(rows)


def _read(rows: Rows) -> Stored | None:
    """Return the note in its rows, if it is whole."""
    if [row["part"] for row in rows] != list(range(rows[0]["parts"])):
        return None
    try:
        return stored_of(rows)
    except (ValueError, TypeError):
        return None


def _vectors(rows: Rows) -> NDArray[np.float32] | None:
    vectors = [row["vector"] for row in rows if row["piece"] >= 0]
    return np.array(vectors, dtype=np.float32) if vectors else None


def _digest(stored: Stored) -> str:
    return digest(text_of(stored.row)).hex()


def _alike(rows: Rows, right: Rows) -> bool:
    """Return whether rows say the same."""
    return len(rows) == len(right) and all(
        list(one[name]) == list(other[name]) if isinstance(other[name], list) else one[name] == other[name]
        for one, other in zip(rows, right, strict=True)
        for name in WHOLE_ROW
        # When a note was accessed is read from its first row, and written there alone whenever it is found.
        if name != "vector" and not (name == "accessed" and other["part"])
    )


def _names(stored: Stored) -> Iterator[tuple[int, str, str]]:
    yield stored.row.namespace, "id", stored.row.id
    if stored.row.path:
        yield stored.row.namespace, "path", stored.row.path


def _doubles(stored: Stored, taken: set[tuple[int, str, str]]) -> Iterator[str]:
    for name in _names(stored):
        if name in taken:
            yield f"two notes have the {name[1]} {name[2]}"
        taken.add(name)


def _lost(stored: Stored, names: dict[int, str], documents: dict[str, Any]) -> Iterator[str]:
    if stored.row.namespace not in names:
        yield f"the namespace of note {stored.row.id} has no name"
    if stored.row.document is not None and document_record(stored.row.document) not in documents:
        yield f"note {stored.row.id} belongs to a document that is not there"


def _mended(stored: Stored, taken: set[tuple[int, str, str]], documents: dict[str, Any]) -> Stored:
    row = stored.row
    if row.document is not None and document_record(row.document) not in documents:
        row = row._replace(document=None)
    if (row.namespace, "id", row.id) in taken:
        row = row._replace(id=new_id(time.time_ns() // 1000))
    if (row.namespace, "path", row.path) in taken:
        row = row._replace(path=None, name=None)
    mended = Stored(row, stored.links)
    taken.update(_names(mended))
    return mended


def _listed(problems: list[str]) -> str:
    more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more
