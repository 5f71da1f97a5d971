"""Notes go into the word index and out of it: their vectors of words, their postings, and what BM25 counts of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.postgres.postings import Posting, change_postings
from recollect.stores.postgres.words import Words, read_words

__all__ = ["TextChange", "index_notes"]


class TextChange(NamedTuple):
    """A note whose words changed; its fields in the order of ``FIELD_WEIGHTS``."""

    note: int
    before: Sequence[str | None] | None
    """``None`` for a note that is new."""
    after: Sequence[str | None] | None
    """``None`` for one that goes."""


def index_notes(
    connection: Connection[TupleRow], namespace: int, changes: Sequence[TextChange], *, fresh: int | None = None
) -> None:
    """Bring the word index up to date with notes, each of which comes once. The namespace must be locked.

    A note that is there has its row already. Notes from the key ``fresh`` on are new, and behind all others.
    """
    added: dict[str, list[Posting]] = {}
    removed: dict[str, list[int]] = {}
    vectors: list[tuple[int, str, bool]] = []
    notes = tokens = 0
    for note, before, after in changes:
        old, new = _words(before), _words(after)
        notes += (after is not None) - (before is not None)
        tokens += new.tokens - old.tokens
        # A posting also says how long its note is: one that changed is written anew for all its words.
        for term in old.weights:
            removed.setdefault(term, []).append(note)
        for term, weight in new.weights.items():
            added.setdefault(term, []).append(Posting(note, weight, new.tokens))
        if after is not None:
            vectors.append((note, *new.vector(namespace)))
    connection.execute(_FORGET, [[note for note, _, after in changes if after is None]])
    connection.execute(_REMEMBER, [[row[place] for row in vectors] for place in range(3)])
    change_postings(connection, namespace, added, removed, fresh=fresh)
    connection.execute(_COUNT, [notes, tokens, namespace])


def _words(fields: Sequence[str | None] | None) -> Words:
    return _NO_WORDS if fields is None else read_words(fields)


_NO_WORDS = Words(0, {}, {})

_FORGET = "DELETE FROM words WHERE note = ANY (%s)"

_REMEMBER = """
INSERT INTO words (note, words, whole)
SELECT note, words::tsvector, whole FROM unnest(%b::bigint[], %b::text[], %b::boolean[]) AS new (note, words, whole)
ON CONFLICT (note) DO UPDATE SET words = excluded.words, whole = excluded.whole
"""

_COUNT = """
UPDATE namespaces SET notes = notes + %s, tokens = tokens + %s, revision = revision + 1 WHERE key = %s
"""
