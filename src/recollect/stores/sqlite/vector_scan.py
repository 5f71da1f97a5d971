"""Int8 quantisation of unit vectors with exact error bounds, and a scan that never misses one of the k nearest.

A row is one vector; its score is the dot product with the query, which is the cosine similarity of unit vectors.

*Quantisation.* A row x is approximated by x' = s·c. The codes c are integers in [-127, 127], one for each dimension;
the scale s is a float32 number. The error e_x is the norm of the residual x - x'. A query q is quantised in the same
way. By Cauchy-Schwarz, for unit vectors, because |x'| <= 1 + e_x::

    |q·x - q'·x'| = |q·(x - x') + (q - q')·x'|  <=  e_x + e_q · (1 + e_x)

The residual is quantised to int8, too. A search reads it only for rows that this bound cannot rule out.

*Pruning.* Memory bandwidth limits a scan: half the bytes take half the time. Rows are rotated to the principal axes of
a sample (PCA), which preserves dot products and moves most of the norm to the first dimensions. These dimensions are
the head h of a row, the others are its tail t. Heads and tails are stored in separate arrays, so that a scan can read
the heads alone. By Cauchy-Schwarz, q·x <= h_q·h_x + |t_q| |t_x|.

*Scan* for the k nearest rows:

1. Compute the head products: the dot products of all heads with the head of the query.
2. Add the tail products for the 2k rows with the highest head products. Of these rows, the k-th best lower bound of the
   score (product - error bound) is the threshold.
3. Add the tail products for all rows whose upper bound (head product + product of the tail norms + error bound) reaches
   the threshold.
4. Refine the rows whose upper bound still reaches the threshold: compute narrower bounds from codes and residuals.

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

NUMPY_ROWS = 4_096  # rows that are converted to float32 at once if simsimd is missing
FLOAT32_ERROR = np.float32(1e-5)  # exceeds the rounding error of the float32 product of two rotated unit vectors
SAMPLE_QUERIES = 32  # rows of the sample that serve as queries when the head size is chosen
GATHER_COST = 4.0  # the cost of comparing a row at a random position; a row in sequence costs 1
REFINE_COST = 12.0  # the cost of refining a row: its codes and its residual are at random positions
MIN_SAMPLE = 1_000  # the minimum number of vectors from which a rotation is fitted
GROUP = 64  # consecutive rows; the first selection of the k best compares only the best score of each group
BATCH_ROWS = 2048 * GROUP  # rows compared at once; not fewer, because a thread waits for Python's lock after each batch
PARALLEL_ROWS = 262_144  # with fewer rows, helper threads slow down concurrent searches more than they speed up one
SEED_FACTOR = 2  # step 2 of a scan adds the tail products of this many times ``limit`` rows
REFINE_ROWS = 2_048  # rows that are refined at once; if no more rows are visible, all are refined without a scan
MAX_HELPERS = min(3, (os.cpu_count() or 1) - 1)  # helper threads of a scan


class Codes(NamedTuple):
    """Rows and their residuals, both quantised. An error is the norm of the difference from the exact vector."""

    codes: NDArray[np.int8]
    scales: _Floats
    errors: _Floats
    residual_codes: NDArray[np.int8]
    residual_scales: _Floats
    residual_errors: _Floats


def quantize(vectors: _Floats) -> Codes:
    """Quantise rows, and then their residuals, to int8."""
    codes, scales, residuals = _to_int8(vectors)
    residual_codes, residual_scales, remainders = _to_int8(residuals)
    return Codes(codes, scales, _norms(residuals), residual_codes, residual_scales, _norms(remainders))


def _to_int8(vectors: _Floats) -> tuple[NDArray[np.int8], _Floats, _Floats]:
    """Return the codes, the scales and the residuals of rows."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    codes = np.rint(vectors / np.where(scales > 0, scales, 1)[:, np.newaxis])
    return codes.astype(np.int8), scales, vectors - codes * scales[:, np.newaxis]


def _norms(vectors: NDArray[Any]) -> _Floats:
    norms: _Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))
    return norms


def error_bound(errors: Any, query: Codes) -> Any:
    """Return upper bounds of the errors of scores that are computed from codes, for rows with these errors."""
    return errors * (1 + query.errors[0]) + (query.errors[0] + FLOAT32_ERROR)


def dot_products(codes: NDArray[np.int8], query: NDArray[np.int8]) -> _Floats:
    """Return the dot product of each row of codes with the codes of a query (one row)."""
    if USE_SIMSIMD:
        return _simsimd_products(codes, query)
    query_row = query[0].astype(np.float32)
    starts = range(0, len(codes), NUMPY_ROWS)
    return np.concatenate([codes[start : start + NUMPY_ROWS].astype(np.float32) @ query_row for start in starts])


