"""Is every part of a store whole, and what can be rebuilt if it is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.base import Finding
from recollect.stores.postgres import names
from recollect.stores.postgres.postings import Postings, TextChange, index_notes
from recollect.stores.postgres.schema import TABLES
from recollect.stores.postgres.text import read_terms
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.sql.checking import (
    entity_problems,
    list_problems,
    mention_problems,
    namespaces,
    rebuild_entities,
    rebuild_mentions,
    vector_problems,
)

READ_NOTES = 1000
READ_BLOCKS = 2000

_FIELDS = "path, title, summary, tags, content"


def check(transaction: PostgresTransaction) -> list[Finding]:
    """Check every part. Where a table is missing, the rest cannot be checked."""
    connection = transaction.connection
    missing = _missing_tables(connection)
    if missing:
        return [Finding("tables", missing, repairable=False)]
    findings = [Finding("tables", "")]
    for key, name in namespaces(transaction):
        findings += [
            Finding(f"words of {name!r}", list_problems(_word_problems(connection, key))),
            Finding(f"names of {name!r}", list_problems(names.problems(connection, key))),
            Finding(f"mentions of {name!r}", list_problems(mention_problems(transaction, key))),
            Finding(f"entities of {name!r}", list_problems(entity_problems(transaction, key))),
        ]
    return [*findings, Finding("vectors", list_problems(problem for _, problem in _wrong_vectors(connection)))]


def rebuild(transaction: PostgresTransaction, namespace: int) -> None:
    """Rebuild what is derived from the notes of a namespace, which must be locked."""
    connection = transaction.connection
    connection.execute(
        "UPDATE namespaces SET notes = 0, tokens = 0, revision = revision + 1 WHERE key = %s", [namespace]
    )
    connection.execute("DELETE FROM postings WHERE namespace = %s", [namespace])
    connection.execute("DELETE FROM words USING notes WHERE note = notes.key AND namespace = %s", [namespace])
    for rows in _walk(connection, namespace):
        index_notes(connection, namespace, [TextChange(note, None, fields) for note, *fields in rows], fresh=rows[0][0])
    names.rebuild(connection, namespace)
    rebuild_mentions(transaction, namespace)
    rebuild_entities(transaction, namespace)


def rebuild_vectors(transaction: PostgresTransaction) -> None:
    """Delete the vectors that are not those of their notes: these can be embedded again."""
    connection = transaction.connection
    wrong = [key for key, _ in _wrong_vectors(connection)]
    connection.execute(
        "DELETE FROM vectors AS v USING unnest(%b::bigint[], %b::int[]) AS wrong (note, model) "
        "WHERE v.note = wrong.note AND v.model = wrong.model",
        [[note for note, _ in wrong], [model for _, model in wrong]],
    )


def _missing_tables(connection: Connection[TupleRow]) -> str:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'")
    there = {name for (name,) in rows}
    return list_problems(f"the table {name} is missing" for name in TABLES if name not in there)


def _word_problems(connection: Connection[TupleRow], namespace: int) -> Iterator[str]:
    """Hold the vectors of words, the postings and the counts of a namespace against the texts of all its notes."""
    sums: dict[int, int] = {}
    tokens = 0
    for rows in _walk(connection, namespace):
        vectors = []
        for note, *fields in rows:
            words = read_terms(fields)
            tokens += words.tokens
            sums[note] = _sum((term, weight, words.tokens) for term, weight in words.weights.items())
            vectors.append((note, *words.vector(namespace)))
        wrong = connection.execute(
            _WRONG_VECTORS,
            [[each[0] for each in vectors], [each[1] for each in vectors], [each[2] for each in vectors]],
        )
        for (note,) in wrong:
            yield f"the words of note {note} do not agree with its text"
    ((counted, words_counted),) = connection.execute(
        "SELECT notes, tokens FROM namespaces WHERE key = %s", [namespace]
    ).fetchall()
    if (counted, words_counted) != (len(sums), tokens):
        yield f"{counted} notes of {words_counted} words are counted; there are {len(sums)} of {tokens}"
    yield from _wrong_postings(connection, namespace, sums)


def _wrong_postings(connection: Connection[TupleRow], namespace: int, sums: dict[int, int]) -> Iterator[str]:
    """Find the notes whose postings do not add up to what their words do; ``sums`` is used up."""
    after: tuple[str, int] = ("", 0)
    while rows := connection.execute(
        "SELECT term, block, count, list FROM postings WHERE namespace = %s AND (term, block) > (%s, %s) "
        "ORDER BY term, block LIMIT %s",
        [namespace, *after, READ_BLOCKS],
        binary=True,
    ).fetchall():
        for term, block, count, held in rows:
            postings = Postings.of_blocks([(block, held)])
            if len(postings.notes) != count or not np.all(np.diff(postings.notes) > 0):
                yield f"a block of the postings of {term!r} is not in order"
            for note, weight, tokens in zip(*(each.tolist() for each in postings), strict=True):
                sums[note] = (sums.get(note, 0) - hash((term, weight, tokens))) % _SPAN
        after = rows[-1][0], rows[-1][1]
    for note, rest in sums.items():
        if rest:
            yield f"the postings of note {note} do not agree with its text"


_SPAN = 1 << 64


def _sum(postings: Iterable[tuple[str, float, float]]) -> int:
    """Return a number that is another for other postings, whatever their order, as long as this process lives."""
    return sum(map(hash, postings)) % _SPAN


def _walk(connection: Connection[TupleRow], namespace: int) -> Iterator[list[TupleRow]]:
    last = 0
    while rows := connection.execute(
        f"SELECT key, {_FIELDS} FROM notes WHERE namespace = %s AND key > %s ORDER BY key LIMIT %s",  # noqa: S608 (our own)
        [namespace, last, READ_NOTES],
    ).fetchall():
        yield rows
        last = rows[-1][0]


def _wrong_vectors(connection: Connection[TupleRow]) -> Iterator[tuple[tuple[int, int], str]]:
    """Find vectors that are not those of their notes: each with its note and model."""
    cursor = (0, 0, -1)
    while rows := connection.execute(_VECTORS, [*cursor, READ_NOTES]).fetchall():
        yield from vector_problems(((note, model), *row) for note, model, _, *row in rows)
        cursor = rows[-1][:3]


_WRONG_VECTORS = """
SELECT asked.note FROM unnest(%b::bigint[], %b::text[], %b::boolean[]) AS asked (note, words, whole)
LEFT JOIN words AS w ON w.note = asked.note
WHERE (w.words, w.whole) IS DISTINCT FROM (asked.words::tsvector, asked.whole) ORDER BY asked.note
"""

_VECTORS = """
SELECT v.note, v.model, v.piece, v.namespace, v.digest, octet_length(v.vector), m.dimension, m.precision,
    n.namespace, n.id, n.title, n.summary, n.content
FROM vectors AS v JOIN models AS m ON m.key = v.model JOIN notes AS n ON n.key = v.note
WHERE (v.note, v.model, v.piece) > (%s, %s, %s) ORDER BY v.note, v.model, v.piece LIMIT %s
"""
