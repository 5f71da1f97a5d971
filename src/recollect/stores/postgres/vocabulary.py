"""The terms of a namespace's postings: for spelling suggestions, and to count the notes that match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query import parse
from recollect.query.expressions import Expression, Match, expression
from recollect.stores import tokens
from recollect.stores.postgres.postings import Postings
from recollect.stores.postgres.scoring import matching_notes
from recollect.stores.postgres.text import query_terms, term
from recollect.stores.postgres.transaction import PostgresTransaction
from recollect.stores.spelling import MAX_LENGTH, SPELLING_CHARACTERS, SPELLING_NOTES, Vocabulary, build_vocabulary
from recollect.stores.sql.dialect import NoteCounts

_BATCH_KEYS = 1024


def read_vocabulary(transaction: PostgresTransaction, namespace_id: int, _: Vocabulary | None) -> Vocabulary:
    """Return the terms of a namespace that a transaction sees."""
    return build_vocabulary(
        transaction.connection.execute(
            "SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND length(term) <= %s GROUP BY term",
            [namespace_id, MAX_LENGTH],
        ).fetchall()
    )


def start_counts(
    transaction: PostgresTransaction, namespace_id: int, _: NoteCounts[Expression] | None
) -> NoteCounts[Expression]:
    """Return an empty cache of counts; expired notes count until they are removed, as in the index."""
    return NoteCounts(transaction.fetch_value("SELECT notes FROM namespaces WHERE key = :key", key=namespace_id))


def count_matches(transaction: PostgresTransaction, namespace_id: int, nodes: set[Expression]) -> dict[Expression, int]:
    """Count the notes that match each of some expressions; those of single terms are counted in the postings."""
    words = {node: query_terms(node.text) for node in nodes if isinstance(node, Match) and node.kind != "prefix"}
    terms = {node: term(stems[0]) for node, stems in words.items() if len(stems) == 1}
    counts: dict[str, int] = {}
    if terms:
        counts = transaction.fetch_dict(
            "SELECT term, sum(count)::bigint FROM postings "
            "WHERE namespace = :namespace AND term IN LIST(:terms) GROUP BY term",
            namespace=namespace_id,
            terms=list(set(terms.values())),
        )
    single: dict[Expression, int] = {node: counts.get(word, 0) for node, word in terms.items()}
    return single | {
        node: len(matching_notes(transaction.connection, namespace_id, node)) for node in nodes if node not in single
    }


class PostgresSpellingIndex:
    """What spelling suggestions read of a namespace's postings, as one transaction sees them."""

    def __init__(self, connection: Connection[TupleRow], namespace_id: int) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    def has_word(self, word: str) -> bool:
        """Return whether a note contains a folded word."""
        return self._matches(Match("term", word))

    def has_match(self, text: str) -> bool:
        """Return whether a search for the text finds a note."""
        node = expression(parse(text))
        return node is not None and self._matches(node)

    def _matches(self, node: Expression) -> bool:
        """Return whether a visible note matches: mostly the first does."""
        keys = matching_notes(self._connection, self._namespace_id, node).tolist()
        return any(
            self._connection.execute(_VISIBLE, [keys[start : start + _BATCH_KEYS]]).fetchone()
            for start in range(0, len(keys), _BATCH_KEYS)
        )

    def spellings(self, stem: str) -> Counter[str]:
        """Count the spellings of a stem in the first notes that contain it."""
        return Counter(word for text in self._texts(stem) for _, word in tokens.spellings_of(text, (stem,)))

    def _texts(self, stem: str) -> Iterator[str]:
        """Yield the fields in which the first notes contain a stem, shortened."""
        blocks = self._connection.execute(_FIRST, [self._namespace_id, stem, SPELLING_NOTES], binary=True).fetchall()
        notes = Postings.of_blocks(blocks).notes[:SPELLING_NOTES].tolist()
        fields = (field for row in self._connection.execute(_FIELDS, [notes]) for field in row if field)
        matching = (text for text in map(tokens.indexed, fields) if stem in tokens.stems_of(text))
        for text in islice(matching, SPELLING_NOTES):
            yield text[:SPELLING_CHARACTERS]


_VISIBLE = "SELECT 1 FROM living WHERE key = ANY (%s::bigint[]) LIMIT 1"

_FIRST = "SELECT block, list FROM postings WHERE namespace = %s AND term = %s ORDER BY block LIMIT %s"

_FIELDS = "SELECT path, title, summary, tags, content FROM notes WHERE key = ANY (%s::bigint[]) ORDER BY key"
