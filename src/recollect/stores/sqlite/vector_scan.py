"""Int8 quantisation of unit vectors with exact error bounds, and a scan that never misses one of the k nearest.

*Quantisation.* A vector x is stored as x' = s·c, with integers c in [-127, 127], a scale s, and the norm e_x of the
residual x - x'. A query q is quantised alike. By Cauchy-Schwarz, for unit vectors::

    |q·x - q'·x'| = |q·(x - x') + (q - q')·x'|  <=  e_x + e_q · (1 + e_x)

The residual is quantised to int8 as well. A search reads it only for vectors that the first bound cannot rule out.

*Pruning.* A scan is bound by memory bandwidth, so half the bytes take half the time. Vectors are rotated to the
principal axes of a sample, which preserves dot products and moves most of the norm to the front. A row is split into
head h and tail t, stored apart; by Cauchy-Schwarz again, q·x <= h_q·h_x + |t_q| |t_x|.

*Scan.*

1. Compare the heads of all rows.
2. Compare the 2k rows with the best heads in full. The k-th best lower bound of these is a threshold.
3. Compare in full the rows whose upper bound (head product + norm of the tails + quantisation error) reaches it.
4. Narrow the bounds of the remaining rows with their residuals.

The caller computes the exact scores of the rows that are returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recollect.stores.base import Vector

try:
    import simsimd
except ImportError:  # pragma: no cover (there is no wheel for every platform)
    simsimd = None  # type: ignore[assignment]

_Floats = NDArray[np.float32]

NUMPY_ROWS = 4_096
"""The number of rows that are converted to float32 at once if simsimd is missing."""
FLOAT32_ERROR = np.float32(1e-5)
"""An upper bound of the float32 error of a dot product of two rotated unit vectors of a few thousand dimensions."""
SAMPLE_QUERIES = 32
"""Rows of the sample that serve as queries when the head size is chosen."""
GATHER_COST = 4.0
"""The cost of comparing a row at a random position, relative to one in sequence."""
REFINE_COST = 12.0
"""The cost of refining a row, which reads its codes and its residuals at a random position, in the same unit."""
MIN_SAMPLE = 1_000
GROUP = 64
"""Group size: the first selection of the k best compares only the best score of each group of rows."""
BATCH_ROWS = 2048 * GROUP
"""The maximum number of rows compared at once. Not fewer: between two batches, a thread waits for Python's lock."""
PARALLEL_ROWS = 262_144
"""The minimum number of rows for helper threads: fewer gain less than concurrent searches lose."""
SEED_FACTOR = 2
"""The first threshold is computed from this many times ``limit`` rows."""
REFINE_ROWS = 2_048
"""Rows that are refined at once; if no more are eligible, all are refined without a scan."""
MAX_HELPERS = min(3, (os.cpu_count() or 1) - 1)


class Codes(NamedTuple):
    """Quantised rows."""

    codes: NDArray[np.int8]
    scales: _Floats
    errors: _Floats
    """The norm of each residual."""
    residuals: NDArray[np.int8]
    residual_scales: _Floats
    residual_errors: _Floats
    """The norm of the error of each quantised residual."""


def quantize(vectors: _Floats) -> Codes:
    """Quantise rows to int8, and their residuals too."""
    codes, scales, rest = _to_int8(vectors)
    residuals, residual_scales, residual_rest = _to_int8(rest)
    return Codes(codes, scales, _norms(rest), residuals, residual_scales, _norms(residual_rest))


