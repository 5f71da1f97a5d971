"""A transaction of PostgreSQL: runs neutral SQL, and has the statements that only PostgreSQL runs.

A statement takes all rows of a batch at once, as arrays, so that many notes need few round trips to the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.postgres import statements
from recollect.stores.postgres.filters import filter_conditions, metadata_facts
from recollect.stores.postgres.names import write_names
from recollect.stores.postgres.postings import TextChange, index_notes
from recollect.stores.postgres.text import FloatArray, lexeme, lookup_hash, term
from recollect.stores.rows import COLUMNS, Change, NoteRow, folded_name
from recollect.stores.sql.dialect import Dialect, Row, SqlTransaction, VectorRows
from recollect.stores.tokens import NoteText, contains_phrase, stem_stream

if TYPE_CHECKING:
    from recollect.model import Filters
    from recollect.stores.base import Model
    from recollect.stores.tokens import Title

READ_VECTORS = 1000

_DIALECT = Dialect(
    parameter="%({})s",
    in_list="= ANY (%({})s)",
    column=lambda name, _: f"{name}_mark",
    words={"STRAIGHT_JOIN": "JOIN", "visible_notes": "living", "%": "%%"},
    list_value=list,
    lookup_value=lookup_hash,
    statements={},
)

_HASHED = {("entities", "name"), ("links", "name")}
"""Columns of which the hash alone is stored."""
_CONFLICTS = {"documents": "(namespace, root_mark, name_mark)"}


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return rows as columns."""
    return [[row[index] for row in rows] for index in range(width)]


