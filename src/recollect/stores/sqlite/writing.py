"""One batch of drafts becomes rows: of notes, words, vectors and links, in the transaction of the caller.

First all is read and decided, then all is written, table by table. A batch that lacks vectors, or holds a draft that
cannot be stored, is given up with its transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import apsw

from recollect.errors import ArgumentError, IngestError, NoteNotFoundError
from recollect.model import DEFAULT_NAMESPACE, Document, Draft, EmbeddingText, Note, Written
from recollect.stores.base import Model, VectorsMissingError, digest
from recollect.stores.sqlite.changes import WHOLE_NOTE, Change, blank_row, merged_row, new_id, text_of, words_of
from recollect.stores.sqlite.embedding import active_model, write_vectors
from recollect.stores.sqlite.entities import write_entities
from recollect.stores.sqlite.known_words import KnownWords
from recollect.stores.sqlite.mentions import Text, write_mentions
from recollect.stores.sqlite.revisions import revise
from recollect.stores.sqlite.rows import COLUMNS, NoteRow, fetch, note_of
from recollect.stores.sqlite.schema import create_word_index
from recollect.stores.sqlite.tables import delete_notes, links_of, namespace_key, write_links
from recollect.stores.sqlite.titles import indexed

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["Batch"]

_PLACES = ", ".join("?" * len(NoteRow._fields))


class Batch:
    """Drafts on their way into the tables."""

    def __init__(
        self, connection: apsw.Connection, known_words: KnownWords, *, create: bool = True, adopt: bool = False
    ) -> None:
        """Begin an empty batch in the connection's transaction.

        Without ``create`` it may only change notes; with ``adopt``, documents take over notes at their paths.
        """
        self._connection = connection
        self._known_words = known_words
        self._create = create
        self._adopt = adopt
        self._moves: dict[tuple[str, str], str] = {}
        """Where the drafts of this batch put notes that they name by id."""
        self._now = time.time_ns() // 1000
        self._blank = blank_row(self._now)
        self._next_key: int = connection.execute("SELECT coalesce(max(key), 0) + 1 FROM notes").get
        self._namespaces: dict[str, int] = {}
        self._in_order: list[Change] = []
        """One for each draft; drafts of the same note share theirs."""
        self._by_key: dict[int, Change] = {}
        self._by_id: dict[tuple[int, str], Change] = {}
        self._by_path: dict[tuple[int, str], Change] = {}
        self._free: set[int] = set()
        """Notes that their documents gave up in this batch."""

    def add(self, drafts: Sequence[Draft]) -> None:
        """Decide what the drafts do to the notes that exist, or begin."""
        self._read_existing(drafts)
        for draft in drafts:
            self._decide(draft)

    def add_documents(self, documents: Sequence[Document], namespace: str) -> Written:
        """Decide what documents do, delete the notes that they no longer have, and return how many are which.

        A note may move from one of them to another, whichever comes first.
        """
        home = self._namespace(namespace)
        latest = {(document.root, document.name): document for document in documents}
        drafts = {
            self._document(home, document): [{**draft, "namespace": namespace} for draft in document.drafts]
            for document in latest.values()
        }
        had = {
            note: document
            for document in drafts
            for (note,) in fetch(self._connection, "SELECT key FROM notes WHERE document = ?", (document,))
        }
        for each in drafts.values():
            self._read_existing(each)
        named = {
            (change.new.key, document)
            for document, each in drafts.items()
            for change in map(self._named_by, each)
            if change
        }
        self._free = {note for note, document in had.items() if (note, document) not in named}
        changes = [self._decide(draft, document) for document, each in drafts.items() for draft in each]
        gone = had.keys() - {change.new.key for change in changes}
        delete_notes(self._connection, home, sorted(gone))
        added = sum(change.old is None for change in changes)
        updated = sum(change.old is not None and change.matters for change in changes)
        return Written(added, updated, len(changes) - added - updated, len(gone))

    def _document(self, namespace: int, document: Document) -> int:
        key: int = self._connection.execute(
            "INSERT INTO documents (namespace, root, name, fingerprint) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint RETURNING key",
            (namespace, document.root, document.name, document.fingerprint),
        ).get
        return key

    def write(self, model: Model | None, vectors: Mapping[bytes, Vector]) -> list[Note]:
        """Write all that was decided and return the notes in the order of their drafts."""
        wanted = self._missing_vectors(model, vectors)
        changes = sorted(
            (change for change in self._by_key.values() if change.matters), key=attrgetter("new.namespace", "new.key")
        )
        self._write_notes(changes)
        relinked = [change for change in changes if change.links != change.old_links]
        write_links(self._connection, {change.new.key: change.links for change in relinked})
        stale = [(change.new.key,) for change in changes if change.old and change.text_changed]
        self._connection.executemany("DELETE FROM vectors WHERE note = ?", stale)
        if wanted:
            self._check_dimension(model)
            write_vectors(self._connection, model, wanted)
        return [note_of(change.new, change.namespace, change.links) for change in self._in_order]

    def _check_dimension(self, model: Model | None) -> None:
        """Refuse vectors of a model that has changed its dimension: they would never be found beside the others."""
        active = active_model(self._connection)
        if model and active and active[1].name == model.name and active[1] != model:
            raise ArgumentError(
                "embedder",
                f"makes vectors of {model.dimension} numbers; those of {model.name} in this memory have "
                f"{active[1].dimension}; reindex, or give it another name",
            )

    def _missing_vectors(
        self, model: Model | None, vectors: Mapping[bytes, Vector]
    ) -> list[tuple[int, int, bytes, Vector]]:
        """Return note, namespace, digest and vector of each vector to write."""
        wanted = []
        missing: dict[EmbeddingText, None] = {}
        embedded = _notes_with_vectors(self._connection, model, list(self._by_key.values()))
        for change in self._by_key.values():
            vector = change.vector
            text = text_of(change.new)
            mark = digest(text)
            if vector is None:
                if model is None or (change.new.key in embedded and not change.text_changed):
                    continue
                vector = vectors.get(mark)
                if vector is None:
                    missing[text] = None
                    continue
            wanted.append((change.new.key, change.new.namespace, mark, vector))
        if missing:
            raise VectorsMissingError(list(missing))
        return wanted

    def _write_notes(self, changes: Sequence[Change]) -> None:
        executemany = self._connection.executemany
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
            self._connect(namespace, group)
            words = [(change.new.key, *map(indexed, words_of(change.new))) for change in group if change.words_changed]
            if words or any(change.renamed for change in group):
                revise(self._connection, namespace)
            executemany(
                f"INSERT INTO words_{namespace} (rowid, path, title, summary, tags, content) "  # noqa: S608 (names of our own)
                "VALUES (?, ?, ?, ?, ?, ?)",
                words,
            )

    def _connect(self, namespace: int, changes: Sequence[Change]) -> None:
        """Find out what notes name and list, while the word index holds all others and none of these."""
        worded = [change for change in changes if change.words_changed]
        texts = [Text(new.key, new.title, new.summary, new.content) for new in map(attrgetter("new"), worded)]
        known = [change.new.key for change in worded if change.old]
        write_mentions(self._connection, namespace, texts, known, self._known_words)
        listing = [
            (change.new.key, change.new.metadata, change.old is not None)
            for change in changes
            if change.new.metadata != (change.old.metadata if change.old else "{}")
        ]
        write_entities(self._connection, namespace, listing)

    def _namespace(self, name: str) -> int:
        if name not in self._namespaces:
            key = namespace_key(self._connection, name)
            if key is None:
                key = self._connection.execute("INSERT INTO namespaces (name) VALUES (?) RETURNING key", (name,)).get
                create_word_index(self._connection, key)
            self._namespaces[name] = key
        return self._namespaces[name]

    def _read_existing(self, drafts: Sequence[Draft]) -> None:
        """Read the notes that the drafts name by id or path."""
        asked: dict[str, tuple[list[str], list[str]]] = {}
        for draft in drafts:
            home = draft.get("namespace", DEFAULT_NAMESPACE)
            ids, paths = asked.setdefault(home, ([], []))
            if draft.get("id") and draft.get("path"):
                self._moves[home, draft["id"]] = draft["path"]
            if draft.get("id"):
                ids.append(draft["id"])
            if draft.get("path"):
                paths.append(draft["path"])
        for name, (ids, paths) in asked.items():
            namespace = self._namespace(name)
            rows = [
                NoteRow._make(row)
                for column, names in (("id", ids), ("path", paths))
                if names
                for row in self._connection.execute(
                    f"SELECT {COLUMNS} FROM notes "  # noqa: S608 (names of our own)
                    f"WHERE namespace = ? AND {column} IN (SELECT value FROM json_each(?))",
                    (namespace, json.dumps(names)),
                )
            ]
            fresh = {row.key: row for row in rows if row.key not in self._by_key}
            links = links_of(self._connection, list(fresh))
            for key, row in fresh.items():
                self._remember(Change(row, row, name, links.get(key, ()), links.get(key, ())))

    def _remember(self, change: Change) -> None:
        self._by_key[change.new.key] = change
        self._by_id[change.new.namespace, change.new.id] = change
        if change.new.path:
            self._by_path[change.new.namespace, change.new.path] = change

    def _forget_names(self, change: Change) -> None:
        del self._by_id[change.new.namespace, change.new.id]
        place = change.new.namespace, change.new.path or ""
        if self._by_path.get(place) is change:  # another may have taken it
            del self._by_path[place]

    def _decide(self, draft: Draft, document: int | None = None) -> Change:
        """Merge a draft into the note that it names, or begin a note; a document's draft replaces all of it."""
        change = self._named_by(draft) or self._begin(draft)
        row = change.new
        if document is not None:
            if change.old is not None:
                self._check_owner(row, document, draft)
            row = row._replace(document=document)
            draft = {**WHOLE_NOTE, **draft}
        merged = merged_row(row, draft)
        links = draft.get("links", change.links)
        if change.old and "updated_at" not in draft and (merged != row or links != change.links):
            merged = merged._replace(updated_at=self._now)
        vector = draft.get("vector")
        if vector is None and change.vector is not None and text_of(merged) == text_of(row):
            vector = change.vector
        if change.new.key in self._by_key:
            self._forget_names(change)
        change.new, change.links, change.vector = merged, links, vector
        self._remember(change)
        self._in_order.append(change)
        return change

    def _named_by(self, draft: Draft) -> Change | None:
        """Return the note that a draft means: the one with its id, or else the one with its path."""
        namespace = self._namespace(draft.get("namespace", DEFAULT_NAMESPACE))
        with_id = self._by_id.get((namespace, draft.get("id", "")))
        with_path = self._by_path.get((namespace, draft.get("path", "")))
        if with_id and with_path and with_id is not with_path:
            if self._moves.get((with_path.namespace, with_path.new.id), draft["path"]) != draft["path"]:
                return with_id  # the other is on its way to another path
            raise ArgumentError(
                "path", f"{draft['path']!r} is the path of another note, {with_path.new.id!r}; delete that first"
            )
        if draft.get("id") and not self._create:
            return with_id  # the path is where the note should go, not the note that is meant
        return with_id or with_path

    def _begin(self, draft: Draft) -> Change:
        if not self._create:
            raise NoteNotFoundError(f"there is no note {draft.get('id') or draft.get('path')!r}")
        if "content" not in draft:
            raise ArgumentError("content", f"is needed for a new note{_named(draft)}")
        name = draft.get("namespace", DEFAULT_NAMESPACE)
        key, self._next_key = self._next_key, self._next_key + 1
        note_id = draft.get("id") or new_id(self._now)
        row = NoteRow._make((key, self._namespace(name), note_id, *self._blank[3:]))
        return Change(None, row, name, (), ())

    def _check_owner(self, row: NoteRow, document: int, draft: Draft) -> None:
        """Refuse to write over a note that is not this document's, unless it says the same or that is wanted."""
        taken = row.document != document and row.key not in self._free and row.content != draft.get("content")
        if not taken or self._adopt:
            return
        owner = self._connection.execute("SELECT root, name FROM documents WHERE key = ?", (row.document,)).get
        origin = "/".join(owner) if owner else "another hand"
        raise IngestError(
            f"{row.path} is the path of a note from {origin}; ingest with a prefix, or adopt the notes that are there"
        )


def _named(draft: Draft) -> str:
    """Return how an error message calls the note of a draft."""
    name = draft.get("path") or draft.get("id")
    return f"; {name!r} is not there yet" if name else ""


def _notes_with_vectors(connection: apsw.Connection, model: Model | None, changes: Sequence[Change]) -> set[int]:
    """Return the notes of a batch that have a vector of ``model``."""
    old = [change.new.key for change in changes if change.old]
    if model is None or not old:
        return set()
    rows = connection.execute(
        "SELECT note FROM vectors JOIN models ON models.key = model "
        "WHERE note IN (SELECT value FROM json_each(?)) AND (name, dimension, precision) = (?, ?, ?)",
        (json.dumps(old), *model),
    )
    return {note for (note,) in rows}


def _by_namespace(changes: Sequence[Change]) -> Iterator[tuple[int, list[Change]]]:
    for namespace, group in groupby(changes, key=attrgetter("new.namespace")):
        yield namespace, list(group)
