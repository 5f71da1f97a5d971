"""A batch becomes rows: of notes, words, vectors and links, table by table, in the transaction of the caller."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, groupby
from operator import attrgetter

import apsw

from recollect.model import Document, Link
from recollect.stores.base import Model
from recollect.stores.batches import Plan
from recollect.stores.changes import Change, words_of
from recollect.stores.known_words import KnownWords
from recollect.stores.mentions import Text
from recollect.stores.rows import COLUMNS, NoteRow
from recollect.stores.sqlite.embedding import active_model, write_vectors
from recollect.stores.sqlite.entities import write_entities
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.sqlite.mentions import write_mentions
from recollect.stores.sqlite.revisions import note_changes, revise
from recollect.stores.sqlite.schema import create_word_index
from recollect.stores.sqlite.tables import delete_notes, links_of, namespace_key, write_links
from recollect.stores.tokens import indexed

__all__ = ["Transaction", "write_plan"]

_PLACES = ", ".join("?" * len(NoteRow._fields))

_HIGHEST_KEY = """
SELECT coalesce(max(key), 0) FROM (
    SELECT max(key) AS key FROM notes
    UNION ALL SELECT seq FROM sqlite_sequence WHERE name = 'notes'
    UNION ALL SELECT max(last) FROM snapshots WHERE model = 0
)
"""


class Transaction:
    """What a batch asks of the tables, as the connection's transaction has them."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Look at what is there."""
        self._connection = connection
        self._keys: Iterator[int] = count(1 + connection.execute(_HIGHEST_KEY).get)

    def namespace(self, name: str) -> int:
        """Return the key of a namespace, which begins here if it is new."""
        known = namespace_key(self._connection, name)
        if known is not None:
            return known
        key: int = self._connection.execute("INSERT INTO namespaces (name) VALUES (?) RETURNING key", (name,)).get
        create_word_index(self._connection, key)
        return key

    def notes(self, namespace: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        """Return the notes with one of these ids, then those with one of these paths; a note may come twice."""
        return [
            NoteRow._make(row)
            for column, names in (("id", ids), ("path", paths))
            if names
            for row in self._connection.execute(
                f"SELECT {COLUMNS} FROM notes "  # noqa: S608 (names of our own)
                f"WHERE namespace = ? AND {column} IN (SELECT value FROM json_each(?))",
                (namespace, json.dumps(names)),
            )
        ]

    def links(self, notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
        """Return the links of the notes that have any."""
        return links_of(self._connection, notes)

    def new_key(self) -> int:
        """Return the key of a note that begins, higher than those before."""
        return next(self._keys)

    def document(self, namespace: int, document: Document) -> int:
        """Return the key of a document, which begins here if it is new, and has this fingerprint from now on."""
        key: int = self._connection.execute(
            "INSERT INTO documents (namespace, root, name, fingerprint) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint RETURNING key",
            (namespace, document.root, document.name, document.fingerprint),
        ).get
        return key

    def notes_of(self, document: int) -> list[int]:
        """Return the notes that a document has."""
        return [note for (note,) in fetch(self._connection, "SELECT key FROM notes WHERE document = ?", (document,))]

    def owner(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document."""
        owner: tuple[str, str] | None = self._connection.execute(
            "SELECT root, name FROM documents WHERE key = ?", (document,)
        ).get
        return owner

    def model(self) -> Model | None:
        """Return the model that the store is searched with."""
        active = active_model(self._connection)
        return active[1] if active else None

    def embedded(self, notes: Sequence[int], model: Model) -> set[int]:
        """Return those of the notes that have a vector of ``model``."""
        rows = self._connection.execute(
            "SELECT note FROM vectors JOIN models ON models.key = model "
            "WHERE note IN (SELECT value FROM json_each(?)) AND (name, dimension, precision) = (?, ?, ?)",
            (json.dumps(notes), *model),
        )
        return {note for (note,) in rows}


def write_plan(connection: apsw.Connection, plan: Plan, known_words: KnownWords) -> None:
    """Write all that a batch decided."""
    for namespace, notes in plan.gone.items():
        delete_notes(connection, namespace, notes)
    _write_notes(connection, plan.changes, known_words)
    write_links(connection, plan.links)
    connection.executemany("DELETE FROM vectors WHERE note = ?", [(note,) for note in plan.stale])
    if plan.vectors:
        write_vectors(connection, plan.model, plan.vectors)


def _write_notes(connection: apsw.Connection, changes: Sequence[Change], known_words: KnownWords) -> None:
    executemany = connection.executemany
    for namespace, group in _by_namespace(changes):
        # The index reads the words that it lets go of from the notes: it comes before they change.
        gone = [(change.new.key,) for change in group if change.old and change.words_changed]
        executemany(f"DELETE FROM words_{namespace} WHERE rowid = ?", gone)  # noqa: S608 (a number of our own)
    # An id or path may go from one note of the batch to another: all let go of theirs before any takes one.
    renamed = [(change.new.key,) for change in changes if change.renamed]
    executemany("UPDATE notes SET id = char(0) || key, path = NULL WHERE key = ?", renamed)
    new = [change.new for change in changes if not change.old]
    executemany(f"INSERT INTO notes ({COLUMNS}) VALUES ({_PLACES})", new)  # noqa: S608 (names of our own)
    changed = [(*change.new, change.new.key) for change in changes if change.old]
    executemany(f"UPDATE notes SET ({COLUMNS}) = ({_PLACES}) WHERE key = ?", changed)  # noqa: S608 (names of our own)
    for namespace, group in _by_namespace(changes):
        _connect(connection, namespace, group, known_words)
        words = [(change.new.key, *map(indexed, words_of(change.new))) for change in group if change.words_changed]
        if words or any(change.renamed for change in group):
            revise(connection, namespace)
            note_changes(
                connection, namespace, [change.new.key for change in group if change.old and change.words_changed]
            )
        executemany(
            f"INSERT INTO words_{namespace} (rowid, path, title, summary, tags, content) "  # noqa: S608 (names of our own)
            "VALUES (?, ?, ?, ?, ?, ?)",
            words,
        )


def _connect(connection: apsw.Connection, namespace: int, changes: Sequence[Change], known_words: KnownWords) -> None:
    """Find out what notes name and list, while the word index holds all others and none of these."""
    worded = [change for change in changes if change.words_changed]
    texts = [Text(new.key, new.title, new.summary, new.content) for new in map(attrgetter("new"), worded)]
    known = [change.new.key for change in worded if change.old]
    write_mentions(connection, namespace, texts, known, known_words)
    listing = [
        (change.new.key, change.new.metadata, change.old is not None)
        for change in changes
        if change.new.metadata != (change.old.metadata if change.old else "{}")
    ]
    write_entities(connection, namespace, listing)


def _by_namespace(changes: Sequence[Change]) -> Iterator[tuple[int, list[Change]]]:
    for namespace, group in groupby(changes, key=attrgetter("new.namespace")):
        yield namespace, list(group)
