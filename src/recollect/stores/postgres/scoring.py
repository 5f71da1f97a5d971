"""BM25 over posting lists, by :mod:`recollect.stores.bm25`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query.expressions import Expression, Match
from recollect.stores import bm25
from recollect.stores.bm25 import Occurrences, Scores
from recollect.stores.postgres.postings import Postings, joined
from recollect.stores.postgres.text import LONGEST_TERM, term
from recollect.stores.postgres.tsquery import query_words, render_tsquery
from recollect.stores.postgres.words import phrase_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scores", "matching_notes", "score_notes"]

_BEHIND_ALL = "\U0010ffff"


def matching_notes(connection: Connection[TupleRow], namespace: int, node: Expression) -> NDArray[np.int64]:
    """Return all notes of a namespace that match ``node``, by rising keys."""
    *_, lists = _Reading(connection, namespace).read(bm25.leaves_of(node))
    return bm25.matching_notes(node, [each.notes for each in lists])


def score_notes(connection: Connection[TupleRow], namespace: int, node: Expression) -> Scores:
    """Return all notes of a namespace that match ``node``, with their BM25."""
    notes, tokens, lists = _Reading(connection, namespace).read(bm25.leaves_of(node))
    held = [Occurrences(each.notes, each.weights, each.tokens, len(each.notes)) for each in lists]
    return bm25.score_notes(node, held, notes, tokens)


class _Reading:
    """Reads the posting lists of leaves at one moment of a namespace."""

    def __init__(self, connection: Connection[TupleRow], namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace

    def read(self, leaves: Sequence[Match]) -> tuple[int, int, list[Postings]]:
        """Return how many notes and words there are, and for each leaf its list."""
        read = {leaf: query_words(leaf.text) for leaf in leaves}
        endings = {words[-1] for leaf, words in read.items() if words and leaf.kind == "prefix"}
        whole = {
            term(word) for leaf, words in read.items() for word in (words[:-1] if leaf.kind == "prefix" else words)
        }
        with self._connection.pipeline():
            counts = self._connection.execute(_COUNTS, [self._namespace])
            held = self._connection.execute(_HELD, [self._namespace, list(whole)], binary=True)
            begun = {
                word: self._connection.execute(_BEGUN, [self._namespace, first, first + _BEHIND_ALL], binary=True)
                for word in endings
                for first in [word.encode()[:LONGEST_TERM].decode(errors="ignore")]
            }
        ((notes, tokens),) = counts.fetchall()
        terms = _lists(held.fetchall())
        prefixes = {word: joined([_NONE, *_lists(rows.fetchall()).values()]) for word, rows in begun.items()}
        lists = {}
        for leaf, words in read.items():
            each = [terms.get(term(word), _NONE) for word in words]
            if words and leaf.kind == "prefix":
                each[-1] = prefixes[words[-1]]
            lists[leaf] = self._phrase(leaf, words, each) if len(words) > 1 else each[0] if each else _NONE
        return notes, tokens, [lists[leaf] for leaf in leaves]

    def _phrase(self, leaf: Match, words: Sequence[str], lists: Sequence[Postings]) -> Postings:
        """Return the notes in which these words stand one behind the other, which their texts say."""
        notes = lists[0].notes
        for each in lists[1:]:
            notes = np.intersect1d(notes, each.notes, assume_unique=True)
        if not len(notes):
            return _NONE
        query = render_tsquery(leaf, self._namespace)
        rows = self._connection.execute(_PHRASE, [query, self._namespace, notes.tolist(), query])
        weights = {note: phrase_weight(fields, words, prefix=leaf.kind == "prefix") for note, *fields in rows}
        found = np.array(sorted(note for note, weight in weights.items() if weight), np.int64)
        lengths = lists[0].tokens[np.searchsorted(lists[0].notes, found)]
        return Postings(found, np.array([weights[note] for note in found.tolist()], np.float64), lengths)


_NONE = Postings.of_blocks([])


def _lists(rows: Sequence[tuple[str, int, bytes]]) -> dict[str, Postings]:
    blocks: dict[str, list[tuple[int, bytes]]] = {}
    for word, block, held in rows:
        blocks.setdefault(word, []).append((block, held))
    return {word: Postings.of_blocks(each) for word, each in blocks.items()}


_COUNTS = "SELECT notes, tokens FROM namespaces WHERE key = %s"

_HELD = """
SELECT term, block, list FROM postings WHERE namespace = %s AND term = ANY (%s) ORDER BY term, block
"""

_BEGUN = """
SELECT term, block, list FROM postings WHERE namespace = %s AND term >= %s AND term < %s ORDER BY term, block
"""

# A note that is not whole may hold a phrase that its vector does not show.
_PHRASE = """
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE w.words @@ %s::tsquery AND n.namespace = %s
UNION ALL
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE NOT w.whole AND w.note = ANY (%s) AND NOT w.words @@ %s::tsquery
"""
