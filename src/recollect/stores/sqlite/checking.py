"""Is every part of a store whole, and what can be rebuilt if it is not."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from recollect.model import embedding_text
from recollect.stores.base import Finding, digest
from recollect.stores.sqlite import entities, mentions
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.schema import TABLES, create_word_index, drop_word_index, forget_word_index
from recollect.stores.sqlite.snapshots import Snapshots

__all__ = ["check", "rebuild", "unreadable_indexes"]

SHOWN = 3
"""How many of many problems are named."""


def check(connection: apsw.Connection, snapshots: Snapshots) -> list[Finding]:
    """Look at every part. Where SQLite's own structure is broken, the rest cannot be looked at."""
    problem = _missing_tables(connection)
    if problem:
        return [Finding("file", problem, repairable=False)]
    structure = Finding("file", _file_problem(connection), repairable=False)
    if structure.problem:
        return [structure._replace(repairable=_notes_can_be_read(connection))]
    return [
        structure,
        Finding("references", _reference_problem(connection)),
        *(Finding(f"words of {name!r}", _word_problem(connection, key)) for key, name in _namespaces(connection)),
        Finding("vectors", _vector_problem(connection)),
        Finding("mentions", _listed(list(mentions.problems(connection)))),
        Finding("entities", _listed(list(entities.problems(connection)))),
        Finding("snapshots", snapshots.problem(connection)),
    ]


def unreadable_indexes(connection: apsw.Connection) -> set[int]:
    """Return the namespaces whose word index is damaged; ask outside of the transaction that repairs it."""
    return {key for key, _ in _namespaces(connection) if _word_problem(connection, key)}


def rebuild(connection: apsw.Connection, unreadable: set[int]) -> None:
    """Make anew what is derived from the notes: indexes, words, mentions, entities.

    Vectors and links that belong to nothing are dropped.
    """
    for key, _ in _namespaces(connection):
        (forget_word_index if key in unreadable else drop_word_index)(connection, key)
    for table in ("mentions", "titled", "titles", "entities", "snapshots", "word_changes"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a name of our own)
    connection.execute("REINDEX")
    connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key, _ in _wrong_vectors(connection)])
    connection.execute("DELETE FROM links WHERE source NOT IN (SELECT key FROM notes)")
    connection.execute("UPDATE notes SET document = NULL WHERE document NOT IN (SELECT key FROM documents)")
    for key, _ in _namespaces(connection):
        create_word_index(connection, key)
        connection.execute(f"INSERT INTO words_{key} (words_{key}) VALUES ('rebuild')")  # noqa: S608 (our own number)
    connection.execute("UPDATE namespaces SET revision = revision + 1")
    mentions.rebuild(connection)
    entities.rebuild(connection)


def _namespaces(connection: apsw.Connection) -> list[tuple[int, str]]:
    return [(key, name) for key, name in fetch(connection, "SELECT key, name FROM namespaces ORDER BY name")]


def _missing_tables(connection: apsw.Connection) -> str:
    there = {name for (name,) in fetch(connection, "SELECT name FROM sqlite_schema")}
    return _listed([f"the table {name} is missing" for name in TABLES if name not in there])


def _notes_can_be_read(connection: apsw.Connection) -> bool:
    """Return whether what everything else derives from is whole, so that the rest can be rebuilt."""
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
    # The word indexes are looked at by themselves: they can be rebuilt.
    return _listed([line for line in lines if line != "ok" and "words_" not in line])


def _reference_problem(connection: apsw.Connection) -> str:
    rows = connection.execute("PRAGMA foreign_key_check").fetchall()
    return _listed(
        [f"row {row or '?'} of {table} refers to a row of {parent} that is not there" for table, row, parent, _ in rows]
    )


def _word_problem(connection: apsw.Connection, namespace: int) -> str:
    try:
        # With the rank of 1 SQLite compares the index with the text of the notes, word by word.
        connection.execute(f"INSERT INTO words_{namespace} (words_{namespace}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (names of our own)
    except apsw.ReadOnlyError:
        pass  # the comparison counts as a write; the index itself was looked at with the file
    except (apsw.CorruptError, apsw.SQLError) as error:
        return f"the index does not agree with the notes ({error})"
    return ""


def _vector_problem(connection: apsw.Connection) -> str:
    return _listed([problem for _, problem in _wrong_vectors(connection)])


def _wrong_vectors(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    rows = fetch(
        connection,
        "SELECT v.key, v.namespace, v.digest, length(v.vector), m.dimension, m.precision, "
        "n.namespace, n.id, n.title, n.summary, n.content "
        "FROM vectors AS v LEFT JOIN models AS m ON m.key = v.model LEFT JOIN notes AS n ON n.key = v.note",
    )
    width = {"float32": 4, "float16": 2}
    for key, namespace, mark, size, dimension, precision, home, note, *text in rows:
        if home is None or dimension is None:
            yield key, f"vector {key} belongs to no note or model"
        elif namespace != home:
            yield key, f"the vector of note {note} lies in another namespace"
        elif not size or size % (dimension * width.get(precision, 0) or size + 1):
            yield key, f"the vector of note {note} has {size} bytes, not those of {dimension} numbers in {precision}"
        elif mark != digest(embedding_text(*text)):
            yield key, f"the vector of note {note} stands for another text"


def _listed(problems: list[str]) -> str:
    more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more
