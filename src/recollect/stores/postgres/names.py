"""Search for notes by a misspelt name: pg_trgm preselects names, then the name index computes the similarity.

pg_trgm pads words differently, and which characters are letters depends on the server's locale. So the table has names
in which each letter beyond ASCII is replaced by one of ASCII. For a word with a trigrams and a name of n words with b
trigrams that share s of their U = a + b - s, pg_trgm finds at least s of U + 1 + n, since it has at most one trigram
more for each word. Where n <= b / 2, a Jaccard similarity of J = s / U is at least J a / (1.5 a + 1) for pg_trgm. That
fails if two trigrams of a name become one; such a name, and one of very short words, is always compared here.
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
from recollect.stores.name_index import index_names, single_words
from recollect.stores.postgres.filters import candidate_conditions
from recollect.stores.postgres.search import NOTE_COLUMNS
from recollect.stores.rows import candidate_of
from recollect.text import split_words

FILTERED_NOTES = 1024
READ_NOTES = 1024

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_ROUNDING = 1e-4  # the server compares in float32
_MAX_NAME_LENGTH = 1000
"""Longer names are always compared here."""

_Name = tuple[int, str | None, str]
"""A note's key, path and title."""


def write_names(connection: Connection[TupleRow], namespace: int, names: Sequence[_Name], known: Sequence[int]) -> None:
    """Write the names of notes, given by key, path and title; ``known`` are those that existed before."""
    if known:
        connection.execute("DELETE FROM names WHERE note = ANY (%s::bigint[])", [list(known)])
    rows = [(note, *name) for note, path, title in names for name in sorted(_stored_names(path, title))]
    if rows:
        columns = [[row[place] for row in rows] for place in range(3)]
        connection.execute(_WRITE, [namespace, *columns])


def rebuild(connection: Connection[TupleRow], namespace: int) -> None:
    """Write the names of all notes of a namespace again."""
    connection.execute("DELETE FROM names WHERE namespace = %s", [namespace])
    for batch in _batches(connection, namespace):
        write_names(connection, namespace, batch, ())


def problems(connection: Connection[TupleRow], namespace: int) -> Iterator[str]:
    """Find notes of a namespace whose stored names differ from their path and title."""
    for batch in _batches(connection, namespace):
        stored: dict[int, set[tuple[str, bool]]] = {note: set() for note, *_ in batch}
        for note, name, plain in connection.execute(_STORED, [list(stored)]):
            stored[note].add((name, plain))
        for note, path, title in batch:
            if stored[note] != _stored_names(path, title):
                yield f"the stored names of note {path or title or note!r} differ from its path and title"


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
    queries: list[Sequence[str]] = [parts for word in dict.fromkeys(words) if (parts := split_words(word))]
    if not queries:
        return []
    queries = _searchable(queries)
    connection.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", [str(_threshold(queries))])
    texts = [_ascii_name(" ".join(parts)) for parts in queries]
    names = connection.execute(_LIKE, [namespace, texts, namespace]).fetchall()
    rows = connection.execute(_NAMED, [_possibly_similar(texts, names), titles]).fetchall()
    if not rows:
        return []
    keys, similarities = index_names(rows, titles=titles).most_similar(words)
    scores = dict(zip(keys.tolist(), similarities.tolist(), strict=True))
    conditions, values = candidate_conditions(connection, namespace, filters, without)
    allowed = _allowed(connection, list(scores), conditions, values) if conditions else iter(scores)
    best = list(islice(allowed, limit))
    candidates = {
        key: candidate_of(row)
        for key, *row in connection.execute(
            f"SELECT n.key, {NOTE_COLUMNS} FROM living AS n WHERE n.key = ANY (%s::bigint[])",  # noqa: S608 (names of our own)
            [best],
        )
    }
    for rank, key in enumerate(best, start=1):
        candidates[key].lexical_rank = rank
        candidates[key].lexical_score = candidates[key].score = scores[key]
    return [candidates[key] for key in best]


