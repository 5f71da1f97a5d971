"""Check every part of an SQLite store, and rebuild what can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from recollect.stores.base import Finding
from recollect.stores.sql import checking as shared
from recollect.stores.sql.checking import list_problems, namespaces
from recollect.stores.sqlite.schema import TABLES, create_word_index, drop_word_index, forget_word_index
from recollect.stores.sqlite.snapshots import Snapshots
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch


def check(transaction: SqliteTransaction, snapshots: Snapshots) -> list[Finding]:
    """Check every part. Where SQLite's own structure is broken, the rest cannot be checked."""
    connection = transaction.connection
    missing = {*TABLES}.difference(name for (name,) in fetch(connection, "SELECT name FROM sqlite_schema"))
    if missing:
        problem = list_problems(f"the table {name} is missing" for name in TABLES if name in missing)
        return [Finding("file", problem, repairable=False)]
    structure = Finding("file", _file_problem(connection), repairable=False)
    if structure.problem:
        return [structure._replace(repairable=_notes_can_be_read(connection))]
    stored = namespaces(transaction)
    references = (
        f"row {row or '?'} of {table} refers to a row of {parent} that is not there"
        for table, row, parent, _ in fetch(connection, "PRAGMA foreign_key_check")
    )
    mentions = (
        f"{problem} (namespace {name!r})"
        for key, name in stored
        for problem in shared.mention_problems(transaction, key)
    )
    entities = (problem for key, _ in stored for problem in shared.entity_problems(transaction, key))
    return [
        structure,
        Finding("references", list_problems(references)),
        *(Finding(f"words of {name!r}", _index_problem(connection, key)) for key, name in stored),
        Finding("vectors", list_problems(problem for _, problem in _wrong_vectors(connection))),
        Finding("mentions", list_problems(mentions)),
        Finding("entities", list_problems(entities)),
        Finding("snapshots", snapshots.problem(connection)),
    ]


def unreadable_indexes(transaction: SqliteTransaction) -> set[int]:
    """Return the namespaces whose lexical index is damaged; call it outside of the transaction that repairs it."""
    return {key for key, _ in namespaces(transaction) if _index_problem(transaction.connection, key)}


def rebuild(transaction: SqliteTransaction, unreadable: set[int]) -> None:
    """Rebuild what is derived from the notes; delete vectors and links that belong to nothing."""
    connection = transaction.connection
    for key, _ in namespaces(transaction):
        (forget_word_index if key in unreadable else drop_word_index)(connection, key)
    for table in ("mentions", "titled", "titles", "entities", "snapshots", "word_changes"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a name of our own)
    connection.execute("REINDEX")
    connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key, _ in _wrong_vectors(connection)])
    connection.execute("DELETE FROM links WHERE source NOT IN (SELECT key FROM notes)")
    connection.execute("UPDATE notes SET document = NULL WHERE document NOT IN (SELECT key FROM documents)")
    connection.execute("UPDATE namespaces SET revision = revision + 1")
    for key, _ in namespaces(transaction):
        create_word_index(connection, key)
        connection.execute(f"INSERT INTO words_{key} (words_{key}) VALUES ('rebuild')")  # noqa: S608 (a number)
        shared.rebuild_mentions(transaction, key)
        shared.rebuild_entities(transaction, key)


def _notes_can_be_read(connection: apsw.Connection) -> bool:
    """Return whether the tables that everything else is derived from are intact, so that the rest can be rebuilt."""
    try:
        connection.execute("SELECT sum(length(content) + length(id)) FROM notes NOT INDEXED").get  # noqa: B018 (it reads every page)
    except apsw.CorruptError:
        return False
    return True


def _file_problem(connection: apsw.Connection) -> str:
    try:
        lines = [line for (line,) in connection.execute("PRAGMA integrity_check(10)")]
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        return f"SQLite cannot read it: {error}"
    # The lexical indexes are checked by themselves: they can be rebuilt.
    return list_problems(line for line in lines if line != "ok" and "words_" not in line)


def _index_problem(connection: apsw.Connection, namespace_id: int) -> str:
    words = f"words_{namespace_id}"
    try:
        # With the rank of 1 SQLite compares the index with the text of the notes, term by term.
        connection.execute(f"INSERT INTO {words} ({words}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (a number)
    except apsw.ReadOnlyError:
        pass  # the comparison counts as a write; the index itself was checked with the file
    except (apsw.CorruptError, apsw.SQLError) as error:
        return f"the index does not agree with the notes ({error})"
    return ""


def _wrong_vectors(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    sql = (
        "SELECT v.key, v.namespace, v.digest, length(v.vector), m.dimension, m.precision, "
        "n.namespace, n.id, n.title, n.summary, n.content "
        "FROM vectors AS v LEFT JOIN models AS m ON m.key = v.model LEFT JOIN notes AS n ON n.key = v.note"
    )
    return shared.vector_problems(fetch(connection, sql))
