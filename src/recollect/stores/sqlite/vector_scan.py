"""Scan quantised vectors for the rows that can be among the k nearest to a query, with bounds on each score.

1. Compare the heads of all rows.
2. Compare the 2k rows with the best heads in full. The k-th best lower bound of these is a threshold.
3. Compare in full the rows whose upper bound (head product + norm of the tails + quantisation error) reaches it.
4. Narrow the bounds of the remaining rows with their residuals.

No row that can be among the k nearest is missed. The caller computes the exact scores of those that are returned.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.stores.sqlite.quantization import FLOAT32_ERROR, GATHER_COST, PrunedCodes, dot_products, error_bound

if TYPE_CHECKING:
    from recollect.stores.base import Vector

GROUP = 64
"""Rows of which only the best score takes part in the first selection of the k best."""
BATCH_ROWS = 2048 * GROUP
"""Rows that are compared at once at most: between two batches a thread waits for Python's lock."""
PARALLEL_ROWS = 262_144
"""Rows from which on other threads help: below, one search gains less than a concurrent one loses."""
SEEDS = 2
"""The first threshold comes from this many times as many rows as the search returns."""
REFINE_ROWS = 2_048
"""Rows that are refined at once; if no more are eligible, all are refined without a scan."""
MAX_HELPERS = min(3, (os.cpu_count() or 1) - 1)


class ScoreBounds(NamedTuple):
    """Ascending rows, with a lower and an upper bound of the dot product of each with the query."""

    rows: NDArray[np.intp]
    lower: NDArray[np.float32]
    upper: NDArray[np.float32]


class _HeadScores(NamedTuple):
    """What the heads of all rows say, without quantisation errors."""

    scores: NDArray[np.float32]
    upper: NDArray[np.float32]
    """Upper bounds of the full products."""
    group_maxima: NDArray[np.float32]
    """The best of ``scores`` in each group."""


