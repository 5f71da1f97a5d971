"""Posting lists of some notes and those of others become those of all.

Nothing is sorted: the rows of a later part lie behind those of an earlier one, so that each list is the lists of the
parts one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.postings.ranking import saturation
from recollect.stores.sqlite.postings.snapshot import Snapshot, lay_out

__all__ = ["merged"]

AT_ONCE = 1 << 22
"""How many postings are moved at once."""


def merged(parts: Sequence[Snapshot]) -> Snapshot:
    """Return the lists of all parts, the rows of each behind those of the ones before."""
    spelt = [part.spelt() for part in parts]
    words = sorted(set().union(*spelt))
    number = {word: place for place, word in enumerate(words)}
    ranks = [np.fromiter(map(number.__getitem__, each), dtype=np.int64, count=len(each)) for each in spelt]
    counts = np.zeros(len(words), dtype=np.int64)
    for part, rank in zip(parts, ranks, strict=True):
        counts[rank] += np.diff(part.places)
    places = np.concatenate(([0], np.cumsum(counts)))
    rows = np.empty(places[-1], dtype=np.int32)
    weights = np.empty(places[-1], dtype=np.result_type(*(part.weights.dtype for part in parts)))
    free, offset = places[:-1].copy(), 0
    for part, rank in zip(parts, ranks, strict=True):
        ahead = free[rank] - part.places[:-1]
        sizes = np.diff(part.places)
        for first, last in _some(part.places):
            start, end = part.places[first], part.places[last]
            targets = np.repeat(ahead[first:last], sizes[first:last]) + np.arange(start, end)
            rows[targets] = part.rows[start:end] + np.int32(offset)
            weights[targets] = part.weights[start:end]
        free[rank] += sizes
        offset += len(part.keys)
    lengths = np.concatenate([part.lengths for part in parts])
    dead = _behind([part.dead for part in parts], [len(part.keys) for part in parts])
    average = float(lengths.sum() / max(1, len(lengths) - len(dead))) or 1.0
    return Snapshot(
        keys=np.concatenate([part.keys for part in parts]),
        lengths=lengths,
        **lay_out(words)._asdict(),
        places=places,
        rows=rows,
        weights=weights,
        peaks=_peaks(places, rows, weights, lengths, average),
        dead=dead,
        average=average,
    )


def _some(places: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield from which word to which the lists are to be taken at once."""
    first = 0
    while first < len(places) - 1:
        last = int(np.searchsorted(places, places[first] + AT_ONCE))
        last = min(max(last, first + 1), len(places) - 1)
        yield first, last
        first = last


def _behind(parts: Sequence[NDArray[np.int32]], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Return rows of parts as rows of all."""
    offsets = np.cumsum([0, *sizes[:-1]])
    return np.concatenate([part + offset for part, offset in zip(parts, offsets, strict=True)]).astype(np.int32)


def _peaks(
    places: NDArray[np.int64],
    rows: NDArray[np.int32],
    weights: NDArray[Any],
    lengths: NDArray[np.int32],
    average: float,
) -> NDArray[np.float32]:
    """Return the most that each list adds to a note, but for the idf."""
    peaks = np.empty(len(places) - 1, dtype=np.float32)
    for first, last in _some(places):
        start, end = places[first], places[last]
        parts = saturation(weights[start:end], lengths[rows[start:end]], average)
        peaks[first:last] = np.maximum.reduceat(parts, places[first:last] - start)
    return peaks
