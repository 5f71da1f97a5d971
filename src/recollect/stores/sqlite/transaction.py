"""``SqliteTransaction``: the statements of a transaction that need SQLite's own SQL, and how expired notes are hidden.

:mod:`recollect.stores.sql.dialect` has the contract of these methods. A list is one parameter: a JSON array, which
``json_each`` expands. ``CROSS JOIN`` fixes the order of tables; ``+column`` keeps SQLite from using the column's index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import apsw

from recollect.model import Filters
from recollect.stores.rows import COLUMNS, Change, NoteRow, folded_name, to_microseconds
from recollect.stores.sql.dialect import Dialect, Row, SqlTransaction, VectorRows
from recollect.stores.sqlite.schema import create_fts5_index
from recollect.stores.tokens import indexed

if TYPE_CHECKING:
    from recollect.stores.base import Model
    from recollect.stores.tokens import Title

_DIALECT = Dialect(
    parameter=":{}",
    in_list="IN (SELECT value FROM json_each(:{}))",
    column=lambda name, hint: f"{hint}{name}",
    replacements={"STRAIGHT_JOIN": "CROSS JOIN", "visible_notes": "notes", "%": "%"},  # PostgreSQL needs "%%"
    list_value=json.dumps,
    lookup_value=lambda text: text,
    statements={},
)


def fetch(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """Return all rows of a query in SQLite's own SQL, which is not translated."""
    return connection.execute(sql, tuple(values)).fetchall()


def revision(connection: apsw.Connection, namespace_id: int) -> int:
    """Return the revision of a namespace that the connection's transaction sees."""
    return int(connection.execute("SELECT revision FROM namespaces WHERE key = ?", (namespace_id,)).get)


_AFTER_ANY_PATH = "\U0010ffff" * 4  # the highest code point: every path with a prefix sorts before the prefix plus this
_HAS_VIEW = "EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = 'notes')"
_EXPIRY = (  # has the table expired notes, do queries see any of them, and is there a view that hides them?
    "SELECT EXISTS (SELECT 1 FROM main.notes WHERE expires_at <= ?1), "  # noqa: S608 (names of our own)
    f"EXISTS (SELECT 1 FROM notes WHERE expires_at <= ?1), {_HAS_VIEW}"
)


def hide_expired(connection: apsw.Connection, now: int) -> None:
    """Hide the notes that have expired at ``now`` (microseconds since 1970) from all queries of a reading connection.

    Expired notes stay in the file while it is read-only or busy. A temporary view named ``notes`` leaves them out and
    hides the table ``main.notes``. Creating or dropping this view restarts the transaction.
    """
    has_expired, sees_expired, has_view = connection.execute(_EXPIRY, (now,)).get
    if sees_expired:
        # A view cannot have parameters, so ``now`` becomes part of its SQL.
        unexpired = f"SELECT * FROM main.notes WHERE coalesce(expires_at > {now:d}, true)"  # noqa: S608 (a number)
        change_temporary_schema(connection, f"DROP VIEW IF EXISTS temp.notes; CREATE TEMP VIEW notes AS {unexpired}")
    elif has_view and not has_expired:
        change_temporary_schema(connection, "DROP VIEW temp.notes")


def hides_notes(connection: apsw.Connection) -> bool:
    """Return whether ``notes`` is a view without expired notes; the FTS5 and vector indexes may still contain them."""
    return bool(connection.execute(f"SELECT {_HAS_VIEW}").get)


def change_temporary_schema(connection: apsw.Connection, sql: str) -> None:
    """Change the temporary schema of a connection, even if the file is read-only, and restart its transaction."""
    connection.execute("ROLLBACK")
    connection.pragma("query_only", value=False)
    try:
        connection.execute(sql)
    finally:
        connection.pragma("query_only", value=True)
    connection.execute("BEGIN")


def filter_conditions(filters: Filters) -> tuple[str, list[Any]]:
    """Return SQL conditions on ``notes AS n``, each with AND before it, and the values of their parameters."""
    conditions: list[str] = []
    values: list[Any] = []

    def add(sql: str, *params: Any) -> None:
        conditions.append(f" AND {sql}")
        values.extend(params)

    if filters.path_prefix:
        add("n.path >= ? AND n.path < ?", filters.path_prefix, filters.path_prefix + _AFTER_ANY_PATH)
    if filters.tags:  # n.tags has one tag a line
        missing_tag = "SELECT 1 FROM json_each(?) AS t WHERE NOT instr(char(10) || n.tags || char(10), t.value)"
        add(f"NOT EXISTS ({missing_tag})", json.dumps([f"\n{tag}\n" for tag in filters.tags]))
    if filters.session is not None:
        add("n.session IS ?", filters.session or None)  # "" selects the notes that belong to no session
    for condition, moment in (
        ("n.created_at >= ?", filters.created_after),
        ("n.created_at < ?", filters.created_before),
        ("n.updated_at >= ?", filters.updated_after),
        ("n.updated_at < ?", filters.updated_before),
    ):
        if moment is not None:
            add(condition, to_microseconds(moment))
    for key, value in filters.metadata.items():
        equals, param = _equals(value)
        add(f"EXISTS (SELECT 1 FROM json_each(n.metadata) AS m WHERE m.key = ? AND {equals})", key, param)  # noqa: S608 (fixed names)
    return "".join(conditions), values