class VectorScan:
    """One query over the rows of one part of an index."""

    def __init__(self, rows: PrunedCodes, query: Vector) -> None:
        self._rows = rows
        self._query = rows.rotation.quantize(query[np.newaxis])
        self._head, self._tail = map(np.ascontiguousarray, np.hsplit(self._query.codes, [rows.heads.shape[1]]))

    def candidates(self, limit: int, hidden: NDArray[np.bool_] | None) -> ScoreBounds:
        """Return all rows that can be among the best ``limit`` of those that are not hidden."""
        if hidden is not None and len(hidden) - np.count_nonzero(hidden) <= max(limit, REFINE_ROWS):
            rows = np.flatnonzero(~hidden)
        else:
            rows, lower, upper = self._scan(limit, hidden)
            if limit < len(rows):
                rows = rows[upper >= kth_best(lower, limit)]
        parts = [self._refine(rows[start : start + REFINE_ROWS]) for start in range(0, max(1, len(rows)), REFINE_ROWS)]
        return ScoreBounds(rows, *map(np.concatenate, zip(*parts, strict=True)))

    def _scan(self, limit: int, hidden: NDArray[np.bool_] | None) -> ScoreBounds:
        """Return the candidates by their codes, without residuals."""
        scores, upper, group_maxima = self._compare_heads(hidden)
        threshold = np.float32(-np.inf)
        if limit < len(scores):
            seeds = _top_indices(scores, min(len(scores), SEEDS * limit), group_maxima)
            seeds = seeds if hidden is None else seeds[scores[seeds] > -np.inf]
            threshold = kth_best(self._compare_tails(seeds, scores).lower, limit)
        # First with the largest error of any row, then with the error of each.
        lowest = threshold - error_bound(self._rows.max_error[0], self._query)
        rows = np.flatnonzero(upper >= lowest)
        if GATHER_COST * len(rows) >= len(scores):
            if self._tail.size:
                scores += self._tail_products()
            rows = np.flatnonzero(scores >= lowest)
            return self._bounds(rows, scores[rows])
        rows = rows[upper[rows] + error_bound(self._rows.errors[rows], self._query) >= threshold]
        return self._compare_tails(rows, scores)

    def _compare_heads(self, hidden: NDArray[np.bool_] | None) -> _HeadScores:
        """Compare the heads of all rows; hidden rows score -inf."""
        count = len(self._rows.heads)
        scores, upper, maxima = (np.empty(size, np.float32) for size in (count, count, -(-count // GROUP)))
        tail_norm = np.linalg.norm(self._tail.astype(np.float32)) * self._query.scales[0]

        def compare(batch: slice) -> None:
            self._products(self._rows.heads, self._head, batch, scores)
            if hidden is not None:
                scores[batch][hidden[batch]] = -np.inf
            np.multiply(self._rows.tail_norms[batch], tail_norm, out=upper[batch])
            upper[batch] += scores[batch]
            maxima[batch.start // GROUP : -(-batch.stop // GROUP)] = _group_maxima(scores[batch])

        _run_batches(compare, count)
        return _HeadScores(scores, upper, maxima)

    def _compare_tails(self, rows: NDArray[np.intp], head_scores: NDArray[np.float32]) -> ScoreBounds:
        """Return the bounds of some rows by heads and tails."""
        scores = head_scores[rows]
        if len(rows) and self._tail.size:
            scales = self._rows.scales[rows] * self._query.scales[0]
            scores += dot_products(self._rows.tails[rows], self._tail) * scales
        return self._bounds(rows, scores)

    def _bounds(self, rows: NDArray[np.intp], scores: NDArray[np.float32]) -> ScoreBounds:
        error = error_bound(self._rows.errors[rows], self._query)
        return ScoreBounds(rows, scores - error, scores + error)

    def _tail_products(self) -> NDArray[np.float32]:
        """Return the products of the tails of all rows."""
        products = np.empty(len(self._rows.tails), np.float32)
        _run_batches(lambda batch: self._products(self._rows.tails, self._tail, batch, products), len(products))
        return products

    def _products(
        self, codes: NDArray[np.int8], query: NDArray[np.int8], batch: slice, out: NDArray[np.float32]
    ) -> None:
        scales = self._rows.scales[batch] * self._query.scales[0]
        np.multiply(dot_products(codes[batch], query), scales, out=out[batch])

    def _refine(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return lower and upper bounds of some rows by their codes and residuals.

        Only the product of the two residuals is left out, and what quantising the residuals loses.
        """
        if not len(rows):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        stored, query = self._rows, self._query
        codes, scales = np.concatenate((stored.heads[rows], stored.tails[rows]), axis=1), stored.scales[rows]
        scores = dot_products(codes, query.codes) * (scales * query.scales[0])
        scores += dot_products(codes, query.residuals) * (scales * query.residual_scales[0])
        scores += dot_products(stored.residuals[rows], query.codes) * (stored.residual_scales[rows] * query.scales[0])
        residual_errors, query_error = stored.residual_errors[rows], query.residual_errors[0]
        error = (stored.errors[rows] + residual_errors) * (query.errors[0] + query_error)
        error += residual_errors + query_error * (1 + residual_errors) + np.float32(FLOAT32_ERROR)
        return scores - error, scores + error


def _run_batches(compare: Callable[[slice], None], count: int) -> None:
    """Compare ``count`` rows in batches, with helper threads if there are many."""
    helpers = MAX_HELPERS if count >= PARALLEL_ROWS else 0
    groups = max(1, -(-count // GROUP))
    size = min(BATCH_ROWS, -(-groups // (helpers + 1)) * GROUP)
    starts = deque(range(0, count, size))

    def work() -> None:
        while True:
            try:
                start = starts.popleft()
            except IndexError:  # another thread took the last batch
                return
            compare(slice(start, min(count, start + size)))

    run_parallel(work, helpers)


def run_parallel(work: Callable[[], None], helpers: int) -> None:
    """Run ``work`` here and in ``helpers`` other threads at once; it must divide its tasks among them.

    >>> tasks, done = list(range(100)), []
    >>> def work():
    ...     while tasks:
    ...         done.append(tasks.pop())
    >>> run_parallel(work, helpers=2)
    >>> sorted(done) == list(range(100))
    True
    """
    futures: list[Future[None]] = []
    with suppress(RuntimeError):  # if no thread can be started, this one does it all
        futures += (_thread_pool(os.getpid()).submit(work) for _ in range(helpers))
    try:
        work()
    finally:
        started = [future for future in futures if not future.cancel()]
        errors = [future.exception() for future in started]
    for error in filter(None, errors):
        raise error


@lru_cache(maxsize=1)
def _thread_pool(_process: int) -> ThreadPoolExecutor:
    """Return the helper threads of a process; a forked process needs its own."""
    return ThreadPoolExecutor(max(1, MAX_HELPERS), thread_name_prefix="recollect-helper")


def _group_maxima(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    maxima: NDArray[np.float32] = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))
    return maxima


def _top_indices(
    scores: NDArray[np.float32], limit: int, group_maxima: NDArray[np.float32] | None = None
) -> NDArray[np.intp]:
    """Return the ascending indices of the ``limit`` best scores, and of those that tie with the last.

    >>> _top_indices(np.array([3, 9, 5, 9, 1], dtype=np.float32), 3).tolist()
    [1, 2, 3]
    """
    if limit * GROUP < len(scores):
        # At least ``limit`` groups have a score as good as the limit-th best maximum, and few other scores do.
        maxima = _group_maxima(scores) if group_maxima is None else group_maxima
        indices = np.flatnonzero(scores >= np.partition(maxima, len(maxima) - limit)[len(maxima) - limit])
    else:
        indices = np.arange(len(scores))
    best = scores[indices]
    top: NDArray[np.intp] = indices[best >= np.partition(best, len(best) - limit)[len(best) - limit]]
    return top


def kth_best(scores: NDArray[np.float32], limit: int) -> np.float32:
    """Return the last of the ``limit`` best scores."""
    worst: np.float32 = scores[_top_indices(scores, limit)].min()
    return worst