def _simsimd_products(codes: NDArray[np.int8], query: NDArray[np.int8]) -> _Floats:
    products: Any = simsimd.dot(query, codes, out_dtype="float32")
    return np.asarray(products, dtype=np.float32).reshape(len(codes))  # simsimd returns a scalar for a single row


def _simsimd_works() -> bool:
    """Return whether simsimd is installed and computes correctly, because importing usearch may break its functions."""
    codes = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
    try:
        products = _simsimd_products(codes, codes[1:2])
    except (AttributeError, TypeError, ValueError, LookupError):  # AttributeError: it is not installed
        return False
    return bool(np.array_equal(products, codes.astype(np.int64) @ codes[1].astype(np.int64)))


USE_SIMSIMD = _simsimd_works()  # otherwise numpy is used, which takes three times as long


class PcaRotation(NamedTuple):
    """A rotation to principal axes, and how many of the rotated dimensions form the head."""

    axes: _Floats  # a matrix with one axis in each column; empty for no rotation
    head_size: int | None  # the number of dimensions in the head; None: all dimensions

    def quantize(self, vectors: _Floats) -> Codes:
        """Rotate and quantise rows."""
        return quantize(vectors @ self.axes if len(self.axes) else vectors)


NO_ROTATION = PcaRotation(np.empty((0, 0), dtype=np.float32), None)  # rows stay as they are, and have no tails


