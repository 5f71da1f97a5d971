"""Which notes name which titles: found when either is written, in the same transaction.

A title that too many notes name is marked as common and its mentions are let go of. What is common stays so until the
last note that bears it goes, or :func:`rebuild` counts again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import apsw

from recollect.stores.known_words import WORTH_READING, KnownWords
from recollect.stores.mentions import MOST_NAMERS, Mention, Parts, Text, given_titles, named_titles, spelled, stands_in
from recollect.stores.sqlite.fetching import fetch
from recollect.stores.titles import Title
from recollect.stores.tokens import indexed

__all__ = ["problems", "rebuild", "write_mentions"]

CHECKED_NOTES = 2000
READ_NOTES = 2000
SOUGHT_TITLES = 16
"""How many titles' notes are read at a time."""


def write_mentions(
    connection: apsw.Connection,
    namespace: int,
    texts: Sequence[Text],
    known: Sequence[int],
    known_words: KnownWords,
) -> None:
    """Connect notes that are new or changed with the titles that they name, and all notes with the titles they bring.

    The notes are written, but not yet in the word index, and what they held is no longer there. ``known`` are those
    that were there before.
    """
    first = not _has_titles(connection, namespace)
    if first and not any(text.title for text in texts):
        known_words.forget()
        return
    given = given_titles(texts)
    worded = _has_words(connection, namespace)
    state = _state(connection, namespace)
    if not known_words.knows(state):
        if first and not worded:
            known_words.begin(state)
        elif len(given) >= WORTH_READING:
            _read_words(connection, namespace, known_words)
    told = known_words if known_words.knows(state) else None
    connection.executemany("DELETE FROM mentions WHERE note = ?", [(note,) for note in known])
    new = _write_titles(connection, namespace, given, known, told)
    if worded:
        _seek(connection, namespace, new, told)
    if told is not None:
        told.add_titles(title.stems for title in new.values())
    parts = Parts.of(texts)
    _write_named(connection, named_titles(partial(_titles_at, connection, namespace), texts, given, parts, told))


def rebuild(connection: apsw.Connection) -> None:
    """Find all titles and mentions anew."""
    for table in ("mentions", "titled", "titles"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a name of our own)
    for (namespace,) in fetch(connection, "SELECT key FROM namespaces"):
        for texts in _walk(connection, namespace, "title <> ''"):
            _write_titles(connection, namespace, given_titles(texts))
        if _has_titles(connection, namespace):
            for texts in _walk(connection, namespace):
                _write_named(connection, _named_in(connection, namespace, texts))


def problems(connection: apsw.Connection) -> Iterator[str]:
    """Find titles that are not those of the notes, and, among some notes, mentions that do not agree with the texts."""
    for (title,) in connection.execute("SELECT key FROM titles WHERE key NOT IN (SELECT title FROM titled)"):
        yield f"title {title} belongs to no note"
    for (title,) in connection.execute(
        "SELECT key FROM titles WHERE namers <> (SELECT count(*) FROM mentions WHERE title = titles.key)"
    ):
        yield f"the mentions of title {title} are not counted right"
    for namespace, name in fetch(connection, "SELECT key, name FROM namespaces"):
        for texts in _walk(connection, namespace, "(title <> '' OR key IN (SELECT note FROM titled))"):
            held = _borne(connection, texts)
            given = given_titles(texts)
            for note in (text.note for text in texts):
                if held.get(note, set()) != {title.words for title in given.get(note, ())}:
                    yield f"note {note} of {name!r} has another title"
        count = connection.execute("SELECT count(*) FROM notes WHERE namespace = ?", (namespace,)).get
        every = f"key % {count // CHECKED_NOTES + 1} = 0"
        for texts in _walk(connection, namespace, every):
            held_rows = fetch(
                connection,
                "SELECT title, note, exact FROM mentions WHERE note IN (SELECT value FROM json_each(?))",
                (json.dumps([text.note for text in texts]),),
            )
            for note in sorted({row[1] for row in set(held_rows) ^ set(_named_in(connection, namespace, texts))}):
                yield f"the mentions of note {note} of {name!r} do not agree with its text"


