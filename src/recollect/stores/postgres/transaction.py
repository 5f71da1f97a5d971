"""A transaction of PostgreSQL: it runs the neutral SQL of ``sql/dialect.py``, and adds statements for PostgreSQL only.

A statement gets all rows of a batch at once, as one array for each column, so that a batch needs few round trips. A
column ``…_mark`` has the lookup hash of a text, which the SQL function ``mark`` computes (see ``schema.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from psycopg import Connection

from recollect.model import Filters
from recollect.stores.base import Model
from recollect.stores.postgres.filters import comparable_metadata, filter_conditions
from recollect.stores.postgres.names import write_names
from recollect.stores.postgres.postings import TextChange, index_notes
from recollect.stores.postgres.text import FloatArray, index_term, lexeme, lookup_hash
from recollect.stores.rows import COLUMNS, Change, NoteRow, folded_name
from recollect.stores.sql.dialect import Dialect, Row, SqlTransaction, VectorRows
from recollect.stores.tokens import NoteText, Title, contains_phrase, stem_stream

BATCH_VECTORS = 1000  # how many notes stored_vectors looks up with one query

_DIALECT = Dialect(
    parameter="%({})s",
    in_list="= ANY (%({})s)",
    column=lambda name, _: f"{name}_mark",
    replacements={"STRAIGHT_JOIN": "JOIN", "visible_notes": "living", "%": "%%"},  # psycopg reads % as a placeholder
    list_value=list,
    lookup_value=lookup_hash,
    statements={},
)

_HASHED_COLUMNS = {("entities", "name"), ("links", "name")}
"""Pairs of a table and a column of neutral SQL; PostgreSQL stores only the lookup hash of these texts."""
_CONFLICT_COLUMNS = {"documents": "(namespace, root_mark, name_mark)"}
"""The unique columns of a table, which ``ON CONFLICT … DO UPDATE`` has to name."""


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return the values of each of the first ``width`` columns of rows."""
    return [[row[index] for row in rows] for index in range(width)]


