"""Write a batch: notes, terms, links and vectors, and the data of graph edges: titles, mentions and entities.

A note mentions a title if its summary or content contains the stems of the title. A title that too many notes mention
is marked as common, and its mentions are deleted. It stays common until the last note with this title is deleted, or
the mentions are rebuilt. Notes, titles and namespaces are given by keys. A run is a sequence of stems joined by spaces.
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
from recollect.stores.sql import tables
from recollect.stores.sql.dialect import SqlTransaction
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

BATCH_TITLES = 64  # how many new titles are looked up in the lexical index at a time
# A title with more characters of stems than this is always looked up in the lexical index. The term filter, a Bloom
# filter of the index's terms, cannot rule the title out: the index truncates long terms, so the filter may lack them.
LONG_STEMS = 250
ENTITIES_KEY = "entities"  # the metadata key whose value lists the entities of a note


class BatchTables:
    """Implements ``Tables`` of ``stores/batches.py``: what a batch needs from the tables before it writes notes."""

    def __init__(self, transaction: SqlTransaction, max_notes: int) -> None:
        self._transaction = transaction
        self._max_notes = max_notes
        self._keys: Iterator[int] | None = None
        self._documents: dict[tuple[int, str, str], int] = {}
        self._notes_by_document: dict[int, list[int]] = {}

    def namespace(self, name: str) -> int:
        """Return the key of a namespace; create it if it is new."""
        return self._transaction.ensure_namespace(name)

    def notes(self, namespace_id: int, ids: Sequence[str], paths: Sequence[str]) -> list[NoteRow]:
        """Return the notes with one of these ids, then the notes with one of these paths; a note may occur twice."""
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
        """Return the links of each note that has any, by key."""
        return tables.links_by_source(self._transaction, notes)

    def new_key(self) -> int:
        """Return the key of a new note, higher than the keys of all earlier notes."""
        if self._keys is None:
            self._keys = self._transaction.new_keys(self._max_notes)
        return next(self._keys)

    def write_documents(self, namespace: str, documents: Sequence[Document]) -> None:
        """Write the fingerprints of the documents of the batch, and read which notes they have."""
        namespace_id = self.namespace(namespace)
        self._documents = tables.upsert_documents(
            self._transaction,
            {(namespace_id, document.root, document.name): document.fingerprint for document in documents},
        )
        self._notes_by_document = {key: [] for key in self._documents.values()}
        for document, note in self._transaction.fetch(
            "SELECT document, key FROM notes WHERE document IN LIST(:documents) ORDER BY key",
            documents=list(self._notes_by_document),
        ):
            self._notes_by_document[document].append(note)

    def document_key(self, namespace_id: int, document: Document) -> int:
        """Return the key of a document of :meth:`write_documents`."""
        return self._documents[namespace_id, document.root, document.name]

    def notes_of(self, document: int) -> list[int]:
        """Return the stored notes of a document of :meth:`write_documents`."""
        return self._notes_by_document[document]

    def document_location(self, document: int | None) -> tuple[str, str] | None:
        """Return the root and the name of a document; ``None`` if there is no such document."""
        rows = self._transaction.fetch("SELECT root, name FROM documents WHERE key = :key", key=document)
        return (rows[0][0], rows[0][1]) if rows else None

    def model(self) -> Model | None:
        """Return the active model, if there is one."""
        active = tables.active_model(self._transaction)
        return active.model if active else None

    def notes_with_vector(self, notes: Sequence[int], model: Model) -> set[int]:
        """Return those of the notes that have a vector of ``model``."""
        vectors = f"vectors JOIN models AS m ON m.key = model AND {tables.IS_MODEL}"
        sql = f"SELECT note FROM {vectors} WHERE note IN LIST(:notes)"  # noqa: S608 (a condition of our own)
        return set(self._transaction.fetch_column(sql, notes=notes, **model._asdict()))


def write_plan(transaction: SqlTransaction, plan: Plan, cache: TermFilterCache) -> dict[int, tuple[int, TermFilter]]:
    """Write a plan; return the revisions and term filters of namespaces, to cache when the transaction is committed."""
    for namespace_id, notes in plan.deleted.items():
        tables.delete_notes(transaction, namespace_id, notes)
    by_namespace = {key: list(group) for key, group in groupby(plan.changes, key=attrgetter("new.namespace"))}
    for namespace_id, changes in by_namespace.items():
        to_unindex = [change.new.key for change in changes if change.old and change.terms_changed]
        transaction.unindex_texts(namespace_id, to_unindex)
    transaction.update_notes([change for change in plan.changes if change.old])
    transaction.insert_notes([change.new for change in plan.changes if not change.old])
    term_filters = {
        namespace_id: _index_changes(transaction, namespace_id, changes, cache)
        for namespace_id, changes in by_namespace.items()
    }
    relinked = [change for change in plan.changes if change.links != change.old_links]
    tables.write_links(transaction, [(change.new.key, change.new.namespace, change.links) for change in relinked])
    if plan.notes_with_stale_vectors:
        transaction.execute("DELETE FROM vectors WHERE note IN LIST(:notes)", notes=plan.notes_with_stale_vectors)
    if plan.vectors:
        tables.write_vectors(transaction, plan.model, plan.vectors)
    return {
        namespace_id: (transaction.revision(namespace_id), term_filter)
        for namespace_id, term_filter in term_filters.items()
        if term_filter is not None
    }


def _index_changes(
    transaction: SqlTransaction, namespace_id: int, changes: Sequence[Change], cache: TermFilterCache
) -> TermFilter | None:
    """Write the entities and mentions of notes, then index their terms; return the filter of :func:`write_mentions`."""
    changed_metadata = [
        change for change in changes if change.new.metadata != (change.old.metadata if change.old else "{}")
    ]
    write_entities(
        transaction,
        namespace_id,
        [(change.new.key, change.new.metadata) for change in changed_metadata],
        [change.new.key for change in changed_metadata if change.old],
    )
    to_index = [change for change in changes if change.terms_changed]
    if not to_index and not any(change.renamed for change in changes):
        return None
    texts = [NoteText(new.key, new.title, new.summary, new.content) for new in map(attrgetter("new"), to_index)]
    changed_notes = [change.new.key for change in to_index if change.old]
    term_filter = write_mentions(transaction, namespace_id, texts, changed_notes, cache)
    transaction.index_texts(namespace_id, changes)
    return term_filter


def write_mentions(
    transaction: SqlTransaction,
    namespace_id: int,
    texts: Sequence[NoteText],
    changed_notes: Sequence[int],
    cache: TermFilterCache,
) -> TermFilter | None:
    """Write the mentions of all titles in new and changed notes, and the mentions of new titles in all notes.

    ``texts`` has the new and changed notes. They are already in the tables, but neither their new nor their old texts
    are in the lexical index. ``changed_notes`` has the notes that existed before. Return the term filter of the
    namespace, to which the terms and titles of the notes were added; ``None`` if there is no filter.
    """
    revision, has_terms, has_titles = transaction.index_state(namespace_id)
    term_filter = cache.take(namespace_id, revision)
    if not has_titles and not any(text.title for text in texts):
        return None
    titles = titles_by_note(texts)
    is_empty = not has_titles and not has_terms
    if term_filter is None and (is_empty or len(titles) >= MIN_TITLES):  # otherwise a new filter is not worth the time
        select_titles = "SELECT stems FROM titles WHERE namespace = :namespace"
        stems = transaction.fetch_column(select_titles, namespace=namespace_id)
        term_filter = TermFilter(transaction.indexed_terms(namespace_id), stems)
    if changed_notes:
        transaction.execute("DELETE FROM mentions WHERE note IN LIST(:notes)", notes=changed_notes)
    new_titles = write_titles(transaction, namespace_id, titles, changed_notes, term_filter)
    if has_terms:
        _write_mentions_of_titles(transaction, namespace_id, new_titles, changed_notes, term_filter)
    if term_filter is not None:
        term_filter.add_titles(title.stems for title in new_titles.values())
    lookup = partial(look_up_titles, transaction, namespace_id)
    insert_mentions(transaction, find_mentions(lookup, texts, titles, term_filter))
    return term_filter


def write_titles(
    transaction: SqlTransaction,
    namespace_id: int,
    titles: Mapping[int, Sequence[Title]],
    changed_notes: Sequence[int] = (),
    term_filter: TermFilter | None = None,
) -> dict[int, Title]:
    """Write the titles of notes, delete former titles of ``changed_notes``, and return the namespace's new titles."""
    titles_by_words = {title.words: title for note_titles in titles.values() for title in note_titles}
    all_stems = [title.stems for title in titles_by_words.values()]
    stems = all_stems if term_filter is None else list(filter(term_filter.may_be_title, all_stems))
    keys_by_words: dict[str, int] = {}
    if stems:
        keys_by_words = transaction.fetch_dict(
            "SELECT words, key FROM titles WHERE namespace = :namespace AND stems IN LIST(:stems)",
            namespace=namespace_id,
            stems=stems,
        )
    rows = transaction.insert(
        "titles",
        ("namespace", "stems", "words"),
        [(namespace_id, title.stems, words) for words, title in titles_by_words.items() if words not in keys_by_words],
        returning="key, words",
    )
    new_titles = {key: titles_by_words[words] for key, words in rows}
    keys_by_words |= {title.words: key for key, title in new_titles.items()}
    title_keys = {note: [keys_by_words[title.words] for title in note_titles] for note, note_titles in titles.items()}
    transaction.insert(
        "titled",
        ("note", "title"),
        [(note, title) for note, note_titles in title_keys.items() for title in note_titles],
        conflict="NOTHING",
    )
    if changed_notes:
        # Last, because a trigger deletes a title as soon as no note has it: a title may move to another note.
        stored = transaction.fetch("SELECT note, title FROM titled WHERE note IN LIST(:notes)", notes=changed_notes)
        for note, title in stored:
            if title not in title_keys.get(note, ()):
                transaction.execute("DELETE FROM titled WHERE note = :note AND title = :title", note=note, title=title)
    return new_titles


