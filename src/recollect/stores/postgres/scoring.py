"""BM25 over posting lists (:mod:`recollect.stores.bm25`), and a cache of scores by query.

``text_scores`` asks for the scores of a query right after ``search_text`` has computed them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query.expressions import Expression, Match
from recollect.stores import bm25
from recollect.stores.bm25 import Occurrences, Scores
from recollect.stores.postgres.postings import Postings, union
from recollect.stores.postgres.text import phrase_weight, query_terms, render_tsquery, term, term_prefix
from recollect.stores.spelling import MAX_LENGTH, Vocabulary, build_vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.stores.postgres.transaction import PostgresTransaction

MAX_SCORES = 1_000_000
"""How many scores are cached in all, at 16 bytes each; those of the latest query are always cached."""
MAX_QUERIES = 256

_AFTER_ALL = "\U0010ffff"
_NO_POSTINGS = Postings.of_blocks([])


def matching_notes(connection: Connection[TupleRow], namespace: int, node: Expression) -> NDArray[np.int64]:
    """Return the keys of all notes that match ``node``, in ascending order."""
    *_, lists = _read(connection, namespace, bm25.leaves_of(node))
    return bm25.matching_notes(node, [postings.notes for postings in lists])


def score_notes(connection: Connection[TupleRow], namespace: int, node: Expression) -> Scores:
    """Return all notes that match ``node``, with their BM25 scores."""
    notes, tokens, lists = _read(connection, namespace, bm25.leaves_of(node))
    occurrences = [Occurrences(*postings, len(postings.notes)) for postings in lists]
    return bm25.score_notes(node, occurrences, notes, tokens)


def count_matches(connection: Connection[TupleRow], namespace: int, nodes: set[Expression]) -> dict[Expression, int]:
    """Count the notes that match each of some expressions; those of single terms are counted in the postings."""
    words = {node: query_terms(node.text) for node in nodes if isinstance(node, Match) and node.kind != "prefix"}
    terms = {node: term(stems[0]) for node, stems in words.items() if len(stems) == 1}
    rows = connection.execute(_COUNTS, [namespace, list(set(terms.values()))])
    counts = {word: count for word, count in rows}  # noqa: C416 (rows have any length for mypy)
    return {
        node: counts.get(terms[node], 0) if node in terms else len(matching_notes(connection, namespace, node))
        for node in nodes
    }


def read_vocabulary(transaction: PostgresTransaction, namespace: int, _: Vocabulary | None) -> Vocabulary:
    """Return the terms of a namespace that a transaction sees."""
    rows = transaction.connection.execute(_VOCABULARY, [namespace, MAX_LENGTH])
    return build_vocabulary(rows.fetchall())


class ScoreCache:
    """The scores of the latest queries; the least recently used are dropped first.

    The key has the namespace's revision, which grows whenever a term changes, so that no entry is stale.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: dict[tuple[int, int, Expression], Scores] = {}

    def scores(self, connection: Connection[TupleRow], namespace: int, node: Expression) -> Scores:
        """Return all notes that match ``node``, with their BM25 scores, as the transaction sees them."""
        ((revision,),) = connection.execute("SELECT revision FROM namespaces WHERE key = %s", [namespace]).fetchall()
        key = namespace, revision, node
        with self._lock:
            scores = self._queries.pop(key, None)
        if scores is None:
            scores = score_notes(connection, namespace, node)
        with self._lock:
            self._queries[key] = scores
            size = sum(len(cached.notes) for cached in self._queries.values())
            while len(self._queries) > 1 and (size > MAX_SCORES or len(self._queries) > MAX_QUERIES):
                size -= len(self._queries.pop(next(iter(self._queries))).notes)
        return scores

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._queries.clear()


def _read(connection: Connection[TupleRow], namespace: int, leaves: Sequence[Match]) -> tuple[int, int, list[Postings]]:
    """Return the number of notes and tokens of a namespace, and the posting list of each leaf."""
    stems = {leaf: query_terms(leaf.text) for leaf in leaves}
    prefixes = {words[-1] for leaf, words in stems.items() if words and leaf.kind == "prefix"}
    terms = {term(word) for leaf, words in stems.items() for word in (words[:-1] if leaf.kind == "prefix" else words)}
    with connection.pipeline():
        counts = connection.execute("SELECT notes, tokens FROM namespaces WHERE key = %s", [namespace])
        by_term = connection.execute(_BY_TERM, [namespace, list(terms)], binary=True)
        by_prefix = {
            word: connection.execute(_BY_PREFIX, [namespace, first, first + _AFTER_ALL], binary=True)
            for word, first in ((word, term_prefix(word)) for word in prefixes)
        }
    ((notes, tokens),) = counts.fetchall()
    term_lists = _decode(by_term.fetchall())
    prefix_lists = {word: union([_NO_POSTINGS, *_decode(rows.fetchall()).values()]) for word, rows in by_prefix.items()}
    lists = {}
    for leaf, words in stems.items():
        parts = [term_lists.get(term(word), _NO_POSTINGS) for word in words]
        if words and leaf.kind == "prefix":
            parts[-1] = prefix_lists[words[-1]]
        if len(words) > 1:
            lists[leaf] = _read_phrase(connection, namespace, leaf, words, parts)
        else:
            lists[leaf] = parts[0] if parts else _NO_POSTINGS
    return notes, tokens, [lists[leaf] for leaf in leaves]


def _read_phrase(
    connection: Connection[TupleRow], namespace: int, leaf: Match, words: Sequence[str], lists: Sequence[Postings]
) -> Postings:
    """Return the notes that contain a phrase, which their texts tell."""
    notes = lists[0].notes
    for postings in lists[1:]:
        notes = np.intersect1d(notes, postings.notes, assume_unique=True)
    if not len(notes):
        return _NO_POSTINGS
    query = render_tsquery(leaf, namespace)
    rows = connection.execute(_PHRASE, [query, namespace, notes.tolist(), query])
    weights = {note: phrase_weight(fields, words, prefix=leaf.kind == "prefix") for note, *fields in rows}
    matches = np.array(sorted(note for note, weight in weights.items() if weight), np.int64)
    lengths = lists[0].tokens[np.searchsorted(lists[0].notes, matches)]
    return Postings(matches, np.array([weights[note] for note in matches.tolist()], np.float64), lengths)


def _decode(rows: Sequence[tuple[str, int, bytes]]) -> dict[str, Postings]:
    blocks: dict[str, list[tuple[int, bytes]]] = {}
    for word, block, data in rows:
        blocks.setdefault(word, []).append((block, data))
    return {word: Postings.of_blocks(parts) for word, parts in blocks.items()}


_COUNTS = "SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND term = ANY (%s) GROUP BY term"

_VOCABULARY = """
SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND length(term) <= %s GROUP BY term
"""

_BY_TERM = """
SELECT term, block, list FROM postings WHERE namespace = %s AND term = ANY (%s) ORDER BY term, block
"""

_BY_PREFIX = """
SELECT term, block, list FROM postings WHERE namespace = %s AND term >= %s AND term < %s ORDER BY term, block
"""

# The vector of a long note is incomplete and may not show a phrase that the note contains.
_PHRASE = """
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE w.words @@ %s::tsquery AND n.namespace = %s
UNION ALL
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE NOT w.whole AND w.note = ANY (%s) AND NOT w.words @@ %s::tsquery
"""