def _searchable(words: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the words, each given by its parts, that the server can search for quickly.

    It computes the trigrams of a word again for each name. So a long word is replaced by a short one of the same
    trigrams, and one with more trigrams than any stored name could match is left out.

    >>> _searchable([["ines"], ["tea"] * 500, ["x" * 100_000]])
    [['ines'], ['tea'], ['xxx']]
    """
    searchable: list[Sequence[str]] = []
    for parts in words:
        whole = " ".join(parts)
        if len(whole) <= _MAX_NAME_LENGTH:
            searchable.append(parts)
        elif TRIGRAM_THRESHOLD * len(trigrams(whole)) <= _MAX_NAME_LENGTH:  # a name has no more trigrams than letters
            searchable.append([_shorten(part) for part in dict.fromkeys(parts)])
    return searchable


def _shorten(word: str) -> str:
    """Return a shorter word of the same trigrams, start and end: without loops that add no trigram.

    >>> _shorten("tatatatatatata")
    'tata'
    """
    letters = f"${word}$"
    kept = list(letters[:2])
    needed = 2  # letters up to the last new trigram
    ends: dict[str, int] = {}  # the last offset behind two letters
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
    """Return the similarity threshold of the server for names that are similar to one of the words.

    >>> round(_threshold([["weber"]]), 3)  # five trigrams
    0.176
    """
    sizes = [(len(trigrams(" ".join(parts))), len(parts)) for parts in words]
    return min((TRIGRAM_THRESHOLD * size / (1.5 * size + count) for size, count in sizes), default=1.0) - _ROUNDING


def _possibly_similar(words: Sequence[str], names: Sequence[tuple[int, str, bool]]) -> list[int]:
    """Return the notes whose stored name is similar to a word: it is at least as similar as the name itself."""
    queries = [trigrams(word) for word in words]
    by_name = {name: trigrams(name) for _, name, plain in names if plain}
    similar = {
        name for name, grams in by_name.items() if any(jaccard(grams, query) >= TRIGRAM_THRESHOLD for query in queries)
    }
    return list({note for note, name, plain in names if not plain or name in similar})


def _allowed(
    connection: Connection[TupleRow], keys: Sequence[int], conditions: str, values: Sequence[Any]
) -> Iterator[int]:
    """Yield the notes that meet the conditions, in the same order, read in batches as the caller goes on."""
    for start in range(0, len(keys), FILTERED_NOTES):
        batch = keys[start : start + FILTERED_NOTES]
        rows = connection.execute(
            f"SELECT n.key FROM living AS n WHERE n.key = ANY (%s::bigint[]) {conditions}",  # noqa: S608 (names of our own)
            [batch, *values],
        )
        passed = {key for (key,) in rows}
        yield from (key for key in batch if key in passed)


def _stored_names(path: str | None, title: str) -> set[tuple[str, bool]]:
    """Return the names of a note as they are stored, and whether pg_trgm can compare each.

    >>> sorted(_stored_names("people/ines-weber.md", "Ines"))
    [('ines', True), ('ines weber', True), ('weber', True)]
    """
    names = {slug_text(path or ""), " ".join(split_words(title))} - {""}
    names.update([word for name in names for word in single_words(name)])
    stored = set()
    for name in names:
        ascii_name, size = _ascii_name(name), len(trigrams(name))
        plain = len(ascii_name) <= _MAX_NAME_LENGTH and len(trigrams(ascii_name)) == size >= 2 * len(name.split(" "))
        stored.add((ascii_name[:_MAX_NAME_LENGTH], plain))
    return stored


def _ascii_name(name: str) -> str:
    """Return a name with a letter of ASCII for each other one.

    >>> _ascii_name("ines müller 7")
    'ines maller 7'
    """
    if name.isascii():
        return name
    return "".join(letter if letter.isascii() else _LETTERS[ord(letter) % len(_LETTERS)] for letter in name)


def _batches(connection: Connection[TupleRow], namespace: int) -> Iterator[list[_Name]]:
    cursor = 0
    while batch := connection.execute(_NEXT, [namespace, cursor, READ_NOTES]).fetchall():
        yield batch
        cursor = batch[-1][0]


_WRITE = """
INSERT INTO names (namespace, note, name, plain)
SELECT %s, note, name, plain FROM unnest(%s::bigint[], %s::text[], %s::boolean[]) AS new (note, name, plain)
"""

_STORED = "SELECT note, name, plain FROM names WHERE note = ANY (%s::bigint[])"

_NEXT = "SELECT key, path, title FROM notes WHERE namespace = %s AND key > %s ORDER BY key LIMIT %s"

_LIKE = """
SELECT note, name, plain FROM names WHERE namespace = %s AND plain AND name %% ANY (%s::text[])
UNION ALL SELECT note, name, plain FROM names WHERE namespace = %s AND NOT plain
"""

# Without titles only paths are names, and notes without a path are no results.
_NAMED = """
SELECT n.key, coalesce(n.path, ''), n.title FROM living AS n
WHERE n.key = ANY (%s::bigint[]) AND (%s OR n.path IS NOT NULL) ORDER BY coalesce(n.path, ''), n.id
"""