def fit_rotation(sample: _Floats, result_share: float) -> PcaRotation:
    """Return the rotation and head size with the lowest estimated cost of a scan, or ``NO_ROTATION``.

    ``result_share`` is the share of all rows that a typical search returns. The cost of comparing a whole row is 1.
    """
    dimension = sample.shape[1]
    if len(sample) < MIN_SAMPLE:
        return NO_ROTATION
    # The principal axes are the eigenvectors; eigh returns them by ascending eigenvalue.
    axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))[1][:, ::-1].astype(np.float32)
    rotated = sample @ axes
    step = -(-len(sample) // SAMPLE_QUERIES)
    queries = rotated[::step]
    scores = queries @ rotated.T
    # The rank of the last result of a query is increased by 1, because each query is its own nearest neighbour.
    rank = min(len(rotated), max(2, int(np.ceil(result_share * len(rotated))) + 1))
    thresholds = np.partition(scores, -rank, axis=1)[:, -rank, None]
    costs = {dimension: 1 + REFINE_COST * _refined_share(sample, step, scores, thresholds)}  # without a rotation
    # With a rotation, more rows may have to be refined, because a dominant principal axis makes the scales coarse.
    refine_cost = REFINE_COST * _refined_share(rotated, step, scores, thresholds)
    for size in (dimension // 4, dimension // 3 // 16 * 16, dimension // 2, dimension * 3 // 4):
        tail_bounds = np.linalg.norm(queries[:, size:], axis=1)[:, None] * np.linalg.norm(rotated[:, size:], axis=1)
        reaches_threshold = queries[:, :size] @ rotated[:, :size].T + tail_bounds >= thresholds
        costs[size] = size / dimension + GATHER_COST * float(reaches_threshold.mean()) + refine_cost
    head_size = min(costs, key=costs.__getitem__)
    return PcaRotation(axes, head_size) if head_size < dimension else NO_ROTATION


def _refined_share(vectors: _Floats, query_step: int, scores: _Floats, thresholds: _Floats) -> float:
    """Return the share of rows whose upper bound reaches the threshold of a query, so that they have to be refined.

    The queries are every ``query_step``-th row; ``scores`` has the exact dot products of queries and rows.
    """
    errors = quantize(vectors).errors  # the upper bound is at most the exact score plus twice the error bound
    return float((scores + 2 * (errors + errors[::query_step, None]) >= thresholds).mean())


class PrunedCodes(NamedTuple):
    """Rotated and quantised rows as a snapshot has them: :class:`Codes`, with the codes split into heads and tails."""

    axes: _Floats  # of the rotation
    heads: NDArray[np.int8]
    tails: NDArray[np.int8]
    scales: _Floats
    errors: _Floats
    residual_codes: NDArray[np.int8]
    residual_scales: _Floats
    residual_errors: _Floats
    tail_norms: _Floats  # the norm of each tail times the scale of its row
    max_error: _Floats  # the largest of ``errors``, as an array with one element

    @classmethod
    def split(cls, rotation: PcaRotation, rows: Codes) -> Self:
        """Split rows that were quantised with this rotation."""
        heads, tails = map(np.ascontiguousarray, np.hsplit(rows.codes, [rotation.head_size or rows.codes.shape[1]]))
        max_error = rows.errors.max(initial=0, keepdims=True)
        return cls(rotation.axes, heads, tails, *rows[1:], _norms(tails) * rows.scales, max_error)

    @classmethod
    def concatenate(cls, parts: Sequence[PrunedCodes], rows: NDArray[np.bool_] | slice) -> Self:
        """Return the rows of all parts, which have the same rotation; ``rows`` selects rows of the concatenation."""
        columns: list[Any] = list(zip(*parts, strict=True))
        axes, *arrays, max_errors = columns
        return cls._make([axes[0], *(np.concatenate(array)[rows] for array in arrays), np.max(max_errors, axis=0)])

    @property
    def rotation(self) -> PcaRotation:
        """The rotation of the rows."""
        return PcaRotation(self.axes, self.heads.shape[1] if len(self.axes) else None)


SNAPSHOT_ARRAYS = tuple("axes heads tails scales errors fines fine_scales fine_errors rests widest".split())
"""The names that the fields of ``PrunedCodes`` have in a snapshot file, in the order of the fields."""


class ScoreBounds(NamedTuple):
    """Ascending rows, with a lower and an upper bound of the score of each."""

    rows: NDArray[np.intp]
    lower: _Floats
    upper: _Floats


class VectorScan:
    """The scan of one part of an index (the snapshot, or the rows added since) for one query, a unit vector."""

    def __init__(self, rows: PrunedCodes, query: Vector) -> None:
        self._rows = rows
        self._query = rows.rotation.quantize(query[np.newaxis])
        head_and_tail = np.hsplit(self._query.codes, [rows.heads.shape[1]])
        self._query_head, self._query_tail = map(np.ascontiguousarray, head_and_tail)

    def candidates(self, limit: int, hidden: NDArray[np.bool_] | None) -> ScoreBounds:
        """Return all rows not masked by ``hidden`` that can be among the best ``limit`` or tie with the last."""
        if hidden is not None and len(hidden) - np.count_nonzero(hidden) <= max(limit, REFINE_ROWS):
            rows = np.flatnonzero(~hidden)
        else:
            rows, lower, upper = self._scan(limit, hidden)
            if limit < len(rows):
                rows = rows[upper >= kth_best(lower, limit)]
        parts = [self._refine(rows[start : start + REFINE_ROWS]) for start in range(0, max(1, len(rows)), REFINE_ROWS)]
        return ScoreBounds(rows, *map(np.concatenate, zip(*parts, strict=True)))

    def _scan(self, limit: int, hidden: NDArray[np.bool_] | None) -> ScoreBounds:
        """Return candidates with bounds from their codes alone, without residuals: steps 1 to 3 of the scan."""
        scores, upper, group_maxima = self._compare_heads(hidden)  # step 1
        threshold = np.float32(-np.inf)
        if limit < len(scores):  # step 2: ``seeds`` are the rows with the highest head products
            seeds = _top_indices(scores, min(len(scores), SEED_FACTOR * limit), group_maxima)
            seeds = seeds if hidden is None else seeds[scores[seeds] > -np.inf]
            threshold = kth_best(self._compare_tails(seeds, scores).lower, limit)
        # Step 3. Preselect rows by the largest error of all rows, so that the error of each row need not be read.
        min_score = threshold - error_bound(self._rows.max_error[0], self._query)
        rows = np.flatnonzero(upper >= min_score)
        if GATHER_COST * len(rows) >= len(scores):  # reading all tails in sequence is faster
            if self._query_tail.size:
                products = np.empty_like(scores)
                tails, query = self._rows.tails, self._query_tail
                _run_batches(lambda batch: self._products(tails, query, batch, products), len(scores))
                scores += products
            rows = np.flatnonzero(scores >= min_score)
            return self._bounds(rows, scores[rows])
        rows = rows[upper[rows] + error_bound(self._rows.errors[rows], self._query) >= threshold]
        return self._compare_tails(rows, scores)

    def _compare_heads(self, hidden: NDArray[np.bool_] | None) -> tuple[_Floats, _Floats, _Floats]:
        """Return the head products, the head products plus tail norm products, and the best head product by group."""
        count = len(self._rows.heads)
        scores, upper, maxima = (np.empty(size, np.float32) for size in (count, count, -(-count // GROUP)))
        tail_norm = np.linalg.norm(self._query_tail.astype(np.float32)) * self._query.scales[0]

        def compare(batch: slice) -> None:
            self._products(self._rows.heads, self._query_head, batch, scores)
            if hidden is not None:
                scores[batch][hidden[batch]] = -np.inf
            np.multiply(self._rows.tail_norms[batch], tail_norm, out=upper[batch])
            upper[batch] += scores[batch]
            maxima[batch.start // GROUP : -(-batch.stop // GROUP)] = _group_maxima(scores[batch])

        _run_batches(compare, count)
        return scores, upper, maxima

    def _compare_tails(self, rows: NDArray[np.intp], head_scores: _Floats) -> ScoreBounds:
        """Return bounds of the scores of some rows, whose products are ``head_scores`` plus the tail products."""
        scores = head_scores[rows]
        if len(rows) and self._query_tail.size:
            scales = self._rows.scales[rows] * self._query.scales[0]
            scores += dot_products(self._rows.tails[rows], self._query_tail) * scales
        return self._bounds(rows, scores)

    def _bounds(self, rows: NDArray[np.intp], scores: _Floats) -> ScoreBounds:
        error = error_bound(self._rows.errors[rows], self._query)
        return ScoreBounds(rows, scores - error, scores + error)

    def _products(self, codes: NDArray[np.int8], query: NDArray[np.int8], batch: slice, out: _Floats) -> None:
        """Write the products of a batch of heads (or tails) with the query's head (or tail), scaled, to ``out``."""
        scales = self._rows.scales[batch] * self._query.scales[0]
        np.multiply(dot_products(codes[batch], query), scales, out=out[batch])

    def _refine(self, rows: NDArray[np.intp]) -> tuple[_Floats, _Floats]:
        """Return lower and upper bounds of the scores of some rows, from their codes and residuals.

        The dot product of a row's residual and the query's residual is not computed. The bounds allow for this product
        and for the errors of the quantised residuals.
        """
        if not len(rows):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        stored, query = self._rows, self._query
        codes, scales = np.concatenate((stored.heads[rows], stored.tails[rows]), axis=1), stored.scales[rows]
        scores = dot_products(codes, query.codes) * (scales * query.scales[0])
        scores += dot_products(codes, query.residual_codes) * (scales * query.residual_scales[0])
        residual_scales = stored.residual_scales[rows] * query.scales[0]
        scores += dot_products(stored.residual_codes[rows], query.codes) * residual_scales
        residual_errors, query_error = stored.residual_errors[rows], query.residual_errors[0]
        error = (stored.errors[rows] + residual_errors) * (query.errors[0] + query_error)
        error += residual_errors + query_error * (1 + residual_errors) + FLOAT32_ERROR
        return scores - error, scores + error


def _run_batches(compare: Callable[[slice], None], count: int) -> None:
    """Call ``compare`` with slices that together cover ``count`` rows; helper threads take part if there are many."""
    helpers = MAX_HELPERS if count >= PARALLEL_ROWS else 0
    groups = max(1, -(-count // GROUP))
    size = min(BATCH_ROWS, -(-groups // (helpers + 1)) * GROUP)  # a multiple of GROUP
    starts = iter(range(0, count, size))

    def work() -> None:
        for start in starts:  # all threads share the iterator
            compare(slice(start, min(count, start + size)))

    run_parallel(work, helpers)


def run_parallel(work: Callable[[], None], helpers: int) -> None:
    """Call ``work`` in this thread and in ``helpers`` others; the calls must take their tasks from a shared source."""
    futures: list[Future[None]] = []
    with suppress(RuntimeError):  # if no thread can be started, this thread does all tasks
        futures += (_thread_pool(os.getpid()).submit(work) for _ in range(helpers))
    try:
        work()
    finally:
        started = [future for future in futures if not future.cancel()]  # cancel() fails if a thread has started it
        errors = [future.exception() for future in started]
    for error in filter(None, errors):
        raise error


@lru_cache(maxsize=1)
def _thread_pool(_process: int) -> ThreadPoolExecutor:
    """Return the helper threads of the process with this id, because a forked process needs its own threads."""
    return ThreadPoolExecutor(max(1, MAX_HELPERS), thread_name_prefix="recollect-helper")


def _group_maxima(scores: _Floats) -> _Floats:
    maxima: _Floats = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))
    return maxima


def _top_indices(scores: _Floats, limit: int, group_maxima: _Floats | None = None) -> NDArray[np.intp]:
    """Return the ascending indices of the ``limit`` best scores, and of those that tie with the last."""
    if limit * GROUP < len(scores):
        # At least ``limit`` scores reach the limit-th best group maximum, so lower scores are not among the best.
        maxima = _group_maxima(scores) if group_maxima is None else group_maxima
        indices = np.flatnonzero(scores >= np.partition(maxima, len(maxima) - limit)[len(maxima) - limit])
    else:
        indices = np.arange(len(scores))
    best = scores[indices]
    top: NDArray[np.intp] = indices[best >= np.partition(best, len(best) - limit)[len(best) - limit]]
    return top


def kth_best(scores: _Floats, limit: int) -> np.float32:
    """Return the ``limit``-th best score."""
    return np.float32(scores[_top_indices(scores, limit)].min())
