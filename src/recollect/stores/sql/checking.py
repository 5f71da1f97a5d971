"""Checks and rebuilds that both engines share: namespaces, vectors, mentions and entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from recollect.model import embedding_text
from recollect.model.note import text_digest
from recollect.stores.sql.dialect import Row, SqlTransaction
from recollect.stores.sql.writing import (
    ENTITIES_KEY,
    entities_in,
    insert_mentions,
    look_up_titles,
    write_entities,
    write_titles,
)
from recollect.stores.tokens import Mention, NoteText, find_mentions, titles_by_note

CHECKED_NOTES = 2000
"""The minimum size of the sample of notes whose mentions are checked."""
BATCH_NOTES = 2000
MAX_LISTED = 3
"""The maximum number of problems that are listed."""
_BYTES = {"float32": 4, "float16": 2}


def namespaces(transaction: SqlTransaction) -> list[tuple[int, str]]:
    """Return the keys and names of all namespaces, by name."""
    return [(key, name) for key, name in transaction.fetch("SELECT key, name FROM namespaces ORDER BY name")]


def list_problems(problems: Iterable[str]) -> str:
    """Return the first problems in one line, with the number of the others; empty if there are none."""
    all_problems = list(problems)
    more = f" and {len(all_problems) - MAX_LISTED} more" if len(all_problems) > MAX_LISTED else ""
    return "; ".join(all_problems[:MAX_LISTED]) + more


def vector_problems(rows: Iterable[Row]) -> Iterator[tuple[Any, str]]:
    """Yield the key of each vector that does not fit its note, with the problem.

    A row has the vector's key, namespace, digest and bytes, the model's dimension and precision, and the note's
    namespace, id, title, summary and content; a vector may have several chunks.
    """
    for key, namespace_id, digest, size, dimension, precision, note_namespace, note_id, *text in rows:
        if note_namespace is None or dimension is None:
            yield key, f"vector {key} belongs to no note or model"
        elif namespace_id != note_namespace:
            yield key, f"the vector of note {note_id} lies in another namespace"
        elif not size or size % (dimension * _BYTES.get(precision, 0) or size + 1):
            yield key, f"the vector of note {note_id} has {size} bytes, not those of {dimension} numbers in {precision}"
        elif digest != text_digest(embedding_text(*text)):
            yield key, f"the vector of note {note_id} was made of another text"


def rebuild_mentions(transaction: SqlTransaction, namespace_id: int) -> None:
    """Find all titles and mentions of a namespace again."""
    transaction.execute("DELETE FROM titles WHERE namespace = :namespace", namespace=namespace_id)
    for texts in _read_texts(transaction, namespace_id, "title <> ''"):
        write_titles(transaction, namespace_id, titles_by_note(texts))
    if transaction.index_state(namespace_id)[2]:
        for texts in _read_texts(transaction, namespace_id):
            insert_mentions(transaction, _mentions_in(transaction, namespace_id, texts))


def mention_problems(transaction: SqlTransaction, namespace_id: int) -> Iterator[str]:
    """Find titles that differ from those of the notes, and, in a sample, mentions that differ from the text."""
    for title in transaction.fetch_column(
        "SELECT key FROM titles AS t WHERE namespace = :namespace "
        "AND NOT EXISTS (SELECT 1 FROM titled WHERE title = t.key)",
        namespace=namespace_id,
    ):
        yield f"title {title} belongs to no note"
    for title in transaction.fetch_column(
        "SELECT key FROM titles AS t WHERE namespace = :namespace "
        "AND namers <> (SELECT count(*) FROM mentions WHERE title = t.key)",
        namespace=namespace_id,
    ):
        yield f"the mentions of title {title} are not counted right"
    for texts in _read_texts(transaction, namespace_id, "(title <> '' OR key IN (SELECT note FROM titled))"):
        stored: dict[int, set[str]] = {}
        for note, words in transaction.fetch(
            "SELECT note, words FROM titled JOIN titles AS t ON t.key = title WHERE note IN LIST(:notes)",
            notes=[text.note for text in texts],
        ):
            stored.setdefault(note, set()).add(words)
        titles = titles_by_note(texts)
        for note in (text.note for text in texts):
            if stored.get(note, set()) != {title.words for title in titles.get(note, ())}:
                yield f"note {note} has another title"
    count = transaction.fetch_value("SELECT count(*) FROM notes WHERE namespace = :namespace", namespace=namespace_id)
    for texts in _read_texts(transaction, namespace_id, f"key % {count // CHECKED_NOTES + 1} = 0"):
        rows = transaction.fetch(
            "SELECT title, note, exact FROM mentions WHERE note IN LIST(:notes)", notes=[text.note for text in texts]
        )
        for note in sorted({row[1] for row in set(rows) ^ set(_mentions_in(transaction, namespace_id, texts))}):
            yield f"the mentions of note {note} do not agree with its text"


def read_notes(
    transaction: SqlTransaction, namespace_id: int, columns: str, condition: str = "true"
) -> Iterator[list[Row]]:
    """Yield the keys and some columns of the notes of a namespace, in batches by key."""
    cursor = 0
    while rows := transaction.fetch(
        f"SELECT key, {columns} FROM notes "  # noqa: S608 (names and a condition of our own)
        f"WHERE namespace = :namespace AND key > :cursor AND {condition} ORDER BY key LIMIT :limit",
        namespace=namespace_id,
        cursor=cursor,
        limit=BATCH_NOTES,
    ):
        yield rows
        cursor = rows[-1][0]


def _read_texts(transaction: SqlTransaction, namespace_id: int, condition: str = "true") -> Iterator[list[NoteText]]:
    for rows in read_notes(transaction, namespace_id, "title, summary, content", condition):
        yield [NoteText(*row) for row in rows]


def _mentions_in(transaction: SqlTransaction, namespace_id: int, texts: Sequence[NoteText]) -> list[Mention]:
    lookup = partial(look_up_titles, transaction, namespace_id)
    return find_mentions(lookup, texts, titles_by_note(texts))


def rebuild_entities(transaction: SqlTransaction, namespace_id: int) -> None:
    """Find the entities of a namespace again."""
    transaction.execute("DELETE FROM entities WHERE namespace = :namespace", namespace=namespace_id)
    write_entities(transaction, namespace_id, _notes_with_entities(transaction, namespace_id))


def entity_problems(transaction: SqlTransaction, namespace_id: int) -> Iterator[str]:
    """Find notes whose stored entities differ from those of their metadata."""
    stored = transaction.fetch_dict(
        "SELECT note, count(*) FROM entities WHERE namespace = :namespace GROUP BY note", namespace=namespace_id
    )
    for note, metadata in _notes_with_entities(transaction, namespace_id):
        names = entities_in(metadata)
        matching = transaction.fetch_value(
            "SELECT count(*) FROM entities "
            "WHERE note = :note AND namespace = :namespace AND LOOKUP(name) IN LOOKUP_LIST(:names)",
            note=note,
            namespace=namespace_id,
            names=sorted(names),
        )
        if not len(names) == stored.pop(note, 0) == matching:
            yield f"note {note} has other entities"
    for note in stored:
        yield f"note {note} has no entities"


def _notes_with_entities(transaction: SqlTransaction, namespace_id: int) -> list[tuple[int, str]]:
    rows = transaction.fetch(
        "SELECT key, metadata FROM notes WHERE namespace = :namespace AND metadata LIKE :pattern ORDER BY key",
        namespace=namespace_id,
        pattern=f'%"{ENTITIES_KEY}"%',
    )
    return [(note, metadata) for note, metadata in rows]
