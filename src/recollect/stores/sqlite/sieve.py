"""Rows as bytes in two parts: a search reads the first part of all rows, and the second only of the few that matter.

To look at a row is to read it from memory, so what takes half of the bytes takes half of the time. Vectors are turned
(by the axes along which a sample of them differs most, as in a principal component analysis), which changes no product
of two; what is large stands in front then. With a row's head h and its tail t, by Cauchy and Schwarz::

    q·x  <=  h_q·h_x + |t_q| |t_x|

So the head alone tells of most rows that they do not matter (:mod:`recollect.stores.sqlite.scan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.codes import Codes, encode

__all__ = ["AS_THEY_ARE", "GATHERED", "Sieve", "Turn", "turn_of"]

TRIED = 32
"""How many rows of a sample are asked for the nearest of it, to see how much a head tells."""
GATHERED = 4.0
"""How many times as long it takes to compare a row that must be picked out as one that comes in turn."""
LEAST_SAMPLE = 1_000


class Turn(NamedTuple):
    """How vectors are turned, and how many of their numbers are the head."""

    axes: NDArray[np.float32]
    """Nothing where they stay as they are."""
    head: int | None

    def encode(self, vectors: NDArray[np.float32]) -> Codes:
        """Return vectors as bytes, turned."""
        return encode(vectors @ self.axes if len(self.axes) else vectors)


AS_THEY_ARE = Turn(np.empty((0, 0), dtype=np.float32), None)
"""Vectors are not turned, and are all head."""


def turn_of(sample: NDArray[np.float32], wanted: float) -> Turn:
    """Return how vectors like those of a sample, of which such a share is usually wanted, are best turned and cut.

    >>> flat = np.random.default_rng(0).standard_normal((2000, 64), dtype=np.float32) * (np.arange(64) < 8)
    >>> turn_of(flat / np.linalg.norm(flat, axis=1, keepdims=True), 0.01).head
    16
    >>> turn_of(flat[:10], 0.01) == AS_THEY_ARE
    True
    """
    dimension = sample.shape[1]
    if len(sample) < LEAST_SAMPLE:
        return AS_THEY_ARE
    axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))[1][:, ::-1].astype(np.float32)
    turned = sample @ axes
    queries = turned[:: -(-len(turned) // TRIED)]
    last = min(len(turned), max(2, int(np.ceil(wanted * len(turned))) + 1))  # each is the nearest to itself
    whole = queries @ turned.T
    edges = np.partition(whole, -last, axis=1)[:, -last]
    costs = {dimension: 1.0}
    for head in (dimension // 4, dimension // 3 // 16 * 16, dimension // 2, dimension * 3 // 4):
        rests = np.linalg.norm(queries[:, head:], axis=1)[:, None] * np.linalg.norm(turned[:, head:], axis=1)
        reached = queries[:, :head] @ turned[:, :head].T + rests >= edges[:, None]
        costs[head] = head / dimension + GATHERED * float(reached.mean())
    best = min(costs, key=costs.__getitem__)
    return Turn(axes, best) if best < dimension else AS_THEY_ARE


class Sieve(NamedTuple):
    """Rows that can be searched."""

    axes: NDArray[np.float32]
    heads: NDArray[np.int8]
    tails: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]
    fines: NDArray[np.int8]
    fine_scales: NDArray[np.float32]
    fine_errors: NDArray[np.float32]
    rests: NDArray[np.float32]
    """How long each tail is."""
    widest: NDArray[np.float32]
    """The largest of ``errors``."""

    @classmethod
    def of(cls, turn: Turn, codes: Codes) -> Self:
        """Cut rows that were turned into heads and tails."""
        heads, tails = np.hsplit(codes.rows, [turn.head or codes.rows.shape[1]])
        rests = np.sqrt(np.einsum("ij,ij->i", tails, tails, dtype=np.float32)) * codes.scales
        widest = codes.errors.max(initial=0, keepdims=True)
        heads, tails = np.ascontiguousarray(heads), np.ascontiguousarray(tails)
        return cls(turn.axes, heads, tails, *codes[1:], rests, widest)

    @classmethod
    def joined(cls, parts: Sequence[Sieve]) -> Self:
        """Return the rows of all parts, which were turned alike, one behind the other."""
        columns: list[Any] = list(zip(*parts, strict=True))
        axes, *arrays, widest = columns
        return cls._make([axes[0], *map(np.concatenate, arrays), np.max(widest, axis=0)])

    def only(self, rows: NDArray[np.bool_]) -> Sieve:
        """Return some of the rows."""
        columns: list[Any] = list(self)
        axes, *arrays, widest = columns
        return Sieve._make([axes, *(array[rows] for array in arrays), widest])

    @property
    def turn(self) -> Turn:
        """How the rows were turned and cut."""
        return Turn(self.axes, self.heads.shape[1] if len(self.axes) else None)
