"""Rows as bytes in two parts: a search reads the first part of all rows, and the second only of the few that matter.

To look at a row is to read it from memory, so what takes half of the bytes takes half of the time. Vectors are turned
(by the axes along which a sample of them differs most, as in a principal component analysis), which changes no product
of two; what is large stands in front then. With a row's head h and its tail t, by Cauchy and Schwarz::

    q·x  <=  h_q·h_x + |t_q| |t_x|

A few rows whose heads are nearest are compared as a whole. The last that counts of them says how near a row must be to
matter, and few others come up to that even by the bound.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sharing import shared
from recollect.stores.sqlite.codes import SLACK, Codes, encode, products, wrong

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["AS_THEY_ARE", "Reach", "Sieve", "Turn", "edge_of", "turn_of"]

AT_ONCE = 16_384
"""How many rows are compared at once: what comes of them stays in the processor's cache."""
SHARED_FROM = 65_536
"""From how many rows on it is worth while that other processors help."""
_HELPERS = min(3, (os.cpu_count() or 1) - 1)
SEEDS = 2
"""How many times as many rows as are wanted are compared as a whole to begin with."""
FEW = 2_048
"""So many rows are compared as a whole at once, and where no more count, no other way is better."""
GROUP = 64
"""Of how many scores only the best is looked at, to see how good the last that counts is at least."""
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


