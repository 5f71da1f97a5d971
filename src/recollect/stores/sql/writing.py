"""Write a batch: notes, terms, links and vectors, and the data of graph edges: titles, mentions and entities.

A title that too many notes mention is marked as common and its mentions are deleted. It stays common until the last
note with this title is deleted, or the mentions are rebuilt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from operator import attrgetter

from recollect.arguments import with_deep_stack
from recollect.model import Document, Link
from recollect.stores.base import Model
from recollect.stores.batches import Plan
from recollect.stores.rows import COLUMNS, Change, NoteRow
from recollect.stores.sql.dialect import SqlTransaction
from recollect.stores.sql.tables import (
    IS_MODEL,
    active_model,
    delete_notes,
    links_by_source,
    upsert_documents,
    write_links,
    write_vectors,
)
from recollect.stores.tokens import (
    MAX_MENTIONS,
    MIN_TITLES,
    Mention,
    NoteText,
    TermFilter,
    TermFilterCache,
    Title,
    contains_phrase,
    find_mentions,
    folded_text,
    titles_by_note,
)
from recollect.text import collapse_whitespace

BATCH_TITLES = 64
"""How many new titles are looked up in the lexical index at a time."""
LONG_STEMS = 250
"""Longer titles are always looked up, because an index may have truncated one of their terms."""
ENTITIES_KEY = "entities"
"""The key of the metadata that lists the entities of a note."""


class BatchTables:
    """The data that a batch reads from the tables before it writes."""

    def __init__(self, transaction: SqlTransaction, max_notes: int) -> None:
        self._transaction = transaction
        self._max_notes = max_notes
        self._keys: Iterator[int] | None = None
        self._documents: dict[tuple[int, str, str], int] = {}
        self._notes: dict[int, list[int]] = {}

    def namespace(self, name: str) -> int:
        """Return the key of a namespace; create it if it is new."""
        return self._transaction.ensure_namespace(name)

    def notes(self, namespace_id: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        """Return the notes with one of these ids, then those with one of these paths; a note may come twice."""
        return [
            NoteRow._make(row)
            for column, names in (("id", ids), ("path", paths))
            if names
            for row in self._transaction.fetch(
                f"SELECT {COLUMNS} FROM notes WHERE namespace = :namespace AND LOOKUP({column}) IN LOOKUP_LIST(:names)",  # noqa: S608 (names of our own)
                namespace=namespace_id,
                names=names,
            )
        ]

    def links(self, notes: Sequence[int]) -> Mapping[int, tuple[Link, ...]]:
        """Return the links of the notes that have any."""
        return links_by_source(self._transaction, notes)

    def new_key(self) -> int:
        """Return the key of a new note, higher than all earlier ones."""
        if self._keys is None:
            self._keys = self._transaction.new_keys(self._max_notes)
        return next(self._keys)

    def write_documents(self, namespace: str, documents: Sequence[Document]) -> None:
        """Write the fingerprints of the documents of the batch, and read which notes they have."""
        namespace_id = self.namespace(namespace)
        self._documents = upsert_documents(
            self._transaction,
            {(namespace_id, document.root, document.name): document.fingerprint for document in documents},
        )
        self._notes = {key: [] for key in self._documents.values()}
        for document, note in self._transaction.fetch(
            "SELECT document, key FROM notes WHERE document IN LIST(:documents) ORDER BY key",
            documents=list(self._notes),
        ):
            self._notes[document].append(note)

    def document_key(self, namespace_id: int, document: Document) -> int:
        """Return the key of a document that was written before."""
        return self._documents[namespace_id, document.root, document.name]

    def notes_of(self, document: int) -> list[int]:
        """Return the notes that a document has."""
        return self._notes[document]

    def document_location(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document."""
        rows = self._transaction.fetch("SELECT root, name FROM documents WHERE key = :key", key=document)
        return (rows[0][0], rows[0][1]) if rows else None

    def model(self) -> Model | None:
        """Return the model that the store is searched with."""
        active = active_model(self._transaction)
        return active.model if active else None

    def notes_with_vector(self, notes: Sequence[int], model: Model) -> set[int]:
        """Return those of the notes that have a vector of ``model``."""
        return set(
            self._transaction.fetch_column(
                f"SELECT note FROM vectors JOIN models AS m ON m.key = model WHERE note IN LIST(:notes) AND {IS_MODEL}",  # noqa: S608 (a condition of our own)
                notes=notes,
                **model._asdict(),
            )
        )


