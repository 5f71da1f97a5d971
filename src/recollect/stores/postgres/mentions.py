"""Which notes name which titles: found when either is written, in the same transaction.

A title that too many notes name is marked as common and its mentions are let go of. What is common stays so until the
last note that bears it goes, or :func:`rebuild` counts again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.known_words import WORTH_READING, KnownWords
from recollect.stores.mentions import MOST_NAMERS, Mention, Parts, Text, given_titles, named_titles, spelled, stands_in
from recollect.stores.postgres.tables import columns
from recollect.stores.postgres.text import MAX_TERM_BYTES as LONGEST_TERM
from recollect.stores.postgres.text import lexeme, term
from recollect.stores.titles import Title
from recollect.stores.tokens import stems

__all__ = ["RememberedWords", "problems", "rebuild", "write_mentions"]

CHECKED_NOTES = 2000
READ_NOTES = 2000
SOUGHT_TITLES = 64
"""How many titles' notes are read at a time."""
MOST_REMEMBERED = 4
"""Of how many namespaces the words are kept in memory, four megabytes each."""

_MAYBE_CUT = 900  # words: a vector that was cut has more


class RememberedWords:
    """The words of the namespaces that this process wrote to last, each at the revision that it left behind.

    Who writes to a namespace has it to itself, and takes its words away: they come back when all is committed, and are
    gone where it is not.

    >>> remembered = RememberedWords()
    >>> remembered.keep({7: (1, KnownWords())})
    >>> remembered.take(7, 1) is None, remembered.take(7, 1) is None
    (False, True)
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._lock = threading.Lock()
        self._words: dict[int, tuple[int, KnownWords]] = {}

    def take(self, namespace: int, revision: int) -> KnownWords | None:
        """Return the words of a namespace as they were left at this revision."""
        with self._lock:
            held = self._words.pop(namespace, None)
        return held[1] if held and held[0] == revision else None

    def keep(self, left: Mapping[int, tuple[int, KnownWords]]) -> None:
        """Remember words of namespaces, each with its revision, for who writes there next."""
        with self._lock:
            self._words |= left
            for namespace in list(self._words)[:-MOST_REMEMBERED]:
                del self._words[namespace]


def write_mentions(
    connection: Connection[TupleRow],
    namespace: int,
    texts: Sequence[Text],
    known: Sequence[int],
    remembered: RememberedWords,
) -> KnownWords | None:
    """Connect notes that are new or changed with the titles that they name, and all notes with the titles they bring.

    The notes are written, but not yet in the word index. ``known`` are those that were there before. What is returned
    are the words of the namespace with these, if they are worth remembering.
    """
    revision, worded, titled = _state(connection, namespace)
    told = remembered.take(namespace, revision)
    if not titled and not any(text.title for text in texts):
        return None
    given = given_titles(texts)
    if told is None and (not (titled or worded) or len(given) >= WORTH_READING):
        told = _read_words(connection, namespace)
    if known:
        connection.execute("DELETE FROM mentions WHERE note = ANY (%s)", [known])
    new = _write_titles(connection, namespace, given, known, told)
    if worded:
        _seek(connection, namespace, new, known, told)
    if told is not None:
        told.add_titles(title.stems for title in new.values())
    parts = Parts.of(texts)
    _write_named(connection, named_titles(partial(_titles_at, connection, namespace), texts, given, parts, told))
    return told


def rebuild(connection: Connection[TupleRow], namespace: int) -> None:
    """Find all titles and mentions of a namespace anew."""
    connection.execute("DELETE FROM titles WHERE namespace = %s", [namespace])
    for texts in _walk(connection, namespace, "title <> ''"):
        _write_titles(connection, namespace, given_titles(texts))
    if _state(connection, namespace)[2]:
        for texts in _walk(connection, namespace):
            _write_named(connection, _named_in(connection, namespace, texts))


def problems(connection: Connection[TupleRow], namespace: int) -> Iterator[str]:
    """Find titles that are not those of the notes, and, among some notes, mentions that do not agree with the texts."""
    for (title,) in connection.execute(
        "SELECT key FROM titles AS t WHERE namespace = %s AND NOT EXISTS (SELECT 1 FROM titled WHERE title = t.key)",
        [namespace],
    ):
        yield f"title {title} belongs to no note"
    for (title,) in connection.execute(
        "SELECT key FROM titles AS t WHERE namespace = %s "
        "AND namers <> (SELECT count(*) FROM mentions WHERE title = t.key)",
        [namespace],
    ):
        yield f"the mentions of title {title} are not counted right"
    for texts in _walk(connection, namespace, "(title <> '' OR key IN (SELECT note FROM titled))"):
        held = _borne(connection, texts)
        given = given_titles(texts)
        for note in (text.note for text in texts):
            if held.get(note, set()) != {title.words for title in given.get(note, ())}:
                yield f"note {note} has another title"
    ((count,),) = connection.execute("SELECT count(*) FROM notes WHERE namespace = %s", [namespace]).fetchall()
    for texts in _walk(connection, namespace, f"key %% {count // CHECKED_NOTES + 1} = 0"):
        rows = connection.execute(
            "SELECT title, note, exact::int FROM mentions WHERE note = ANY (%s)", [[text.note for text in texts]]
        ).fetchall()
        for note in sorted({row[1] for row in set(rows) ^ set(_named_in(connection, namespace, texts))}):
            yield f"the mentions of note {note} do not agree with its text"


def _state(connection: Connection[TupleRow], namespace: int) -> tuple[int, bool, bool]:
    """Return the revision of a namespace, and whether its word index holds a note, and it has a title."""
    ((revision, worded, titled),) = connection.execute(
        "SELECT revision, notes > 0, EXISTS (SELECT 1 FROM titles WHERE namespace = n.key) "
        "FROM namespaces AS n WHERE key = %s",
        [namespace],
    ).fetchall()
    return revision, worded, titled


def _read_words(connection: Connection[TupleRow], namespace: int) -> KnownWords:
    """Return the words that the namespace's word index and titles hold."""
    known = KnownWords()
    known.begin(
        namespace,
        words=(
            word
            for (word,) in connection.execute("SELECT DISTINCT term FROM postings WHERE namespace = %s", [namespace])
        ),
        titles=(stems for (stems,) in connection.execute("SELECT stems FROM titles WHERE namespace = %s", [namespace])),
    )
    return known