class Reach(NamedTuple):
    """Rows, rising, and the least and the most that the product of each with a query can be."""

    rows: NDArray[np.intp]
    least: NDArray[np.float32]
    most: NDArray[np.float32]


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
    bounds: NDArray[np.float32]
    """The largest of ``errors`` and the largest of ``rests``."""

    @classmethod
    def of(cls, turn: Turn, codes: Codes) -> Self:
        """Cut rows that were turned into heads and tails."""
        heads, tails = np.hsplit(codes.rows, [turn.head or codes.rows.shape[1]])
        rests = np.sqrt(np.einsum("ij,ij->i", tails, tails, dtype=np.float32)) * codes.scales
        bounds = np.array([codes.errors.max(initial=0), rests.max(initial=0)], dtype=np.float32)
        heads, tails = np.ascontiguousarray(heads), np.ascontiguousarray(tails)
        return cls(turn.axes, heads, tails, *codes[1:], rests, bounds)

    @classmethod
    def joined(cls, parts: Sequence[Sieve]) -> Self:
        """Return the rows of all parts, which were turned alike, one behind the other."""
        columns: list[Any] = list(zip(*parts, strict=True))
        axes, *arrays, bounds = columns
        return cls._make([axes[0], *map(np.concatenate, arrays), np.max(bounds, axis=0)])

    def only(self, rows: NDArray[np.bool_]) -> Sieve:
        """Return some of the rows."""
        columns: list[Any] = list(self)
        axes, *arrays, bounds = columns
        return Sieve._make([axes, *(array[rows] for array in arrays), bounds])

    @property
    def turn(self) -> Turn:
        """How the rows were turned and cut."""
        return Turn(self.axes, self.heads.shape[1] if len(self.axes) else None)

    def reach(self, query: Vector, limit: int, hidden: NDArray[np.bool_] | None) -> Reach:
        """Return what the rows can score that can be among the best ``limit`` of those that are not hidden."""
        asked = self.turn.encode(query[np.newaxis])
        if hidden is not None and len(hidden) - np.count_nonzero(hidden) <= max(limit, FEW):
            rows = np.flatnonzero(~hidden)
        else:
            rows, least, most = self._rough(asked, limit, hidden)
            if limit < len(rows):
                rows = rows[most >= edge_of(least, limit)]
        parts = [self._closely(rows[at : at + FEW], asked) for at in range(0, max(1, len(rows)), FEW)]
        return Reach(rows, *map(np.concatenate, zip(*parts, strict=True)))

    def _closely(self, rows: NDArray[np.intp], asked: Codes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the least and the most that some rows can score, with what their bytes and the query's leave out.

        All that is missing is the product of what both leave out, and what is left out even then.
        """
        if not len(rows):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        codes, scales = np.concatenate((self.heads[rows], self.tails[rows]), axis=1), self.scales[rows]
        found = products(codes, asked.rows) * (scales * asked.scales[0])
        found += products(codes, asked.fines) * (scales * asked.fine_scales[0])
        found += products(self.fines[rows], asked.rows) * (self.fine_scales[rows] * asked.scales[0])
        finest, query_finest = self.fine_errors[rows], asked.fine_errors[0]
        doubt = (self.errors[rows] + finest) * (asked.errors[0] + query_finest)
        doubt += finest + query_finest * (1 + finest) + np.float32(SLACK)
        return found - doubt, found + doubt

    def _rough(self, asked: Codes, limit: int, hidden: NDArray[np.bool_] | None) -> Reach:
        """Return the same by the bytes alone, without what they leave out."""
        near = self._each(self.heads, asked.rows[:, : self.heads.shape[1]], asked)
        if hidden is not None:
            near[hidden] = -np.inf
        edge = np.float32(-np.inf)
        if limit < len(near):
            seeds = best_of(near, min(len(near), SEEDS * limit))
            seeds = seeds if hidden is None else seeds[near[seeds] > -np.inf]
            edge = edge_of(self._whole(seeds, near, asked).least, limit)
        # First by what any row can lack in its head, then by what each does.
        rest = _length(asked.rows[0, self.heads.shape[1] :]) * asked.scales[0]
        widest, longest = self.bounds
        lowest = edge - wrong(widest, asked)
        left = near >= lowest - rest * longest
        if GATHERED * np.count_nonzero(left) >= len(near):
            if self.tails.shape[1]:
                near += self._each(self.tails, asked.rows[:, self.heads.shape[1] :], asked)
            rows = np.flatnonzero((near >= lowest) & (near > -np.inf))
            return self._reach(rows, near[rows], asked)
        rows = np.flatnonzero(left)
        rows = rows[near[rows] + rest * self.rests[rows] + wrong(self.errors[rows], asked) >= edge]
        return self._whole(rows[near[rows] > -np.inf], near, asked)

    def _whole(self, rows: NDArray[np.intp], near: NDArray[np.float32], asked: Codes) -> Reach:
        """Return what the products of some rows can be, tails and all; ``near`` has what their heads say."""
        found = near[rows]
        if len(rows) and self.tails.shape[1]:
            query = np.ascontiguousarray(asked.rows[:, self.heads.shape[1] :])
            found += products(self.tails[rows], query) * (self.scales[rows] * asked.scales[0])
        return self._reach(rows, found, asked)

    def _reach(self, rows: NDArray[np.intp], found: NDArray[np.float32], asked: Codes) -> Reach:
        doubt = wrong(self.errors[rows], asked)
        return Reach(rows, found - doubt, found + doubt)

    def _each(self, codes: NDArray[np.int8], query: NDArray[np.int8], asked: Codes) -> NDArray[np.float32]:
        """Return what a part of every row is to the same part of a query; many are shared by several processors."""
        near = np.empty(len(codes), np.float32)
        tasks, part = deque(range(0, len(near), AT_ONCE)), np.ascontiguousarray(query)

        def work() -> None:
            with suppress(IndexError):
                while True:
                    start = tasks.popleft()
                    some = slice(start, start + AT_ONCE)
                    np.multiply(products(codes[some], part), self.scales[some] * asked.scales[0], out=near[some])

        shared(work, _HELPERS if len(near) >= SHARED_FROM else 0)
        return near


def _length(numbers: NDArray[np.int8]) -> np.float32:
    return np.float32(np.linalg.norm(numbers.astype(np.float32)))


def best_of(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """Return where the best so many scores are, and those that are as good as the last of them.

    >>> best_of(np.array([3, 9, 5, 9, 1], dtype=np.float32), 3).tolist()
    [1, 2, 3]
    """
    if limit * GROUP < len(scores):
        # So many groups have a score as good as this, and few others do.
        best = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))
        places = np.flatnonzero(scores >= np.partition(best, len(best) - limit)[len(best) - limit])
    else:
        places = np.arange(len(scores))
    some = scores[places]
    found: NDArray[np.intp] = places[some >= np.partition(some, len(some) - limit)[len(some) - limit]]
    return found


def edge_of(scores: NDArray[np.float32], limit: int) -> np.float32:
    """Return the last of the best so many scores."""
    edge: np.float32 = scores[best_of(scores, limit)].min()
    return edge
