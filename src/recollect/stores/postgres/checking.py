"""Check a store in PostgreSQL for inconsistent data, and rebuild the data that is derived from the notes.

The check computes the derived data from the notes again, and compares the result with the tables. All postings of a
namespace might not fit into memory, so the check keeps only one number for each note: the sum of the hashes of the
postings that the note should have, minus the sum of the hashes of its stored postings. It is 0 if both sums agree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from psycopg import Connection

from recollect.stores.base import Finding
from recollect.stores.postgres.names import name_problems, write_names
from recollect.stores.postgres.postings import Postings, TextChange, index_notes
from recollect.stores.postgres.schema import TABLES
from recollect.stores.postgres.text import read_terms
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.sql import checking as shared
from recollect.stores.sql.checking import list_problems, read_notes

BATCH_VECTORS = 1000  # how many rows of the table vectors one query reads
BATCH_BLOCKS = 2000  # how many rows of the table postings one query reads; a row is a block

_INDEXED_COLUMNS = "path, title, summary, tags, content"
_HASH_MODULUS = 1 << 64  # sums of hashes are taken modulo this number, so that they stay small


def check(transaction: PostgresTransaction) -> list[Finding]:
    """Check all tables; return one finding for each part of the store, or a single finding if tables are missing."""
    connection = transaction.connection
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'")
    missing = {*TABLES}.difference(name for (name,) in rows)
    if missing:
        problem = list_problems(f"the table {name} is missing" for name in TABLES if name in missing)
        return [Finding("tables", problem, repairable=False)]
    findings = [Finding("tables", "")]
    for namespace_id, name in shared.namespaces(transaction):
        findings += [
            Finding(f"words of {name!r}", list_problems(_term_problems(transaction, namespace_id))),
            Finding(f"names of {name!r}", list_problems(_name_problems(transaction, namespace_id))),
            Finding(f"mentions of {name!r}", list_problems(shared.mention_problems(transaction, namespace_id))),
            Finding(f"entities of {name!r}", list_problems(shared.entity_problems(transaction, namespace_id))),
        ]
    return [*findings, Finding("vectors", list_problems(problem for _, problem in _wrong_vectors(connection)))]


def rebuild(transaction: PostgresTransaction, namespace_id: int) -> None:
    """Rebuild postings, tsvectors (``words``), names, mentions and entities of a namespace, which must be locked."""
    connection = transaction.connection
    connection.execute(
        "UPDATE namespaces SET notes = 0, tokens = 0, revision = revision + 1 WHERE key = %s", [namespace_id]
    )
    connection.execute("DELETE FROM postings WHERE namespace = %s", [namespace_id])
    connection.execute("DELETE FROM words USING notes WHERE note = notes.key AND namespace = %s", [namespace_id])
    connection.execute("DELETE FROM names WHERE namespace = %s", [namespace_id])
    for rows in read_notes(transaction, namespace_id, _INDEXED_COLUMNS):
        changes = [TextChange(note, None, fields) for note, *fields in rows]
        # The index was emptied, so that all notes of the batch are new to it.
        index_notes(connection, namespace_id, changes, first_new_key=rows[0][0])
        write_names(connection, namespace_id, [row[:3] for row in rows], ())  # key, path and title
    shared.rebuild_mentions(transaction, namespace_id)
    shared.rebuild_entities(transaction, namespace_id)


def delete_wrong_vectors(transaction: PostgresTransaction) -> None:
    """Delete the vectors that do not fit their notes, so that :meth:`~recollect.Memory.reindex` computes them again."""
    connection = transaction.connection
    note_models = [note_model for note_model, _ in _wrong_vectors(connection)]
    connection.execute(
        "DELETE FROM vectors AS v USING unnest(%b::bigint[], %b::int[]) AS wrong (note, model) "
        "WHERE v.note = wrong.note AND v.model = wrong.model",
        [[note for note, _ in note_models], [model for _, model in note_models]],
    )


def _name_problems(transaction: PostgresTransaction, namespace_id: int) -> Iterator[str]:
    for rows in read_notes(transaction, namespace_id, "path, title"):
        yield from name_problems(transaction.connection, rows)


def _term_problems(transaction: PostgresTransaction, namespace_id: int) -> Iterator[str]:
    """Yield a message for each tsvector, count or set of postings that differs from the texts of the notes."""
    connection = transaction.connection
    hash_sums: dict[int, int] = {}
    token_count = 0
    for rows in read_notes(transaction, namespace_id, _INDEXED_COLUMNS):
        tsvectors = []
        for note, *fields in rows:
            terms = read_terms(fields)
            token_count += terms.tokens
            hashes = (hash((term, weight, terms.tokens)) for term, weight in terms.weights.items())
            hash_sums[note] = sum(hashes) % _HASH_MODULUS
            tsvectors.append((note, *terms.tsvector(namespace_id)))
        for (note,) in connection.execute(_WRONG_TSVECTORS, list(map(list, zip(*tsvectors, strict=True)))):
            yield f"the words of note {note} do not agree with its text"
    ((notes, tokens),) = connection.execute("SELECT notes, tokens FROM namespaces WHERE key = %s", [namespace_id])
    if (notes, tokens) != (len(hash_sums), token_count):
        expected = f"{len(hash_sums)} notes with {token_count} words"
        yield f"the statistics count {notes} notes with {tokens} words; there are {expected}"
    yield from _posting_problems(connection, namespace_id, hash_sums)


def _posting_problems(connection: Connection, namespace_id: int, hash_sums: dict[int, int]) -> Iterator[str]:
    """Yield messages about wrong postings; subtract the hashes of stored postings from the ``hash_sums`` of notes."""
    cursor: tuple[str, int] = ("", 0)  # the columns term and block of the last row that was read
    while rows := connection.execute(
        "SELECT term, block, count, list FROM postings WHERE namespace = %s AND (term, block) > (%s, %s) "
        "ORDER BY term, block LIMIT %s",
        [namespace_id, *cursor, BATCH_BLOCKS],
        binary=True,
    ).fetchall():
        for term, block, count, data in rows:
            postings = Postings.of_blocks([(block, data)])
            if len(postings.notes) != count or not np.all(np.diff(postings.notes) > 0):
                yield f"a block of the postings of {term!r} is not in order, or has a wrong count"
            for note, weight, tokens in zip(*(column.tolist() for column in postings), strict=True):
                hash_sums[note] = (hash_sums.get(note, 0) - hash((term, weight, tokens))) % _HASH_MODULUS
        cursor = rows[-1][:2]
    for note, difference in hash_sums.items():
        if difference:
            yield f"the postings of note {note} do not agree with its text"


def _wrong_vectors(connection: Connection) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield a pair for each vector that does not fit its note: the keys of its note and model, and the problem."""
    cursor = (0, 0, -1)  # the keys of note and model, and the chunk number, of the last row that was read
    while rows := connection.execute(_VECTORS, [*cursor, BATCH_VECTORS]).fetchall():
        yield from shared.vector_problems(((note, model), *row) for note, model, _chunk, *row in rows)
        cursor = rows[-1][:3]


# Notes without a row in ``words``, or with a wrong tsvector or a wrong ``whole`` (whether it has all terms).
_WRONG_TSVECTORS = """
SELECT expected.note FROM unnest(%b::bigint[], %b::text[], %b::boolean[]) AS expected (note, words, whole)
LEFT JOIN words AS w ON w.note = expected.note
WHERE (w.words, w.whole) IS DISTINCT FROM (expected.words::tsvector, expected.whole) ORDER BY expected.note
"""

# The column ``piece`` has the number of the chunk.
_VECTORS = """
SELECT v.note, v.model, v.piece, v.namespace, v.digest, octet_length(v.vector), m.dimension, m.precision,
    n.namespace, n.id, n.title, n.summary, n.content
FROM vectors AS v JOIN models AS m ON m.key = v.model JOIN notes AS n ON n.key = v.note
WHERE (v.note, v.model, v.piece) > (%s, %s, %s) ORDER BY v.note, v.model, v.piece LIMIT %s
"""