def write_plan(transaction: SqlTransaction, plan: Plan, cache: TermFilterCache) -> dict[int, tuple[int, TermFilter]]:
    """Write a plan, and return the term filters, with their revisions, to cache once the transaction is committed."""
    for namespace_id, notes in plan.deleted.items():
        delete_notes(transaction, namespace_id, notes)
    by_namespace = {key: list(group) for key, group in groupby(plan.changes, key=attrgetter("new.namespace"))}
    for namespace_id, changes in by_namespace.items():
        transaction.unindex_texts(
            namespace_id, [change.new.key for change in changes if change.old and change.reindexed]
        )
    transaction.update_notes([change for change in plan.changes if change.old])
    transaction.insert_notes([change.new for change in plan.changes if not change.old])
    term_filters = {
        namespace_id: _index_changes(transaction, namespace_id, changes, cache)
        for namespace_id, changes in by_namespace.items()
    }
    write_links(
        transaction,
        (
            (change.new.key, change.new.namespace, change.links)
            for change in plan.changes
            if change.links != change.old_links
        ),
    )
    if plan.notes_with_stale_vectors:
        transaction.execute("DELETE FROM vectors WHERE note IN LIST(:notes)", notes=plan.notes_with_stale_vectors)
    if plan.vectors:
        write_vectors(transaction, plan.model, plan.vectors)
    return {
        namespace_id: (transaction.revision(namespace_id), term_filter)
        for namespace_id, term_filter in term_filters.items()
        if term_filter is not None
    }


def _index_changes(
    transaction: SqlTransaction, namespace_id: int, changes: Sequence[Change], cache: TermFilterCache
) -> TermFilter | None:
    """Write the entities and mentions of notes, and then add the notes to the lexical index."""
    with_entities = [
        change for change in changes if change.new.metadata != (change.old.metadata if change.old else "{}")
    ]
    write_entities(
        transaction,
        namespace_id,
        [(change.new.key, change.new.metadata) for change in with_entities],
        [change.new.key for change in with_entities if change.old],
    )
    reindexed = [change for change in changes if change.reindexed]
    if not reindexed and not any(change.renamed for change in changes):
        return None
    texts = [NoteText(new.key, new.title, new.summary, new.content) for new in map(attrgetter("new"), reindexed)]
    changed = [change.new.key for change in reindexed if change.old]
    term_filter = write_mentions(transaction, namespace_id, texts, changed, cache)
    transaction.index_texts(namespace_id, changes)
    return term_filter


def write_mentions(
    transaction: SqlTransaction,
    namespace_id: int,
    texts: Sequence[NoteText],
    changed: Sequence[int],
    cache: TermFilterCache,
) -> TermFilter | None:
    """Connect new and changed notes with the titles that they mention, and all notes with the new titles.

    The notes are already in the tables; neither their new nor their old texts are in the lexical index. ``changed`` are
    the notes that existed before. Return the term filter of the namespace with these notes, if there is one.
    """
    revision, has_terms, has_titles = transaction.index_state(namespace_id)
    term_filter = cache.take(namespace_id, revision)
    if not has_titles and not any(text.title for text in texts):
        return None
    titles = titles_by_note(texts)
    if term_filter is None and (not (has_titles or has_terms) or len(titles) >= MIN_TITLES):
        all_titles = "SELECT stems FROM titles WHERE namespace = :namespace"
        stems = transaction.fetch_column(all_titles, namespace=namespace_id)
        term_filter = TermFilter(transaction.indexed_terms(namespace_id), stems)
    if changed:
        transaction.execute("DELETE FROM mentions WHERE note IN LIST(:notes)", notes=changed)
    new = write_titles(transaction, namespace_id, titles, changed, term_filter)
    if has_terms:
        _write_mentions_of(transaction, namespace_id, new, changed, term_filter)
    if term_filter is not None:
        term_filter.add_titles(title.stems for title in new.values())
    lookup = partial(look_up_titles, transaction, namespace_id)
    insert_mentions(transaction, find_mentions(lookup, texts, titles, term_filter))
    return term_filter