class PostgresTransaction(SqlTransaction):
    """A connection to a PostgreSQL database, in a transaction."""

    dialect = _DIALECT
    first_chunk = "v.piece = 0"

    def __init__(self, connection: Connection, namespaces: Mapping[str, int]) -> None:
        """Use a connection whose transaction sees ``namespaces``, which maps names to keys."""
        self.connection: Connection = connection
        self.namespaces = namespaces

    def fetch_together(self, queries: Iterable[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        with self.connection.pipeline():
            cursors = [self.run(sql, params) for sql, params in queries]
        return [cursor.fetchall() for cursor in cursors]

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, conflict: str = "", returning: str = ""
    ) -> list[Row]:
        if not rows:
            return []
        values: list[list[Any]] = []
        names = []
        for column, column_values in zip(columns, _columns(rows, len(columns)), strict=True):
            hashed = (table, column) in _HASHED_COLUMNS
            names.append(f"{column}_mark" if hashed else column)
            values.append([lookup_hash(text) for text in column_values] if hashed else column_values)
        arrays = ", ".join(["%b"] * len(columns))
        sql = f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM unnest({arrays})"  # noqa: S608 (names of our own)
        if conflict:
            sql += f" ON CONFLICT {_CONFLICT_COLUMNS.get(table, '')} DO {conflict}"
        if returning:
            sql += f" RETURNING {returning}"
        cursor = self.connection.execute(sql, values)
        return cursor.fetchall() if returning else []

    def namespace_id(self, name: str) -> int | None:
        return self.namespaces.get(name)

    def ensure_namespace(self, name: str) -> int:
        """Return the key of a namespace, which the start of the transaction created if it was missing."""
        return self.namespaces[name]

    def note_keys_after(self, cursor: int, limit: int, namespace_id: int | None, filters: Filters) -> list[int]:
        conditions, values = filter_conditions(filters)
        if namespace_id is not None:
            conditions += " AND n.namespace = %s"
            values.append(namespace_id)
        rows = self.connection.execute(
            f"SELECT n.key FROM living AS n WHERE n.key > %s {conditions} ORDER BY n.key LIMIT %s",  # noqa: S608 (conditions of our own)
            [cursor, *values, limit],
        )
        return [key for (key,) in rows]

    def touch_notes(self, namespace_id: int, accessed: Mapping[str, int]) -> int:
        rows = [(lookup_hash(note_id), moment) for note_id, moment in accessed.items()]
        return self.connection.execute(_TOUCH, [*_columns(rows, 2), namespace_id]).rowcount

    def new_keys(self, limit: int) -> Iterator[int]:
        rows = self.connection.execute("SELECT nextval('notes_key') FROM generate_series(1, %s)", [limit])
        yield from (key for (key,) in rows.fetchall())

    def insert_notes(self, rows: Sequence[NoteRow]) -> None:
        if rows:
            values = [(*row, comparable_metadata(row.metadata)) for row in rows]
            self.connection.execute(_INSERT_NOTES, _columns(values, len(_NOTE_TYPES)))

    def update_notes(self, changes: Sequence[Change]) -> None:
        renamed = [change.new.key for change in changes if change.renamed]
        if renamed:  # first set temporary ids and no paths, so that two notes can swap ids or paths
            self.connection.execute("UPDATE notes SET id = chr(1) || key, path = NULL WHERE key = ANY (%s)", [renamed])
        rows = [
            (*change.new, comparable_metadata(change.new.metadata), change.old.last_accessed_at)
            for change in changes
            if change.old
        ]
        if rows:
            self.connection.execute(_UPDATE_NOTES, _columns(rows, len(_NOTE_TYPES) + 1))

    def unindex_texts(self, namespace_id: int, notes: Sequence[int]) -> None:
        """Do nothing: ``index_texts`` removes the old terms."""

    def index_texts(self, namespace_id: int, changes: Sequence[Change]) -> None:
        """Update the lexical index, and the names that a search for a misspelt name compares."""
        index_notes(
            self.connection,
            namespace_id,
            [
                TextChange(change.new.key, change.old.indexed_fields if change.old else None, change.new.indexed_fields)
                for change in changes
                if change.terms_changed
            ],
            first_new_key=min((change.new.key for change in changes if not change.old), default=None),
        )
        names_changed = [
            change
            for change in changes
            if not change.old or (change.old.path, change.old.title) != (change.new.path, change.new.title)
        ]
        if names_changed:
            write_names(
                self.connection,
                namespace_id,
                [(change.new.key, change.new.path, change.new.title) for change in names_changed],
                [change.new.key for change in names_changed if change.old],
            )

    def remove_from_indexes(self, namespace_id: int, notes: Sequence[int]) -> None:
        rows = self.connection.execute(f"SELECT {COLUMNS} FROM notes WHERE key = ANY (%s)", [notes])  # noqa: S608 (names of our own)
        removed = map(NoteRow._make, rows.fetchall())
        index_notes(self.connection, namespace_id, [TextChange(row.key, row.indexed_fields, None) for row in removed])
        # Otherwise the cascades of DELETE FROM notes would delete these rows and run triggers for each note separately.
        for table in ("mentions", "titled", "vectors"):
            self.connection.execute(f"DELETE FROM {table} WHERE note = ANY (%s)", [notes])  # noqa: S608 (a name of our own)

    def resolve_links(self, namespace_id: int, targets: Iterable[str]) -> dict[str, int]:
        sorted_targets = sorted(targets)
        if not sorted_targets:
            return {}
        params = {
            "namespace": namespace_id,
            "targets": sorted_targets,
            "plain": [lookup_hash(target) for target in sorted_targets],
            "suffixed": [lookup_hash(f"{target}.md") for target in sorted_targets],
            # A target with a slash is a path, and no name.
            "names": [None if "/" in target else lookup_hash(folded_name(target)) for target in sorted_targets],
        }
        rows = self.connection.execute(_RESOLVE, params)
        return {target: note for target, note in rows if note is not None}

    def adjacent_notes(self, notes: Sequence[int], distance: int) -> tuple[list[Row], list[Row]]:
        with self.connection.pipeline():
            previous, following = (self.connection.execute(sql, [distance, list(notes)]) for sql in (_PREVIOUS, _NEXT))
        return previous.fetchall(), following.fetchall()

    def superseding_pairs(
        self, namespace_id: int, ids: Sequence[str], created_before: int, limit: int
    ) -> Iterable[Row]:
        params = {
            "namespace": namespace_id,
            "ids": [lookup_hash(note_id) for note_id in ids],
            "before": created_before,
            "supersedes": lookup_hash("supersedes"),
            "superseded_by": lookup_hash("superseded-by"),
            "limit": limit,
        }
        return self.connection.execute(_CHAINS, params)

    def index_state(self, namespace_id: int) -> tuple[int, bool, bool]:
        ((revision, has_terms, has_titles),) = self.connection.execute(
            "SELECT revision, notes > 0, EXISTS (SELECT 1 FROM titles WHERE namespace = s.key) "
            "FROM namespaces AS s WHERE key = %s",
            [namespace_id],
        ).fetchall()
        return revision, has_terms, has_titles

    def indexed_terms(self, namespace_id: int) -> Iterable[str]:
        rows = self.connection.execute("SELECT DISTINCT term FROM postings WHERE namespace = %s", [namespace_id])
        return (term for (term,) in rows)

    def titles_starting_with(self, namespace_id: int, runs: Sequence[str]) -> Iterable[Row]:
        # A run is a sequence of stems. A title that starts with the run is the run itself, or continues with a space.
        # "!" follows the space in Unicode, so all these titles are >= run and < run + "!".
        params = {"namespace": namespace_id, "runs": runs, "ends": [f"{run}!" for run in runs]}
        return self.connection.execute(_TITLES, params)

    def notes_containing(
        self, namespace_id: int, titles: Mapping[int, Title], exclude: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        queries = [(key, *_title_queries(namespace_id, title)) for key, title in titles.items()]
        rows = self.connection.execute(
            _CONTAINING, [exclude, limit + 1, namespace_id, exclude, *_columns(queries, 3)]
        ).fetchall()
        # The tsvector of a long note may be incomplete, so that its text decides whether it matches.
        all_long_notes = list({note for _, _, long_notes in rows for note in long_notes})
        sql = "SELECT key, title, summary, content FROM notes WHERE key = ANY (%s::bigint[])"
        text_rows = self.connection.execute(sql, [all_long_notes]) if all_long_notes else ()
        texts = {row[0]: NoteText(*row) for row in text_rows}
        return {
            key: [*matching, *(note for note in long_notes if _contains(texts[note], titles[key]))]
            for key, matching, long_notes in rows
        }

    def lock_models(self) -> None:
        self.connection.execute("LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE")

    def lock_texts(self, notes: Sequence[int] | None) -> None:
        """Lock the namespaces of the notes: every transaction that changes texts locks its namespaces first."""
        if notes is None:
            self.connection.execute("LOCK TABLE namespaces IN EXCLUSIVE MODE")
        else:
            self.connection.execute(
                "SELECT key FROM namespaces WHERE key IN (SELECT namespace FROM notes WHERE key = ANY (%s)) "
                "ORDER BY key FOR NO KEY UPDATE",
                [notes],
            )

    def insert_vectors(self, model_key: int, model: Model, vectors: Sequence[VectorRows]) -> None:
        """Insert vectors: one row for each chunk, with a second copy in half precision for the index."""
        rows = [
            (vector.note, chunk, vector.namespace, vector.digest, row.astype(model.precision).tobytes())
            for vector in vectors
            for chunk, row in enumerate(vector.rows)
        ]
        numbers = FloatArray.of(np.concatenate([vector.rows for vector in vectors]))
        self.connection.execute(
            _INSERT_VECTORS, [model_key, numbers, model.dimension, model.dimension, *_columns(rows, 5)]
        )

    def stored_vectors(self, model_key: int, notes: Sequence[tuple[str, str, bytes]]) -> Mapping[int, bytes]:
        stored: dict[int, bytes] = {}
        for start in range(0, len(notes), BATCH_VECTORS):
            batch = [
                (lookup_hash(name), lookup_hash(note_id), digest)
                for name, note_id, digest in notes[start : start + BATCH_VECTORS]
            ]
            rows = self.connection.execute(_STORED_VECTORS, [*_columns(batch, 3), model_key], binary=True)
            stored.update((start + number - 1, vector) for number, vector in rows)  # numbers count from 1
        return stored


def _title_queries(namespace_id: int, title: Title) -> tuple[str, str]:
    """Return two tsqueries for a title: its phrase in summary or content (label A), and all its terms in any field."""
    lexemes = [lexeme(namespace_id, index_term(stem)) for stem in title.stems.split(" ")]
    return " <-> ".join(f"{text}:A" for text in lexemes), " & ".join(lexemes)


def _contains(text: NoteText, title: Title) -> bool:
    """Return whether the summary or the content of a note contains the stems of a title."""
    return contains_phrase(title.stems, f" {' '.join(stem_stream([text.summary, text.content]))} ")


_NOTE_TYPES = {
    **dict.fromkeys(NoteRow._fields, "text"),
    **dict.fromkeys(
        ("key", "position", "created_at", "updated_at", "last_accessed_at", "expires_at", "document"), "bigint"
    ),
    "namespace": "int",
    "importance": "double precision",
    "facts": "jsonb",
}
"""The SQL types of the columns of ``notes``; ``facts`` has the texts of the metadata values, which filters compare."""
_NOTE_COLUMNS = ", ".join(_NOTE_TYPES)
_NOTE_ARRAYS = ", ".join(f"%b::{sql_type}[]" for sql_type in _NOTE_TYPES.values())

_INSERT_NOTES = f"INSERT INTO notes ({_NOTE_COLUMNS}) SELECT * FROM unnest({_NOTE_ARRAYS})"  # noqa: S608 (names of our own)

# A transaction that records accesses does not lock the namespace, so it may change the access time of a note after the
# batch has read the note. That time is kept, unless the batch itself changes the time that it has read.
_NEW_VALUES = {name: f"new.{name}" for name in _NOTE_TYPES} | {
    "last_accessed_at": "CASE WHEN new.last_accessed_at IS DISTINCT FROM new.read_access_time "
    "THEN new.last_accessed_at ELSE notes.last_accessed_at END"
}
_UPDATE_NOTES = (
    f"UPDATE notes SET ({_NOTE_COLUMNS}) = ROW ({', '.join(_NEW_VALUES.values())}) "  # noqa: S608 (names of our own)
    f"FROM unnest({_NOTE_ARRAYS}, %b::bigint[]) AS new ({_NOTE_COLUMNS}, read_access_time) WHERE notes.key = new.key"
)

# Only accesses that are newer than the stored time are written. Rows are locked in the order of their keys, so that two
# transactions that touch the same notes do not deadlock.
_TOUCH = """
WITH newer AS MATERIALIZED (
    SELECT n.key, access.moment FROM unnest(%b::bytea[], %b::bigint[]) AS access (id_mark, moment)
    JOIN living AS n ON n.namespace = %s AND n.id_mark = access.id_mark
    WHERE coalesce(n.last_accessed_at < access.moment, true) ORDER BY n.key FOR NO KEY UPDATE OF n
)
UPDATE notes AS n SET last_accessed_at = newer.moment FROM newer WHERE n.key = newer.key
"""

# The note that a link points to: by id, by path, by either of them with the suffix .md, or by name. ``plain`` is the
# hash of the target, ``suffixed`` that of the target with .md, and ``name`` that of the target as a name, or NULL.
_LINKED_NOTE = """coalesce(
    (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.id_mark = {plain}),
    (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.path_mark = {plain}),
    (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.id_mark = {suffixed}),
    (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.path_mark = {suffixed}),
    (SELECT key FROM living AS t WHERE t.namespace = %(namespace)s AND t.name_mark = {name}
     ORDER BY length(t.path), t.path LIMIT 1)
)"""

_RESOLVE = f"""
SELECT links.target, {_LINKED_NOTE.format(plain="links.plain", suffixed="links.suffixed", name="links.name")}
FROM unnest(%(targets)s::text[], %(plain)s::bytea[], %(suffixed)s::bytea[], %(names)s::bytea[])
    AS links (target, plain, suffixed, name)
"""  # noqa: S608 (an expression of our own)

# Notes with the same position are ordered by key.
_ADJACENT = """
SELECT n.key, neighbour.key FROM notes AS n CROSS JOIN LATERAL (
    SELECT other.key, other.position FROM living AS other
    WHERE other.namespace = n.namespace AND other.session_mark = n.session_mark
    AND (other.position, other.key) {comparison} (n.position, n.key)
    ORDER BY other.position {order}, other.key {order} LIMIT %s
) AS neighbour
WHERE n.key = ANY (%s::bigint[]) ORDER BY n.key, neighbour.position {order}, neighbour.key {order}
"""
_PREVIOUS = _ADJACENT.format(comparison="<", order="DESC")
_NEXT = _ADJACENT.format(comparison=">", order="ASC")

# ``last_title`` has the stems of the last title, in sort order, that starts with the run. If they differ from the run,
# a longer title starts with the run.
_TITLES = """
WITH runs AS MATERIALIZED (
    SELECT run, (
        SELECT stems FROM titles WHERE namespace = %(namespace)s AND stems >= run AND stems < run_end
        ORDER BY stems DESC LIMIT 1
    ) AS last_title
    FROM unnest(%(runs)b::text[], %(ends)b::text[]) AS bounds (run, run_end)
)
SELECT run, last_title, key, words
FROM runs LEFT JOIN titles ON namespace = %(namespace)s AND stems = run AND NOT common
WHERE last_title IS NOT NULL
"""

# A tsvector lacks terms only if it reached its limit of a million bytes. A lexeme takes at most about 1,000 bytes, so
# such a tsvector has more lexemes than this number.
_MIN_TRUNCATED_LEXEMES = 900

# The first array of a title has the notes whose complete tsvector (``whole``) has the phrase. The second has long notes
# that may contain the title: their tsvector is incomplete, so the caller has to read their texts. They are joined with
# ``notes`` to select their namespace.
_CONTAINING = f"""
SELECT title.key,
    ARRAY(SELECT note FROM words WHERE words @@ title.phrase::tsquery AND whole AND note <> ALL (%s) LIMIT %s),
    ARRAY(SELECT w.note FROM words AS w JOIN notes AS n ON n.key = w.note
        WHERE NOT w.whole AND n.namespace = %s AND w.note <> ALL (%s)
        AND (w.words @@ title.words::tsquery OR length(w.words) > {_MIN_TRUNCATED_LEXEMES}))
FROM unnest(%b::bigint[], %b::text[], %b::text[]) AS title (key, phrase, words)
"""  # noqa: S608 (a number of our own)

# The numbers of all vectors are sent as one array, from which each row takes the slice with its own numbers (``near``).
_INSERT_VECTORS = """
INSERT INTO vectors (model, near, note, piece, namespace, digest, vector)
SELECT %s, (%s)[(row_number - 1) * %s + 1 : row_number * %s]::halfvec, note, piece, namespace, digest, vector
FROM unnest(%b::bigint[], %b::int[], %b::int[], %b::bytea[], %b::bytea[])
    WITH ORDINALITY AS new (note, piece, namespace, digest, vector, row_number)
"""

_STORED_VECTORS = """
SELECT request.number, string_agg(v.vector, ''::bytea ORDER BY v.piece)
FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[])
    WITH ORDINALITY AS request (namespace_mark, id_mark, digest, number)
JOIN namespaces AS s ON s.mark = request.namespace_mark
JOIN living AS n ON n.namespace = s.key AND n.id_mark = request.id_mark
JOIN vectors AS v ON v.note = n.key AND v.model = %s AND v.digest = request.digest
GROUP BY request.number
"""

# The note that the link ``l`` points to. The sub-select computes the hashes first, because under row-level security
# PostgreSQL uses no index for a comparison whose right side calls a function.
_TARGET = f"""(
    SELECT {_LINKED_NOTE.format(plain="l.target_mark", suffixed="link.suffixed", name="link.name")} FROM (
        SELECT mark(l.target || '.md') AS suffixed, CASE WHEN strpos(l.target, '/') = 0 THEN l.name_mark END AS name
        OFFSET 0
    ) AS link
)"""  # noqa: S608 (an expression of our own)

# A row of ``chain`` has a superseded note (NULL in the first rows) and its direct successor. A successor has a link
# "supersedes" to the note, by id or path (``spelled``) or by name; or the note has a link "superseded-by" to it.
# UNION drops duplicate pairs, so that a cycle ends. OFFSET 0 makes the planner look links up by their target, which few
# links share. Without statistics of the table, it might otherwise look them up by their kind.
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
    ) AS linked
    CROSS JOIN LATERAL (SELECT key, created_at FROM living WHERE key = linked.key OFFSET 0) AS successor
    WHERE successor.key <> n.key AND successor.created_at < %(before)s
),
bounded AS MATERIALIZED (SELECT old, new FROM chain LIMIT %(limit)s)
SELECT older.id, newer.id FROM bounded
JOIN notes AS older ON older.key = old JOIN notes AS newer ON newer.key = new
"""  # noqa: S608 (an expression of our own)