def _to_int8(vectors: _Floats) -> tuple[NDArray[np.int8], _Floats, _Floats]:
    """Return codes, scales and residuals of rows."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    codes = np.rint(vectors / np.where(scales > 0, scales, 1)[:, np.newaxis])
    return codes.astype(np.int8), scales, vectors - codes * scales[:, np.newaxis]


def _norms(vectors: NDArray[Any]) -> _Floats:
    norms: _Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))
    return norms


def error_bound(errors: Any, query: Codes) -> Any:
    """Return the largest error of the dot products of a query (one row) and rows with these errors."""
    return errors * (1 + query.errors[0]) + (query.errors[0] + FLOAT32_ERROR)


def dot_products(codes: NDArray[np.int8], query: NDArray[np.int8]) -> _Floats:
    """Return the dot products of rows of codes with the one row of a query."""
    if USE_SIMSIMD:
        return _simsimd_products(codes, query)
    row = query[0].astype(np.float32)
    starts = range(0, len(codes), NUMPY_ROWS)
    return np.concatenate([codes[start : start + NUMPY_ROWS].astype(np.float32) @ row for start in starts])


def _simsimd_products(codes: NDArray[np.int8], query: NDArray[np.int8]) -> _Floats:
    products: Any = simsimd.dot(query, codes, out_dtype="float32")
    return np.asarray(products, dtype=np.float32).reshape(len(codes))  # simsimd returns a scalar for a single row


def _simsimd_works() -> bool:
    """Return whether simsimd is installed and computes correctly: an import of usearch may replace its functions."""
    codes = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
    try:
        products = _simsimd_products(codes, codes[1:2])
    except (AttributeError, TypeError, ValueError, LookupError):  # AttributeError: it is not installed
        return False
    return bool(np.array_equal(products, codes.astype(np.int64) @ codes[1].astype(np.int64)))


USE_SIMSIMD = _simsimd_works()
"""Whether simsimd computes dot products; numpy takes three times as long."""


class PcaRotation(NamedTuple):
    """A rotation to principal axes, and how many of the rotated dimensions form the head."""

    axes: _Floats
    """Columns are axes; empty for no rotation."""
    head_size: int | None

    def quantize(self, vectors: _Floats) -> Codes:
        """Rotate and quantise rows."""
        return quantize(vectors @ self.axes if len(self.axes) else vectors)


NO_ROTATION = PcaRotation(np.empty((0, 0), dtype=np.float32), None)
"""Vectors stay as they are, and have no tails."""


def fit_rotation(sample: _Floats, result_share: float) -> PcaRotation:
    """Return the rotation and head size with the lowest estimated cost of a scan.

    ``result_share`` is the share of all rows that a typical search returns.
    """
    dimension = sample.shape[1]
    if len(sample) < MIN_SAMPLE:
        return NO_ROTATION
    axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))[1][:, ::-1].astype(np.float32)
    rotated = sample @ axes
    step = -(-len(sample) // SAMPLE_QUERIES)
    queries = rotated[::step]
    scores = queries @ rotated.T
    rank = min(len(rotated), max(2, int(np.ceil(result_share * len(rotated))) + 1))  # each is its own nearest neighbour
    thresholds = np.partition(scores, -rank, axis=1)[:, -rank, None]
    # A dominant principal axis makes the scales of rotated rows coarse, so that more rows have to be refined.
    costs = {dimension: 1 + REFINE_COST * _refined_share(sample, step, scores, thresholds)}
    refine_cost = REFINE_COST * _refined_share(rotated, step, scores, thresholds)
    for head in (dimension // 4, dimension // 3 // 16 * 16, dimension // 2, dimension * 3 // 4):
        tails = np.linalg.norm(queries[:, head:], axis=1)[:, None] * np.linalg.norm(rotated[:, head:], axis=1)
        compared = queries[:, :head] @ rotated[:, :head].T + tails >= thresholds
        costs[head] = head / dimension + GATHER_COST * float(compared.mean()) + refine_cost
    best = min(costs, key=costs.__getitem__)
    return PcaRotation(axes, best) if best < dimension else NO_ROTATION


def _refined_share(vectors: _Floats, query_step: int, scores: _Floats, thresholds: _Floats) -> float:
    """Return the share of rows whose quantised scores cannot be told from the threshold of a query.

    The queries are every ``query_step``-th row; ``scores`` are the exact dot products of queries and rows.
    """
    errors = quantize(vectors).errors
    return float((scores + 2 * (errors + errors[::query_step, None]) >= thresholds).mean())


class PrunedCodes(NamedTuple):
    """Rotated and quantised rows, split into heads and tails."""

    axes: _Floats
    heads: NDArray[np.int8]
    tails: NDArray[np.int8]
    scales: _Floats
    errors: _Floats
    residuals: NDArray[np.int8]
    residual_scales: _Floats
    residual_errors: _Floats
    tail_norms: _Floats
    max_error: _Floats
    """The largest of ``errors``, as an array of one."""

    @classmethod
    def split(cls, rotation: PcaRotation, rows: Codes) -> Self:
        """Split rows that were quantised with a rotation."""
        heads, tails = map(np.ascontiguousarray, np.hsplit(rows.codes, [rotation.head_size or rows.codes.shape[1]]))
        max_error = rows.errors.max(initial=0, keepdims=True)
        return cls(rotation.axes, heads, tails, *rows[1:], _norms(tails) * rows.scales, max_error)

    @classmethod
    def concatenate(cls, parts: Sequence[PrunedCodes], rows: NDArray[np.bool_] | slice) -> Self:
        """Return some rows of all parts, which must share a rotation."""
        columns: list[Any] = list(zip(*parts, strict=True))
        axes, *arrays, max_errors = columns
        return cls._make([axes[0], *(np.concatenate(array)[rows] for array in arrays), np.max(max_errors, axis=0)])

    @property
    def rotation(self) -> PcaRotation:
        """The rotation of the rows."""
        return PcaRotation(self.axes, self.heads.shape[1] if len(self.axes) else None)


SNAPSHOT_ARRAYS = (
    *("axes", "heads", "tails", "scales", "errors", "fines", "fine_scales", "fine_errors", "rests", "widest"),
)
"""The names of the fields in a snapshot file."""


class ScoreBounds(NamedTuple):
    """Ascending rows, with a lower and an upper bound of the dot product of each with the query."""

    rows: NDArray[np.intp]
    lower: _Floats
    upper: _Floats


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
            seeds = _top_indices(scores, min(len(scores), SEED_FACTOR * limit), group_maxima)
            seeds = seeds if hidden is None else seeds[scores[seeds] > -np.inf]
            threshold = kth_best(self._compare_tails(seeds, scores).lower, limit)
        # First with the largest error of any row, then with the error of each.
        lowest = threshold - error_bound(self._rows.max_error[0], self._query)
        rows = np.flatnonzero(upper >= lowest)
        if GATHER_COST * len(rows) >= len(scores):
            if self._tail.size:
                products = np.empty_like(scores)
                _run_batches(lambda batch: self._products(self._rows.tails, self._tail, batch, products), len(scores))
                scores += products
            rows = np.flatnonzero(scores >= lowest)
            return self._bounds(rows, scores[rows])
        rows = rows[upper[rows] + error_bound(self._rows.errors[rows], self._query) >= threshold]
        return self._compare_tails(rows, scores)

    def _compare_heads(self, hidden: NDArray[np.bool_] | None) -> tuple[_Floats, _Floats, _Floats]:
        """Return the scores of all heads, upper bounds of full scores without errors, and the best of each group."""
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
        return scores, upper, maxima

    def _compare_tails(self, rows: NDArray[np.intp], head_scores: _Floats) -> ScoreBounds:
        """Return the bounds of some rows by heads and tails."""
        scores = head_scores[rows]
        if len(rows) and self._tail.size:
            scales = self._rows.scales[rows] * self._query.scales[0]
            scores += dot_products(self._rows.tails[rows], self._tail) * scales
        return self._bounds(rows, scores)

    def _bounds(self, rows: NDArray[np.intp], scores: _Floats) -> ScoreBounds:
        error = error_bound(self._rows.errors[rows], self._query)
        return ScoreBounds(rows, scores - error, scores + error)

    def _products(self, codes: NDArray[np.int8], query: NDArray[np.int8], batch: slice, out: _Floats) -> None:
        scales = self._rows.scales[batch] * self._query.scales[0]
        np.multiply(dot_products(codes[batch], query), scales, out=out[batch])

    def _refine(self, rows: NDArray[np.intp]) -> tuple[_Floats, _Floats]:
        """Return lower and upper bounds of some rows by their codes and residuals.

        The bounds include the omitted product of the two residuals and the quantisation error of the residuals.
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
        error += residual_errors + query_error * (1 + residual_errors) + FLOAT32_ERROR
        return scores - error, scores + error


