"""Chains of supersessions, each followed to its end by one recursive query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import apsw

from recollect.stores.rows import to_microseconds
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.supersession import MAX_SUPERSESSIONS, SUPERSESSION_KINDS, without_cycles

__all__ = ["successors"]

_LATEST = 2**63 - 1


def successors(
    connection: apsw.Connection, namespace: int, ids: Sequence[str], created_before: datetime | None
) -> dict[str, tuple[str, ...]]:
    """Return what supersedes the notes with these ids, directly and along their chains.

    Most namespaces have no link of these kinds; one index lookup shows that.
    """
    kinds = json.dumps(sorted(SUPERSESSION_KINDS))
    if not connection.execute(_ANY, (namespace, kinds)).get:
        return {}
    before = _LATEST if created_before is None else to_microseconds(created_before)
    found: dict[str, list[str]] = {}
    for old, new in fetch(connection, _CHAINS, (namespace, json.dumps(ids), before, MAX_SUPERSESSIONS)):
        found.setdefault(old, []).append(new)
    return without_cycles({old: tuple(later) for old, later in found.items()})


_ANY = "SELECT EXISTS (SELECT 1 FROM links WHERE namespace = ? AND kind IN (SELECT value FROM json_each(?)))"

# The note that the target of the link l refers to: by id, by path, or, as in wikilinks, by the last part of a path.
_TARGET = """coalesce(
    (SELECT key FROM notes WHERE namespace = ?1 AND id = l.target),
    (SELECT key FROM notes WHERE namespace = ?1 AND path = l.target),
    (SELECT key FROM notes WHERE namespace = ?1 AND id = l.target || '.md'),
    (SELECT key FROM notes WHERE namespace = ?1 AND path = l.target || '.md'),
    (SELECT key FROM notes WHERE namespace = ?1 AND notes.name = l.name AND NOT instr(l.target, '/')
     ORDER BY length(path), path LIMIT 1)
)"""

# UNION drops duplicate pairs, so that a cycle ends. Parameters: namespace, ids, created_before, limit.
_CHAINS = f"""
WITH RECURSIVE chain (old, new) AS (
    SELECT NULL, n.key FROM json_each(?2) AS asked CROSS JOIN notes AS n ON n.namespace = ?1 AND n.id = asked.value
    UNION
    SELECT c.new, successor.key FROM chain AS c CROSS JOIN notes AS n ON n.key = c.new
    CROSS JOIN links AS l ON l.namespace = ?1 AND l.target IN (
        n.id, n.path,
        CASE WHEN substr(n.id, -3) = '.md' THEN substr(n.id, 1, length(n.id) - 3) END,
        CASE WHEN substr(n.path, -3) = '.md' THEN substr(n.path, 1, length(n.path) - 3) END
    )
    CROSS JOIN notes AS successor ON successor.key = l.source
    WHERE +l.kind = 'supersedes' AND successor.created_at < ?3 AND successor.key <> n.key AND {_TARGET} = n.key
    UNION
    SELECT c.new, successor.key FROM chain AS c CROSS JOIN notes AS n ON n.key = c.new
    CROSS JOIN links AS l ON l.namespace = ?1 AND l.name = n.name
    CROSS JOIN notes AS successor ON successor.key = l.source
    WHERE +l.kind = 'supersedes' AND successor.created_at < ?3 AND successor.key <> n.key AND {_TARGET} = n.key
    UNION
    SELECT c.new, successor.key FROM chain AS c CROSS JOIN links AS l ON l.source = c.new AND +l.kind = 'superseded-by'
    CROSS JOIN notes AS successor ON successor.key = {_TARGET}
    WHERE successor.created_at < ?3 AND successor.key <> c.new
    LIMIT ?4
)
SELECT DISTINCT older.id, newer.id FROM chain
CROSS JOIN notes AS older ON older.key = old CROSS JOIN notes AS newer ON newer.key = new
ORDER BY older.id, newer.id
"""  # noqa: S608 (an expression of our own)
