"""The lexical index of PostgreSQL: posting lists in blocks, their updates, and BM25 scores.

*Format.* A posting has a note's key, the term's weight in the note and the note's number of tokens. The list of a term
is ordered by key and split into blocks of at most ``BLOCK_SIZE`` postings. A block is a row of the table ``postings``.
Column ``block`` has its start key, which is at most its lowest note key and above all note keys of the previous block.
``list`` has twelve little-endian bytes for each posting: the key minus ``block`` (uint32), the weight (float32) and the
number of tokens (uint32). ``count`` has the number of postings, whose sum over all blocks is the document frequency.

A writer has locked the namespace, so it can read a block, change it and write it back. Scores are cached by query,
because ``text_scores`` usually needs the scores that ``search_text`` has just computed.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from psycopg import Connection

from recollect.query.expressions import Expression, Match
from recollect.stores import bm25
from recollect.stores.bm25 import Occurrences, Scores
from recollect.stores.postgres.text import (
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
"""The maximum number of postings in a block: about 2,000 bytes, so that four blocks fit into a page of the server."""
MAX_SCORES = 1_000_000
"""The maximum number of cached scores, each of 16 bytes; the latest query is cached even if it has more scores."""
MAX_QUERIES = 256  # how many queries may have cached scores

_POSTING_DTYPE = np.dtype([("offset", "<u4"), ("weight", "<f4"), ("tokens", "<u4")])
_POSTING_STRUCT = Struct("<IfI")  # the same format as _POSTING_DTYPE
_BLOCK_RANGE = 1 << 32  # the offset of a note's key from the start of its block is a uint32


class Posting(NamedTuple):
    """An entry of the posting list of a term."""

    note: int
    weight: float  # the sum of the field weights of the term's occurrences in the note
    tokens: int  # the number of tokens of the note


class Postings(NamedTuple):
    """A posting list as three arrays of equal length, ordered by note key."""

    notes: NDArray[np.int64]
    weights: NDArray[np.float64]
    tokens: NDArray[np.float64]

    @classmethod
    def of_blocks(cls, blocks: Sequence[tuple[int, bytes]]) -> Postings:
        """Decode the blocks of a term, given by the columns ``block`` and ``list``, in ascending order."""
        rows = np.frombuffer(b"".join(data for _, data in blocks), _POSTING_DTYPE)
        sizes = [len(data) // _POSTING_DTYPE.itemsize for _, data in blocks]
        starts = np.repeat(np.array([block for block, _ in blocks], np.int64), sizes)
        return cls(starts + rows["offset"], rows["weight"].astype(np.float64), rows["tokens"].astype(np.float64))


def union(lists: Collection[Postings]) -> Postings:
    """Return one posting for each note that has any of several terms; its weight is the sum of the terms' weights."""
    all_notes = np.concatenate([postings.notes for postings in lists])
    notes, first_indices, note_indices = np.unique(all_notes, return_index=True, return_inverse=True)
    weights = np.zeros(len(notes))
    np.add.at(weights, note_indices, np.concatenate([postings.weights for postings in lists]))
    return Postings(notes, weights, np.concatenate([postings.tokens for postings in lists])[first_indices])


class TextChange(NamedTuple):
    """A note whose text changed: its indexed fields before and after, in the order of ``FIELD_WEIGHTS``."""

    note: int
    old_fields: Sequence[str | None] | None  # None for a new note
    new_fields: Sequence[str | None] | None  # None for a deleted note


def index_notes(
    connection: Connection, namespace_id: int, changes: Sequence[TextChange], *, first_new_key: int | None = None
) -> None:
    """Update postings, tsvectors and counts for changed notes; the namespace must be locked.

    A note may occur only once in ``changes``. The table ``notes`` must already have the new and changed notes. Notes
    whose key is ``first_new_key`` or higher are new, and have higher keys than all indexed notes.
    """
    added: dict[str, list[Posting]] = {}
    removed: dict[str, list[int]] = {}
    tsvectors: list[tuple[int, str, bool]] = []
    new_notes = [change.note for change in changes if change.old_fields is None]
    deleted_notes = [change.note for change in changes if change.new_fields is None]
    token_difference = 0
    for note, old_fields, new_fields in changes:
        # A posting contains the number of tokens of its note, so all postings of a changed note are replaced.
        if old_fields is not None:
            old_terms = read_terms(old_fields)
            token_difference -= old_terms.tokens
            for term in old_terms.weights:
                removed.setdefault(term, []).append(note)
        if new_fields is not None:
            new_terms = read_terms(new_fields)
            token_difference += new_terms.tokens
            for term, weight in new_terms.weights.items():
                added.setdefault(term, []).append(Posting(note, weight, new_terms.tokens))
            tsvectors.append((note, *new_terms.tsvector(namespace_id)))
    connection.execute("DELETE FROM words WHERE note = ANY (%s)", [deleted_notes])
    connection.execute(_WRITE_TSVECTORS, [[row[index] for row in tsvectors] for index in range(3)])
    update_postings(connection, namespace_id, added, removed, first_new_key=first_new_key)
    connection.execute(
        "UPDATE namespaces SET notes = notes + %s, tokens = tokens + %s, revision = revision + 1 WHERE key = %s",
        [len(new_notes) - len(deleted_notes), token_difference, namespace_id],
    )


