"""Statements of PostgreSQL that have no counterpart in neutral SQL: they take arrays, or joins that depend on a row."""

from __future__ import annotations

from recollect.stores.rows import NoteRow

NOTE = {
    **dict.fromkeys(NoteRow._fields, "text"),
    **dict.fromkeys(
        ("key", "position", "created_at", "updated_at", "last_accessed_at", "expires_at", "document"), "bigint"
    ),
    "namespace": "int",
    "importance": "double precision",
    "facts": "jsonb",
}
"""The types of a note's columns; ``facts`` is what filters compare of its metadata."""
_NAMES = ", ".join(NOTE)
_ARRAYS = ", ".join(f"%b::{kind}[]" for kind in NOTE.values())

INSERT = f"INSERT INTO notes ({_NAMES}) SELECT {_NAMES} FROM unnest({_ARRAYS}) AS new ({_NAMES})"  # noqa: S608 (names of our own)

# Recording an access does not wait for the namespace: unless the batch itself changes that time, it stays.
_NEW_VALUES = {name: f"new.{name}" for name in NOTE} | {
    "last_accessed_at": "CASE WHEN new.last_accessed_at IS DISTINCT FROM new.accessed_before "
    "THEN new.last_accessed_at ELSE notes.last_accessed_at END"
}
UPDATE = (
    f"UPDATE notes SET ({_NAMES}) = ROW ({', '.join(_NEW_VALUES.values())}) "  # noqa: S608 (names of our own)
    f"FROM unnest({_ARRAYS}, %b::bigint[]) AS new ({_NAMES}, accessed_before) WHERE notes.key = new.key"
)

# In the order of their keys, so that two transactions that touch the same notes do not deadlock.
TOUCH = """
WITH late AS MATERIALIZED (
    SELECT n.key, new.moment FROM unnest(%b::bytea[], %b::bigint[]) AS new (note, moment)
    JOIN living AS n ON n.namespace = %s AND n.id_mark = new.note
    WHERE coalesce(n.last_accessed_at < new.moment, true) ORDER BY n.key FOR NO KEY UPDATE OF n
)
UPDATE notes AS n SET last_accessed_at = late.moment FROM late WHERE n.key = late.key
"""

RESOLVE = """
SELECT links.target, coalesce(
    (SELECT key FROM living AS n WHERE n.namespace = %(namespace)s AND n.id_mark = links.plain),
    (SELECT key FROM living AS n WHERE n.namespace = %(namespace)s AND n.path_mark = links.plain),
    (SELECT key FROM living AS n WHERE n.namespace = %(namespace)s AND n.id_mark = links.suffixed),
    (SELECT key FROM living AS n WHERE n.namespace = %(namespace)s AND n.path_mark = links.suffixed),
    (SELECT key FROM living AS n WHERE n.namespace = %(namespace)s AND n.name_mark = links.name
     ORDER BY length(n.path), n.path LIMIT 1)
) FROM unnest(%(targets)s::text[], %(plain)s::bytea[], %(suffixed)s::bytea[], %(names)s::bytea[])
    AS links (target, plain, suffixed, name)
"""

# Notes of one position are in the order of their keys.
_ADJACENT = """
SELECT n.key, beside.key FROM notes AS n CROSS JOIN LATERAL (
    SELECT other.key, other.position FROM living AS other
    WHERE other.namespace = n.namespace AND other.session_mark = n.session_mark
    AND (other.position, other.key) {comparison} (n.position, n.key)
    ORDER BY other.position {order}, other.key {order} LIMIT %s
) AS beside
WHERE n.key = ANY (%s::bigint[]) ORDER BY n.key, beside.position {order}, beside.key {order}
"""
BEFORE = _ADJACENT.format(comparison="<", order="DESC")
BEHIND = _ADJACENT.format(comparison=">", order="ASC")

TITLES = """
WITH runs AS MATERIALIZED (
    SELECT run, (
        SELECT stems FROM titles WHERE namespace = %(namespace)s AND stems >= run AND stems < behind
        ORDER BY stems DESC LIMIT 1
    ) AS last
    FROM unnest(%(runs)b::text[], %(ends)b::text[]) AS a (run, behind)
)
SELECT run, last, key, words FROM runs LEFT JOIN titles ON namespace = %(namespace)s AND stems = run AND NOT common
WHERE last IS NOT NULL
"""

_MAYBE_CUT = 900  # lexemes: a tsvector that was cut has more

# For a note that is too long for its tsvector, the text decides. Notes are joined so that its lexemes alone, which
# carry no policy, do not show the namespace either.
CONTAINING = f"""
SELECT title.key,
    ARRAY(SELECT note FROM words WHERE words @@ title.phrase::tsquery AND whole AND note <> ALL (%s) LIMIT %s),
    ARRAY(SELECT w.note FROM words AS w JOIN notes AS n ON n.key = w.note
        WHERE NOT w.whole AND n.namespace = %s AND w.note <> ALL (%s)
        AND (w.words @@ title.words::tsquery OR length(w.words) > {_MAYBE_CUT}))
FROM unnest(%b::bigint[], %b::text[], %b::text[]) AS title (key, phrase, words)
"""  # noqa: S608 (a number of our own)

INSERT_VECTORS = """
INSERT INTO vectors (model, near, note, piece, namespace, digest, vector)
SELECT %s, (%s)[(at - 1) * %s + 1 : at * %s]::halfvec, note, piece, namespace, digest, vector
FROM unnest(%b::bigint[], %b::int[], %b::int[], %b::bytea[], %b::bytea[])
    WITH ORDINALITY AS new (note, piece, namespace, digest, vector, at)
"""

STORED_VECTORS = """
SELECT asked.position, string_agg(v.vector, ''::bytea ORDER BY v.piece)
FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) WITH ORDINALITY AS asked (namespace, id, digest, position)
JOIN namespaces AS s ON s.mark = asked.namespace
JOIN living AS n ON n.namespace = s.key AND n.id_mark = asked.id
JOIN vectors AS v ON v.note = n.key AND v.model = %s AND v.digest = asked.digest
GROUP BY asked.position
"""

# The note that the target of the link l means, as in RESOLVE. What is compared is computed first: under row-level
# security no index is used for a function of another table.
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
CHAINS = f"""
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
    WHERE successor.key <> n.key AND successor.created_at < %(before)s
),
bounded AS MATERIALIZED (SELECT old, new FROM chain LIMIT %(limit)s)
SELECT older.id, newer.id FROM bounded
JOIN notes AS older ON older.key = old JOIN notes AS newer ON newer.key = new
"""  # noqa: S608 (an expression of our own)
