"""The lexical index: posting lists in blocks, how notes are added and removed, and BM25 scores.

A posting has a note's key, the term's weight in the note and the note's number of tokens. A list is split into blocks
of ascending keys; a block is a row, identified by a lower bound of its keys. A writer has locked the namespace, so it
can read a block, change it and write it back. The document frequency of a term is the length of its list. Scores are
cached by query: ``text_scores`` needs the scores that ``search_text`` has just computed.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.query.expressions import Expression, Match
from recollect.stores import bm25
from recollect.stores.bm25 import Occurrences, Scores
from recollect.stores.postgres.text import (
    NoteTerms,
    index_term,
    phrase_weight,
    query_terms,
    read_terms,
    render_tsquery,
    term_prefix,
)
from recollect.stores.spelling import MAX_LENGTH, Vocabulary, build_vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.stores.postgres.transaction import PostgresTransaction

BLOCK_SIZE = 160
"""Postings in a block: two thousand bytes, four blocks to a page of the server."""

MAX_SCORES = 1_000_000
"""How many scores all cached queries may have, at 16 bytes each; those of the latest query are always cached."""
MAX_QUERIES = 256

_DTYPE = np.dtype([("note", "<u4"), ("weight", "<f4"), ("tokens", "<u4")])
_STRUCT = Struct("<IfI")  # one posting, as in _DTYPE
_BLOCK_RANGE = 1 << 32  # a note is stored as its distance from the start of its block


class Posting(NamedTuple):
    """A note that has a term."""

    note: int
    weight: float
    """The sum of the field weights of the term's occurrences."""
    tokens: int
    """The number of tokens of the note."""


