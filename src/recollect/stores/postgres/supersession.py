"""Chains of supersessions, each followed to its end by one recursive query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.postgres.text import lookup_hash as mark
from recollect.stores.rows import to_microseconds
from recollect.stores.supersession import MAX_SUPERSESSIONS, SUPERSESSION_KINDS, without_cycles

__all__ = ["successors"]


def successors(
    connection: Connection[TupleRow], namespace: int, ids: Sequence[str], created_before: datetime | None
) -> dict[str, tuple[str, ...]]:
    """Return what supersedes the notes with these ids, directly and along their chains.

    Most namespaces have no link of these kinds; one index lookup shows that.
    """
    kinds = {kind: mark(kind) for kind in SUPERSESSION_KINDS}
    (some,) = connection.execute(_ANY, [namespace, list(kinds.values())]).fetchone() or (False,)
    if not some:
        return {}
    values = {
        "namespace": namespace,
        "ids": [mark(each) for each in ids],
        "before": None if created_before is None else to_microseconds(created_before),
        "supersedes": kinds["supersedes"],
        "superseded_by": kinds["superseded-by"],
        "limit": MAX_SUPERSESSIONS,
    }
    found: dict[str, list[str]] = {}
    for old, new in connection.execute(_CHAINS, values):
        found.setdefault(old, []).append(new)
    return without_cycles({old: tuple(sorted(later)) for old, later in found.items()})


_ANY = "SELECT EXISTS (SELECT 1 FROM links WHERE namespace = %s AND kind_mark = ANY (%s::bytea[]))"

# The note that the target of the link l refers to: by id, by path, or, as in wikilinks, by the last part of a path.
# What is compared is computed first: under row-level security no index is used for a function of another table.
_TARGET = """(
    SELECT coalesce(
        (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.id_mark = l.target_mark),
        (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.path_mark = l.target_mark),
        (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.id_mark = suffixed.mark),
        (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.path_mark = suffixed.mark),
        (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.name_mark = l.name_mark
         AND NOT suffixed.is_path ORDER BY length(t.path), t.path LIMIT 1)
    ) FROM (SELECT mark(l.target || '.md') AS mark, strpos(l.target, '/') > 0 AS is_path OFFSET 0) AS suffixed
)"""

# UNION drops duplicate pairs, so that a cycle ends. OFFSET 0 has the planner look links up by their
# target, which few share, and not by their kind, whatever it believes of tables without statistics.
_CHAINS = f"""
WITH RECURSIVE chain (old, new) AS (
    SELECT NULL::bigint, key FROM living
    WHERE namespace = %(namespace)s AND id_mark = ANY (%(ids)s::bytea[])
    UNION
    SELECT n.key, successor.key FROM chain AS c
    CROSS JOIN LATERAL (
        SELECT key, id, path, id_mark, path_mark, name_mark FROM living WHERE key = c.new OFFSET 0
    ) AS n
    CROSS JOIN LATERAL (
        SELECT l.source AS key FROM (
            SELECT n.id_mark AS mark UNION SELECT n.path_mark
            UNION SELECT mark(left(n.id, -3)) WHERE right(n.id, 3) = '.md'
            UNION SELECT mark(left(n.path, -3)) WHERE right(n.path, 3) = '.md'
            OFFSET 0
        ) AS spelled
        CROSS JOIN LATERAL (
            SELECT * FROM links WHERE namespace = %(namespace)s AND target_mark = spelled.mark OFFSET 0
        ) AS l
        WHERE l.kind_mark = %(supersedes)s AND {_TARGET} = n.key
        UNION ALL
        SELECT l.source FROM (
            SELECT * FROM links WHERE namespace = %(namespace)s AND name_mark = n.name_mark OFFSET 0
        ) AS l
        WHERE l.kind_mark = %(supersedes)s AND {_TARGET} = n.key
        UNION ALL
        SELECT {_TARGET} FROM (SELECT * FROM links WHERE source = n.key OFFSET 0) AS l
        WHERE l.kind_mark = %(superseded_by)s
    ) AS followed
    CROSS JOIN LATERAL (SELECT key, created_at FROM living WHERE key = followed.key OFFSET 0) AS successor
    WHERE successor.key <> n.key AND (%(before)s::bigint IS NULL OR successor.created_at < %(before)s::bigint)
),
bounded AS MATERIALIZED (SELECT old, new FROM chain LIMIT %(limit)s)
SELECT older.id, newer.id FROM bounded
JOIN notes AS older ON older.key = old JOIN notes AS newer ON newer.key = new
"""  # noqa: S608 (an expression of our own)