def _equals(value: Any) -> tuple[str, str]:
    """Return an SQL condition that the JSON value m equals ``value``, and its parameter; 1 equals 1.0, but not true."""
    if isinstance(value, str):
        return "m.type = 'text' AND m.value = ?", value
    text = json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return "m.type = json_type(?)", text
    if isinstance(value, (int, float)):
        return "m.type IN ('integer', 'real') AND m.value = ? ->> '$'", text
    return "m.type IN ('array', 'object') AND same_json(m.value, ?)", text


class SqliteTransaction(SqlTransaction):
    """A transaction on a connection to an SQLite file."""

    dialect = _DIALECT

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection: apsw.Connection = connection

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, conflict: str = "", returning: str = ""
    ) -> list[Row]:
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 (names of our own)
        if conflict:
            sql += f" ON CONFLICT DO {conflict}"
        if returning:
            sql += f" RETURNING {returning}"
        return list(self.connection.executemany(sql, rows))

    def namespace_id(self, name: str) -> int | None:
        key: int | None = self.connection.execute("SELECT key FROM namespaces WHERE name = ?", (name,)).get
        return key

    def ensure_namespace(self, name: str) -> int:
        key = self.namespace_id(name)
        if key is None:
            key = self.connection.execute("INSERT INTO namespaces (name) VALUES (?) RETURNING key", (name,)).get
            create_fts5_index(self.connection, key)
        return key

    def revision(self, namespace_id: int) -> int:
        return revision(self.connection, namespace_id)

    def restart(self) -> None:
        self.connection.execute("ROLLBACK; BEGIN")

    def hides_notes(self) -> bool:
        return hides_notes(self.connection)

    def note_keys_after(self, cursor: int, limit: int, namespace_id: int | None, filters: Filters) -> list[int]:
        conditions, values = filter_conditions(filters)
        if namespace_id is not None:
            conditions += " AND n.namespace = ?"
            values.append(namespace_id)
        sql = f"SELECT n.key FROM notes AS n WHERE n.key > ? {conditions} ORDER BY n.key LIMIT ?"  # noqa: S608 (conditions of our own)
        return [key for (key,) in fetch(self.connection, sql, (cursor, *values, limit))]

    def touch_notes(self, namespace_id: int, accessed: Mapping[str, int]) -> int:
        before = self.connection.total_changes()
        self.connection.executemany(
            "UPDATE notes SET last_accessed_at = ?1 "
            "WHERE namespace = ?2 AND id = ?3 AND coalesce(last_accessed_at < ?1, true)",
            [(accessed_at, namespace_id, note_id) for note_id, accessed_at in accessed.items()],
        )
        return self.connection.total_changes() - before

    def new_keys(self, limit: int) -> Iterator[int]:  # noqa: ARG002 (there is no limit)
        return count(1 + self.connection.execute(_HIGHEST_KEY).get)

    def insert_notes(self, rows: Sequence[NoteRow]) -> None:
        self.insert("notes", NoteRow._fields, rows)

    def update_notes(self, changes: Sequence[Change]) -> None:
        # Ids and paths are unique, and two notes may swap them: first, replace the old ones by temporary ids.
        renamed = [(change.new.key,) for change in changes if change.renamed]
        self.connection.executemany("UPDATE notes SET id = char(0) || key, path = NULL WHERE key = ?", renamed)
        self.connection.executemany(_UPDATE_NOTE, [(*change.new, change.new.key) for change in changes])

    def remove_from_indexes(self, namespace_id: int, notes: Sequence[int]) -> None:
        self._increment_revision(namespace_id, notes)
        # Store the highest deleted key, so that no new note gets it: a snapshot assumes that new keys are higher.
        self.connection.execute(
            "INSERT INTO sqlite_sequence (name, seq) SELECT 'notes', 0 "
            "WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'notes')"
        )
        self.connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'notes'", (max(notes),))
        self.unindex_texts(namespace_id, notes)

    def unindex_texts(self, namespace_id: int, notes: Sequence[int]) -> None:
        """Remove the terms of notes from FTS5; call this before the notes change, because FTS5 reads their old text."""
        sql = f"DELETE FROM words_{namespace_id} WHERE rowid = ?"  # noqa: S608 (a number)
        self.connection.executemany(sql, [(note,) for note in notes])

    def index_texts(self, namespace_id: int, changes: Sequence[Change]) -> None:
        reindexed = [change for change in changes if change.terms_changed]
        self._increment_revision(namespace_id, [change.new.key for change in reindexed if change.old])
        self.connection.executemany(
            f"INSERT INTO words_{namespace_id} (rowid, path, title, summary, tags, content) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 (a number)
            [(change.new.key, *map(indexed, change.new.indexed_fields)) for change in reindexed],
        )

    def _increment_revision(self, namespace_id: int, notes: Sequence[int]) -> None:
        """Increment the revision, and if the namespace has a snapshot, log the keys of changed and deleted notes."""
        new_revision = self.connection.execute(
            "UPDATE namespaces SET revision = revision + 1 WHERE key = ? RETURNING revision", (namespace_id,)
        ).get
        if notes and self.connection.execute("SELECT 1 FROM snapshots WHERE namespace = ?", (namespace_id,)).get:
            rows = [(namespace_id, new_revision, note) for note in notes]
            self.connection.executemany("INSERT OR IGNORE INTO word_changes VALUES (?, ?, ?)", rows)

    def resolve_links(self, namespace_id: int, targets: Iterable[str]) -> dict[str, int]:
        names = [(target, folded_name(target)) for target in sorted(targets)]
        rows = fetch(self.connection, _RESOLVE, (namespace_id, json.dumps(names))) if names else []
        return {target: note for target, note in rows if note is not None}

    def adjacent_notes(self, notes: Sequence[int], distance: int) -> tuple[list[Row], list[Row]]:
        params = json.dumps(list(notes)), distance
        return fetch(self.connection, _PREVIOUS, params), fetch(self.connection, _NEXT, params)

    def superseding_pairs(
        self, namespace_id: int, ids: Sequence[str], created_before: int, limit: int
    ) -> Iterable[Row]:
        return fetch(self.connection, _SUPERSEDING_PAIRS, (namespace_id, json.dumps(ids), created_before, limit))

    def index_state(self, namespace_id: int) -> tuple[int, bool, bool]:
        revision_number, has_notes, has_titles = self.connection.execute(  # _docsize has a row for each indexed note
            f"SELECT revision, EXISTS (SELECT 1 FROM words_{namespace_id}_docsize), "  # noqa: S608 (a number)
            "EXISTS (SELECT 1 FROM titles WHERE namespace = s.key) FROM namespaces AS s WHERE key = ?",
            (namespace_id,),
        ).get
        return revision_number, bool(has_notes), bool(has_titles)

    def indexed_terms(self, namespace_id: int) -> Iterable[str]:
        table = f"temp.terms_{namespace_id}"
        self.connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5vocab (main, words_{namespace_id}, row)")
        yield from (term for (term,) in self.connection.execute(f"SELECT term FROM {table}"))  # noqa: S608 (a number)
        self.connection.execute(f"DROP TABLE {table}")

    def titles_starting_with(self, namespace_id: int, runs: Sequence[str]) -> Iterable[Row]:
        return self.connection.execute(_TITLES, (namespace_id, json.dumps(runs)))

    def notes_containing(
        self,
        namespace_id: int,
        titles: Mapping[int, Title],
        exclude: Sequence[int],  # noqa: ARG002 (notes that are being written are not in the index)
        limit: int,
    ) -> dict[int, list[int]]:
        table = f"words_{namespace_id}"
        rows = self.connection.execute(  # title.value is a JSON array of a title's key and phrase
            f"SELECT title.value ->> 0, (SELECT json_group_array(rowid) FROM ("  # noqa: S608 (a number)
            f"SELECT rowid FROM {table} WHERE {table} MATCH title.value ->> 1 LIMIT ?)) FROM json_each(?) AS title",
            (limit + 1, json.dumps([(key, _phrase(title)) for key, title in titles.items()])),
        )
        return {key: json.loads(notes) for key, notes in rows}

    def lock_models(self) -> None:
        """Do nothing: SQLite has one writer at a time."""

    def lock_texts(self, notes: Sequence[int] | None) -> None:
        """Do nothing: SQLite has one writer at a time."""

    def insert_vectors(self, model_key: int, model: Model, vectors: Sequence[VectorRows]) -> None:
        """Insert one row for each note; its blob is the concatenation of the vectors of the note's chunks."""
        rows = [
            (vector.note, model_key, vector.namespace, vector.digest, vector.rows.astype(model.precision).tobytes())
            for vector in vectors
        ]
        self.insert("vectors", ("note", "model", "namespace", "digest", "vector"), rows)

    def stored_vectors(self, model_key: int, notes: Sequence[tuple[str, str, bytes]]) -> Mapping[int, bytes]:
        rows = fetch(  # ids.key is the index of a note in ``notes``; ids.value is its namespace and id
            self.connection,
            "SELECT ids.key, v.digest, v.vector FROM json_each(?) AS ids "
            "CROSS JOIN namespaces AS s ON s.name = ids.value ->> 0 "
            "CROSS JOIN notes AS n ON n.namespace = s.key AND n.id = ids.value ->> 1 "
            "CROSS JOIN vectors AS v ON v.note = n.key AND v.model = ?",
            (json.dumps([note[:2] for note in notes]), model_key),
        )
        return {index: vector for index, digest, vector in rows if digest == notes[index][2]}