class Postings(NamedTuple):
    """A posting list as arrays, by ascending keys."""

    notes: NDArray[np.int64]
    weights: NDArray[np.float64]
    tokens: NDArray[np.float64]

    @classmethod
    def of_blocks(cls, blocks: Sequence[tuple[int, bytes]]) -> Postings:
        """Decode pairs of start key and data; blocks of several terms may be mixed if no note has two of the terms."""
        rows = np.frombuffer(b"".join(data for _, data in blocks), _DTYPE)
        sizes = [len(data) // _DTYPE.itemsize for _, data in blocks]
        starts = np.repeat(np.array([block for block, _ in blocks], np.int64), sizes)
        return cls(starts + rows["note"], rows["weight"].astype(np.float64), rows["tokens"].astype(np.float64))


def union(lists: Collection[Postings]) -> Postings:
    """Return the notes that have any of several terms, with the sums of their weights."""
    all_notes = np.concatenate([postings.notes for postings in lists])
    notes, first, indices = np.unique(all_notes, return_index=True, return_inverse=True)
    weights = np.zeros(len(notes))
    np.add.at(weights, indices, np.concatenate([postings.weights for postings in lists]))
    return Postings(notes, weights, np.concatenate([postings.tokens for postings in lists])[first])


class TextChange(NamedTuple):
    """A note whose text changed; fields are in the order of ``FIELD_WEIGHTS``."""

    note: int
    before: Sequence[str | None] | None
    """``None`` for a new note."""
    after: Sequence[str | None] | None
    """``None`` for a deleted note."""


def index_notes(
    connection: Connection[TupleRow], namespace: int, changes: Sequence[TextChange], *, first_new_key: int | None = None
) -> None:
    """Update the lexical index for notes, each of which occurs once. The namespace must be locked.

    Stored notes must have their row in ``notes``. Notes from ``first_new_key`` on are new and have the highest keys.
    """
    added: dict[str, list[Posting]] = {}
    removed: dict[str, list[int]] = {}
    tsvectors: list[tuple[int, str, bool]] = []
    notes = tokens = 0
    for note, before, after in changes:
        old, new = (NoteTerms(0, {}, {}) if fields is None else read_terms(fields) for fields in (before, after))
        notes += (after is not None) - (before is not None)
        tokens += new.tokens - old.tokens
        # A posting has the length of its note, so a changed note is written again for all its terms.
        for word in old.weights:
            removed.setdefault(word, []).append(note)
        for word, weight in new.weights.items():
            added.setdefault(word, []).append(Posting(note, weight, new.tokens))
        if after is not None:
            tsvectors.append((note, *new.tsvector(namespace)))
    connection.execute(
        "DELETE FROM words WHERE note = ANY (%s)", [[note for note, _, after in changes if after is None]]
    )
    connection.execute(_WRITE_TSVECTORS, [[row[index] for row in tsvectors] for index in range(3)])
    update_postings(connection, namespace, added, removed, first_new_key=first_new_key)
    connection.execute(
        "UPDATE namespaces SET notes = notes + %s, tokens = tokens + %s, revision = revision + 1 WHERE key = %s",
        [notes, tokens, namespace],
    )


_WRITE_TSVECTORS = """
INSERT INTO words (note, words, whole)
SELECT note, words::tsvector, whole FROM unnest(%b::bigint[], %b::text[], %b::boolean[]) AS new (note, words, whole)
ON CONFLICT (note) DO UPDATE SET words = excluded.words, whole = excluded.whole
"""


def update_postings(
    connection: Connection[TupleRow],
    namespace: int,
    added: Mapping[str, Collection[Posting]],
    removed: Mapping[str, Collection[int]],
    *,
    first_new_key: int | None = None,
) -> None:
    """Remove notes from posting lists and add others; a note that is both removed and added is replaced.

    Notes from ``first_new_key`` on are in no list yet and have the highest keys: only the last
    block of each term is read for them. The namespace must be locked.
    """
    touched = {
        word: {posting.note for posting in added.get(word, ())} | set(removed.get(word, ()))
        for word in sorted(added.keys() | removed.keys())
    }
    stored = _read_blocks(connection, namespace, touched, first_new_key)
    written: list[tuple[str, int, bytes]] = []
    deleted: list[tuple[str, int]] = []
    for word, notes in touched.items():
        before = stored.get(word, {})
        postings = sorted(added.get(word, ()))
        after = _append(before, postings, min(notes)) or _rebuild(before, postings, notes)
        written += [(word, block, data) for block, data in after.items()]
        deleted += [(word, block) for block in before.keys() - after.keys()]
    if deleted:
        connection.execute(_DELETE, [[word for word, _ in deleted], [block for _, block in deleted], namespace])
    if written:
        sizes = [len(data) // _DTYPE.itemsize for *_, data in written]
        terms, blocks, data = ([row[index] for row in written] for index in range(3))
        connection.execute(_WRITE, [namespace, terms, blocks, sizes, data])


def _read_blocks(
    connection: Connection[TupleRow], namespace: int, touched: Mapping[str, Collection[int]], first_new_key: int | None
) -> dict[str, dict[int, bytes]]:
    """Return for each term the blocks that these notes belong to."""
    pairs = [
        (word, note)
        for word, notes in touched.items()
        for note in (notes if first_new_key is None else {min(note, first_new_key) for note in notes})
    ]
    rows = connection.execute(_READ, [[word for word, _ in pairs], [note for _, note in pairs], namespace], binary=True)
    blocks: dict[str, dict[int, bytes]] = {}
    for word, block, data in rows:
        blocks.setdefault(word, {})[block] = data
    return blocks


def _append(before: Mapping[int, bytes], added: Sequence[Posting], first: int) -> dict[int, bytes] | None:
    """Append postings to the only block of a term; return ``None`` if it must be rebuilt instead, which is rare."""
    if not added or len(before) > 1:
        return None
    block, data = next(iter(before.items()), (added[0].note, b""))
    if data and first <= block + _STRUCT.unpack_from(data, len(data) - _STRUCT.size)[0]:
        return None
    if added[-1].note - block >= _BLOCK_RANGE or len(data) + len(added) * _STRUCT.size > BLOCK_SIZE * _STRUCT.size:
        return None
    return {block: data + b"".join([_STRUCT.pack(note - block, weight, tokens) for note, weight, tokens in added])}


def _rebuild(before: Mapping[int, bytes], added: Sequence[Posting], touched: Collection[int]) -> dict[int, bytes]:
    """Return the new blocks of a term: empty ones are dropped, long ones are split."""
    rows = {
        block: [
            Posting(block + offset, weight, tokens)
            for offset, weight, tokens in _STRUCT.iter_unpack(data)
            if block + offset not in touched
        ]
        for block, data in before.items()
    }
    starts = sorted(rows)
    for posting in added:
        index = bisect_right(starts, posting.note) - 1
        if index < 0 or posting.note - starts[index] >= _BLOCK_RANGE:
            index += 1
            starts.insert(index, posting.note)
            rows[posting.note] = []
        rows[starts[index]].append(posting)
    after = {}
    for block, postings in rows.items():
        postings.sort()
        for start in range(0, len(postings), BLOCK_SIZE):
            part = postings[start : start + BLOCK_SIZE]
            name = part[0].note if start else block
            after[name] = b"".join([_STRUCT.pack(note - name, weight, tokens) for note, weight, tokens in part])
    return after


_READ = """
SELECT DISTINCT ON (p.term, p.block) p.term, p.block, p.list
FROM unnest(%b::text[], %b::bigint[]) AS touched (term, note) CROSS JOIN LATERAL (
    SELECT term, block, list FROM postings
    WHERE namespace = %s AND term = touched.term AND block <= touched.note ORDER BY block DESC LIMIT 1
) AS p
"""

_DELETE = """
DELETE FROM postings AS p USING unnest(%b::text[], %b::bigint[]) AS deleted (term, block)
WHERE p.namespace = %s AND p.term = deleted.term AND p.block = deleted.block
"""

_WRITE = """
INSERT INTO postings (namespace, term, block, count, list)
SELECT %s, * FROM unnest(%b::text[], %b::bigint[], %b::int[], %b::bytea[])
ON CONFLICT (namespace, term, block) DO UPDATE SET count = excluded.count, list = excluded.list
"""

_NO_POSTINGS = Postings.of_blocks([])


def matching_notes(connection: Connection[TupleRow], namespace: int, node: Expression) -> NDArray[np.int64]:
    """Return the keys of all notes that match ``node``, in ascending order."""
    *_, lists = _read_lists(connection, namespace, bm25.leaves_of(node))
    return bm25.matching_notes(node, [postings.notes for postings in lists])


def score_notes(connection: Connection[TupleRow], namespace: int, node: Expression) -> Scores:
    """Return all notes that match ``node``, with their BM25 scores."""
    notes, tokens, lists = _read_lists(connection, namespace, bm25.leaves_of(node))
    occurrences = [Occurrences(*postings, len(postings.notes)) for postings in lists]
    return bm25.score_notes(node, occurrences, notes, tokens)


def count_matches(connection: Connection[TupleRow], namespace: int, nodes: set[Expression]) -> dict[Expression, int]:
    """Count the notes that match each of some expressions; those of single terms are counted in the postings."""
    words = {node: query_terms(node.text) for node in nodes if isinstance(node, Match) and node.kind != "prefix"}
    terms = {node: index_term(stems[0]) for node, stems in words.items() if len(stems) == 1}
    rows = connection.execute(_COUNTS.format("term = ANY (%s)"), [namespace, list(set(terms.values()))])
    counts = {word: count for word, count in rows}  # noqa: C416 (rows have any length for mypy)
    return {
        node: counts.get(terms[node], 0) if node in terms else len(matching_notes(connection, namespace, node))
        for node in nodes
    }


def read_vocabulary(transaction: PostgresTransaction, namespace: int, _: Vocabulary | None) -> Vocabulary:
    """Return the terms of a namespace that a transaction sees."""
    rows = transaction.connection.execute(_COUNTS.format("length(term) <= %s"), [namespace, MAX_LENGTH])
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


def _read_lists(
    connection: Connection[TupleRow], namespace: int, leaves: Sequence[Match]
) -> tuple[int, int, list[Postings]]:
    """Return the number of notes and tokens of a namespace, and the posting list of each leaf."""
    stems = {leaf: query_terms(leaf.text) for leaf in leaves}
    prefixes = {words[-1] for leaf, words in stems.items() if words and leaf.kind == "prefix"}
    whole = (words[:-1] if leaf.kind == "prefix" else words for leaf, words in stems.items())
    terms = {index_term(word) for words in whole for word in words}
    with connection.pipeline():
        counts = connection.execute("SELECT notes, tokens FROM namespaces WHERE key = %s", [namespace])
        by_term = connection.execute(_LISTS.format("term = ANY (%s)"), [namespace, list(terms)], binary=True)
        by_prefix = {
            word: connection.execute(
                _LISTS.format("term >= %s AND term < %s"), [namespace, first, first + "\U0010ffff"], binary=True
            )
            for word, first in ((word, term_prefix(word)) for word in prefixes)
        }
    ((notes, tokens),) = counts.fetchall()
    term_lists = _decode(by_term.fetchall())
    prefix_lists = {word: union([_NO_POSTINGS, *_decode(rows.fetchall()).values()]) for word, rows in by_prefix.items()}
    lists = {}
    for leaf, words in stems.items():
        parts = [term_lists.get(index_term(word), _NO_POSTINGS) for word in words]
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
    """Return the notes that contain a phrase; the texts of possible matches are read."""
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


_COUNTS = "SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND {} GROUP BY term"

_LISTS = "SELECT term, block, list FROM postings WHERE namespace = %s AND {} ORDER BY term, block"

# The tsvector of a long note is incomplete and may not show a phrase that the note contains.
_PHRASE = """
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE w.words @@ %s::tsquery AND n.namespace = %s
UNION ALL
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE NOT w.whole AND w.note = ANY (%s) AND NOT w.words @@ %s::tsquery
"""
