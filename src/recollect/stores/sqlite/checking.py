"""The checks of an SQLite store, and the repair that rebuilds all data that is derived from the notes."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from recollect.stores.base import Finding
from recollect.stores.sql import checking as shared
from recollect.stores.sql.checking import list_problems, namespaces
from recollect.stores.sqlite.schema import TABLES, create_fts5_index, delete_fts5_schema, drop_fts5_index
from recollect.stores.sqlite.snapshots import Snapshots
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch


def check(transaction: SqliteTransaction, snapshots: Snapshots) -> list[Finding]:
    """Return a finding for each part of the store; if the file is damaged, return only the finding ``file``."""
    connection = transaction.connection
    missing = {*TABLES}.difference(name for (name,) in fetch(connection, "SELECT name FROM sqlite_schema"))
    if missing:
        problem = list_problems(f"the table {name} is missing" for name in TABLES if name in missing)
        return [Finding("file", problem, repairable=False)]
    file_finding = Finding("file", _file_problem(connection), repairable=False)
    if file_finding.problem:
        return [file_finding._replace(repairable=_notes_can_be_read(connection))]
    all_namespaces = namespaces(transaction)
    reference_problems = (  # '?', because ``row`` is None in a table without row ids
        f"row {row or '?'} of {table} refers to a row of {parent} that is not there"
        for table, row, parent, _ in fetch(connection, "PRAGMA foreign_key_check")
    )
    mention_problems = (
        f"{problem} (namespace {name!r})"
        for key, name in all_namespaces
        for problem in shared.mention_problems(transaction, key)
    )
    entity_problems = (problem for key, _ in all_namespaces for problem in shared.entity_problems(transaction, key))
    return [
        file_finding,
        Finding("references", list_problems(reference_problems)),
        *(Finding(f"words of {name!r}", _fts5_problem(connection, key)) for key, name in all_namespaces),
        Finding("vectors", list_problems(problem for _, problem in _wrong_vectors(connection))),
        Finding("mentions", list_problems(mention_problems)),
        Finding("entities", list_problems(entity_problems)),
        Finding("snapshots", snapshots.problem(connection)),
    ]


def damaged_fts5_indexes(transaction: SqliteTransaction) -> set[int]:
    """Return the ids of the namespaces whose FTS5 index is damaged; call this before a repair begins to write."""
    return {key for key, _ in namespaces(transaction) if _fts5_problem(transaction.connection, key)}


def rebuild(transaction: SqliteTransaction, damaged: set[int]) -> None:
    """Rebuild derived data, and delete wrong vectors; ``damaged`` is the result of ``damaged_fts5_indexes``."""
    connection = transaction.connection
    for key, _ in namespaces(transaction):
        delete_index = delete_fts5_schema if key in damaged else drop_fts5_index  # DROP may fail if damaged
        delete_index(connection, key)
    for table in ("mentions", "titled", "titles", "entities", "snapshots", "word_changes"):  # titled: notes by title
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a fixed name)
    connection.execute("REINDEX")  # rebuilds the indexes of all tables
    connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key, _ in _wrong_vectors(connection)])
    connection.execute("DELETE FROM links WHERE source NOT IN (SELECT key FROM notes)")
    connection.execute("UPDATE notes SET document = NULL WHERE document NOT IN (SELECT key FROM documents)")
    connection.execute("UPDATE namespaces SET revision = revision + 1")  # makes caches of the old revision invalid
    for key, _ in namespaces(transaction):
        create_fts5_index(connection, key)
        connection.execute(f"INSERT INTO words_{key} (words_{key}) VALUES ('rebuild')")  # noqa: S608 (only the number varies)
        shared.rebuild_mentions(transaction, key)
        shared.rebuild_entities(transaction, key)


def _notes_can_be_read(connection: apsw.Connection) -> bool:
    """Return whether the table of notes is intact, so that all derived data can be rebuilt from it."""
    try:
        connection.execute("SELECT sum(length(content) + length(id)) FROM notes NOT INDEXED").get  # noqa: B018 (to read every page)
    except apsw.CorruptError:
        return False
    return True


def _file_problem(connection: apsw.Connection) -> str:
    """Return up to 10 problems from SQLite's integrity check, except those of FTS5 indexes; "" if there are none."""
    try:
        lines = [line for (line,) in connection.execute("PRAGMA integrity_check(10)")]
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        return f"SQLite cannot read it: {error}"
    # The FTS5 indexes (words_…) are left to _fts5_problem, because they can be rebuilt.
    return list_problems(line for line in lines if line != "ok" and "words_" not in line)


def _fts5_problem(connection: apsw.Connection, namespace_id: int) -> str:
    """Return a message if the FTS5 index of a namespace does not agree with its notes; otherwise ""."""
    table = f"words_{namespace_id}"
    try:
        # A rank of 1 makes FTS5 also compare the index with the text of the notes, term by term.
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (a number)
    except apsw.ReadOnlyError:
        pass  # the index of a read-only store is not checked: SQLite counts the check as a write
    except (apsw.CorruptError, apsw.SQLError) as error:
        return f"the index does not agree with the notes ({error})"
    return ""


def _wrong_vectors(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Yield the key and the problem of each row of ``vectors`` that does not fit its note or model."""
    sql = (
        "SELECT v.key, v.namespace, v.digest, length(v.vector), m.dimension, m.precision, "
        "n.namespace, n.id, n.title, n.summary, n.content "
        "FROM vectors AS v LEFT JOIN models AS m ON m.key = v.model LEFT JOIN notes AS n ON n.key = v.note"
    )
    return shared.vector_problems(fetch(connection, sql))