def _phrase(title: Title) -> str:
    """Return the FTS5 query for notes whose summary or content contains the stems of a title as a phrase."""
    quoted = indexed(title.text).replace('"', " ").replace("\0", " ")
    return f'{{summary content}} : "{quoted}"'


_UPDATE_NOTE = f"UPDATE notes SET ({COLUMNS}) = ({', '.join('?' * len(NoteRow._fields))}) WHERE key = ?"  # noqa: S608 (names of our own)

# The highest key that a note has or ever had. (Model 0 stands for the snapshots of posting lists.)
_HIGHEST_KEY = """
SELECT coalesce(max(key), 0) FROM (
    SELECT max(key) AS key FROM notes
    UNION ALL SELECT seq FROM sqlite_sequence WHERE name = 'notes'
    UNION ALL SELECT max(last) FROM snapshots WHERE model = 0
)
"""

# The key of the note to which the row l (target, name) refers. The target is an id, a path, an id without ".md", a path
# without ".md", or a name.
_TARGET = """coalesce(
    (SELECT key FROM notes WHERE namespace = ?1 AND id = l.target),
    (SELECT key FROM notes WHERE namespace = ?1 AND path = l.target),
    (SELECT key FROM notes WHERE namespace = ?1 AND id = l.target || '.md'),
    (SELECT key FROM notes WHERE namespace = ?1 AND path = l.target || '.md'),
    (SELECT key FROM notes WHERE namespace = ?1 AND notes.name = l.name AND NOT instr(l.target, '/')
     ORDER BY length(path), path LIMIT 1)
)"""

