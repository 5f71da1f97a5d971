"""Search for notes by a misspelt name: pg_trgm preselects names, then the name index computes their similarities.

*Stored names.* The server's locale defines which characters pg_trgm regards as letters. To be independent of
the locale, the table ``names`` has names in which an ASCII letter or digit replaces each character outside ASCII.

*Threshold.* pg_trgm pads words differently from the name index, so that its similarities are lower. In the name index,
a query of ``c`` words has ``A`` trigrams and a name of ``n`` words has ``B``. They share ``S`` trigrams, and together
have ``U = A + B - S``. Their similarity is ``J = S / U``. pg_trgm has at most one more trigram for each word, so its
similarity is at least ``S / (U + c + n)``. If ``n <= B / 2``, then ``n <= U / 2``, and pg_trgm's similarity is at least
``J U / (1.5 U + c)``. This grows with ``U``; as ``U >= A``, it is at least ``J A / (1.5 A + c)``.

The bound fails if the replacement makes two trigrams of a name equal. Such names, names with ``n > B / 2`` and very
long names have ``plain = false`` in the table. They are not preselected, but always compared in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import Connection

from recollect.model import Candidate, Filters
from recollect.query import Query, slug_text, trigrams
from recollect.query.trigrams import TRIGRAM_THRESHOLD
from recollect.stores.name_index import MAX_QUERY_LENGTH, index_names, single_words
from recollect.stores.postgres.filters import candidate_conditions
from recollect.stores.postgres.search import candidates_by_key
from recollect.text import split_words

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"  # the replacements of characters outside ASCII
_ROUNDING_MARGIN = 1e-4  # subtracted from the threshold, because the server compares similarities in float32
_MAX_NAME_LENGTH = 1000  # in characters; longer names are always compared in Python

_NameRow = tuple[int, str | None, str]
"""A note's key, path and title."""


def write_names(connection: Connection, namespace_id: int, notes: Sequence[_NameRow], existing: Sequence[int]) -> None:
    """Write the names of notes; first delete the stored names of the notes whose keys are in ``existing``."""
    if existing:
        connection.execute("DELETE FROM names WHERE note = ANY (%s::bigint[])", [list(existing)])
    rows = [(note, *name) for note, path, title in notes for name in sorted(_stored_names(path, title))]
    if rows:
        connection.execute(_WRITE, [namespace_id, *map(list, zip(*rows, strict=True))])


def name_problems(connection: Connection, notes: Sequence[_NameRow]) -> Iterator[str]:
    """Find notes whose stored names differ from their path and title."""
    stored: dict[int, set[tuple[str, bool]]] = {note: set() for note, *_ in notes}
    rows = connection.execute("SELECT note, name, plain FROM names WHERE note = ANY (%s::bigint[])", [list(stored)])
    for note, name, plain in rows:
        stored[note].add((name, plain))
    for note, path, title in notes:
        if stored[note] != _stored_names(path, title):
            yield f"the stored names of note {path or title or note!r} differ from its path and title"


def search_names(
    connection: Connection,
    namespace_id: int,
    words: Sequence[str],
    limit: int,
    filters: Filters,
    exclusions: Query | None,
    *,
    titles: bool,
) -> list[Candidate]:
    """Return the notes with the names most similar to one of ``words``: paths, and also titles if ``titles``."""
    queries = [" ".join(split_words(word)) for word in words if len(word) <= MAX_QUERY_LENGTH]
    queries = [query for query in queries if query]
    connection.execute("SELECT set_config('pg_trgm.similarity_threshold', %s, true)", [str(_threshold(queries))])
    preselected = connection.execute(_PRESELECT, [namespace_id, list(map(_ascii_name, queries)), namespace_id])
    preselected_notes = [note for (note,) in preselected]
    conditions, values = candidate_conditions(connection, namespace_id, filters, exclusions)
    rows = connection.execute(
        "SELECT n.key, coalesce(n.path, ''), n.title FROM living AS n "  # noqa: S608 (conditions of our own)
        f"WHERE n.key = ANY (%s::bigint[]) AND (%s OR n.path IS NOT NULL) {conditions} "
        "ORDER BY coalesce(n.path, ''), n.id",
        [preselected_notes, titles, *values],
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


def _threshold(queries: Sequence[str]) -> float:
    """Return the threshold for pg_trgm: the lowest of the queries' bounds ``J A / (1.5 A + c)``."""
    bounds = []
    for query in queries:
        trigram_count, word_count = len(trigrams(query)), len(query.split(" "))
        bounds.append(TRIGRAM_THRESHOLD * trigram_count / (1.5 * trigram_count + word_count))
    return min(bounds, default=1.0) - _ROUNDING_MARGIN


def _stored_names(path: str | None, title: str) -> set[tuple[str, bool]]:
    """Return pairs for the table ``names``: a name of the note, and ``plain``, whether pg_trgm can preselect it."""
    names = {slug_text(path or ""), " ".join(split_words(title))} - {""}
    names.update([word for name in names for word in single_words(name)])
    stored = set()
    for name in names:
        ascii_name, trigram_count, word_count = _ascii_name(name), len(trigrams(name)), len(name.split(" "))
        keeps_trigrams = len(trigrams(ascii_name)) == trigram_count
        satisfies_bound = keeps_trigrams and word_count <= trigram_count / 2
        stored.add((ascii_name[:_MAX_NAME_LENGTH], satisfies_bound and len(ascii_name) <= _MAX_NAME_LENGTH))
    return stored


def _ascii_name(name: str) -> str:
    """Return a name in which ASCII characters replace all others: ``ines müller`` becomes ``ines maller``."""
    return "".join(char if char.isascii() else _ALPHABET[ord(char) % len(_ALPHABET)] for char in name)


_WRITE = """
INSERT INTO names (namespace, note, name, plain)
SELECT %s, note, name, plain FROM unnest(%s::bigint[], %s::text[], %s::boolean[]) AS new (note, name, plain)
"""

# The operator % (here escaped) compares two texts: it is true if their similarity reaches the threshold of pg_trgm.
_PRESELECT = """
SELECT note FROM names WHERE namespace = %s AND plain AND name %% ANY (%s::text[])
UNION SELECT note FROM names WHERE namespace = %s AND NOT plain
"""
