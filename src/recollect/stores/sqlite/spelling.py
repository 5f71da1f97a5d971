"""Reads the stems of an FTS5 index and the names of notes, for spelling suggestions and to find misspelt names."""

from __future__ import annotations

from collections import Counter

import apsw

from recollect.query import parse
from recollect.stores import name_index, tokens
from recollect.stores.name_index import NameIndex
from recollect.stores.spelling import SPELLING_CHARACTERS, SPELLING_NOTES, Vocabulary, build_vocabulary
from recollect.stores.sqlite.search import render_fts5
from recollect.stores.sqlite.transaction import SqliteTransaction, change_temporary_schema, fetch, hides_notes


def index_names(
    transaction: SqliteTransaction, namespace_id: int, before: NameIndex | None, *, titles: bool
) -> NameIndex:
    """Index the paths (and with ``titles`` the titles) of all notes; reuse names of ``before``, an older index."""
    if titles:
        sql = "SELECT key, coalesce(path, ''), title FROM notes WHERE namespace = ? ORDER BY coalesce(path, ''), id"
    else:
        sql = "SELECT key, path, '' FROM notes WHERE namespace = ? AND path IS NOT NULL ORDER BY path"
    rows = fetch(transaction.connection, sql, (namespace_id,))
    return name_index.index_names(rows, before, titles=titles)


def open_vocabulary(connection: apsw.Connection, namespace_id: int) -> None:
    """Create temporary tables of a namespace's stems and their occurrences; this restarts the transaction."""
    change_temporary_schema(  # stems: term, doc (number of notes); stem_occurrences: term, doc (a note), col (a field)
        connection,
        f"""
        DROP TABLE IF EXISTS temp.stems;
        DROP TABLE IF EXISTS temp.stem_occurrences;
        CREATE VIRTUAL TABLE temp.stems USING fts5vocab (main, words_{namespace_id}, row);
        CREATE VIRTUAL TABLE temp.stem_occurrences USING fts5vocab (main, words_{namespace_id}, instance);
        """,
    )


def read_vocabulary(transaction: SqliteTransaction, *_: object) -> Vocabulary:  # a RevisionCache passes more arguments
    """Return the stems of the namespace for which :func:`open_vocabulary` was called last on the connection."""
    return build_vocabulary(transaction.connection.execute("SELECT term, doc FROM temp.stems"))


class Fts5SpellingIndex:
    """The queries of spelling suggestions on the FTS5 index of a namespace, in one transaction."""

    def __init__(self, connection: apsw.Connection, namespace_id: int) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._hides_notes = hides_notes(connection)  # whether the view ``notes`` leaves out expired notes

    def has_word(self, word: str) -> bool:
        """Return whether a visible note contains a word, given in lower case without accents."""
        return self._matches(f'"{word}"')

    def has_match(self, text: str) -> bool:
        """Return whether a search for the text finds a visible note."""
        expression = render_fts5(parse(text))
        return bool(expression) and self._matches(expression)

    def _matches(self, expression: str) -> bool:
        table = f"words_{self._namespace_id}"
        only_visible = "AND rowid IN (SELECT key FROM notes)" if self._hides_notes else ""
        sql = f"SELECT 1 FROM {table} WHERE {table} MATCH ? {only_visible} LIMIT 1"  # noqa: S608 (only a number varies)
        return self._connection.execute(sql, (expression,)).get is not None

    def spellings(self, stem: str) -> Counter[str]:
        """Count the words with this stem at the start of up to :data:`SPELLING_NOTES` fields that contain the stem."""
        counts: Counter[str] = Counter()
        sql = "SELECT DISTINCT doc, col FROM temp.stem_occurrences WHERE term = ? LIMIT ?"
        for note, column in fetch(self._connection, sql, (stem, SPELLING_NOTES)):
            text = self._connection.execute(
                f"SELECT substr({column}, 1, ?) FROM words_{self._namespace_id}_text WHERE key = ?",  # noqa: S608 (fixed names and a number)
                (SPELLING_CHARACTERS, note),
            ).get
            counts.update(word for _, word in tokens.spellings_of(text, (stem,)))
        return counts