_RESOLVE = f"""
WITH l (target, name) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?2))
SELECT target, {_TARGET} FROM l
"""  # noqa: S608 (an expression of our own)

# Pairs of a note of ?1 and a neighbour in its session, at most ?2 for each note. Equal positions are ordered by key.
_ADJACENT = """
SELECT n.key, neighbour.key FROM json_each(?1) AS params JOIN notes AS n ON n.key = params.value
JOIN notes AS neighbour ON neighbour.key IN (
    SELECT key FROM notes AS other WHERE other.namespace = n.namespace AND other.session = n.session
    AND (other.position, other.key) {comparison} (n.position, n.key)
    ORDER BY other.position {order}, other.key {order} LIMIT ?2
)
ORDER BY n.key, neighbour.position {order}, neighbour.key {order}
"""
_PREVIOUS = _ADJACENT.format(comparison="<", order="DESC")
_NEXT = _ADJACENT.format(comparison=">", order="ASC")

# A run is a sequence of stems with spaces between them. In Unicode "!" follows the space, so the titles that start with
# a run sort between the run and the run with "!" appended. ``last_title`` is the last of them in sort order.
_TITLES = """
WITH runs (run, last_title) AS MATERIALIZED (
    SELECT value, (
        SELECT stems FROM titles WHERE namespace = ?1 AND stems >= value AND stems < value || '!'
        ORDER BY stems DESC LIMIT 1
    ) FROM json_each(?2)
)
SELECT run, last_title, key, words FROM runs LEFT JOIN titles ON namespace = ?1 AND stems = run AND NOT common
WHERE last_title IS NOT NULL
"""

# Pairs of a note (old) and its direct successor (new). The first SELECT has the given notes. The next two follow
# "supersedes" links to their source: links to the id or path of a note, and links to its name. The last follows
# "superseded-by" links. UNION drops duplicates, so that cycles end. Parameters: namespace, ids, created_before, limit.
_SUPERSEDING_PAIRS = f"""
WITH RECURSIVE chain (old, new) AS (
    SELECT NULL, n.key FROM json_each(?2) AS params CROSS JOIN notes AS n ON n.namespace = ?1 AND n.id = params.value
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
"""  # noqa: S608 (an expression of our own)
