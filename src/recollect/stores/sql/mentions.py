"""Which notes mention which titles: found when either is written, in the same transaction.

A title that too many notes mention is marked as common and its mentions are deleted. It stays common until the last
note that has it is deleted, or :func:`rebuild_mentions` counts again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from recollect.stores.mentions import (
    MAX_MENTIONS,
    Mention,
    NoteText,
    StemStream,
    Title,
    contains_phrase,
    find_mentions,
    folded_text,
    titles_by_note,
)
from recollect.stores.sql.dialect import SqlTransaction
from recollect.stores.sql.term_filter import MIN_TITLES, TermFilter, TermFilterCache

__all__ = ["mention_problems", "rebuild_mentions", "write_mentions"]

CHECKED_NOTES = 2000
BATCH_NOTES = 2000
BATCH_TITLES = 64
"""How many new titles are looked up in the lexical index at a time."""
LONG_STEMS = 250
"""Longer titles are always looked up: an index may have shortened a term of theirs."""


def write_mentions(
    transaction: SqlTransaction,
    namespace_id: int,
    texts: Sequence[NoteText],
    changed: Sequence[int],
    filters: TermFilterCache,
) -> TermFilter | None:
    """Connect new and changed notes with the titles that they mention, and all notes with the new titles.

    The notes are written, but not yet in the lexical index, and what they contained is no longer there. ``changed`` are
    those that existed before. Return the filter of the namespace with these notes, if there is one.
    """
    revision, has_terms, has_titles = transaction.index_state(namespace_id)
    term_filter = filters.take(namespace_id, revision)
    if not has_titles and not any(text.title for text in texts):
        return None
    titles = titles_by_note(texts)
    if term_filter is None and (not (has_titles or has_terms) or len(titles) >= MIN_TITLES):
        term_filter = _read_filter(transaction, namespace_id)
    if changed:
        transaction.execute("DELETE FROM mentions WHERE note IN LIST(:notes)", notes=changed)
    new = _write_titles(transaction, namespace_id, titles, changed, term_filter)
    if has_terms:
        _find_notes(transaction, namespace_id, new, changed, term_filter)
    if term_filter is not None:
        term_filter.add_titles(title.stems for title in new.values())
    lookup = partial(_look_up, transaction, namespace_id)
    _write(transaction, find_mentions(lookup, texts, titles, StemStream.of(texts), term_filter))
    return term_filter


def rebuild_mentions(transaction: SqlTransaction, namespace_id: int) -> None:
    """Find all titles and mentions of a namespace again."""
    transaction.execute("DELETE FROM titles WHERE namespace = :namespace", namespace=namespace_id)
    for texts in _batches(transaction, namespace_id, "title <> ''"):
        _write_titles(transaction, namespace_id, titles_by_note(texts))
    if transaction.index_state(namespace_id)[2]:
        for texts in _batches(transaction, namespace_id):
            _write(transaction, _mentions_in(transaction, namespace_id, texts))


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
    for texts in _batches(transaction, namespace_id, "(title <> '' OR key IN (SELECT note FROM titled))"):
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
    for texts in _batches(transaction, namespace_id, f"key % {count // CHECKED_NOTES + 1} = 0"):
        rows = transaction.fetch(
            "SELECT title, note, exact FROM mentions WHERE note IN LIST(:notes)", notes=[text.note for text in texts]
        )
        for note in sorted({row[1] for row in set(rows) ^ set(_mentions_in(transaction, namespace_id, texts))}):
            yield f"the mentions of note {note} do not agree with its text"


def _read_filter(transaction: SqlTransaction, namespace_id: int) -> TermFilter:
    titles = transaction.fetch_column("SELECT stems FROM titles WHERE namespace = :namespace", namespace=namespace_id)
    return TermFilter(transaction.indexed_terms(namespace_id), titles)


def _batches(transaction: SqlTransaction, namespace_id: int, condition: str = "true") -> Iterator[list[NoteText]]:
    cursor = 0
    while rows := transaction.fetch(
        "SELECT key, title, summary, content FROM notes "  # noqa: S608 (a condition of our own)
        f"WHERE namespace = :namespace AND key > :cursor AND {condition} ORDER BY key LIMIT :limit",
        namespace=namespace_id,
        cursor=cursor,
        limit=BATCH_NOTES,
    ):
        yield [NoteText(*row) for row in rows]
        cursor = rows[-1][0]


def _write_titles(
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
        # Afterwards, so that a title that moves from one note to another is never without one, and stays.
        stored = transaction.fetch("SELECT note, title FROM titled WHERE note IN LIST(:notes)", notes=changed)
        for note, title in stored:
            if title not in pairs.get(note, ()):
                transaction.execute("DELETE FROM titled WHERE note = :note AND title = :title", note=note, title=title)
    return new


def _find_notes(
    transaction: SqlTransaction,
    namespace_id: int,
    titles: Mapping[int, Title],
    changed: Sequence[int],
    term_filter: TermFilter | None,
) -> None:
    """Find the notes of the lexical index that mention new titles."""
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
            _insert(
                transaction,
                [
                    Mention(key, note, contains_phrase(group[key].words, folded[note]))
                    for key, keys in few.items()
                    for note in keys
                ],
            )


def _mentions_in(transaction: SqlTransaction, namespace_id: int, texts: Sequence[NoteText]) -> list[Mention]:
    lookup = partial(_look_up, transaction, namespace_id)
    return find_mentions(lookup, texts, titles_by_note(texts), StemStream.of(texts))


def _look_up(
    transaction: SqlTransaction, namespace_id: int, runs: set[str]
) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
    titles: dict[str, list[tuple[int, str]]] = {}
    longer: set[str] = set()
    if runs:
        for run, last, key, words in transaction.titles_starting_with(namespace_id, list(runs)):
            if key is not None:
                titles.setdefault(run, []).append((key, words))
            if last != run:
                longer.add(run)
    return titles, longer


def _write(transaction: SqlTransaction, mentions: Sequence[Mention]) -> None:
    """Write mentions, and mark the titles that have too many by now."""
    if mentions:
        _insert(transaction, mentions)
        common = transaction.fetch_column(
            "SELECT key FROM titles WHERE namers > :limit AND key IN LIST(:titles)",
            limit=MAX_MENTIONS,
            titles=list({mention.title for mention in mentions}),
        )
        _mark_common(transaction, common)


def _insert(transaction: SqlTransaction, mentions: Sequence[Mention]) -> None:
    transaction.insert("mentions", Mention._fields, mentions)


def _mark_common(transaction: SqlTransaction, titles: Sequence[int]) -> None:
    if titles:
        transaction.execute("DELETE FROM mentions WHERE title IN LIST(:titles)", titles=titles)
        transaction.execute("UPDATE titles SET common = true WHERE key IN LIST(:titles)", titles=titles)
