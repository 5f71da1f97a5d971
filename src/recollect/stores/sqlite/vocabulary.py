"""The word index of a namespace and its vocabulary, for those who misspelt a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import apsw

from recollect.query import parse
from recollect.stores import tokens
from recollect.stores.spelling import SPELLING_CHARACTERS, SPELLING_NOTES, Vocabulary, build_vocabulary
from recollect.stores.sqlite import expiry
from recollect.stores.sqlite.fts5 import render_fts5

__all__ = ["WordIndex", "index_vocabulary", "open_vocabulary"]


def open_vocabulary(connection: apsw.Connection, namespace: int) -> None:
    """Make the vocabulary of a namespace's index readable on this connection, whose transaction begins anew.

    The tables are windows on the index without content of their own. They live in the connection alone, also where
    the file can only be read.
    """
    connection.execute("ROLLBACK")
    connection.pragma("query_only", value=False)
    try:
        for table, kind in (("stems", "row"), ("stem_places", "instance")):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
            connection.execute(f"CREATE VIRTUAL TABLE temp.{table} USING fts5vocab (main, words_{namespace}, {kind})")
    finally:
        connection.pragma("query_only", value=True)
    connection.execute("BEGIN")


def index_vocabulary(connection: apsw.Connection, *_: object) -> Vocabulary:
    """Return the stems of the namespace that is open on the connection; what was known before is of no help."""
    return build_vocabulary(connection.execute("SELECT term, doc FROM temp.stems"))


class WordIndex:
    """The word index of a namespace, as one transaction sees it."""

    def __init__(self, connection: apsw.Connection, namespace: int) -> None:
        """Look at it on a connection."""
        self._connection = connection
        self._namespace = namespace
        self._hidden = expiry.hidden(connection)

    def has_word(self, word: str) -> bool:
        """Return whether a note holds a word, given as the index reads it."""
        return self._matches(f'"{word}"')

    def has_match(self, text: str) -> bool:
        """Return whether a search for the word finds a note."""
        expression = render_fts5(parse(text))
        return bool(expression) and self._matches(expression)

    def _matches(self, expression: str) -> bool:
        words = f"words_{self._namespace}"
        seen = "AND rowid IN (SELECT key FROM notes)" if self._hidden else ""
        sql = f"SELECT 1 FROM {words} WHERE {words} MATCH ? {seen} LIMIT 1"  # noqa: S608 (a number of our own)
        return self._connection.execute(sql, (expression,)).get is not None

    def spellings(self, stem: str) -> Counter[str]:
        """Return how the first notes that hold a stem spell its words."""
        return Counter(word for text in self._texts(stem) for word in tokens.spellings(text, stem))

    def _texts(self, stem: str) -> Iterator[str]:
        places = self._connection.execute(
            "SELECT DISTINCT doc, col FROM temp.stem_places WHERE term = ? LIMIT ?", (stem, SPELLING_NOTES)
        ).fetchall()
        for note, column in places:
            yield self._connection.execute(
                f"SELECT substr({column}, 1, ?) FROM words_{self._namespace}_text WHERE key = ?",  # noqa: S608 (our own)
                (SPELLING_CHARACTERS, note),
            ).get