def write_titles(
    transaction: SqlTransaction,
    namespace_id: int,
    titles: Mapping[int, Sequence[Title]],
    changed: Sequence[int] = (),
    term_filter: TermFilter | None = None,
) -> dict[int, Title]:
    """Write the titles of notes, and return those that are new to the namespace by their keys."""
    distinct = {title.words: title for note_titles in titles.values() for title in note_titles}
    stems = [title.stems for title in distinct.values() if term_filter is None or term_filter.may_be_title(title.stems)]
    keys: dict[str, int] = {}
    if stems:
        keys = transaction.fetch_dict(
            "SELECT words, key FROM titles WHERE namespace = :namespace AND stems IN LIST(:stems)",
            namespace=namespace_id,
            stems=stems,
        )
    rows = transaction.insert(
        "titles",
        ("namespace", "stems", "words"),
        [(namespace_id, title.stems, words) for words, title in distinct.items() if words not in keys],
        returning="key, words",
    )
    new = {key: distinct[words] for key, words in rows}
    keys |= {title.words: key for key, title in new.items()}
    pairs = {note: [keys[title.words] for title in note_titles] for note, note_titles in titles.items()}
    transaction.insert(
        "titled",
        ("note", "title"),
        [(note, title) for note, note_titles in pairs.items() for title in note_titles],
        conflict="NOTHING",
    )
    if changed:
        # Delete last: a title without a note would be deleted, also one that moves from one note to another.
        stored = transaction.fetch("SELECT note, title FROM titled WHERE note IN LIST(:notes)", notes=changed)
        for note, title in stored:
            if title not in pairs.get(note, ()):
                transaction.execute("DELETE FROM titled WHERE note = :note AND title = :title", note=note, title=title)
    return new


def _write_mentions_of(
    transaction: SqlTransaction,
    namespace_id: int,
    titles: Mapping[int, Title],
    changed: Sequence[int],
    term_filter: TermFilter | None,
) -> None:
    """Write the mentions of new titles in the notes of the lexical index."""
    if term_filter is not None:
        possible = term_filter.may_contain((key, title.stems) for key, title in titles.items())
        titles = {key: title for key, title in titles.items() if key in possible or len(title.stems) > LONG_STEMS}
    remaining = iter(titles.items())
    while group := dict(islice(remaining, BATCH_TITLES)):
        notes = transaction.notes_containing(namespace_id, group, changed, MAX_MENTIONS)
        _mark_common(transaction, [key for key, keys in notes.items() if len(keys) > MAX_MENTIONS])
        few = {key: keys for key, keys in notes.items() if 0 < len(keys) <= MAX_MENTIONS}
        if few:
            rows = transaction.fetch(
                "SELECT key, title, summary, content FROM notes WHERE key IN LIST(:notes)",
                notes=sorted({note for keys in few.values() for note in keys}),
            )
            folded = {row[0]: folded_text(NoteText(*row)) for row in rows}
            mentions = [
                Mention(key, note, contains_phrase(group[key].words, folded[note]))
                for key, keys in few.items()
                for note in keys
            ]
            transaction.insert("mentions", Mention._fields, mentions)


def look_up_titles(
    transaction: SqlTransaction, namespace_id: int, runs: set[str]
) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
    """Return the titles that equal a run (a sequence of stems), and the runs that a longer title starts with."""
    titles: dict[str, list[tuple[int, str]]] = {}
    longer: set[str] = set()
    if runs:
        for run, last, key, words in transaction.titles_starting_with(namespace_id, list(runs)):
            if key is not None:
                titles.setdefault(run, []).append((key, words))
            if last != run:
                longer.add(run)
    return titles, longer


def insert_mentions(transaction: SqlTransaction, mentions: Sequence[Mention]) -> None:
    """Write mentions, and mark the titles that have too many now as common."""
    if mentions:
        transaction.insert("mentions", Mention._fields, mentions)
        common = transaction.fetch_column(
            "SELECT key FROM titles WHERE namers > :limit AND key IN LIST(:titles)",
            limit=MAX_MENTIONS,
            titles=list({mention.title for mention in mentions}),
        )
        _mark_common(transaction, common)


def _mark_common(transaction: SqlTransaction, titles: Sequence[int]) -> None:
    if titles:
        transaction.execute("DELETE FROM mentions WHERE title IN LIST(:titles)", titles=titles)
        transaction.execute("UPDATE titles SET common = true WHERE key IN LIST(:titles)", titles=titles)


def entities_in(metadata: str) -> set[str]:
    """Return the entities that a note's metadata lists, case-folded and with single spaces."""
    if f'"{ENTITIES_KEY}"' not in metadata:
        return set()
    names = with_deep_stack(lambda: json.loads(metadata)).get(ENTITIES_KEY)
    if not isinstance(names, list):
        return set()
    return {collapse_whitespace(name).casefold() for name in names if isinstance(name, str)} - {""}


def write_entities(
    transaction: SqlTransaction, namespace_id: int, notes: Sequence[tuple[int, str]], changed: Sequence[int] = ()
) -> None:
    """Write the entities of notes, given by key and metadata; ``changed`` are those that existed before."""
    if changed:
        transaction.execute("DELETE FROM entities WHERE note IN LIST(:notes)", notes=changed)
    transaction.insert(
        "entities",
        ("note", "namespace", "name"),
        [(note, namespace_id, name) for note, metadata in notes for name in sorted(entities_in(metadata))],
    )
