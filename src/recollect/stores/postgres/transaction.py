"""A transaction of PostgreSQL: runs neutral SQL, and has the statements that only PostgreSQL runs.

A statement gets all rows of a batch at once, as one array for each column, so that a batch needs few round trips.
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
    replacements={"STRAIGHT_JOIN": "JOIN", "visible_notes": "living", "%": "%%"},
    list_value=list,
    lookup_value=lookup_hash,
    statements={},
)

_HASHED_COLUMNS = {("entities", "name"), ("links", "name")}
"""Tables and columns of which only the lookup hash is stored."""
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
            self.connection.execute(_INSERT, _columns(values, len(_NOTE_TYPES)))

    def update_notes(self, changes: Sequence[Change]) -> None:
        renamed = [change.new.key for change in changes if change.renamed]
        if renamed:  # temporary ids and no paths, so that notes can swap them
            self.connection.execute("UPDATE notes SET id = chr(1) || key, path = NULL WHERE key = ANY (%s)", [renamed])
        rows = [
            (*change.new, comparable_metadata(change.new.metadata), change.old.last_accessed_at)
            for change in changes
            if change.old
        ]
        if rows:
            self.connection.execute(_UPDATE, _columns(rows, len(_NOTE_TYPES) + 1))

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
        renamed = [
            change
            for change in changes
            if not change.old or (change.old.path, change.old.title) != (change.new.path, change.new.title)
        ]
        if renamed:
            write_names(
                self.connection,
                namespace_id,
                [(change.new.key, change.new.path, change.new.title) for change in renamed],
                [change.new.key for change in renamed if change.old],
            )

    def remove_from_indexes(self, namespace_id: int, notes: Sequence[int]) -> None:
        rows = self.connection.execute(f"SELECT {COLUMNS} FROM notes WHERE key = ANY (%s)", [notes])  # noqa: S608 (names of our own)
        removed = map(NoteRow._make, rows.fetchall())
        index_notes(self.connection, namespace_id, [TextChange(row.key, row.indexed_fields, None) for row in removed])
        # Cascades of the deletion would delete these rows, and run their triggers, for each note separately.
        for table in ("mentions", "titled", "vectors"):
            self.connection.execute(f"DELETE FROM {table} WHERE note = ANY (%s)", [notes])  # noqa: S608 (a name of our own)

    def resolve_links(self, namespace_id: int, targets: Iterable[str]) -> dict[str, int]:
        names = sorted(targets)
        if not names:
            return {}
        params = {
            "namespace": namespace_id,
            "targets": names,
            "plain": [lookup_hash(target) for target in names],
            "suffixed": [lookup_hash(f"{target}.md") for target in names],
            "names": [None if "/" in target else lookup_hash(folded_name(target)) for target in names],
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
        # A title that starts with a run is the run itself, or continues with a space. "!" follows the space in Unicode,
        # so these titles sort from the run (inclusive) to the run with "!" (exclusive).
        params = {"namespace": namespace_id, "runs": runs, "ends": [f"{run}!" for run in runs]}
        return self.connection.execute(_TITLES, params)

    def notes_containing(
        self, namespace_id: int, titles: Mapping[int, Title], exclude: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        queries = [(key, *_title_queries(namespace_id, title)) for key, title in titles.items()]
        rows = self.connection.execute(
            _CONTAINING, [exclude, limit + 1, namespace_id, exclude, *_columns(queries, 3)]
        ).fetchall()
        long_notes = list({note for _, _, possible in rows for note in possible})
        sql = "SELECT key, title, summary, content FROM notes WHERE key = ANY (%s::bigint[])"
        texts = {row[0]: NoteText(*row) for row in self.connection.execute(sql, [long_notes])} if long_notes else {}
        return {
            key: [*matching, *(note for note in possible if _contains(texts[note], titles[key]))]
            for key, matching, possible in rows
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
            stored.update((start + ordinality - 1, vector) for ordinality, vector in rows)
        return stored


def _title_queries(namespace_id: int, title: Title) -> tuple[str, str]:
    """Return two tsqueries for a title: its phrase in a summary or content (label A), and all its terms anywhere."""
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
_NAMES = ", ".join(_NOTE_TYPES)
_ARRAYS = ", ".join(f"%b::{sql_type}[]" for sql_type in _NOTE_TYPES.values())

_INSERT = f"INSERT INTO notes ({_NAMES}) SELECT {_NAMES} FROM unnest({_ARRAYS}) AS new ({_NAMES})"  # noqa: S608 (names of our own)

# A transaction that records accesses does not lock the namespace, so the stored time may be later than the one that the
# batch has read: it stays, unless the batch itself changes the time.
_NEW_VALUES = {name: f"new.{name}" for name in _NOTE_TYPES} | {
    "last_accessed_at": "CASE WHEN new.last_accessed_at IS DISTINCT FROM new.accessed_before "
    "THEN new.last_accessed_at ELSE notes.last_accessed_at END"
}
_UPDATE = (
    f"UPDATE notes SET ({_NAMES}) = ROW ({', '.join(_NEW_VALUES.values())}) "  # noqa: S608 (names of our own)
    f"FROM unnest({_ARRAYS}, %b::bigint[]) AS new ({_NAMES}, accessed_before) WHERE notes.key = new.key"
)

# Rows are locked in the order of their keys, so that two transactions that touch the same notes do not deadlock.
_TOUCH = """
WITH late AS MATERIALIZED (
    SELECT n.key, new.moment FROM unnest(%b::bytea[], %b::bigint[]) AS new (note, moment)
    JOIN living AS n ON n.namespace = %s AND n.id_mark = new.note
    WHERE coalesce(n.last_accessed_at < new.moment, true) ORDER BY n.key FOR NO KEY UPDATE OF n
)
UPDATE notes AS n SET last_accessed_at = late.moment FROM late WHERE n.key = late.key
"""

# The note that a link points to: by id, by path, by either of them with the suffix .md, or by name.
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
SELECT n.key, beside.key FROM notes AS n CROSS JOIN LATERAL (
    SELECT other.key, other.position FROM living AS other
    WHERE other.namespace = n.namespace AND other.session_mark = n.session_mark
    AND (other.position, other.key) {comparison} (n.position, n.key)
    ORDER BY other.position {order}, other.key {order} LIMIT %s
) AS beside
WHERE n.key = ANY (%s::bigint[]) ORDER BY n.key, beside.position {order}, beside.key {order}
"""
_PREVIOUS = _ADJACENT.format(comparison="<", order="DESC")
_NEXT = _ADJACENT.format(comparison=">", order="ASC")

