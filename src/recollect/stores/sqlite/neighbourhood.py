"""What lies one step from a note: what is beside it, linked, mentioned, or about the same entities.

Many notes are asked about at once, with one statement for each kind of connection.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

import apsw

from recollect.stores.base import Edge
from recollect.stores.entities import MOST_SHARING
from recollect.stores.mentions import MOST_BEARERS
from recollect.stores.rows import folded_name
from recollect.stores.sqlite import expiry
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.steps import BESIDE, DERIVED, FEW_LINKS, Step, gathered, links_among

__all__ = ["edges", "steps"]


def edges(
    connection: apsw.Connection,
    namespace: int,
    ids: Sequence[str],
    reach: int,
    kinds: Collection[str] | None = None,
) -> list[Edge]:
    """Return every connection of the notes with these ids, or those of some kinds."""
    if kinds is not None and not _there(connection, namespace, kinds):
        return []
    rows = connection.execute(
        "SELECT n.key FROM json_each(?) AS asked CROSS JOIN notes AS n ON n.namespace = ? AND n.id = asked.value "
        "ORDER BY asked.key",
        (json.dumps(ids), namespace),
    )
    found = steps(connection, namespace, [key for (key,) in rows], reach, kinds)
    ends = {end for step in found for end in step[:2]}
    names: dict[int, str] = dict(
        fetch(connection, "SELECT key, id FROM notes WHERE key IN (SELECT value FROM json_each(?))", (_listed(ends),))
    )
    return [Edge(names[step.source], names[step.target], *step[2:]) for step in found]


def steps(
    connection: apsw.Connection,
    namespace: int,
    notes: Sequence[int],
    reach: int = 1,
    kinds: Collection[str] | None = None,
) -> list[Step]:
    """Return every connection of these notes, or those of some kinds, each once, by note, and those of one by kind."""
    asked = dict.fromkeys(notes)
    if not asked:
        return []
    listed = _listed(asked)
    links = None if kinds is None else json.dumps(sorted(set(kinds) - DERIVED))
    searches: list[Iterator[Step]] = []
    if kinds is None or not BESIDE.isdisjoint(kinds):
        searches.append(_beside(connection, listed, reach))
    if links is not None and (few := _few(connection, namespace, links)) is not None:
        searches.append(_among(connection, namespace, asked, few))
    else:
        searches += _from(connection, namespace, listed, links), _to(connection, namespace, listed, links)
    if kinds is None or "mention" in kinds:
        searches.append(_mentions(connection, listed))
    if kinds is None or "entity" in kinds:
        searches.append(_shared(connection, listed))
    taken = gathered(asked, searches, kinds)
    return _seen(connection, taken) if expiry.hidden(connection) else taken


def _seen(connection: apsw.Connection, taken: list[Step]) -> list[Step]:
    """Return the steps that lead to a note that can be seen: titles and entities are listed without looking at it."""
    rows = fetch(
        connection,
        "SELECT key FROM notes WHERE key IN (SELECT value FROM json_each(?))",
        (_listed({step.target for step in taken}),),
    )
    seen = {key for (key,) in rows}
    return [step for step in taken if step.target in seen]


def _there(connection: apsw.Connection, namespace: int, kinds: Collection[str]) -> bool:
    """Return whether there can be a connection of these kinds at all."""
    links = json.dumps(sorted(set(kinds) - DERIVED))
    return not DERIVED.isdisjoint(kinds) or bool(
        connection.execute(
            "SELECT EXISTS (SELECT 1 FROM links WHERE namespace = ? AND kind IN (SELECT value FROM json_each(?)))",
            (namespace, links),
        ).get
    )


def _beside(connection: apsw.Connection, listed: str, reach: int) -> Iterator[Step]:
    """Find the notes before and behind in a conversation or document, the nearest first."""
    for kind, comparison, order in (("previous", "<", "DESC"), ("next", ">", "ASC")):
        rows = connection.execute(
            # Places of one number are in the order in which their notes came.
            f"""
            SELECT n.key, beside.key FROM json_each(?) AS asked JOIN notes AS n ON n.key = asked.value
            JOIN notes AS beside ON beside.key IN (
                SELECT key FROM notes AS other WHERE other.namespace = n.namespace AND other.session = n.session
                AND (other.position, other.key) {comparison} (n.position, n.key)
                ORDER BY other.position {order}, other.key {order} LIMIT ?
            )
            ORDER BY n.key, beside.position {order}, beside.key {order}
            """,  # noqa: S608 (signs of our own)
            (listed, max(reach, 0)),
        )
        for note, group in groupby(rows, key=lambda row: row[0]):
            for distance, (_, other) in enumerate(group, start=1):
                yield Step(note, other, kind, "out", distance)


def _few(connection: apsw.Connection, namespace: int, kinds: str) -> list[tuple[int, str, str]] | None:
    """Return all links of some kinds in a namespace, or ``None`` if it is quicker to ask note by note."""
    rows = fetch(
        connection,
        "SELECT source, kind, target FROM json_each(?) AS asked "
        "CROSS JOIN links ON namespace = ? AND kind = asked.value LIMIT ?",
        (kinds, namespace, FEW_LINKS + 1),
    )
    return rows if len(rows) <= FEW_LINKS else None


def _among(
    connection: apsw.Connection, namespace: int, asked: Collection[int], links: Sequence[tuple[int, str, str]]
) -> Iterator[Step]:
    """Find among a few links those from the notes, and those to them."""
    yield from links_among(asked, links, _resolved(connection, namespace, {target for *_, target in links}))


def _from(connection: apsw.Connection, namespace: int, listed: str, kinds: str | None) -> Iterator[Step]:
    rows = fetch(
        connection,
        "SELECT source, kind, target FROM links WHERE source IN (SELECT value FROM json_each(?1)) "
        "AND (?2 IS NULL OR +kind IN (SELECT value FROM json_each(?2))) ORDER BY source, place",
        (listed, kinds),
    )
    meant = _resolved(connection, namespace, {target for *_, target in rows})
    for source, kind, target in rows:
        if target in meant:
            yield Step(source, meant[target], kind, "out")


def _to(connection: apsw.Connection, namespace: int, listed: str, kinds: str | None) -> Iterator[Step]:
    """Find links whose target may mean one of the notes, and keep those that do."""
    rows = fetch(
        connection,
        """
        WITH asked AS MATERIALIZED (
            SELECT key, id, path, name FROM notes WHERE key IN (SELECT value FROM json_each(?1))
        ),
        spelled (note, target) AS (
            SELECT key, id FROM asked UNION SELECT key, path FROM asked
            UNION SELECT key, substr(id, 1, length(id) - 3) FROM asked WHERE substr(id, -3) = '.md'
            UNION SELECT key, substr(path, 1, length(path) - 3) FROM asked WHERE substr(path, -3) = '.md'
        ),
        found AS (
            SELECT note, l.source, place, kind, l.target FROM spelled AS s
            CROSS JOIN links AS l ON l.namespace = ?2 AND l.target = s.target
            UNION SELECT key, source, place, kind, target FROM asked AS a
            CROSS JOIN links AS l ON l.namespace = ?2 AND l.name = a.name
        )
        SELECT note, source, kind, target FROM found
        WHERE ?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)) ORDER BY note, source, place
        """,
        (listed, namespace, kinds),
    )
    meant = _resolved(connection, namespace, {target for *_, target in rows})
    for note, source, kind, target in rows:
        if meant.get(target) == note:
            yield Step(note, source, kind, "in")


def _mentions(connection: apsw.Connection, listed: str) -> Iterator[Step]:
    """Find what the notes name, and what names them, but for titles that say nothing and sections of one document."""
    in_different_documents = (
        "CROSS JOIN notes AS n ON n.key = m.note CROSS JOIN notes AS o ON o.key = b.note AND "
        "(o.session = n.session AND instr(n.path, n.session) = 1 AND instr(o.path, n.session) = 1) IS NOT TRUE"
    )
    telling = (
        "CROSS JOIN titles ON titles.key = {}.title AND NOT common AND NOT EXISTS ("
        "SELECT 1 FROM titled WHERE title = titles.key LIMIT 1 OFFSET ?2)"
    )
    rows = connection.execute(
        "SELECT m.note, b.note FROM json_each(?1) AS asked CROSS JOIN mentions AS m ON m.note = asked.value AND exact "  # noqa: S608 (names of our own)
        f"{telling.format('m')} CROSS JOIN titled AS b ON b.title = m.title {in_different_documents} "
        "ORDER BY m.note, b.note",
        (listed, MOST_BEARERS),
    )
    for note, other in rows:
        yield Step(note, other, "mention", "out")
    rows = connection.execute(
        "SELECT b.note, m.note FROM json_each(?1) AS asked CROSS JOIN titled AS b ON b.note = asked.value "  # noqa: S608 (names of our own)
        f"{telling.format('b')} CROSS JOIN mentions AS m ON m.title = b.title AND exact {in_different_documents} "
        "ORDER BY b.note, m.note",
        (listed, MOST_BEARERS),
    )
    for note, other in rows:
        yield Step(note, other, "mention", "in")


def _shared(connection: apsw.Connection, listed: str) -> Iterator[Step]:
    """Find the notes that list the same entities, but for those that too many list."""
    rows = connection.execute(
        "SELECT e.note, other.note FROM json_each(?1) AS asked CROSS JOIN entities AS e ON e.note = asked.value "
        "AND NOT EXISTS (SELECT 1 FROM entities AS many WHERE many.namespace = e.namespace AND many.name = e.name "
        "LIMIT 1 OFFSET ?2) "
        "CROSS JOIN entities AS other ON other.namespace = e.namespace AND other.name = e.name "
        "ORDER BY e.note, other.note",
        (listed, MOST_SHARING),
    )
    for note, other in rows:
        yield Step(note, other, "entity", "out")


def _resolved(connection: apsw.Connection, namespace: int, targets: set[str]) -> dict[str, int]:
    """Return the notes that links' targets mean: by id, by path, or, as wikilinks do, by the last part of a path."""
    if not targets:
        return {}
    rows = fetch(
        connection,
        """
        WITH asked (target, name) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?2))
        SELECT target, coalesce(
            (SELECT key FROM notes WHERE namespace = ?1 AND id = target),
            (SELECT key FROM notes WHERE namespace = ?1 AND path = target),
            (SELECT key FROM notes WHERE namespace = ?1 AND id = target || '.md'),
            (SELECT key FROM notes WHERE namespace = ?1 AND path = target || '.md'),
            (SELECT key FROM notes WHERE namespace = ?1 AND notes.name = asked.name AND NOT instr(target, '/')
             ORDER BY length(path), path LIMIT 1)
        ) FROM asked
        """,
        (namespace, json.dumps([(target, folded_name(target)) for target in sorted(targets)])),
    )
    return {target: note for target, note in rows if note is not None}


def _listed(keys: Iterable[int]) -> str:
    return json.dumps(list(keys))
