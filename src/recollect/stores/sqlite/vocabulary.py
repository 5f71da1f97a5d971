"""The terms of a namespace's FTS5 index: for spelling suggestions, and to count the notes that match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import apsw

from recollect.query import parse
from recollect.stores import tokens
from recollect.stores.spelling import SPELLING_CHARACTERS, SPELLING_NOTES, Vocabulary, build_vocabulary
from recollect.stores.sql.dialect import NoteCounts
from recollect.stores.sqlite.fts5 import render_fts5
from recollect.stores.sqlite.transaction import SqliteTransaction, hides_notes


def open_vocabulary(connection: apsw.Connection, namespace_id: int) -> None:
    """Make the vocabulary of a namespace's index readable on this connection, whose transaction restarts.

    The tables are views of the index. They exist in the connection alone, also where the file is read-only.
    """
    connection.execute("ROLLBACK")
    connection.pragma("query_only", value=False)
    try:
        for table, kind in (("stems", "row"), ("stem_places", "instance")):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
            connection.execute(
                f"CREATE VIRTUAL TABLE temp.{table} USING fts5vocab (main, words_{namespace_id}, {kind})"
            )
    finally:
        connection.pragma("query_only", value=True)
    connection.execute("BEGIN")


def read_vocabulary(transaction: SqliteTransaction, *_: object) -> Vocabulary:
    """Return the terms of the namespace that is open on the connection."""
    return build_vocabulary(transaction.connection.execute("SELECT term, doc FROM temp.stems"))


def start_counts(transaction: SqliteTransaction, namespace_id: int, _: NoteCounts[str] | None) -> NoteCounts[str]:
    """Return an empty cache of counts; expired notes count until they are removed, as in the index."""
    sql = "SELECT count(*) FROM main.notes WHERE namespace = ?"
    return NoteCounts(transaction.connection.execute(sql, (namespace_id,)).get)


def count_matches(transaction: SqliteTransaction, namespace_id: int, expressions: set[str]) -> dict[str, int]:
    """Count the notes that match each of some FTS5 expressions."""
    words = f"words_{namespace_id}"
    sql = f"SELECT count(*) FROM {words} WHERE {words} MATCH ?"  # noqa: S608 (a number)
    return {expression: transaction.connection.execute(sql, (expression,)).get for expression in expressions}


class Fts5SpellingIndex:
    """What spelling suggestions read of a namespace's index, as one transaction sees it."""

    def __init__(self, connection: apsw.Connection, namespace_id: int) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._hides_notes = hides_notes(connection)

    def has_word(self, word: str) -> bool:
        """Return whether a note contains a folded word."""
        return self._matches(f'"{word}"')

    def has_match(self, text: str) -> bool:
        """Return whether a search for the text finds a note."""
        expression = render_fts5(parse(text))
        return bool(expression) and self._matches(expression)

    def _matches(self, expression: str) -> bool:
        words = f"words_{self._namespace_id}"
        visible = "AND rowid IN (SELECT key FROM notes)" if self._hides_notes else ""
        sql = f"SELECT 1 FROM {words} WHERE {words} MATCH ? {visible} LIMIT 1"  # noqa: S608 (a number)
        return self._connection.execute(sql, (expression,)).get is not None

    def spellings(self, stem: str) -> Counter[str]:
        """Count the spellings of a stem in the first notes that contain it."""
        return Counter(word for text in self._texts(stem) for _, word in tokens.spellings_of(text, (stem,)))

    def _texts(self, stem: str) -> Iterator[str]:
        fields = self._connection.execute(
            "SELECT DISTINCT doc, col FROM temp.stem_places WHERE term = ? LIMIT ?", (stem, SPELLING_NOTES)
        ).fetchall()
        for note, column in fields:
            yield self._connection.execute(
                f"SELECT substr({column}, 1, ?) FROM words_{self._namespace_id}_text WHERE key = ?",  # noqa: S608 (names of our own)
                (SPELLING_CHARACTERS, note),
            ).get