def _walk(connection: Connection[TupleRow], namespace: int, condition: str = "true") -> Iterator[list[Text]]:
    last = 0
    while rows := connection.execute(
        "SELECT key, title, summary, content FROM notes WHERE namespace = %s AND key > %s "  # noqa: S608 (our own)
        f"AND {condition} ORDER BY key LIMIT %s",
        [namespace, last, READ_NOTES],
    ).fetchall():
        yield [Text(*row) for row in rows]
        last = rows[-1][0]


def _borne(connection: Connection[TupleRow], texts: Sequence[Text]) -> dict[int, set[str]]:
    """Return the words of the titles that notes bear."""
    borne: dict[int, set[str]] = {}
    for note, words in connection.execute(
        "SELECT note, words FROM titled JOIN titles AS t ON t.key = title WHERE note = ANY (%s)",
        [[text.note for text in texts]],
    ):
        borne.setdefault(note, set()).add(words)
    return borne


def _write_titles(
    connection: Connection[TupleRow],
    namespace: int,
    given: Mapping[int, Sequence[Title]],
    known: Sequence[int] = (),
    told: KnownWords | None = None,
) -> dict[int, Title]:
    """Write the titles that notes bear, and return those that are new to the namespace by their keys."""
    titles = {title.words: title for each in given.values() for title in each}
    asked = [title.stems for title in titles.values() if told is None or told.may_be_title(title.stems)]
    keys: dict[str, int] = {}
    if asked:
        rows = connection.execute(
            "SELECT words, key FROM titles WHERE namespace = %s AND stems = ANY (%s)", [namespace, asked]
        )
        keys = dict(rows.fetchall())
    fresh = [title for words, title in titles.items() if words not in keys]
    new: dict[int, Title] = {}
    if fresh:
        rows = connection.execute(
            "INSERT INTO titles (namespace, stems, words) SELECT %s, * FROM unnest(%b::text[], %b::text[]) "
            "RETURNING key, words",
            [namespace, [title.stems for title in fresh], [title.words for title in fresh]],
        )
        new = {key: titles[words] for key, words in rows}
    keys.update((title.words, key) for key, title in new.items())
    bearers = columns([(note, keys[title.words]) for note, each in given.items() for title in each], 2)
    if bearers[0]:
        connection.execute(
            "INSERT INTO titled (note, title) SELECT * FROM unnest(%b::bigint[], %b::bigint[]) ON CONFLICT DO NOTHING",
            bearers,
        )
    if known:
        # Afterwards, so that a title which goes from one note to another is never without one and stays.
        connection.execute(
            "DELETE FROM titled AS t WHERE note = ANY (%s) AND NOT EXISTS ("
            "SELECT 1 FROM unnest(%b::bigint[], %b::bigint[]) AS borne (note, title) "
            "WHERE borne.note = t.note AND borne.title = t.title)",
            [known, *bearers],
        )
    return new