_TITLES = """
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

# A tsvector that lacks terms has more lexemes than this: a million bytes, with at most about 1,000 for each lexeme.
_MIN_TRUNCATED_LEXEMES = 900

# The first array of a title has the notes whose tsvector has the phrase. The second has long notes, whose tsvector is
# incomplete: the caller has to read their texts. Long notes are joined with ``notes`` to select their namespace.
_CONTAINING = f"""
SELECT title.key,
    ARRAY(SELECT note FROM words WHERE words @@ title.phrase::tsquery AND whole AND note <> ALL (%s) LIMIT %s),
    ARRAY(SELECT w.note FROM words AS w JOIN notes AS n ON n.key = w.note
        WHERE NOT w.whole AND n.namespace = %s AND w.note <> ALL (%s)
        AND (w.words @@ title.words::tsquery OR length(w.words) > {_MIN_TRUNCATED_LEXEMES}))
FROM unnest(%b::bigint[], %b::text[], %b::text[]) AS title (key, phrase, words)
"""  # noqa: S608 (a number of our own)

# The rows of all vectors are sent as one array of numbers, from which each row takes its part.
_INSERT_VECTORS = """
INSERT INTO vectors (model, near, note, piece, namespace, digest, vector)
SELECT %s, (%s)[(at - 1) * %s + 1 : at * %s]::halfvec, note, piece, namespace, digest, vector
FROM unnest(%b::bigint[], %b::int[], %b::int[], %b::bytea[], %b::bytea[])
    WITH ORDINALITY AS new (note, piece, namespace, digest, vector, at)
"""

_STORED_VECTORS = """
SELECT given.position, string_agg(v.vector, ''::bytea ORDER BY v.piece)
FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) WITH ORDINALITY AS given (namespace, id, digest, position)
JOIN namespaces AS s ON s.mark = given.namespace
JOIN living AS n ON n.namespace = s.key AND n.id_mark = given.id
JOIN vectors AS v ON v.note = n.key AND v.model = %s AND v.digest = given.digest
GROUP BY given.position
"""

# The sub-select computes the hashes first: under row-level security, no index is used to compare with a function.
_TARGET = f"""(
    SELECT {_LINKED_NOTE.format(plain="l.target_mark", suffixed="link.suffixed", name="link.name")} FROM (
        SELECT mark(l.target || '.md') AS suffixed, CASE WHEN strpos(l.target, '/') = 0 THEN l.name_mark END AS name
        OFFSET 0
    ) AS link
)"""  # noqa: S608 (an expression of our own)

# UNION drops duplicate pairs, so that a cycle ends. OFFSET 0 makes the planner look links up by their target, which few
# links share, and not by their kind: without statistics of the table it might choose the kind.
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
    WHERE successor.key <> n.key AND successor.created_at < %(before)s
),
bounded AS MATERIALIZED (SELECT old, new FROM chain LIMIT %(limit)s)
SELECT older.id, newer.id FROM bounded
JOIN notes AS older ON older.key = old JOIN notes AS newer ON newer.key = new
"""  # noqa: S608 (an expression of our own)