def _run_batches(compare: Callable[[slice], None], count: int) -> None:
    """Compare ``count`` rows in batches, with helper threads if there are many."""
    helpers = MAX_HELPERS if count >= PARALLEL_ROWS else 0
    groups = max(1, -(-count // GROUP))
    size = min(BATCH_ROWS, -(-groups // (helpers + 1)) * GROUP)
    starts = iter(range(0, count, size))

    def work() -> None:
        for start in starts:  # all threads share the iterator
            compare(slice(start, min(count, start + size)))

    run_parallel(work, helpers)


def run_parallel(work: Callable[[], None], helpers: int) -> None:
    """Run ``work`` in this thread and in ``helpers`` others at once; the calls must share out the tasks themselves."""
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


def _group_maxima(scores: _Floats) -> _Floats:
    maxima: _Floats = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))
    return maxima


def _top_indices(scores: _Floats, limit: int, group_maxima: _Floats | None = None) -> NDArray[np.intp]:
    """Return the ascending indices of the ``limit`` best scores, and of those that tie with the last."""
    if limit * GROUP < len(scores):
        # At least ``limit`` scores reach the limit-th best maximum of a group, and few others do.
        maxima = _group_maxima(scores) if group_maxima is None else group_maxima
        indices = np.flatnonzero(scores >= np.partition(maxima, len(maxima) - limit)[len(maxima) - limit])
    else:
        indices = np.arange(len(scores))
    best = scores[indices]
    top: NDArray[np.intp] = indices[best >= np.partition(best, len(best) - limit)[len(best) - limit]]
    return top


def kth_best(scores: _Floats, limit: int) -> np.float32:
    """Return the last of the ``limit`` best scores."""
    return np.float32(scores[_top_indices(scores, limit)].min())