def _write_mentions_of_titles(
    transaction: SqlTransaction,
    namespace_id: int,
    titles: Mapping[int, Title],
    changed_notes: Sequence[int],
    term_filter: TermFilter | None,
) -> None:
    """Write the mentions of new titles in the notes of the lexical index, except ``changed_notes``."""
    if term_filter is not None:
        may_occur = term_filter.may_contain((key, title.stems) for key, title in titles.items())
        titles = {key: title for key, title in titles.items() if key in may_occur or len(title.stems) > LONG_STEMS}
    remaining = iter(titles.items())
    while batch := dict(islice(remaining, BATCH_TITLES)):
        notes_by_title = transaction.notes_containing(namespace_id, batch, changed_notes, MAX_MENTIONS)
        _mark_common(transaction, [title for title, notes in notes_by_title.items() if len(notes) > MAX_MENTIONS])
        mentioned = {title: notes for title, notes in notes_by_title.items() if 0 < len(notes) <= MAX_MENTIONS}
        if mentioned:
            rows = transaction.fetch(
                "SELECT key, title, summary, content FROM notes WHERE key IN LIST(:notes)",
                notes=sorted({note for notes in mentioned.values() for note in notes}),
            )
            folded_texts = {row[0]: folded_text(NoteText(*row)) for row in rows}
            mentions = [
                Mention(title, note, contains_phrase(batch[title].words, folded_texts[note]))
                for title, notes in mentioned.items()
                for note in notes
            ]
            transaction.insert("mentions", Mention._fields, mentions)


