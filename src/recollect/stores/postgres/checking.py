"""Check every part of a store, and rebuild what can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.base import Finding
from recollect.stores.postgres.names import name_problems, write_names
from recollect.stores.postgres.postings import Postings, TextChange, index_notes
from recollect.stores.postgres.schema import TABLES
from recollect.stores.postgres.text import read_terms
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.sql.checking import (
    entity_problems,
    list_problems,
    mention_problems,
    namespaces,
    read_notes,
    rebuild_entities,
    rebuild_mentions,
    vector_problems,
)

READ_VECTORS = 1000
READ_BLOCKS = 2000
"""How many rows are read at once."""

_FIELDS = "path, title, summary, tags, content"


def check(transaction: PostgresTransaction) -> list[Finding]:
    """Check every part. Where a table is missing, the rest cannot be checked."""
    connection = transaction.connection
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'")
    missing = {*TABLES}.difference(name for (name,) in rows)
    if missing:
        problem = list_problems(f"the table {name} is missing" for name in TABLES if name in missing)
        return [Finding("tables", problem, repairable=False)]
    findings = [Finding("tables", "")]
    for key, name in namespaces(transaction):
        findings += [
            Finding(f"words of {name!r}", list_problems(_term_problems(transaction, key))),
            Finding(f"names of {name!r}", list_problems(_name_problems(transaction, key))),
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
    connection.execute("DELETE FROM names WHERE namespace = %s", [namespace])
    for rows in read_notes(transaction, namespace, _FIELDS):
        changes = [TextChange(note, None, fields) for note, *fields in rows]
        index_notes(connection, namespace, changes, first_new_key=rows[0][0])
        write_names(connection, namespace, [row[:3] for row in rows], ())
    rebuild_mentions(transaction, namespace)
    rebuild_entities(transaction, namespace)


def delete_wrong_vectors(transaction: PostgresTransaction) -> None:
    """Delete the vectors that do not fit their notes, so that :meth:`~recollect.Memory.reindex` computes them again."""
    connection = transaction.connection
    wrong = [key for key, _ in _wrong_vectors(connection)]
    connection.execute(
        "DELETE FROM vectors AS v USING unnest(%b::bigint[], %b::int[]) AS wrong (note, model) "
        "WHERE v.note = wrong.note AND v.model = wrong.model",
        [[note for note, _ in wrong], [model for _, model in wrong]],
    )


def _name_problems(transaction: PostgresTransaction, namespace: int) -> Iterator[str]:
    for rows in read_notes(transaction, namespace, "path, title"):
        yield from name_problems(transaction.connection, rows)


def _term_problems(transaction: PostgresTransaction, namespace: int) -> Iterator[str]:
    """Compare the tsvectors, the postings and the counts of a namespace with the texts of all its notes."""
    connection = transaction.connection
    sums: dict[int, int] = {}
    tokens = 0
    for rows in read_notes(transaction, namespace, _FIELDS):
        tsvectors = []
        for note, *fields in rows:
            terms = read_terms(fields)
            tokens += terms.tokens
            sums[note] = sum(hash((term, weight, terms.tokens)) for term, weight in terms.weights.items()) % _MODULUS
            tsvectors.append((note, *terms.tsvector(namespace)))
        for (note,) in connection.execute(_WRONG_TERMS, list(map(list, zip(*tsvectors, strict=True)))):
            yield f"the words of note {note} do not agree with its text"
    ((notes, words),) = connection.execute("SELECT notes, tokens FROM namespaces WHERE key = %s", [namespace])
    if (notes, words) != (len(sums), tokens):
        yield f"the statistics count {notes} notes with {words} words; there are {len(sums)} notes with {tokens} words"
    yield from _posting_problems(connection, namespace, sums)


def _posting_problems(connection: Connection[TupleRow], namespace: int, sums: dict[int, int]) -> Iterator[str]:
    """Find notes whose postings differ from their terms; ``sums`` has the sum of the hashes of each note's terms."""
    cursor: tuple[str, int] = ("", 0)
    while rows := connection.execute(
        "SELECT term, block, count, list FROM postings WHERE namespace = %s AND (term, block) > (%s, %s) "
        "ORDER BY term, block LIMIT %s",
        [namespace, *cursor, READ_BLOCKS],
        binary=True,
    ).fetchall():
        for term, block, count, data in rows:
            postings = Postings.of_blocks([(block, data)])
            if len(postings.notes) != count or not np.all(np.diff(postings.notes) > 0):
                yield f"a block of the postings of {term!r} is not in order"
            for note, weight, tokens in zip(*(column.tolist() for column in postings), strict=True):
                sums[note] = (sums.get(note, 0) - hash((term, weight, tokens))) % _MODULUS
        cursor = rows[-1][:2]
    for note, difference in sums.items():
        if difference:
            yield f"the postings of note {note} do not agree with its text"


def _wrong_vectors(connection: Connection[TupleRow]) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the note and model of each vector that does not fit its note, with the problem."""
    cursor = (0, 0, -1)
    while rows := connection.execute(_VECTORS, [*cursor, READ_VECTORS]).fetchall():
        yield from vector_problems(((note, model), *row) for note, model, _, *row in rows)
        cursor = rows[-1][:3]


_MODULUS = 1 << 64

_WRONG_TERMS = """
SELECT expected.note FROM unnest(%b::bigint[], %b::text[], %b::boolean[]) AS expected (note, words, whole)
LEFT JOIN words AS w ON w.note = expected.note
WHERE (w.words, w.whole) IS DISTINCT FROM (expected.words::tsvector, expected.whole) ORDER BY expected.note
"""

_VECTORS = """
SELECT v.note, v.model, v.piece, v.namespace, v.digest, octet_length(v.vector), m.dimension, m.precision,
    n.namespace, n.id, n.title, n.summary, n.content
FROM vectors AS v JOIN models AS m ON m.key = v.model JOIN notes AS n ON n.key = v.note
WHERE (v.note, v.model, v.piece) > (%s, %s, %s) ORDER BY v.note, v.model, v.piece LIMIT %s
"""
