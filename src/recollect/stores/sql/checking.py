"""Check and rebuild the data that both engines derive from notes in the same way: vectors, mentions and entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from recollect.model import embedding_text
from recollect.model.note import text_digest
from recollect.stores.sql import writing
from recollect.stores.sql.dialect import Row, SqlTransaction
from recollect.stores.tokens import Mention, NoteText, find_mentions, titles_by_note

CHECKED_NOTES = 2000  # the mentions of about this many notes are checked; a larger namespace is sampled
BATCH_NOTES = 2000  # how many notes one query reads
MAX_LISTED = 3  # the maximum number of problems that a finding lists
_BYTES_PER_NUMBER = {"float32": 4, "float16": 2}


def namespaces(transaction: SqlTransaction) -> list[tuple[int, str]]:
    """Return pairs of key and name of all namespaces, ordered by name."""
    return [(key, name) for key, name in transaction.fetch("SELECT key, name FROM namespaces ORDER BY name")]


def list_problems(problems: Iterable[str]) -> str:
    """Return the first problems in one line, with the number of the other problems; "" if there are no problems."""
    all_problems = list(problems)
    more = f" and {len(all_problems) - MAX_LISTED} more" if len(all_problems) > MAX_LISTED else ""
    return "; ".join(all_problems[:MAX_LISTED]) + more


def vector_problems(rows: Iterable[Row]) -> Iterator[tuple[Any, str]]:
    """Yield a pair for each vector that does not fit its note: the vector's key and the problem.

    A row has the vector's key, namespace, digest and size in bytes, the model's dimension and precision, and the note's
    namespace, id, title, summary and content. SQLite has the vectors of all chunks of a note in one row.
    """
    for key, namespace_id, digest, size, dimension, precision, note_namespace, note_id, *text in rows:
        chunk_size = (dimension or 0) * _BYTES_PER_NUMBER.get(precision, 0)
        if note_namespace is None or dimension is None:
            yield key, f"vector {key} belongs to no note or model"
        elif namespace_id != note_namespace:
            yield key, f"the vector of note {note_id} is in another namespace than the note"
        elif not size or not chunk_size or size % chunk_size:
            yield key, f"the vector of note {note_id} has {size} bytes, not those of {dimension} numbers in {precision}"
        elif digest != text_digest(embedding_text(*text)):
            yield key, f"the vector of note {note_id} was computed from another text"


def rebuild_mentions(transaction: SqlTransaction, namespace_id: int) -> None:
    """Delete the titles and mentions of a namespace, and derive them from its notes again."""
    transaction.execute("DELETE FROM titles WHERE namespace = :namespace", namespace=namespace_id)  # and their mentions
    for texts in _read_texts(transaction, namespace_id, "title <> ''"):
        writing.write_titles(transaction, namespace_id, titles_by_note(texts))
    _revision, _has_terms, has_titles = transaction.index_state(namespace_id)
    if has_titles:
        for texts in _read_texts(transaction, namespace_id):
            writing.insert_mentions(transaction, _mentions_in(transaction, namespace_id, texts))


def mention_problems(transaction: SqlTransaction, namespace_id: int) -> Iterator[str]:
    """Find stored titles that differ from the notes' titles, and, in a sample, mentions that differ from the texts."""
    # ``titled`` has pairs of a note and its title. The column ``namers`` has the stored number of mentions of a title.
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
        yield f"the number of mentions of title {title} is wrong"
    for texts in _read_texts(transaction, namespace_id, "(title <> '' OR key IN (SELECT note FROM titled))"):
        stored_titles: dict[int, set[str]] = {}
        for note, words in transaction.fetch(
            "SELECT note, words FROM titled JOIN titles AS t ON t.key = title WHERE note IN LIST(:notes)",
            notes=[text.note for text in texts],
        ):
            stored_titles.setdefault(note, set()).add(words)
        titles = titles_by_note(texts)
        for note in (text.note for text in texts):
            if stored_titles.get(note, set()) != {title.words for title in titles.get(note, ())}:
                yield f"the stored title of note {note} differs from the note"
    count = transaction.fetch_value("SELECT count(*) FROM notes WHERE namespace = :namespace", namespace=namespace_id)
    step = count // CHECKED_NOTES + 1
    for texts in _read_texts(transaction, namespace_id, f"key % {step} = 0"):
        rows = transaction.fetch(
            "SELECT title, note, exact FROM mentions WHERE note IN LIST(:notes)", notes=[text.note for text in texts]
        )
        differences = set(rows) ^ set(_mentions_in(transaction, namespace_id, texts))
        for note in sorted({note for _, note, _ in differences}):
            yield f"the mentions of note {note} do not agree with its text"


def read_notes(
    transaction: SqlTransaction, namespace_id: int, columns: str, condition: str = "true"
) -> Iterator[list[Row]]:
    """Yield batches of rows with the key and ``columns`` of the notes of a namespace, in the order of the keys."""
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
    """Return the mentions of titles of the namespace in these texts."""
    lookup = partial(writing.look_up_titles, transaction, namespace_id)
    return find_mentions(lookup, texts, titles_by_note(texts))


def rebuild_entities(transaction: SqlTransaction, namespace_id: int) -> None:
    """Delete the entities of a namespace, and read them from the metadata of its notes again."""
    transaction.execute("DELETE FROM entities WHERE namespace = :namespace", namespace=namespace_id)
    writing.write_entities(transaction, namespace_id, _notes_with_entities(transaction, namespace_id))


def entity_problems(transaction: SqlTransaction, namespace_id: int) -> Iterator[str]:
    """Find notes whose stored entities differ from the entities in their metadata."""
    stored_counts = transaction.fetch_dict(
        "SELECT note, count(*) FROM entities WHERE namespace = :namespace GROUP BY note", namespace=namespace_id
    )
    for note, metadata in _notes_with_entities(transaction, namespace_id):
        names = writing.entities_in(metadata)
        matching_count = transaction.fetch_value(  # the names are compared in SQL: PostgreSQL has only their hashes
            "SELECT count(*) FROM entities "
            "WHERE note = :note AND namespace = :namespace AND LOOKUP(name) IN LOOKUP_LIST(:names)",
            note=note,
            namespace=namespace_id,
            names=sorted(names),
        )
        stored_count = stored_counts.pop(note, 0)
        if stored_count != len(names) or matching_count != len(names):
            yield f"the stored entities of note {note} differ from its metadata"
    for note in stored_counts:
        yield f"note {note} has stored entities, but none in its metadata"


def _notes_with_entities(transaction: SqlTransaction, namespace_id: int) -> list[tuple[int, str]]:
    """Return the key and metadata of each note whose metadata may list entities."""
    rows = transaction.fetch(
        "SELECT key, metadata FROM notes WHERE namespace = :namespace AND metadata LIKE :pattern ORDER BY key",
        namespace=namespace_id,
        pattern=f'%"{writing.ENTITIES_KEY}"%',
    )
    return [(note, metadata) for note, metadata in rows]
