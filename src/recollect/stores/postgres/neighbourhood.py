"""What lies one step from a note: what is beside it, linked, mentioned, or about the same entities.

Many notes are asked about at once, with one statement for each kind of connection, and all statements go on their way
before the first answer is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.base import Edge
from recollect.stores.entities import MOST_SHARING
from recollect.stores.mentions import MOST_BEARERS
from recollect.stores.postgres.text import lookup_hash as mark
from recollect.stores.rows import folded_name
from recollect.stores.steps import BESIDE, DERIVED, FEW_LINKS, Step, gathered, links_among

__all__ = ["edges", "steps"]

_Link = tuple[int, str, str]
"""A source, a kind and a target."""


def edges(
    connection: Connection[TupleRow],
    namespace: int,
    ids: Sequence[str],
    reach: int,
    kinds: Collection[str] | None = None,
) -> list[Edge]:
    """Return every connection of the notes with these ids, or those of some kinds."""
    few = None if kinds is None else _few(connection, namespace, kinds)
    if kinds is not None and few == [] and DERIVED.isdisjoint(kinds):
        return []
    rows = connection.execute(
        "SELECT id, key FROM living WHERE namespace = %s AND id_mark = ANY (%s::bytea[])",
        [namespace, [mark(each) for each in ids]],
    )
    keys: dict[str, int] = dict(rows.fetchall())
    found, seen = _around(connection, namespace, [keys[each] for each in ids if each in keys], reach, kinds, few)
    names = seen | {key: each for each, key in keys.items()}
    return [Edge(names[step.source], names[step.target], *step[2:]) for step in found]


def steps(
    connection: Connection[TupleRow],
    namespace: int,
    notes: Sequence[int],
    reach: int = 1,
    kinds: Collection[str] | None = None,
) -> list[Step]:
    """Return every connection of these notes, or those of some kinds, each once, by note, and those of one by kind."""
    few = None if kinds is None else _few(connection, namespace, kinds)
    return _around(connection, namespace, notes, reach, kinds, few)[0]


def _around(
    connection: Connection[TupleRow],
    namespace: int,
    notes: Sequence[int],
    reach: int,
    kinds: Collection[str] | None,
    few: Sequence[_Link] | None,
) -> tuple[list[Step], dict[int, str]]:
    """Return the steps from notes to such as can be seen, and the ids of these; ``few`` are all links of the kinds."""
    asked = dict.fromkeys(notes)
    if not asked:
        return [], {}
    keys = list(asked)
    marks = None if kinds is None else _marks(kinds)
    beside = kinds is None or not BESIDE.isdisjoint(kinds)
    mention = kinds is None or "mention" in kinds
    entity = kinds is None or "entity" in kinds
    run = connection.execute
    with connection.pipeline():
        before = run(_BEFORE, [max(reach, 0), keys]) if beside else ()
        behind = run(_BEHIND, [max(reach, 0), keys]) if beside else ()
        links_from = run(_LINKS_FROM, [keys, marks, marks]) if few is None else ()
        links_to = run(_LINKS_TO, [keys, namespace, namespace, marks, marks]) if few is None else ()
        named = run(_NAMED, [keys, MOST_BEARERS]) if mention else ()
        naming = run(_NAMING, [keys, MOST_BEARERS]) if mention else ()
        shared = run(_SHARING, [keys, MOST_SHARING]) if entity else ()
    searches = [_places(before, "previous"), _places(behind, "next")]
    if few is None:
        searches.append(_linked(connection, namespace, list(links_from), list(links_to)))
    else:
        searches.append(links_among(asked, few, _resolved(connection, namespace, {target for *_, target in few})))
    searches += _pairs(named, "mention", "out"), _pairs(naming, "mention", "in"), _pairs(shared, "entity", "out")
    taken = gathered(asked, searches, kinds)
    targets = list({step.target for step in taken})
    # Titles and entities are listed without a look at whether their notes have expired.
    seen: dict[int, str] = dict(run(_SEEN, [targets]).fetchall()) if targets else {}
    return [step for step in taken if step.target in seen], seen


def _marks(kinds: Collection[str]) -> list[bytes]:
    return [mark(kind) for kind in sorted(set(kinds) - DERIVED)]


def _few(connection: Connection[TupleRow], namespace: int, kinds: Collection[str]) -> list[_Link] | None:
    """Return all links of some kinds in a namespace, or ``None`` if it is quicker to ask note by note."""
    marks = _marks(kinds)
    rows = connection.execute(_OF_KINDS, [namespace, marks, FEW_LINKS + 1]).fetchall() if marks else []
    return rows if len(rows) <= FEW_LINKS else None


def _places(rows: Iterable[TupleRow], kind: str) -> Iterator[Step]:
    """Yield the steps to the notes before or behind in a conversation or document, the nearest first."""
    for note, group in groupby(rows, key=lambda row: row[0]):
        for distance, (_, other) in enumerate(group, start=1):
            yield Step(note, other, kind, "out", distance)


def _pairs(rows: Iterable[TupleRow], kind: str, direction: Literal["out", "in"]) -> Iterator[Step]:
    for note, other in rows:
        yield Step(note, other, kind, direction)


def _linked(
    connection: Connection[TupleRow],
    namespace: int,
    links_from: Sequence[TupleRow],
    links_to: Sequence[TupleRow],
) -> Iterator[Step]:
    """Yield the links from the notes that lead to one, then those whose target may mean one of the notes, and does."""
    meant = _resolved(connection, namespace, {row[-1] for row in (*links_from, *links_to)})
    for source, kind, target in links_from:
        if target in meant:
            yield Step(source, meant[target], kind, "out")
    for note, source, kind, target in links_to:
        if meant.get(target) == note:
            yield Step(note, source, kind, "in")


def _resolved(connection: Connection[TupleRow], namespace: int, targets: set[str]) -> dict[str, int]:
    """Return the notes that links' targets mean: by id, by path, or, as wikilinks do, by the last part of a path."""
    if not targets:
        return {}
    listed = sorted(targets)
    rows = connection.execute(
        _MEANT,
        [
            *[namespace] * 5,
            listed,
            [mark(target) for target in listed],
            [mark(f"{target}.md") for target in listed],
            [None if "/" in target else mark(folded_name(target)) for target in listed],
        ],
    )
    return {target: note for target, note in rows if note is not None}