def _seek(
    connection: Connection[TupleRow],
    namespace: int,
    titles: Mapping[int, Title],
    known: Sequence[int],
    told: KnownWords | None,
) -> None:
    """Find the notes of the word index that name new titles, but for those that are being changed."""
    if told is not None:
        held = told.may_hold((key, title.stems) for key, title in titles.items())
        # A word that was cut is known by another name.
        titles = {key: title for key, title in titles.items() if key in held or len(title.stems) * 4 > LONGEST_TERM}
    waiting = iter(titles.items())
    while group := dict(islice(waiting, SOUGHT_TITLES)):
        asked = [(key, *_phrase(namespace, title)) for key, title in group.items()]
        rows = connection.execute(_SEEK, [known, MOST_NAMERS + 1, namespace, known, *columns(asked, 3)]).fetchall()
        texts = {
            row[0]: Text(*row)
            for row in connection.execute(
                "SELECT key, title, summary, content FROM notes WHERE key = ANY (%s)",
                [list({note for _, sure, maybe in rows if len(sure) <= MOST_NAMERS for note in [*sure, *maybe]})],
            )
        }
        lines = {note: spelled(text) for note, text in texts.items()}
        common, mentions = [], []
        for key, sure, maybe in rows:
            if len(sure) > MOST_NAMERS:
                common.append(key)
                continue
            found = [*sure, *(note for note in maybe if _holds(texts[note], group[key]))]
            mentions += [Mention(key, note, stands_in(group[key].words, lines[note])) for note in found]
        _mark(connection, common)
        _write_named(connection, mentions)


def _phrase(namespace: int, title: Title) -> tuple[str, str]:
    """Return what finds a title: as a phrase in a summary or content, and as words anywhere."""
    words = [lexeme(namespace, term(stem)) for stem in title.stems.split(" ")]
    return " <-> ".join(f"{word}:A" for word in words), " & ".join(words)


def _holds(text: Text, title: Title) -> bool:
    return bool(stands_in(title.stems, f" {' '.join(stems([text.summary, text.content]))} "))


def _named_in(connection: Connection[TupleRow], namespace: int, texts: Sequence[Text]) -> list[Mention]:
    """Find the titles that texts name, without known words."""
    given = given_titles(texts)
    return named_titles(partial(_titles_at, connection, namespace), texts, given, Parts.of(texts))


def _titles_at(
    connection: Connection[TupleRow], namespace: int, runs: set[str]
) -> tuple[dict[str, list[tuple[int, str]]], set[str]]:
    """Return for runs of stems that are titles their keys and words, and the runs that longer titles begin with."""
    titles: dict[str, list[tuple[int, str]]] = {}
    longer: set[str] = set()
    if not runs:
        return titles, longer
    asked = list(runs)
    # Behind a title come those that go on after a space; "!" is what follows a space.
    rows = connection.execute(_TITLES_AT, {"home": namespace, "runs": asked, "ends": [f"{run}!" for run in asked]})
    for run, last, key, words in rows:
        if key is not None:
            titles.setdefault(run, []).append((key, words))
        if last != run:
            longer.add(run)
    return titles, longer


def _write_named(connection: Connection[TupleRow], rows: Sequence[Mention]) -> None:
    """Write mentions, and mark the titles that have too many by now."""
    if not rows:
        return
    connection.execute(
        "INSERT INTO mentions (title, note, exact) "
        "SELECT title, note, exact = 1 FROM unnest(%b::bigint[], %b::bigint[], %b::int[]) AS new (title, note, exact)",
        columns(rows, 3),
    )
    crowded = connection.execute(
        "SELECT key FROM titles WHERE namers > %s AND key = ANY (%s)",
        [MOST_NAMERS, list({title for title, *_ in rows})],
    )
    _mark(connection, [key for (key,) in crowded])


def _mark(connection: Connection[TupleRow], common: Sequence[int]) -> None:
    """Mark titles as common, and let go of their mentions."""
    if common:
        connection.execute("DELETE FROM mentions WHERE title = ANY (%s)", [common])
        connection.execute("UPDATE titles SET common = true WHERE key = ANY (%s)", [common])


# Of a note that is too long for its vector, only the text itself tells whether a phrase stands there. What is asked of
# it are not its words alone, so that they do not tell its namespace either.
_SEEK = f"""
SELECT asked.title,
    ARRAY(SELECT note FROM words WHERE words @@ asked.phrase::tsquery AND whole AND note <> ALL (%s) LIMIT %s),
    ARRAY(SELECT w.note FROM words AS w JOIN notes AS n ON n.key = w.note
        WHERE NOT w.whole AND n.namespace = %s AND w.note <> ALL (%s)
        AND (w.words @@ asked.words::tsquery OR length(w.words) > {_MAYBE_CUT}))
FROM unnest(%b::bigint[], %b::text[], %b::text[]) AS asked (title, phrase, words)
"""  # noqa: S608 (a number of our own)

_TITLES_AT = """
WITH asked AS MATERIALIZED (
    SELECT run, (
        SELECT stems FROM titles WHERE namespace = %(home)s AND stems >= run AND stems < behind
        ORDER BY stems DESC LIMIT 1
    ) AS last
    FROM unnest(%(runs)b::text[], %(ends)b::text[]) AS a (run, behind)
)
SELECT run, last, key, words FROM asked LEFT JOIN titles ON namespace = %(home)s AND stems = run AND NOT common
WHERE last IS NOT NULL
"""
