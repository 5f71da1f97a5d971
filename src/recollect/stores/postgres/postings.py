"""Posting lists in blocks, and how notes are added to and removed from the lexical index.

A posting has a note's key, the term's weight in it and its number of tokens. A list is split into blocks of ascending
keys; a block is a row, named by a key that none of its notes is below. A writer has the namespace locked, so it reads a
block, changes it and writes it back. The document frequency of a term is the length of its list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

from recollect.stores.postgres.text import NoteTerms, read_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_SIZE = 160
"""Postings in a block: two thousand bytes, four blocks to a page of the server."""

_ROW = np.dtype([("note", "<u4"), ("weight", "<f4"), ("tokens", "<u4")])
_PACKED = Struct("<IfI")
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
        """Decode blocks, each with its first key; those of several terms too, if no note is in two."""
        rows = np.frombuffer(b"".join(data for _, data in blocks), _ROW)
        sizes = [len(data) // _ROW.itemsize for _, data in blocks]
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
    connection: Connection[TupleRow], namespace: int, changes: Sequence[TextChange], *, fresh: int | None = None
) -> None:
    """Update the lexical index for notes, each of which occurs once. The namespace must be locked.

    A stored note already has its row. Notes from the key ``fresh`` on are new and have the highest keys.
    """
    added: dict[str, list[Posting]] = {}
    removed: dict[str, list[int]] = {}
    vectors: list[tuple[int, str, bool]] = []
    notes = tokens = 0
    for note, before, after in changes:
        old, new = (NoteTerms(0, {}, {}) if fields is None else read_terms(fields) for fields in (before, after))
        notes += (after is not None) - (before is not None)
        tokens += new.tokens - old.tokens
        # A posting has the length of its note, so a changed note is written again for all its terms.
        for term in old.weights:
            removed.setdefault(term, []).append(note)
        for term, weight in new.weights.items():
            added.setdefault(term, []).append(Posting(note, weight, new.tokens))
        if after is not None:
            vectors.append((note, *new.vector(namespace)))
    connection.execute(
        "DELETE FROM words WHERE note = ANY (%s)", [[note for note, _, after in changes if after is None]]
    )
    connection.execute(_WRITE_VECTORS, [[row[index] for row in vectors] for index in range(3)])
    update_postings(connection, namespace, added, removed, fresh=fresh)
    connection.execute(
        "UPDATE namespaces SET notes = notes + %s, tokens = tokens + %s, revision = revision + 1 WHERE key = %s",
        [notes, tokens, namespace],
    )


_WRITE_VECTORS = """
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
    fresh: int | None = None,
) -> None:
    """Remove notes from the lists of terms and add others; a note that is in both is replaced.

    Notes from the key ``fresh`` on are in no list yet and have the highest keys: one block of each term is read for
    them. The namespace must be locked.
    """
    touched = {
        term: {posting.note for posting in added.get(term, ())} | set(removed.get(term, ()))
        for term in sorted(added.keys() | removed.keys())
    }
    stored = _read_blocks(connection, namespace, touched, fresh)
    written: list[tuple[str, int, bytes]] = []
    deleted: list[tuple[str, int]] = []
    for term, notes in touched.items():
        before = stored.get(term, {})
        postings = sorted(added.get(term, ()))
        after = _append(before, postings, min(notes)) or _rebuild(before, postings, notes)
        written += [(term, block, data) for block, data in after.items()]
        deleted += [(term, block) for block in before.keys() - after.keys()]
    if deleted:
        connection.execute(_DELETE, [[term for term, _ in deleted], [block for _, block in deleted], namespace])
    if written:
        sizes = [len(data) // _ROW.itemsize for *_, data in written]
        terms, blocks, data = ([row[index] for row in written] for index in range(3))
        connection.execute(_WRITE, [namespace, terms, blocks, sizes, data])


def _read_blocks(
    connection: Connection[TupleRow], namespace: int, touched: Mapping[str, Collection[int]], fresh: int | None
) -> dict[str, dict[int, bytes]]:
    """Return for each term the blocks that these notes belong to."""
    pairs = [
        (term, note)
        for term, notes in touched.items()
        for note in (notes if fresh is None else {min(note, fresh) for note in notes})
    ]
    rows = connection.execute(_READ, [[term for term, _ in pairs], [note for _, note in pairs], namespace], binary=True)
    blocks: dict[str, dict[int, bytes]] = {}
    for term, block, data in rows:
        blocks.setdefault(term, {})[block] = data
    return blocks


def _append(before: Mapping[int, bytes], added: Sequence[Posting], first: int) -> dict[int, bytes] | None:
    """Return the single block of a term with postings after it, ``None`` if that is not enough; mostly it is."""
    if not added or len(before) > 1:
        return None
    block, data = next(iter(before.items()), (added[0].note, b""))
    if data and first <= block + _PACKED.unpack_from(data, len(data) - _PACKED.size)[0]:
        return None
    if added[-1].note - block >= _BLOCK_RANGE or len(data) + len(added) * _PACKED.size > BLOCK_SIZE * _PACKED.size:
        return None
    return {block: data + b"".join([_PACKED.pack(note - block, weight, tokens) for note, weight, tokens in added])}


def _rebuild(before: Mapping[int, bytes], added: Sequence[Posting], touched: Collection[int]) -> dict[int, bytes]:
    """Return the new blocks of a term: empty ones are dropped, long ones are split."""
    rows = {
        block: [
            Posting(block + offset, weight, tokens)
            for offset, weight, tokens in _PACKED.iter_unpack(data)
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
            after[name] = b"".join([_PACKED.pack(note - name, weight, tokens) for note, weight, tokens in part])
    return after


_READ = """
SELECT DISTINCT ON (p.term, p.block) p.term, p.block, p.list
FROM unnest(%b::text[], %b::bigint[]) AS touched (term, note) CROSS JOIN LATERAL (
    SELECT term, block, list FROM postings
    WHERE namespace = %s AND term = touched.term AND block <= touched.note ORDER BY block DESC LIMIT 1
) AS p
"""

_DELETE = """
DELETE FROM postings AS p USING unnest(%b::text[], %b::bigint[]) AS gone (term, block)
WHERE p.namespace = %s AND p.term = gone.term AND p.block = gone.block
"""

_WRITE = """
INSERT INTO postings (namespace, term, block, count, list)
SELECT %s, * FROM unnest(%b::text[], %b::bigint[], %b::int[], %b::bytea[])
ON CONFLICT (namespace, term, block) DO UPDATE SET count = excluded.count, list = excluded.list
"""
