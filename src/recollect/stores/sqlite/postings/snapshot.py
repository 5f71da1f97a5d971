"""The posting lists of a namespace at one moment, as arrays that can lie in a file and be mapped into memory.

A row is a note's place among all. For each word, in the order of their bytes, ``places`` says where its list begins and
ends: the rows that hold it, rising, and what it counts in each, which is how often it stands in each field, times the
field's weight. Of each list ``peaks`` knows the most that one of its notes can score, but for the idf, where notes are
as long as they were on average when the lists were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.arrays import Arrays
from recollect.stores.sqlite.snapshots import Shape

__all__ = ["EMPTY", "SHAPE", "Snapshot", "lay_out", "without"]


class Snapshot(NamedTuple):
    """Posting lists as arrays."""

    keys: NDArray[np.int64]
    """The key of each row's note; one that changed has its last row, those before are dead."""
    lengths: NDArray[np.int32]
    """How many words each note has."""
    words: NDArray[np.uint8]
    """The words one behind the other, in UTF-8."""
    word_ends: NDArray[np.int64]
    heads: NDArray[np.uint64]
    """The first eight bytes of each word as one number, so that a word is found among few."""
    places: NDArray[np.int64]
    """Where the list of each word begins; one more than words, for the end of the last."""
    rows: NDArray[np.int32]
    weights: NDArray[np.unsignedinteger[Any]]
    peaks: NDArray[np.float32]
    dead: NDArray[np.int32]
    """Rows of notes that changed or went, rising: they hold nothing."""
    average: float
    """How many words a note had when ``peaks`` were computed."""

    @classmethod
    def of(cls, found: Arrays) -> Self:
        """Return the lists that lie in a file."""
        return cls(**found.arrays, average=found.facts["average"])

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What lies in a file."""
        told = self._asdict()
        del told["average"]
        return told

    def find(self, word: str) -> int | None:
        """Return the number of a word, if a note holds it."""
        asked, ends = word.encode(), self.word_ends
        head = np.uint64(_head(asked))
        low, high = self.heads.searchsorted(head), self.heads.searchsorted(head, "right")
        while low < high:
            middle = (low + high) // 2
            held = self.words[ends[middle - 1] if middle else 0 : ends[middle]].tobytes()
            if held == asked:
                return int(middle)
            low, high = (middle + 1, high) if held < asked else (low, middle)
        return None

    def spelt(self) -> list[bytes]:
        """Return all words."""
        blob, ends = self.words.tobytes(), self.word_ends.tolist()
        return [blob[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _fit_together(arrays: Mapping[str, NDArray[Any]]) -> bool:
    words, places = len(arrays["word_ends"]), arrays["places"]
    return (
        len(arrays["keys"]) == len(arrays["lengths"])
        and len(places) - 1 == words == len(arrays["heads"]) == len(arrays["peaks"])
        and bool(places[0] == 0 and places[-1] == len(arrays["rows"]) == len(arrays["weights"]))
        and arrays["word_ends"][-1:].tolist() == [len(arrays["words"])] * (words > 0)
    )


SHAPE = Shape(frozenset(Snapshot._fields) - {"average"}, frozenset({"average"}), _fit_together)


class Spelling(NamedTuple):
    """What a snapshot has of its words."""

    words: NDArray[np.uint8]
    word_ends: NDArray[np.int64]
    heads: NDArray[np.uint64]


def lay_out(words: Sequence[bytes]) -> Spelling:
    """Return words, which rise, as arrays.

    >>> lay_out([b"tea", b"teas"]).word_ends.tolist()
    [3, 7]
    """
    return Spelling(
        words=np.frombuffer(b"".join(words), dtype=np.uint8),
        word_ends=np.cumsum([len(word) for word in words], dtype=np.int64),
        heads=np.fromiter(map(_head, words), dtype=np.uint64, count=len(words)),
    )


def _head(word: bytes) -> int:
    return int.from_bytes(word[:8].ljust(8, b"\0"), "big")


EMPTY = Snapshot(
    keys=np.empty(0, np.int64),
    lengths=np.empty(0, np.int32),
    words=np.empty(0, np.uint8),
    word_ends=np.empty(0, np.int64),
    heads=np.empty(0, np.uint64),
    places=np.zeros(1, np.int64),
    rows=np.empty(0, np.int32),
    weights=np.empty(0, np.uint16),
    peaks=np.empty(0, np.float32),
    dead=np.empty(0, np.int32),
    average=1.0,
)


def without(snapshot: Snapshot, dead: NDArray[np.int32]) -> Snapshot:
    """Return a snapshot in which rows hold nothing any more, and no word stands that only they held."""
    alive = np.ones(len(snapshot.keys), dtype=np.bool_)
    alive[dead] = False
    kept = alive[snapshot.rows]
    counts = np.add.reduceat(kept, snapshot.places[:-1], dtype=np.int64) if len(kept) else np.empty(0, np.int64)
    held = counts > 0
    sizes = np.diff(snapshot.word_ends, prepend=0)
    lengths = snapshot.lengths.copy()
    lengths[dead] = 0
    return snapshot._replace(
        lengths=lengths,
        words=snapshot.words[np.repeat(held, sizes)],
        word_ends=np.cumsum(sizes[held]),
        heads=snapshot.heads[held],
        places=np.concatenate(([0], np.cumsum(counts[held]))),
        rows=snapshot.rows[kept],
        weights=snapshot.weights[kept],
        peaks=snapshot.peaks[held],
        dead=np.union1d(snapshot.dead, dead).astype(np.int32),
    )
