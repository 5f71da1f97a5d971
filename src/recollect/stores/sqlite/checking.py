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
    """Return a finding for each part of the store; only one if the file is so damaged that no other check can run."""
    connection = transaction.connection
    missing = {*TABLES}.difference(name for (name,) in fetch(connection, "SELECT name FROM sqlite_schema"))
    if missing:
        problem = list_problems(f"the table {name} is missing" for name in TABLES if name in missing)
        return [Finding("file", problem, repairable=False)]
    file_finding = Finding("file", _file_problem(connection), repairable=False)
    if file_finding.problem:
        return [file_finding._replace(repairable=_notes_can_be_read(connection))]
    all_namespaces = namespaces(transaction)
    references = (
        f"row {row or '?'} of {table} refers to a row of {parent} that is not there"
        for table, row, parent, _ in fetch(connection, "PRAGMA foreign_key_check")
    )
    mentions = (
        f"{problem} (namespace {name!r})"
        for key, name in all_namespaces
        for problem in shared.mention_problems(transaction, key)
    )
    entities = (problem for key, _ in all_namespaces for problem in shared.entity_problems(transaction, key))
    return [
        file_finding,
        Finding("references", list_problems(references)),
        *(Finding(f"words of {name!r}", _fts5_problem(connection, key)) for key, name in all_namespaces),
        Finding("vectors", list_problems(problem for _, problem in _wrong_vectors(connection))),
        Finding("mentions", list_problems(mentions)),
        Finding("entities", list_problems(entities)),
        Finding("snapshots", snapshots.problem(connection)),
    ]


def damaged_fts5_indexes(transaction: SqliteTransaction) -> set[int]:
    """Return the namespaces whose FTS5 index is damaged; call this before the transaction that repairs the indexes."""
    return {key for key, _ in namespaces(transaction) if _fts5_problem(transaction.connection, key)}


def rebuild(transaction: SqliteTransaction, damaged: set[int]) -> None:
    """Rebuild what is derived from the notes, and delete wrong vectors; ``damaged`` has the damaged FTS5 indexes."""
    connection = transaction.connection
    for key, _ in namespaces(transaction):
        (delete_fts5_schema if key in damaged else drop_fts5_index)(connection, key)
    for table in ("mentions", "titled", "titles", "entities", "snapshots", "word_changes"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a name of our own)
    connection.execute("REINDEX")
    connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key, _ in _wrong_vectors(connection)])
    connection.execute("DELETE FROM links WHERE source NOT IN (SELECT key FROM notes)")
    connection.execute("UPDATE notes SET document = NULL WHERE document NOT IN (SELECT key FROM documents)")
    connection.execute("UPDATE namespaces SET revision = revision + 1")
    for key, _ in namespaces(transaction):
        create_fts5_index(connection, key)
        connection.execute(f"INSERT INTO words_{key} (words_{key}) VALUES ('rebuild')")  # noqa: S608 (a number)
        shared.rebuild_mentions(transaction, key)
        shared.rebuild_entities(transaction, key)


def _notes_can_be_read(connection: apsw.Connection) -> bool:
    """Return whether the table of notes is intact, so that all derived data can be rebuilt from it."""
    try:
        connection.execute("SELECT sum(length(content) + length(id)) FROM notes NOT INDEXED").get  # noqa: B018 (it reads every page)
    except apsw.CorruptError:
        return False
    return True


def _file_problem(connection: apsw.Connection) -> str:
    """Return what SQLite's integrity check reports, without the FTS5 indexes; "" if the file is intact."""
    try:
        lines = [line for (line,) in connection.execute("PRAGMA integrity_check(10)")]
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        return f"SQLite cannot read it: {error}"
    # _fts5_problem checks the FTS5 indexes, which can be rebuilt.
    return list_problems(line for line in lines if line != "ok" and "words_" not in line)


def _fts5_problem(connection: apsw.Connection, namespace_id: int) -> str:
    """Return how the FTS5 index of a namespace differs from its notes; "" if it does not."""
    words = f"words_{namespace_id}"
    try:
        # A rank of 1 makes FTS5 also compare the index with the text of the notes, term by term.
        connection.execute(f"INSERT INTO {words} ({words}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (a number)
    except apsw.ReadOnlyError:
        pass  # SQLite counts the comparison as a write; PRAGMA integrity_check has checked the index itself
    except (apsw.CorruptError, apsw.SQLError) as error:
        return f"the index does not agree with the notes ({error})"
    return ""


def _wrong_vectors(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Yield the key and the problem of each vector that does not fit its note or model."""
    sql = (
        "SELECT v.key, v.namespace, v.digest, length(v.vector), m.dimension, m.precision, "
        "n.namespace, n.id, n.title, n.summary, n.content "
        "FROM vectors AS v LEFT JOIN models AS m ON m.key = v.model LEFT JOIN notes AS n ON n.key = v.note"
    )
    return shared.vector_problems(fetch(connection, sql))
