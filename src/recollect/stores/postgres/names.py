"""Search for notes by a misspelt name: pg_trgm preselects names, then the name index computes the similarity.

pg_trgm pads words differently, and the server's locale defines which characters are letters. So the table has names in
which an ASCII letter replaces each other letter. A query of ``c`` words has ``A`` trigrams, a name of ``n`` words has
``B``, they share ``S``, and together have ``U = A + B - S``. pg_trgm has at most one more trigram for each word, so
its similarity is at least ``S / (U + c + n)``. If ``n <= B / 2``, a Jaccard similarity of ``J = S / U`` is at least
``J A / (1.5 A + c)`` for pg_trgm. This fails if two trigrams of a name become equal; such names, and names of very
short words, are always compared in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import Connection

from recollect.model import Candidate, Filters
from recollect.query import Query, slug_text, trigrams
from recollect.query.trigrams import TRIGRAM_THRESHOLD
from recollect.stores.name_index import index_names, single_words
from recollect.stores.postgres.filters import candidate_conditions
from recollect.stores.postgres.search import candidates_by_key
from recollect.text import split_words

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_ROUNDING = 1e-4  # the server compares in float32
_MAX_NAME_LENGTH = 1000
"""Longer names are always compared in Python."""

_Name = tuple[int, str | None, str]
"""A note's key, path and title."""


def write_names(connection: Connection, namespace_id: int, names: Sequence[_Name], existing: Sequence[int]) -> None:
    """Write the names of notes, given by key, path and title; ``existing`` are keys of notes that had names."""
    if existing:
        connection.execute("DELETE FROM names WHERE note = ANY (%s::bigint[])", [list(existing)])
    rows = [(note, *name) for note, path, title in names for name in sorted(_stored_names(path, title))]
    if rows:
        connection.execute(_WRITE, [namespace_id, *map(list, zip(*rows, strict=True))])


def name_problems(connection: Connection, names: Sequence[_Name]) -> Iterator[str]:
    """Find notes, given by key, path and title, whose stored names differ from their path and title."""
    stored: dict[int, set[tuple[str, bool]]] = {note: set() for note, *_ in names}
    rows = connection.execute("SELECT note, name, plain FROM names WHERE note = ANY (%s::bigint[])", [list(stored)])
    for note, name, plain in rows:
        stored[note].add((name, plain))
    for note, path, title in names:
        if stored[note] != _stored_names(path, title):
            yield f"the stored names of note {path or title or note!r} differ from its path and title"


def search_names(
    connection: Connection,
    namespace_id: int,
    words: Sequence[str],
    limit: int,
    filters: Filters,
    without: Query | None,
    *,
    titles: bool,
) -> list[Candidate]:
    """Return the notes with the names most similar to one of ``words``."""
    # The server computes the trigrams of a word again for each name, so that long words would take long.
    queries = [name for name in (" ".join(split_words(word)) for word in words) if 0 < len(name) <= _MAX_NAME_LENGTH]
    connection.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", [str(_threshold(queries))])
    similar = connection.execute(_SIMILAR, [namespace_id, list(map(_ascii_name, queries)), namespace_id]).fetchall()
    conditions, values = candidate_conditions(connection, namespace_id, filters, without)
    # Without titles, only paths are compared, so that notes without a path are left out.
    rows = connection.execute(
        "SELECT n.key, coalesce(n.path, ''), n.title FROM living AS n "  # noqa: S608 (conditions of our own)
        f"WHERE n.key = ANY (%s::bigint[]) AND (%s OR n.path IS NOT NULL) {conditions} "
        "ORDER BY coalesce(n.path, ''), n.id",
        [[note for (note,) in similar], titles, *values],
    ).fetchall()
    if not rows:
        return []
    keys, similarities = index_names(rows, titles=titles).most_similar(words)
    best = keys[:limit].tolist()
    candidates = candidates_by_key(connection, best)
    for rank, (key, similarity) in enumerate(zip(best, similarities.tolist(), strict=False), start=1):
        candidates[key].lexical_rank = rank
        candidates[key].lexical_score = candidates[key].score = similarity
    return [candidates[key] for key in best]


def _threshold(words: Sequence[str]) -> float:
    """Return the similarity threshold of the server for names that are similar to one of the words."""
    sizes = [(len(trigrams(word)), len(word.split(" "))) for word in words]
    return min((TRIGRAM_THRESHOLD * size / (1.5 * size + count) for size, count in sizes), default=1.0) - _ROUNDING


def _stored_names(path: str | None, title: str) -> set[tuple[str, bool]]:
    """Return the names of a note as they are stored, and whether pg_trgm can compare each."""
    names = {slug_text(path or ""), " ".join(split_words(title))} - {""}
    names.update([word for name in names for word in single_words(name)])
    stored = set()
    for name in names:
        ascii_name, size, words = _ascii_name(name), len(trigrams(name)), len(name.split(" "))
        comparable = len(ascii_name) <= _MAX_NAME_LENGTH and len(trigrams(ascii_name)) == size >= 2 * words
        stored.add((ascii_name[:_MAX_NAME_LENGTH], comparable))
    return stored


def _ascii_name(name: str) -> str:
    """Return a name with an ASCII letter for each other letter: ``ines müller`` becomes ``ines maller``."""
    return "".join(letter if letter.isascii() else _ALPHABET[ord(letter) % len(_ALPHABET)] for letter in name)


_WRITE = """
INSERT INTO names (namespace, note, name, plain)
SELECT %s, note, name, plain FROM unnest(%s::bigint[], %s::text[], %s::boolean[]) AS new (note, name, plain)
"""

_SIMILAR = """
SELECT note FROM names WHERE namespace = %s AND plain AND name %% ANY (%s::text[])
UNION SELECT note FROM names WHERE namespace = %s AND NOT plain
"""