def _has_titles(connection: apsw.Connection, namespace: int) -> bool:
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM titles WHERE namespace = ?)", (namespace,)).get)


def _has_words(connection: apsw.Connection, namespace: int) -> bool:
    sql = f"SELECT EXISTS (SELECT 1 FROM words_{namespace}_docsize)"  # noqa: S608 (our own number)
    return bool(connection.execute(sql).get)


def _state(connection: apsw.Connection, namespace: int) -> tuple[apsw.Connection, int, int]:
    """Return what is the same for as long as no other connection commits: SQLite counts."""
    return connection, namespace, connection.pragma("data_version")


def _read_words(connection: apsw.Connection, namespace: int, known_words: KnownWords) -> None:
    """Make known the words that the namespace's word index and titles hold."""
    name = f"temp.vocabulary_{namespace}"
    connection.execute(f"CREATE VIRTUAL TABLE {name} USING fts5vocab (main, words_{namespace}, row)")
    known_words.begin(
        _state(connection, namespace),
        words=(term for (term,) in connection.execute(f"SELECT term FROM {name}")),  # noqa: S608 (our own)
        titles=(stems for (stems,) in connection.execute("SELECT stems FROM titles WHERE namespace = ?", (namespace,))),
    )
    connection.execute(f"DROP TABLE {name}")


def _walk(connection: apsw.Connection, namespace: int, condition: str = "1") -> Iterator[list[Text]]:
    last = 0
    while rows := fetch(
        connection,
        "SELECT key, title, summary, content FROM notes WHERE namespace = ? AND key > ? "  # noqa: S608 (our own)
        f"AND {condition} ORDER BY key LIMIT ?",
        (namespace, last, READ_NOTES),
    ):
        yield [Text(*row) for row in rows]
        last = rows[-1][0]


def _borne(connection: apsw.Connection, texts: Sequence[Text]) -> dict[int, set[str]]:
    """Return the words of the titles that notes bear."""
    borne: dict[int, set[str]] = {}
    for note, words in connection.execute(
        "SELECT note, words FROM json_each(?) AS asked CROSS JOIN titled ON note = asked.value "
        "CROSS JOIN titles ON titles.key = title",
        (json.dumps([text.note for text in texts]),),
    ):
        borne.setdefault(note, set()).add(words)
    return borne


def _write_titles(
    connection: apsw.Connection,
    namespace: int,
    given: Mapping[int, Sequence[Title]],
    known: Sequence[int] = (),
    told: KnownWords | None = None,
) -> dict[int, Title]:
    """Write the titles that notes bear, and return those that are new to the namespace by their keys."""
    titles = {title.words: title for each in given.values() for title in each}
    asked = [title.stems for title in titles.values() if told is None or told.may_be_title(title.stems)]
    keys: dict[str, int] = {
        words: key
        for key, words in connection.execute(
            "SELECT key, words FROM titles WHERE namespace = ? AND stems IN (SELECT value FROM json_each(?))",
            (namespace, json.dumps(asked)),
        )
    }
    after: int = connection.execute("SELECT coalesce(max(key), 0) + 1 FROM titles").get
    new = dict(enumerate((title for words, title in titles.items() if words not in keys), start=after))
    connection.executemany(
        "INSERT INTO titles (key, namespace, stems, words) VALUES (?, ?, ?, ?)",
        [(key, namespace, title.stems, title.words) for key, title in new.items()],
    )
    keys.update((title.words, key) for key, title in new.items())
    connection.executemany(
        "INSERT OR IGNORE INTO titled (note, title) VALUES (?, ?)",
        [(note, keys[title.words]) for note, each in given.items() for title in each],
    )
    # Afterwards, so that a title which goes from one note to another is never without one and stays.
    connection.executemany(
        "DELETE FROM titled WHERE note = ? AND title NOT IN (SELECT value FROM json_each(?))",
        [(note, json.dumps([keys[title.words] for title in given.get(note, ())])) for note in known],
    )
    return new


