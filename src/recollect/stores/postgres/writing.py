"""A batch becomes rows: of notes, words, vectors and links, table by table, in the transaction of the caller.

Each table takes all rows of a batch with one statement: many notes cost few journeys to the server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.model import Document, Link
from recollect.stores.base import Model
from recollect.stores.batches import Plan
from recollect.stores.changes import Change, words_of
from recollect.stores.known_words import KnownWords
from recollect.stores.mentions import Text
from recollect.stores.postgres.connections import Transaction
from recollect.stores.postgres.embedding import active_model, write_vectors
from recollect.stores.postgres.entities import write_entities
from recollect.stores.postgres.filters import metadata_facts as facts_of
from recollect.stores.postgres.mentions import RememberedWords, write_mentions
from recollect.stores.postgres.names import write_names
from recollect.stores.postgres.postings import TextChange, index_notes
from recollect.stores.postgres.shelving import Place, write_documents
from recollect.stores.postgres.tables import columns, delete_notes, links_of, write_links
from recollect.stores.postgres.text import lookup_hash as mark
from recollect.stores.rows import COLUMNS, NoteRow

__all__ = ["BatchTables", "write_plan"]


class BatchTables:
    """What a batch asks of the tables, as the transaction has them, whose namespaces it has to itself."""

    def __init__(self, transaction: Transaction, most: int) -> None:
        """Look at nothing yet; ``most`` is how many notes may begin."""
        self._connection = transaction.connection
        self._namespaces = transaction.namespaces
        self._most = most
        self._keys: Iterator[int] = iter(())
        self._documents: dict[Place, int] = {}
        self._notes: dict[int, list[int]] = {}

    def write_documents(self, namespace: int, documents: Sequence[Document]) -> None:
        """Write the documents that the batch will ask for, each with the fingerprint that it was given last."""
        self._documents = write_documents(
            self._connection, {(namespace, each.root, each.name): each.fingerprint for each in documents}
        )
        self._notes = {key: [] for key in self._documents.values()}
        notes = self._connection.execute(
            "SELECT document, key FROM notes WHERE document = ANY (%s) ORDER BY key", [list(self._notes)]
        )
        for document, note in notes:
            self._notes[document].append(note)

    def namespace(self, name: str) -> int:
        """Return the key of a namespace; those of a batch begin with its transaction."""
        return self._namespaces[name]

    def notes(self, namespace: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        """Return the notes with one of these ids, then those with one of these paths; a note may come twice."""
        return [
            NoteRow._make(row)
            for column, names in (("id_mark", ids), ("path_mark", paths))
            if names
            for row in self._connection.execute(
                f"SELECT {COLUMNS} FROM notes WHERE namespace = %s AND {column} = ANY (%b)",  # noqa: S608 (names of our own)
                [namespace, [mark(name) for name in names]],
            )
        ]

    def links(self, notes: Sequence[int]) -> dict[int, tuple[Link, ...]]:
        """Return the links of the notes that have any."""
        return links_of(self._connection, notes)

    def new_key(self) -> int:
        """Return the key of a note that begins, higher than those before."""
        for key in self._keys:
            return key
        rows = self._connection.execute("SELECT nextval('notes_key') FROM generate_series(1, %s)", [self._most])
        self._keys = iter([key for (key,) in rows])
        return next(self._keys)

    def document(self, namespace: int, document: Document) -> int:
        """Return the key of a document that was written before."""
        return self._documents[namespace, document.root, document.name]

    def notes_of(self, document: int) -> list[int]:
        """Return the notes that a document has."""
        return self._notes[document]

    def owner(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document."""
        row = self._connection.execute("SELECT root, name FROM documents WHERE key = %s", [document]).fetchone()
        return None if row is None else (row[0], row[1])

    def model(self) -> Model | None:
        """Return the model that the store is searched with."""
        active = active_model(self._connection)
        return active[1] if active else None

    def embedded(self, notes: Sequence[int], model: Model) -> Collection[int]:
        """Return those of the notes that have a vector of ``model``."""
        rows = self._connection.execute(
            "SELECT note FROM vectors AS v JOIN models AS m ON m.key = v.model "
            "WHERE piece = 0 AND note = ANY (%s) AND (m.name, dimension, precision) = (%s, %s, %s)",
            [notes, *model],
        )
        return {note for (note,) in rows}