# Places of one number are in the order in which their notes came.
_BESIDE = """
SELECT n.key, beside.key FROM notes AS n CROSS JOIN LATERAL (
    SELECT other.key, other.position FROM living AS other
    WHERE other.namespace = n.namespace AND other.session_mark = n.session_mark
    AND (other.position, other.key) {comparison} (n.position, n.key)
    ORDER BY other.position {order}, other.key {order} LIMIT %s
) AS beside
WHERE n.key = ANY (%s::bigint[]) ORDER BY n.key, beside.position {order}, beside.key {order}
"""
_BEFORE = _BESIDE.format(comparison="<", order="DESC")
_BEHIND = _BESIDE.format(comparison=">", order="ASC")

_OF_KINDS = """
SELECT source, kind, target FROM links WHERE namespace = %s AND kind_mark = ANY (%s::bytea[]) LIMIT %s
"""

_LINKS_FROM = """
SELECT source, kind, target FROM links WHERE source = ANY (%s::bigint[])
AND (%s::bytea[] IS NULL OR kind_mark = ANY (%s::bytea[])) ORDER BY source, place
"""

# What the notes may be called by is made up first: a policy lets no index be asked by a function of another table.
_LINKS_TO = """
WITH asked AS MATERIALIZED (
    SELECT key, id, path, id_mark, path_mark, name_mark FROM notes WHERE key = ANY (%s::bigint[])
),
spelled (note, mark) AS MATERIALIZED (
    SELECT key, id_mark FROM asked UNION SELECT key, path_mark FROM asked WHERE path_mark IS NOT NULL
    UNION SELECT key, mark(left(id, -3)) FROM asked WHERE right(id, 3) = '.md'
    UNION SELECT key, mark(left(path, -3)) FROM asked WHERE right(path, 3) = '.md'
),
found AS (
    SELECT s.note, l.source, l.place, l.kind, l.kind_mark, l.target
    FROM spelled AS s JOIN links AS l ON l.namespace = %s AND l.target_mark = s.mark
    UNION SELECT a.key, l.source, l.place, l.kind, l.kind_mark, l.target
    FROM asked AS a JOIN links AS l ON l.namespace = %s AND l.name_mark = a.name_mark
)
SELECT note, source, kind, target FROM found
WHERE %s::bytea[] IS NULL OR kind_mark = ANY (%s::bytea[]) ORDER BY note, source, place
"""

# But for titles that say nothing.
_TELLING = "NOT t.common AND NOT EXISTS (SELECT 1 FROM titled WHERE title = t.key LIMIT 1 OFFSET %s)"

# Sections of one document do not mention each other.
_IN_DIFFERENT_DOCUMENTS = (
    "JOIN notes AS n ON n.key = m.note JOIN notes AS o ON o.key = b.note AND "
    "(o.session = n.session AND starts_with(n.path, n.session) AND starts_with(o.path, n.session)) IS NOT TRUE"
)

_NAMED = f"""
SELECT m.note, b.note FROM mentions AS m JOIN titles AS t ON t.key = m.title JOIN titled AS b ON b.title = m.title
{_IN_DIFFERENT_DOCUMENTS}
WHERE m.note = ANY (%s::bigint[]) AND m.exact AND {_TELLING} ORDER BY m.note, b.note
"""  # noqa: S608 (a condition of our own)

_NAMING = f"""
SELECT b.note, m.note FROM titled AS b JOIN titles AS t ON t.key = b.title JOIN mentions AS m ON m.title = b.title
{_IN_DIFFERENT_DOCUMENTS}
WHERE b.note = ANY (%s::bigint[]) AND m.exact AND {_TELLING} ORDER BY b.note, m.note
"""  # noqa: S608 (a condition of our own)

# But for entities that too many notes list.
_SHARING = """
SELECT e.note, other.note FROM entities AS e
JOIN entities AS other ON other.namespace = e.namespace AND other.name_mark = e.name_mark
WHERE e.note = ANY (%s::bigint[]) AND NOT EXISTS (
    SELECT 1 FROM entities AS many WHERE many.namespace = e.namespace AND many.name_mark = e.name_mark LIMIT 1 OFFSET %s
)
ORDER BY e.note, other.note
"""

_MEANT = """
SELECT asked.target, coalesce(
    (SELECT key FROM living AS n WHERE n.namespace = %s AND n.id_mark = asked.plain),
    (SELECT key FROM living AS n WHERE n.namespace = %s AND n.path_mark = asked.plain),
    (SELECT key FROM living AS n WHERE n.namespace = %s AND n.id_mark = asked.suffixed),
    (SELECT key FROM living AS n WHERE n.namespace = %s AND n.path_mark = asked.suffixed),
    (SELECT key FROM living AS n WHERE n.namespace = %s AND n.name_mark = asked.name
     ORDER BY length(n.path), n.path LIMIT 1)
) FROM unnest(%s::text[], %s::bytea[], %s::bytea[], %s::bytea[]) AS asked (target, plain, suffixed, name)
"""

_SEEN = "SELECT key, id FROM living WHERE key = ANY (%s::bigint[])"