class PostgresTransaction(SqlTransaction):
    """A connection to a PostgreSQL database, in a transaction."""

    first_chunk = "v.piece = 0"

    def __init__(self, connection: Connection[TupleRow], namespaces: Mapping[str, int]) -> None:
        """Use a connection that is in a transaction, which sees these namespaces."""
        self.connection = connection
        self.namespaces = namespaces

    def fetch(self, sql: str, **params: Any) -> list[Row]:
        statement = _DIALECT.render(sql)
        return self.connection.execute(statement.sql, _DIALECT.bind(statement, params)).fetchall()

    def execute(self, sql: str, **params: Any) -> None:
        statement = _DIALECT.render(sql)
        self.connection.execute(statement.sql, _DIALECT.bind(statement, params))

    def fetch_together(self, queries: Iterable[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        statements = [(_DIALECT.render(sql), params) for sql, params in queries]
        with self.connection.pipeline():
            cursors = [
                self.connection.execute(statement.sql, _DIALECT.bind(statement, params))
                for statement, params in statements
            ]
        return [cursor.fetchall() for cursor in cursors]

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        conflict: str = "",
        returning: str = "",
    ) -> list[Row]:
        if not rows:
            return []
        values: list[list[Any]] = []
        names = []
        for column, texts in zip(columns, _columns(rows, len(columns)), strict=True):
            hashed = (table, column) in _HASHED
            names.append(f"{column}_mark" if hashed else column)
            values.append([lookup_hash(text) for text in texts] if hashed else texts)
        arrays = ", ".join(["%b"] * len(columns))
        sql = f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM unnest({arrays})"  # noqa: S608 (names of our own)
        if conflict:
            sql += f" ON CONFLICT {_CONFLICTS.get(table, '')} DO {conflict}"
        if returning:
            sql += f" RETURNING {returning}"
        cursor = self.connection.execute(sql, values)
        return cursor.fetchall() if returning else []

    def namespace_id(self, name: str) -> int | None:
        return self.namespaces.get(name)

    def ensure_namespace(self, name: str) -> int:
        """Return the key of a namespace; those of a batch are created with its transaction."""
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
        return self.connection.execute(statements.TOUCH, [*_columns(rows, 2), namespace_id]).rowcount

    def new_keys(self, limit: int) -> Iterator[int]:
        rows = self.connection.execute("SELECT nextval('notes_key') FROM generate_series(1, %s)", [limit])
        yield from (key for (key,) in rows.fetchall())

    def insert_notes(self, rows: Sequence[NoteRow]) -> None:
        if rows:
            self.connection.execute(
                statements.INSERT,
                _columns([(*row, metadata_facts(row.metadata)) for row in rows], len(statements.NOTE)),
            )

    def update_notes(self, changes: Sequence[Change]) -> None:
        renamed = [change.new.key for change in changes if change.renamed]
        if renamed:
            self.connection.execute("UPDATE notes SET id = chr(1) || key, path = NULL WHERE key = ANY (%s)", [renamed])
        rows = [
            (*change.new, metadata_facts(change.new.metadata), change.old.last_accessed_at)
            for change in changes
            if change.old
        ]
        if rows:
            self.connection.execute(statements.UPDATE, _columns(rows, len(statements.NOTE) + 1))

    def index_texts(self, namespace_id: int, changes: Sequence[Change]) -> None:
        """Update the lexical index, and the names that misspelt ones are compared with."""
        index_notes(
            self.connection,
            namespace_id,
            [
                TextChange(change.new.key, change.old.indexed_fields if change.old else None, change.new.indexed_fields)
                for change in changes
                if change.reindexed
            ],
            fresh=min((change.new.key for change in changes if not change.old), default=None),
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
        # What triggers count is deleted at once: the deletion of each note would do so one by one.
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
        rows = self.connection.execute(statements.RESOLVE, params)
        return {target: note for target, note in rows if note is not None}

    def adjacent_notes(self, notes: Sequence[int], distance: int) -> tuple[list[Row], list[Row]]:
        with self.connection.pipeline():
            before, behind = (
                self.connection.execute(sql, [distance, list(notes)]) for sql in (statements.BEFORE, statements.BEHIND)
            )
        return before.fetchall(), behind.fetchall()

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
        return self.connection.execute(statements.CHAINS, params)

    def index_state(self, namespace_id: int) -> tuple[int, bool, bool]:
        ((number, has_terms, has_titles),) = self.connection.execute(
            "SELECT revision, notes > 0, EXISTS (SELECT 1 FROM titles WHERE namespace = s.key) "
            "FROM namespaces AS s WHERE key = %s",
            [namespace_id],
        ).fetchall()
        return number, has_terms, has_titles

    def indexed_terms(self, namespace_id: int) -> Iterable[str]:
        rows = self.connection.execute("SELECT DISTINCT term FROM postings WHERE namespace = %s", [namespace_id])
        return (word for (word,) in rows)

    def titles_starting_with(self, namespace_id: int, runs: Sequence[str]) -> Iterable[Row]:
        # "!" follows the space in Unicode: between a run and the run with "!" are the titles that start with it.
        params = {"namespace": namespace_id, "runs": runs, "ends": [f"{run}!" for run in runs]}
        return self.connection.execute(statements.TITLES, params)

    def notes_containing(
        self, namespace_id: int, titles: Mapping[int, Title], exclude: Sequence[int], limit: int
    ) -> dict[int, list[int]]:
        phrases = [(key, *_phrase(namespace_id, title)) for key, title in titles.items()]
        rows = self.connection.execute(
            statements.CONTAINING, [exclude, limit + 1, namespace_id, exclude, *_columns(phrases, 3)]
        ).fetchall()
        doubtful = list({note for _, _, maybe in rows for note in maybe})
        sql = "SELECT key, title, summary, content FROM notes WHERE key = ANY (%s::bigint[])"
        texts = {row[0]: NoteText(*row) for row in self.connection.execute(sql, [doubtful])} if doubtful else {}
        return {
            key: [*certain, *(note for note in maybe if _contains(texts[note], titles[key]))]
            for key, certain, maybe in rows
        }

    def lock_models(self) -> None:
        self.connection.execute("LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE")

    def lock_texts(self, notes: Sequence[int] | None) -> None:
        """Lock the namespaces: all who write lock the row of theirs first."""
        if notes is None:
            self.connection.execute("LOCK TABLE namespaces IN EXCLUSIVE MODE")
        else:
            self.connection.execute(
                "SELECT key FROM namespaces WHERE key IN (SELECT namespace FROM notes WHERE key = ANY (%s)) "
                "ORDER BY key FOR NO KEY UPDATE",
                [notes],
            )

    def disk_size(self) -> int:
        """Return the bytes of all tables and indexes."""
        size: int = self.fetch_value(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
            "WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'"
        )
        return size

    def insert_vectors(self, model_key: int, model: Model, vectors: Sequence[VectorRows]) -> None:
        """Insert vectors: each chunk has a row, and a copy in half precision that is indexed."""
        rows = [
            (vector.note, chunk, vector.namespace, vector.digest, row.astype(model.precision).tobytes())
            for vector in vectors
            for chunk, row in enumerate(vector.rows)
        ]
        numbers = FloatArray.of(np.concatenate([vector.rows for vector in vectors]))
        self.connection.execute(
            statements.INSERT_VECTORS, [model_key, numbers, model.dimension, model.dimension, *_columns(rows, 5)]
        )

    def stored_vectors(self, model_key: int, notes: Sequence[tuple[str, str, bytes]]) -> Mapping[int, bytes]:
        stored: dict[int, bytes] = {}
        for start in range(0, len(notes), READ_VECTORS):
            batch = [
                (lookup_hash(name), lookup_hash(note_id), digest)
                for name, note_id, digest in notes[start : start + READ_VECTORS]
            ]
            rows = self.connection.execute(statements.STORED_VECTORS, [*_columns(batch, 3), model_key], binary=True)
            stored.update((start + position - 1, vector) for position, vector in rows)
        return stored


def _phrase(namespace_id: int, title: Title) -> tuple[str, str]:
    """Return what finds a title: as a phrase in a summary or content, and as terms anywhere."""
    terms = [lexeme(namespace_id, term(stem)) for stem in title.stems.split(" ")]
    return " <-> ".join(f"{word}:A" for word in terms), " & ".join(terms)


def _contains(text: NoteText, title: Title) -> bool:
    return contains_phrase(title.stems, f" {' '.join(stem_stream([text.summary, text.content]))} ")