def look_up_titles(
    transaction: SqlTransaction, namespace_id: int, runs: set[str]
) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
    """Return the titles (key, words) whose stems equal a run, by run, and the runs with which a longer title begins."""
    titles: dict[str, list[tuple[int, str]]] = {}
    runs_of_longer_titles: set[str] = set()
    if runs:
        for run, last_stems, key, words in transaction.titles_starting_with(namespace_id, list(runs)):
            if key is not None:
                titles.setdefault(run, []).append((key, words))
            if last_stems != run:  # the last title, in sort order, that begins with the run is longer than the run
                runs_of_longer_titles.add(run)
    return titles, runs_of_longer_titles


def insert_mentions(transaction: SqlTransaction, mentions: Sequence[Mention]) -> None:
    """Write mentions. Mark a title as common if its number of mentions (column ``namers``) is now above the limit."""
    if mentions:
        transaction.insert("mentions", Mention._fields, mentions)
        common = transaction.fetch_column(
            "SELECT key FROM titles WHERE namers > :limit AND key IN LIST(:titles)",
            limit=MAX_MENTIONS,
            titles=list({mention.title for mention in mentions}),
        )
        _mark_common(transaction, common)


def _mark_common(transaction: SqlTransaction, titles: Sequence[int]) -> None:
    """Mark titles as common, and delete their mentions."""
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
    transaction: SqlTransaction, namespace_id: int, notes: Sequence[tuple[int, str]], changed_notes: Sequence[int] = ()
) -> None:
    """Write the entities of notes, given by key and metadata; first delete the entities of ``changed_notes``."""
    if changed_notes:
        transaction.execute("DELETE FROM entities WHERE note IN LIST(:notes)", notes=changed_notes)
    transaction.insert(
        "entities",
        ("note", "namespace", "name"),
        [(note, namespace_id, name) for note, metadata in notes for name in sorted(entities_in(metadata))],
    )
