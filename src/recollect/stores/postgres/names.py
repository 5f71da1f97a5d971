"""Finding notes by a misspelt name: the server's trigrams say which names may be alike, ours say how much they are.

The server pads words otherwise than we do, and what it takes for a letter depends on its locale. So what it is given
are stand-ins of names, in which each letter beyond ASCII is one of ASCII. Of a word with a trigrams and a name of n
words with b trigrams that share s of their U = a + b - s, the server finds s of U + 1 + n at least: it has one more
trigram a word at most. Where n is no more than b / 2, names that are alike by J = s / U are alike by J a / (1.5 a + 1)
for the server. That is so unless two trigrams of a name become one; such a name, and one of very short words, is always
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.model import Candidate, Filters
from recollect.query import Query, jaccard, slug_text, trigrams
from recollect.query.trigrams import TRIGRAM_THRESHOLD
from recollect.stores.name_index import index_names, standing_words
from recollect.stores.postgres.filters import candidate_conditions
from recollect.stores.postgres.search import NOTE_COLUMNS
from recollect.stores.rows import candidate_of
from recollect.text import split_words

__all__ = ["problems", "rebuild", "search_names", "write_names"]

FILTERED_NOTES = 1024
READ_NOTES = 1024

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_ROUNDING = 1e-4  # the server compares in float32
_LONGEST_NAME = 1000
"""Letters of a name that the server looks through; a longer one is always looked at here."""

_Name = tuple[int, str | None, str]
"""A note's key, path and title."""


def write_names(connection: Connection[TupleRow], namespace: int, names: Sequence[_Name], known: Sequence[int]) -> None:
    """Write what notes may be called by, each given by its key, path and title; ``known`` had names before."""
    if known:
        connection.execute("DELETE FROM names WHERE note = ANY (%s::bigint[])", [list(known)])
    rows = [(note, *name) for note, path, title in names for name in sorted(_stand_ins(path, title))]
    if rows:
        columns = [[row[place] for row in rows] for place in range(3)]
        connection.execute(_WRITE, [namespace, *columns])


def rebuild(connection: Connection[TupleRow], namespace: int) -> None:
    """Write the names of all notes of a namespace anew."""
    connection.execute("DELETE FROM names WHERE namespace = %s", [namespace])
    for some in _walk(connection, namespace):
        write_names(connection, namespace, some, ())


def problems(connection: Connection[TupleRow], namespace: int) -> Iterator[str]:
    """Say in words for a person which notes of a namespace have other names than are kept."""
    for some in _walk(connection, namespace):
        kept: dict[int, set[tuple[str, bool]]] = {note: set() for note, *_ in some}
        for note, name, plain in connection.execute(_KEPT, [list(kept)]):
            kept[note].add((name, plain))
        for note, path, title in some:
            if kept[note] != _stand_ins(path, title):
                yield f"the names of note {path or title or note!r} are not those that it has"


def search_names(
    connection: Connection[TupleRow],
    namespace: int,
    words: Sequence[str],
    limit: int,
    filters: Filters,
    without: Query | None,
    *,
    titles: bool,
) -> list[Candidate]:
    """Return the notes with the names most like one of ``words``."""
    asked = [spelt for word in dict.fromkeys(words) if (spelt := split_words(word))]
    if not asked:
        return []
    sought = _sought(asked)
    connection.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", [str(_threshold(sought))])
    given = [_stand_in(" ".join(spelt)) for spelt in sought]
    like = connection.execute(_LIKE, [namespace, given, namespace]).fetchall()
    rows = connection.execute(_NAMED, [_alike(given, like), titles]).fetchall()
    if not rows:
        return []
    keys, similarities = index_names(rows, titles=titles).most_alike(words)
    alike = dict(zip(keys.tolist(), similarities.tolist(), strict=True))
    conditions, values = candidate_conditions(connection, namespace, filters, without)
    allowed = _allowed(connection, list(alike), conditions, values) if conditions else iter(alike)
    best = list(islice(allowed, limit))
    found = {
        key: candidate_of(row)
        for key, *row in connection.execute(
            f"SELECT n.key, {NOTE_COLUMNS} FROM living AS n WHERE n.key = ANY (%s::bigint[])",  # noqa: S608 (names of our own)
            [best],
        )
    }
    for rank, key in enumerate(best, start=1):
        found[key].lexical_rank = rank
        found[key].lexical_score = found[key].score = alike[key]
    return [found[key] for key in best]