def write_plan(
    connection: Connection[TupleRow], plan: Plan, remembered: RememberedWords
) -> dict[int, tuple[int, KnownWords]]:
    """Write all that a batch decided, and return what is to be remembered of words once it is committed."""
    known: dict[int, KnownWords] = {}
    for namespace, notes in plan.gone.items():
        delete_notes(connection, namespace, notes)
    _write_notes(connection, plan.changes)
    for namespace, group in groupby(plan.changes, key=attrgetter("new.namespace")):
        words = _write_what_hangs_on_notes(connection, namespace, list(group), remembered)
        if words is not None:
            known[namespace] = words
    write_links(connection, plan.links)
    if plan.stale:
        connection.execute("DELETE FROM vectors WHERE note = ANY (%s)", [plan.stale])
    if plan.vectors:
        write_vectors(connection, plan.model, plan.vectors)
    if not known:
        return {}
    rows = connection.execute("SELECT key, revision FROM namespaces WHERE key = ANY (%s)", [list(known)])
    return {namespace: (revision, known[namespace]) for namespace, revision in rows}


def _write_notes(connection: Connection[TupleRow], changes: Sequence[Change]) -> None:
    # An id or path may go from one note of the batch to another: all let go of theirs before any takes one.
    renamed = [change.new.key for change in changes if change.renamed]
    if renamed:
        connection.execute("UPDATE notes SET id = chr(1) || key, path = NULL WHERE key = ANY (%s)", [renamed])
    begun = [(*new, facts_of(new.metadata)) for new in (change.new for change in changes if not change.old)]
    if begun:
        connection.execute(_INSERT, columns(begun, len(_TYPES)))
    changed = [
        (*change.new, facts_of(change.new.metadata), change.old.last_accessed_at) for change in changes if change.old
    ]
    if changed:
        connection.execute(_UPDATE, columns(changed, len(_TYPES) + 1))


def _write_what_hangs_on_notes(
    connection: Connection[TupleRow], namespace: int, changes: Sequence[Change], remembered: RememberedWords
) -> KnownWords | None:
    """Find out what notes name and list, while the word index holds all others, and put their words there."""
    worded = [change for change in changes if change.words_changed]
    texts = [Text(new.key, new.title, new.summary, new.content) for new in map(attrgetter("new"), worded)]
    known = [change.new.key for change in worded if change.old]
    words = None
    if worded or any(change.renamed for change in changes):
        words = write_mentions(connection, namespace, texts, known, remembered)
        index_notes(
            connection,
            namespace,
            [
                TextChange(change.new.key, words_of(change.old) if change.old else None, words_of(change.new))
                for change in worded
            ],
            fresh=min((change.new.key for change in changes if not change.old), default=None),
        )
    listing = [change for change in changes if change.new.metadata != (change.old.metadata if change.old else "{}")]
    write_entities(
        connection,
        namespace,
        [(change.new.key, change.new.metadata) for change in listing],
        [change.new.key for change in listing if change.old],
    )
    named = [
        change
        for change in changes
        if not change.old or (change.old.path, change.old.title) != (change.new.path, change.new.title)
    ]
    if named:
        write_names(
            connection,
            namespace,
            [(change.new.key, change.new.path, change.new.title) for change in named],
            [change.new.key for change in named if change.old],
        )
    return words


_TYPES = {
    **dict.fromkeys(NoteRow._fields, "text"),
    **dict.fromkeys(
        ("key", "position", "created_at", "updated_at", "last_accessed_at", "expires_at", "document"), "bigint"
    ),
    "namespace": "int",
    "importance": "double precision",
    "facts": "jsonb",
}
_NAMES = ", ".join(_TYPES)
_ARRAYS = ", ".join(f"%b::{kind}[]" for kind in _TYPES.values())

_INSERT = f"INSERT INTO notes ({_NAMES}) SELECT {_NAMES} FROM unnest({_ARRAYS}) AS new ({_NAMES})"  # noqa: S608 (names of our own)

# Who only notes that a note was read does not wait for its namespace: unless the batch itself says when that was, it
# stays as it is by now.
_TOLD = {name: f"new.{name}" for name in _TYPES} | {
    "last_accessed_at": "CASE WHEN new.last_accessed_at IS DISTINCT FROM new.accessed_before "
    "THEN new.last_accessed_at ELSE notes.last_accessed_at END"
}
_UPDATE = (
    f"UPDATE notes SET ({_NAMES}) = ROW ({', '.join(_TOLD.values())}) "  # noqa: S608 (names of our own)
    f"FROM unnest({_ARRAYS}, %b::bigint[]) AS new ({_NAMES}, accessed_before) WHERE notes.key = new.key"
)
