"""Posting lists: which notes hold a term, what it counts there, and how long they are, in blocks of a few.

A list is cut into blocks of rising keys; a block is a row, named by a key that none of its notes is below. Who writes
has the namespace to itself, so that a block is read, changed and written back. How many notes hold a term is the length
of its list, which a search reads anyway: nothing is counted twice, and nothing can disagree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from psycopg import Connection
from psycopg.rows import TupleRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_IN_A_BLOCK", "Posting", "Postings", "change_postings", "joined"]

MOST_IN_A_BLOCK = 160
"""Two thousand bytes: four blocks to a page of the server."""

_ROW = np.dtype([("note", "<u4"), ("weight", "<f4"), ("tokens", "<u4")])
_PACKED = Struct("<IfI")
_REACH = 1 << 32  # a note is stored as how far it is from the beginning of its block


class Posting(NamedTuple):
    """A note that holds a term."""

    note: int
    weight: float
    """The sum of what the term's occurrences count."""
    tokens: int
    """How many words the note has."""


class Postings(NamedTuple):
    """A list of them, by rising keys."""

    notes: NDArray[np.int64]
    weights: NDArray[np.float64]
    tokens: NDArray[np.float64]

    @classmethod
    def of_blocks(cls, blocks: Sequence[tuple[int, bytes]]) -> Postings:
        """Read blocks, each with its name; those of several terms may come together, if no note is in two.

        >>> Postings.of_blocks([]).notes.tolist()
        []
        """
        rows = np.frombuffer(b"".join(held for _, held in blocks), _ROW)
        sizes = [len(held) // _ROW.itemsize for _, held in blocks]
        beginnings = np.repeat(np.array([block for block, _ in blocks], np.int64), sizes)
        return cls(beginnings + rows["note"], rows["weight"].astype(np.float64), rows["tokens"].astype(np.float64))


def joined(lists: Collection[Postings]) -> Postings:
    """Return the notes that hold any of several terms, with the sum of what these count there.

    >>> tea = Postings(np.array([1, 4]), np.array([1.0, 3.0]), np.array([9.0, 5.0]))
    >>> teapot = Postings(np.array([4, 7]), np.array([10.0, 1.0]), np.array([5.0, 2.0]))
    >>> both = joined([tea, teapot])
    >>> both.notes.tolist(), both.weights.tolist(), both.tokens.tolist()
    ([1, 4, 7], [1.0, 13.0, 1.0], [9.0, 5.0, 2.0])
    """
    notes = np.concatenate([each.notes for each in lists])
    found, first, place = np.unique(notes, return_index=True, return_inverse=True)
    weights = np.zeros(len(found))
    np.add.at(weights, place, np.concatenate([each.weights for each in lists]))
    return Postings(found, weights, np.concatenate([each.tokens for each in lists])[first])


def change_postings(
    connection: Connection[TupleRow],
    namespace: int,
    added: Mapping[str, Collection[Posting]],
    removed: Mapping[str, Collection[int]],
    *,
    fresh: int | None = None,
) -> None:
    """Take notes from the lists of terms, and add others to them; one that is in both is replaced.

    Notes from the key ``fresh`` on are in no list yet, and behind all that are: so one block a term is enough to read.
    The namespace must be locked.
    """
    touched = {
        term: {posting.note for posting in added.get(term, ())} | set(removed.get(term, ()))
        for term in sorted(added.keys() | removed.keys())
    }
    held = _blocks_of(connection, namespace, touched, fresh)
    kept: list[tuple[str, int, bytes]] = []
    gone: list[tuple[str, int]] = []
    for term, notes in touched.items():
        before = held.get(term, {})
        after = _changed(before, added.get(term, ()), notes)
        kept += [(term, block, rows) for block, rows in after.items()]
        gone += [(term, block) for block in before.keys() - after.keys()]
    if gone:
        connection.execute(_DELETE, [[term for term, _ in gone], [block for _, block in gone], namespace])
    if kept:
        sizes = [len(rows) // _ROW.itemsize for *_, rows in kept]
        columns = [[row[place] for row in kept] for place in range(3)]
        connection.execute(_WRITE, [namespace, columns[0], columns[1], sizes, columns[2]])


def _blocks_of(
    connection: Connection[TupleRow], namespace: int, touched: Mapping[str, Collection[int]], fresh: int | None
) -> dict[str, dict[int, bytes]]:
    """Return for each term the blocks in which these notes are, or would be."""
    wanted = [
        (term, note)
        for term, notes in touched.items()
        for note in (notes if fresh is None else {min(note, fresh) for note in notes})
    ]
    rows = connection.execute(
        _READ, [[term for term, _ in wanted], [note for _, note in wanted], namespace], binary=True
    )
    found: dict[str, dict[int, bytes]] = {}
    for term, block, held in rows:
        found.setdefault(term, {})[block] = held
    return found


def _changed(before: Mapping[int, bytes], added: Collection[Posting], touched: Collection[int]) -> dict[int, bytes]:
    """Return what becomes of the blocks of a term: those that are empty are no more, long ones become several."""
    new = sorted(added)
    return _appended(before, new, min(touched)) or _rebuilt(before, new, touched)


def _appended(before: Mapping[int, bytes], added: Sequence[Posting], first: int) -> dict[int, bytes] | None:
    """Return the one block with others behind it, or ``None`` if it is not as simple as that; mostly it is."""
    if not added or len(before) > 1:
        return None
    block, held = next(iter(before.items()), (added[0].note, b""))
    if held and first <= block + _PACKED.unpack_from(held, len(held) - _PACKED.size)[0]:
        return None
    if added[-1].note - block >= _REACH or len(held) + len(added) * _PACKED.size > MOST_IN_A_BLOCK * _PACKED.size:
        return None
    return {block: held + b"".join([_PACKED.pack(note - block, weight, tokens) for note, weight, tokens in added])}


def _rebuilt(before: Mapping[int, bytes], added: Sequence[Posting], touched: Collection[int]) -> dict[int, bytes]:
    rows = {
        block: [
            Posting(block + place, weight, tokens)
            for place, weight, tokens in _PACKED.iter_unpack(held)
            if block + place not in touched
        ]
        for block, held in before.items()
    }
    beginnings = sorted(rows)
    for posting in added:
        at = bisect_right(beginnings, posting.note) - 1
        if at < 0 or posting.note - beginnings[at] >= _REACH:
            at += 1
            beginnings.insert(at, posting.note)
            rows[posting.note] = []
        rows[beginnings[at]].append(posting)
    after = {}
    for block, postings in rows.items():
        postings.sort()
        for start in range(0, len(postings), MOST_IN_A_BLOCK):
            part = postings[start : start + MOST_IN_A_BLOCK]
            name = part[0].note if start else block
            after[name] = b"".join([_PACKED.pack(note - name, weight, tokens) for note, weight, tokens in part])
    return after


_READ = """
SELECT DISTINCT ON (p.term, p.block) p.term, p.block, p.list
FROM unnest(%b::text[], %b::bigint[]) AS asked (term, note) CROSS JOIN LATERAL (
    SELECT term, block, list FROM postings
    WHERE namespace = %s AND term = asked.term AND block <= asked.note ORDER BY block DESC LIMIT 1
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