def _sought(words: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return what the server is to look for: words, each given by its parts, for which it does not take long.

    It reads a word into trigrams anew for each name. So a long one becomes a short one of the same trigrams, and one
    of more than any name that the server looks through could have enough of is not looked for.

    >>> _sought([["ines"], ["tea"] * 500, ["x" * 100_000]])
    [['ines'], ['tea'], ['xxx']]
    """
    found: list[Sequence[str]] = []
    for spelt in words:
        whole = " ".join(spelt)
        if len(whole) <= _LONGEST_NAME:
            found.append(spelt)
        elif TRIGRAM_THRESHOLD * len(trigrams(whole)) <= _LONGEST_NAME:  # a name has no more trigrams than letters
            found.append([_shortened(part) for part in dict.fromkeys(spelt)])
    return found


def _shortened(word: str) -> str:
    """Return a word of the same trigrams, the same beginning and the same end: without ways that lead nowhere new.

    >>> _shortened("tatatatatatata")
    'tata'
    """
    letters = f"${word}$"
    kept = list(letters[:2])
    needed = 2  # of what is kept: behind it comes no trigram for the first time
    ends: dict[str, int] = {}  # where two letters stood last
    seen: set[str] = set()
    for start in range(len(letters) - 2):
        gram = letters[start : start + 3]
        kept.append(gram[2])
        if gram not in seen:
            seen.add(gram)
            needed = len(kept)
        else:
            end = ends.get(gram[1:], 0)
            if end >= needed and "".join(kept[end - 2 : end]) == gram[1:]:
                del kept[end:]
        ends[gram[1:]] = len(kept)
    return "".join(kept[1:-1])


def _threshold(words: Sequence[Sequence[str]]) -> float:
    """Return how alike the server must find a name for it to be like one of the words, each given by its parts.

    >>> round(_threshold([["weber"]]), 3)  # five trigrams
    0.176
    """
    sizes = [(len(trigrams(" ".join(spelt))), len(spelt)) for spelt in words]
    return min((TRIGRAM_THRESHOLD * size / (1.5 * size + parts) for size, parts in sizes), default=1.0) - _ROUNDING


def _alike(words: Sequence[str], names: Sequence[tuple[int, str, bool]]) -> list[int]:
    """Return the notes of names that may be alike: whose stand-in is, which is at least as much alike as the name."""
    asked = [trigrams(word) for word in words]
    held = {name: trigrams(name) for _, name, plain in names if plain}
    alike = {name for name, grams in held.items() if any(jaccard(grams, each) >= TRIGRAM_THRESHOLD for each in asked)}
    return list({note for note, name, plain in names if not plain or name in alike})


def _allowed(
    connection: Connection[TupleRow], keys: Sequence[int], conditions: str, values: Sequence[Any]
) -> Iterator[int]:
    """Yield the notes that meet the conditions, in the same order; no more are asked for than are wanted."""
    for start in range(0, len(keys), FILTERED_NOTES):
        some = keys[start : start + FILTERED_NOTES]
        rows = connection.execute(
            f"SELECT n.key FROM living AS n WHERE n.key = ANY (%s::bigint[]) {conditions}",  # noqa: S608 (names of our own)
            [some, *values],
        )
        passed = {key for (key,) in rows}
        yield from (key for key in some if key in passed)


def _stand_ins(path: str | None, title: str) -> set[tuple[str, bool]]:
    """Return what the server is given of a note's names and of the words that stand for them, and whether that tells.

    >>> sorted(_stand_ins("people/ines-weber.md", "Ines"))
    [('ines', True), ('ines weber', True), ('weber', True)]
    """
    names = {slug_text(path or ""), " ".join(split_words(title))} - {""}
    names.update([word for name in names for word in standing_words(name)])
    found = set()
    for name in names:
        given, size = _stand_in(name), len(trigrams(name))
        plain = len(given) <= _LONGEST_NAME and len(trigrams(given)) == size >= 2 * len(name.split(" "))
        found.add((given[:_LONGEST_NAME], plain))
    return found


def _stand_in(name: str) -> str:
    """Return a name, in words of small letters, with a letter of ASCII for each that is none.

    >>> _stand_in("ines müller 7")
    'ines maller 7'
    """
    if name.isascii():
        return name
    return "".join(letter if letter.isascii() else _LETTERS[ord(letter) % len(_LETTERS)] for letter in name)


def _walk(connection: Connection[TupleRow], namespace: int) -> Iterator[list[_Name]]:
    """Yield all notes of a namespace, some at a time."""
    last = 0
    while some := connection.execute(_NEXT, [namespace, last, READ_NOTES]).fetchall():
        yield some
        last = some[-1][0]


_WRITE = """
INSERT INTO names (namespace, note, name, plain)
SELECT %s, note, name, plain FROM unnest(%s::bigint[], %s::text[], %s::boolean[]) AS new (note, name, plain)
"""

_KEPT = "SELECT note, name, plain FROM names WHERE note = ANY (%s::bigint[])"

_NEXT = "SELECT key, path, title FROM notes WHERE namespace = %s AND key > %s ORDER BY key LIMIT %s"

_LIKE = """
SELECT note, name, plain FROM names WHERE namespace = %s AND plain AND name %% ANY (%s::text[])
UNION ALL SELECT note, name, plain FROM names WHERE namespace = %s AND NOT plain
"""

# Without titles only paths are names, and notes that have none are not found.
_NAMED = """
SELECT n.key, coalesce(n.path, ''), n.title FROM living AS n
WHERE n.key = ANY (%s::bigint[]) AND (%s OR n.path IS NOT NULL) ORDER BY coalesce(n.path, ''), n.id
"""