def _seek(
    connection: apsw.Connection,
    namespace: int,
    titles: Mapping[int, Title],
    told: KnownWords | None,
) -> None:
    """Find the notes of the word index that name new titles."""
    words = f"words_{namespace}"
    if told is not None:
        held = told.may_hold((key, title.stems) for key, title in titles.items())
        titles = {key: titles[key] for key in sorted(held)}
    waiting = iter(titles.items())
    while group := dict(islice(waiting, SOUGHT_TITLES)):
        rows = connection.execute(
            f"SELECT asked.value ->> 0, (SELECT json_group_array(rowid) FROM ("  # noqa: S608 (our own number)
            f"SELECT rowid FROM {words} WHERE {words} MATCH asked.value ->> 1 LIMIT ?)) FROM json_each(?) AS asked",
            (MOST_NAMERS + 1, json.dumps([(key, _phrase(title)) for key, title in group.items()])),
        )
        found: dict[int, list[int]] = {key: json.loads(notes) for key, notes in rows}
        _mark(connection, [key for key, notes in found.items() if len(notes) > MOST_NAMERS])
        few = {key: notes for key, notes in found.items() if len(notes) <= MOST_NAMERS}
        texts = connection.execute(
            "SELECT key, title, summary, content FROM notes WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted({note for notes in few.values() for note in notes})),),
        )
        lines = {row[0]: spelled(Text(*row)) for row in texts}
        _write(
            connection,
            [
                Mention(key, note, stands_in(group[key].words, lines[note]))
                for key, notes in few.items()
                for note in notes
            ],
        )


def _phrase(title: Title) -> str:
    quoted = indexed(title.text).replace('"', " ").replace("\0", " ")
    return f'{{summary content}} : "{quoted}"'


def _named_in(connection: apsw.Connection, namespace: int, texts: Sequence[Text]) -> list[Mention]:
    """Find the titles that texts name, without known words."""
    given = given_titles(texts)
    return named_titles(partial(_titles_at, connection, namespace), texts, given, Parts.of(texts))


def _titles_at(
    connection: apsw.Connection, namespace: int, runs: set[str]
) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
    """Return for runs of stems that are titles their keys and words, and the runs that longer titles begin with."""
    titles: dict[str, list[tuple[int, str]]] = {}
    longer: set[str] = set()
    if not runs:
        return titles, longer
    # Behind a title come those that go on after a space; "!" is what follows a space.
    rows = connection.execute(
        """
        WITH asked (run, last) AS MATERIALIZED (
            SELECT value, (
                SELECT stems FROM titles WHERE namespace = ?1 AND stems >= value AND stems < value || '!'
                ORDER BY stems DESC LIMIT 1
            ) FROM json_each(?2)
        )
        SELECT run, last, key, words FROM asked LEFT JOIN titles ON namespace = ?1 AND stems = run AND NOT common
        WHERE last IS NOT NULL
        """,
        (namespace, json.dumps(list(runs))),
    )
    for run, last, key, words in rows:
        if key is not None:
            titles.setdefault(run, []).append((key, words))
        if last != run:
            longer.add(run)
    return titles, longer


def _write_named(connection: apsw.Connection, rows: Sequence[Mention]) -> None:
    """Write mentions, and mark the titles that have too many by now."""
    _write(connection, rows)
    crowded = connection.execute(
        "SELECT key FROM titles WHERE namers > ? AND key IN (SELECT value FROM json_each(?))",
        (MOST_NAMERS, json.dumps(list({title for title, *_ in rows}))),
    )
    _mark(connection, [key for (key,) in crowded])


def _write(connection: apsw.Connection, rows: Sequence[Mention]) -> None:
    connection.executemany("INSERT INTO mentions (title, note, exact) VALUES (?, ?, ?)", rows)


def _mark(connection: apsw.Connection, common: Sequence[int]) -> None:
    """Mark titles as common, and let go of their mentions."""
    keys = [(key,) for key in common]
    connection.executemany("DELETE FROM mentions WHERE title = ?", keys)
    connection.executemany("UPDATE titles SET common = 1 WHERE key = ?", keys)