# The table ``words`` has the tsvectors (column ``words``); ``whole`` is false if a tsvector lacks terms or positions.
_WRITE_TSVECTORS = """
INSERT INTO words (note, words, whole)
SELECT note, words::tsvector, whole FROM unnest(%b::bigint[], %b::text[], %b::boolean[]) AS new (note, words, whole)
ON CONFLICT (note) DO UPDATE SET words = excluded.words, whole = excluded.whole
"""


def update_postings(
    connection: Connection,
    namespace_id: int,
    added: Mapping[str, Collection[Posting]],
    removed: Mapping[str, Collection[int]],
    *,
    first_new_key: int | None = None,
) -> None:
    """Add postings to the posting lists of terms, and remove notes from them; the namespace must be locked.

    If both mappings have a note for the same term, its posting is replaced. Notes whose key is ``first_new_key`` or
    higher are in no list yet, and have higher keys than all indexed notes, so that only the last block of each term is
    read for them.
    """
    notes_by_term = {
        term: {posting.note for posting in added.get(term, ())} | set(removed.get(term, ()))
        for term in sorted(added.keys() | removed.keys())
    }
    stored_blocks = _read_blocks(connection, namespace_id, notes_by_term, first_new_key)
    written: list[tuple[str, int, bytes]] = []
    deleted: list[tuple[str, int]] = []
    for term, notes in notes_by_term.items():
        old_blocks = stored_blocks.get(term, {})
        postings = sorted(added.get(term, ()))
        new_blocks = _append(old_blocks, postings, min(notes)) or _rebuild(old_blocks, notes, postings)
        written += [(term, block, data) for block, data in new_blocks.items()]
        deleted += [(term, block) for block in old_blocks.keys() - new_blocks.keys()]
    if deleted:
        connection.execute(_DELETE, [[term for term, _ in deleted], [block for _, block in deleted], namespace_id])
    if written:
        sizes = [len(data) // _POSTING_DTYPE.itemsize for *_, data in written]
        terms, blocks, data = ([row[index] for row in written] for index in range(3))
        connection.execute(_WRITE, [namespace_id, terms, blocks, sizes, data])


def _read_blocks(
    connection: Connection, namespace_id: int, notes_by_term: Mapping[str, Collection[int]], first_new_key: int | None
) -> dict[str, dict[int, bytes]]:
    """Return for each term the stored blocks to which its notes belong: the data of each block, by start key."""
    terms: list[str] = []
    keys: list[int] = []
    for term, notes in notes_by_term.items():
        # All new notes belong to the term's last block. Looking up the first new key finds this block.
        term_keys = notes if first_new_key is None else {min(note, first_new_key) for note in notes}
        terms += [term] * len(term_keys)
        keys += term_keys
    rows = connection.execute(_READ, [terms, keys, namespace_id], binary=True)
    blocks: dict[str, dict[int, bytes]] = {}
    for term, block, data in rows:
        blocks.setdefault(term, {})[block] = data
    return blocks


def _append(old_blocks: Mapping[int, bytes], added: Sequence[Posting], lowest_note: int) -> dict[int, bytes] | None:
    """Append postings to the only old block, or to a new block; return ``None`` if blocks must be rebuilt instead.

    ``lowest_note`` is the lowest key of all added and removed notes. It must be above the old keys to append postings.
    """
    if not added or len(old_blocks) > 1:
        return None
    block, data = next(iter(old_blocks.items()), (added[0].note, b""))
    if data:
        last_offset, *_ = _POSTING_STRUCT.unpack_from(data, len(data) - _POSTING_STRUCT.size)
        if lowest_note <= block + last_offset:
            return None
    new_size = len(data) // _POSTING_STRUCT.size + len(added)
    if added[-1].note - block >= _BLOCK_RANGE or new_size > BLOCK_SIZE:
        return None
    return {block: data + _encode(added, block)}


def _rebuild(old_blocks: Mapping[int, bytes], notes: Collection[int], added: Sequence[Posting]) -> dict[int, bytes]:
    """Remove ``notes`` from the blocks of a term, add postings, split long blocks; return the new data by start key."""
    postings_by_start = {
        block: [
            Posting(block + offset, weight, tokens)
            for offset, weight, tokens in _POSTING_STRUCT.iter_unpack(data)
            if block + offset not in notes
        ]
        for block, data in old_blocks.items()
    }
    starts = sorted(postings_by_start)
    for posting in added:
        index = bisect_right(starts, posting.note) - 1
        if index < 0 or posting.note - starts[index] >= _BLOCK_RANGE:  # no block for this key: start a new block
            index += 1
            starts.insert(index, posting.note)
            postings_by_start[posting.note] = []
        postings_by_start[starts[index]].append(posting)
    new_blocks = {}
    for block, postings in postings_by_start.items():
        postings.sort()
        for first in range(0, len(postings), BLOCK_SIZE):
            part = postings[first : first + BLOCK_SIZE]
            start = part[0].note if first else block  # the first part keeps the start key
            new_blocks[start] = _encode(part, start)
    return new_blocks


def _encode(postings: Sequence[Posting], start: int) -> bytes:
    """Return the data of a block with this start key."""
    return b"".join([_POSTING_STRUCT.pack(note - start, weight, tokens) for note, weight, tokens in postings])


# Select, for each pair of a term and a note, the last block of the term whose start key is not above the note's key.
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


def matching_notes(connection: Connection, namespace_id: int, node: Expression) -> NDArray[np.int64]:
    """Return the keys of all notes that match an expression, in ascending order."""
    *_, lists = _read_lists(connection, namespace_id, bm25.leaves_of(node))
    return bm25.matching_notes(node, [postings.notes for postings in lists])


def score_notes(connection: Connection, namespace_id: int, node: Expression) -> Scores:
    """Return all notes that match an expression, with their BM25 scores."""
    note_count, token_count, lists = _read_lists(connection, namespace_id, bm25.leaves_of(node))
    occurrences = [Occurrences(*postings, len(postings.notes)) for postings in lists]
    return bm25.score_notes(node, occurrences, note_count, token_count)


def count_matches(connection: Connection, namespace_id: int, nodes: set[Expression]) -> dict[Expression, int]:
    """Return how many notes match each expression. A single term's number is the sum of ``count`` over its blocks."""
    node_stems = {node: query_terms(node.text) for node in nodes if isinstance(node, Match) and node.kind != "prefix"}
    terms = {node: index_term(stems[0]) for node, stems in node_stems.items() if len(stems) == 1}
    rows = connection.execute(_COUNTS.format("term = ANY (%s)"), [namespace_id, list(set(terms.values()))])
    counts = {term: count for term, count in rows}  # noqa: C416 (rows have any length for mypy)
    return {
        node: counts.get(terms[node], 0) if node in terms else len(matching_notes(connection, namespace_id, node))
        for node in nodes
    }


def read_vocabulary(transaction: PostgresTransaction, namespace_id: int, _: Vocabulary | None) -> Vocabulary:
    """Return terms of up to ``MAX_LENGTH`` characters with document frequencies; ``_``, the old value, is not used."""
    rows = transaction.connection.execute(_COUNTS.format("length(term) <= %s"), [namespace_id, MAX_LENGTH])
    return build_vocabulary(rows.fetchall())


class ScoreCache:
    """A cache of the scores of recent queries; it drops the least recently used queries first. Thread-safe.

    A key is a namespace, its revision and an expression. The revision grows whenever a term changes, so that no entry
    is stale.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scores: dict[tuple[int, int, Expression], Scores] = {}

    def scores(self, connection: Connection, namespace_id: int, node: Expression) -> Scores:
        """Return all notes that match an expression, with their BM25 scores, in the state that the transaction sees."""
        ((revision,),) = connection.execute("SELECT revision FROM namespaces WHERE key = %s", [namespace_id]).fetchall()
        key = namespace_id, revision, node
        with self._lock:
            scores = self._scores.pop(key, None)
        if scores is None:
            scores = score_notes(connection, namespace_id, node)
        with self._lock:
            self._scores[key] = scores
            score_count = sum(len(cached.notes) for cached in self._scores.values())
            while len(self._scores) > 1 and (score_count > MAX_SCORES or len(self._scores) > MAX_QUERIES):
                score_count -= len(self._scores.pop(next(iter(self._scores))).notes)
        return scores


def _read_lists(connection: Connection, namespace_id: int, leaves: Sequence[Match]) -> tuple[int, int, list[Postings]]:
    """Return a namespace's numbers of notes and tokens, and the posting list of each leaf (term, prefix or phrase)."""
    stems_by_leaf = {leaf: query_terms(leaf.text) for leaf in leaves}
    prefixes = {stems[-1] for leaf, stems in stems_by_leaf.items() if stems and leaf.kind == "prefix"}
    terms: set[str] = set()
    for leaf, stems in stems_by_leaf.items():
        terms.update(map(index_term, stems[:-1] if leaf.kind == "prefix" else stems))
    with connection.pipeline():
        counts = connection.execute("SELECT notes, tokens FROM namespaces WHERE key = %s", [namespace_id])
        term_rows = connection.execute(_LISTS.format("term = ANY (%s)"), [namespace_id, list(terms)], binary=True)
        prefix_rows = {}
        for prefix in prefixes:
            lowest = term_prefix(prefix)
            params = [namespace_id, lowest, lowest + "\U0010ffff"]  # the bounds of all terms with this prefix
            prefix_rows[prefix] = connection.execute(_LISTS.format("term >= %s AND term < %s"), params, binary=True)
    ((note_count, token_count),) = counts.fetchall()
    term_lists = _decode(term_rows.fetchall())
    prefix_lists = {  # _NO_POSTINGS is in each union, because a union needs at least one list
        prefix: union([_NO_POSTINGS, *_decode(cursor.fetchall()).values()]) for prefix, cursor in prefix_rows.items()
    }
    lists = {}
    for leaf, stems in stems_by_leaf.items():
        parts = [term_lists.get(index_term(stem), _NO_POSTINGS) for stem in stems]
        if stems and leaf.kind == "prefix":
            parts[-1] = prefix_lists[stems[-1]]
        if len(stems) > 1:
            lists[leaf] = _read_phrase(connection, namespace_id, leaf, stems, parts)
        else:
            lists[leaf] = parts[0] if parts else _NO_POSTINGS
    return note_count, token_count, [lists[leaf] for leaf in leaves]


def _read_phrase(
    connection: Connection, namespace_id: int, leaf: Match, stems: Sequence[str], lists: Sequence[Postings]
) -> Postings:
    """Return the postings of a phrase. The posting ``lists`` of its stems lack positions, so note texts are read."""
    notes = lists[0].notes
    for postings in lists[1:]:
        notes = np.intersect1d(notes, postings.notes, assume_unique=True)
    if not len(notes):
        return _NO_POSTINGS
    query = render_tsquery(leaf, namespace_id)
    rows = connection.execute(_PHRASE, [query, namespace_id, notes.tolist(), query])
    weights = {note: phrase_weight(fields, stems, prefix=leaf.kind == "prefix") for note, *fields in rows}
    matches = np.array(sorted(note for note, weight in weights.items() if weight), np.int64)
    tokens = lists[0].tokens[np.searchsorted(lists[0].notes, matches)]
    return Postings(matches, np.array([weights[note] for note in matches.tolist()], np.float64), tokens)


def _decode(rows: Sequence[tuple[str, int, bytes]]) -> dict[str, Postings]:
    """Return the posting lists of terms from rows of term, start key and data."""
    blocks: dict[str, list[tuple[int, bytes]]] = {}
    for term, block, data in rows:
        blocks.setdefault(term, []).append((block, data))
    return {term: Postings.of_blocks(term_blocks) for term, term_blocks in blocks.items()}


_COUNTS = "SELECT term, sum(count)::bigint FROM postings WHERE namespace = %s AND {} GROUP BY term"
_LISTS = "SELECT term, block, list FROM postings WHERE namespace = %s AND {} ORDER BY term, block"

# The second SELECT reads long notes: their tsvector is incomplete, and may lack a phrase that the note contains.
_PHRASE = """
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE w.words @@ %s::tsquery AND n.namespace = %s
UNION ALL
SELECT n.key, n.path, n.title, n.summary, n.tags, n.content FROM words AS w JOIN notes AS n ON n.key = w.note
WHERE NOT w.whole AND w.note = ANY (%s) AND NOT w.words @@ %s::tsquery
"""
