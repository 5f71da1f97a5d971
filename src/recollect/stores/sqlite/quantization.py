"""Int8 quantisation of unit vectors with exact error bounds, and a PCA rotation that lets a search skip most bytes.

*Quantisation.* A vector x is stored as x' = s·c, with integers c in [-127, 127], a scale s, and the norm e_x of the
residual x - x'. A query q is quantised alike. By Cauchy-Schwarz, for unit vectors::

    |q·x - q'·x'| = |q·(x - x') + (q - q')·x'|  <=  e_x + e_q · (1 + e_x)

The residual is quantised to int8 as well. A search reads it only for vectors that the first bound cannot rule out.

*Pruning.* A scan is bound by memory bandwidth, so half the bytes take half the time. Vectors are rotated to the
principal axes of a sample, which preserves dot products and moves most of the norm to the front. A row is split into
head h and tail t, stored apart; by Cauchy-Schwarz again::

    q·x  <=  h_q·h_x + |t_q| |t_x|

so that the heads alone rule out most rows (:mod:`recollect.stores.sqlite.vector_scan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

try:
    import simsimd
except ImportError:  # pragma: no cover (there is no wheel for every platform)
    simsimd = None  # type: ignore[assignment]

_MAX_CODE = 127
NUMPY_ROWS = 4_096
"""Rows that are converted to float32 at once if simsimd is missing."""
FLOAT32_ERROR = 1e-5
"""An upper bound of the float32 error of a dot product of two rotated unit vectors of a few thousand dimensions."""
SAMPLE_QUERIES = 32
"""Rows of the sample that serve as queries when the head size is chosen."""
GATHER_COST = 4.0
"""The cost of comparing a row at a random position, relative to one in sequence."""
MIN_SAMPLE = 1_000


class Codes(NamedTuple):
    """Quantised rows."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]
    """The norm of each residual."""
    residuals: NDArray[np.int8]
    """The quantised residuals."""
    residual_scales: NDArray[np.float32]
    residual_errors: NDArray[np.float32]
    """The norm of what the quantised residual leaves out."""


def quantize(vectors: NDArray[np.float32]) -> Codes:
    """Quantise rows to int8, and their residuals too.

    >>> rows = quantize(np.array([[0.6, 0.8], [0, 0]], dtype=np.float32))
    >>> rows.codes.tolist(), rows.residuals.tolist()
    ([[95, 127], [0, 0]], [[127, 0], [0, 0]])
    """
    codes, scales, rest = _to_int8(vectors)
    residuals, residual_scales, residual_rest = _to_int8(rest)
    return Codes(codes, scales, _norms(rest), residuals, residual_scales, _norms(residual_rest))


def _to_int8(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """Return codes, scales and residuals of rows."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(_MAX_CODE)
    codes = np.rint(vectors / np.where(scales > 0, scales, 1)[:, np.newaxis])
    return codes.astype(np.int8), scales, vectors - codes * scales[:, np.newaxis]


def _norms(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return norms


def error_bound(errors: Any, query: Codes) -> Any:
    """Return the largest error of the dot products of a query (one row) and rows with these errors.

    >>> vectors = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    >>> rows, query = quantize(vectors), quantize(vectors[:1])
    >>> products = dot_products(rows.codes, query.codes) * rows.scales * query.scales[0]
    >>> bool((np.abs(products - vectors @ vectors[0]) <= error_bound(rows.errors, query)).all())
    True
    """
    return errors * (1 + query.errors[0]) + np.float32(query.errors[0] + FLOAT32_ERROR)


def dot_products(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the dot products of rows of codes with the one row of a query.

    >>> dot_products(np.array([[1, 2]], dtype=np.int8), np.array([[3, 4]], dtype=np.int8)).tolist()
    [11.0]
    """
    if USE_SIMSIMD:
        return _simsimd_products(codes, query)
    row = query[0].astype(np.float32)
    starts = range(0, len(codes), NUMPY_ROWS)
    return np.concatenate([codes[start : start + NUMPY_ROWS].astype(np.float32) @ row for start in starts])


def _simsimd_products(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    products: Any = simsimd.dot(query, codes, out_dtype="float32")
    return np.asarray(products, dtype=np.float32).reshape(len(codes))  # simsimd returns a scalar for a single row


def _simsimd_works() -> bool:
    """Return whether simsimd is installed and computes int8 products correctly.

    If usearch is imported first, some functions of simsimd resolve to those of the same name that usearch bundles.
    """
    if simsimd is None:
        return False
    codes = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
    try:
        products = _simsimd_products(codes, codes[1:2])
    except (TypeError, ValueError, LookupError):
        return False
    return bool(np.array_equal(products, codes.astype(np.int64) @ codes[1].astype(np.int64)))


USE_SIMSIMD = _simsimd_works()
"""Whether simsimd computes dot products; numpy takes three times as long."""


class PcaRotation(NamedTuple):
    """A rotation to principal axes, and how many of the rotated dimensions form the head."""

    axes: NDArray[np.float32]
    """Columns are axes; empty for no rotation."""
    head_size: int | None

    def quantize(self, vectors: NDArray[np.float32]) -> Codes:
        """Rotate and quantise rows."""
        return quantize(vectors @ self.axes if len(self.axes) else vectors)


NO_ROTATION = PcaRotation(np.empty((0, 0), dtype=np.float32), None)
"""Vectors stay as they are, and have no tails."""


def fit_rotation(sample: NDArray[np.float32], result_share: float) -> PcaRotation:
    """Return the rotation and head size with the lowest estimated cost of a scan.

    ``result_share`` is the share of all rows that a typical search returns.

    >>> flat = np.random.default_rng(0).standard_normal((2000, 64), dtype=np.float32) * (np.arange(64) < 8)
    >>> fit_rotation(flat / np.linalg.norm(flat, axis=1, keepdims=True), 0.01).head_size
    16
    >>> fit_rotation(flat[:10], 0.01) == NO_ROTATION
    True
    """
    dimension = sample.shape[1]
    if len(sample) < MIN_SAMPLE:
        return NO_ROTATION
    axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))[1][:, ::-1].astype(np.float32)
    rotated = sample @ axes
    queries = rotated[:: -(-len(rotated) // SAMPLE_QUERIES)]
    rank = min(len(rotated), max(2, int(np.ceil(result_share * len(rotated))) + 1))  # each is its own nearest neighbour
    scores = queries @ rotated.T
    thresholds = np.partition(scores, -rank, axis=1)[:, -rank]
    costs = {dimension: 1.0}
    for head in (dimension // 4, dimension // 3 // 16 * 16, dimension // 2, dimension * 3 // 4):
        tails = np.linalg.norm(queries[:, head:], axis=1)[:, None] * np.linalg.norm(rotated[:, head:], axis=1)
        remaining = queries[:, :head] @ rotated[:, :head].T + tails >= thresholds[:, None]
        costs[head] = head / dimension + GATHER_COST * float(remaining.mean())
    best = min(costs, key=costs.__getitem__)
    return PcaRotation(axes, best) if best < dimension else NO_ROTATION


class PrunedCodes(NamedTuple):
    """Rotated and quantised rows, split into heads and tails."""

    axes: NDArray[np.float32]
    heads: NDArray[np.int8]
    tails: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]
    residuals: NDArray[np.int8]
    residual_scales: NDArray[np.float32]
    residual_errors: NDArray[np.float32]
    tail_norms: NDArray[np.float32]
    max_error: NDArray[np.float32]
    """The largest of ``errors``, as an array of one."""

    @classmethod
    def split(cls, rotation: PcaRotation, rows: Codes) -> Self:
        """Split rows that were quantised with a rotation."""
        heads, tails = np.hsplit(rows.codes, [rotation.head_size or rows.codes.shape[1]])
        tail_norms = np.sqrt(np.einsum("ij,ij->i", tails, tails, dtype=np.float32)) * rows.scales
        max_error = rows.errors.max(initial=0, keepdims=True)
        heads, tails = np.ascontiguousarray(heads), np.ascontiguousarray(tails)
        return cls(rotation.axes, heads, tails, *rows[1:], tail_norms, max_error)

    @classmethod
    def concatenate(cls, parts: Sequence[PrunedCodes]) -> Self:
        """Return the rows of all parts, which must share a rotation."""
        columns: list[Any] = list(zip(*parts, strict=True))
        axes, *arrays, max_errors = columns
        return cls._make([axes[0], *map(np.concatenate, arrays), np.max(max_errors, axis=0)])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the rows of a snapshot file."""
        return cls._make(arrays[name] for name in SNAPSHOT_ARRAYS)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a snapshot file."""
        return dict(zip(SNAPSHOT_ARRAYS, self, strict=True))

    def select(self, rows: NDArray[np.bool_]) -> PrunedCodes:
        """Return some of the rows."""
        columns: list[Any] = list(self)
        axes, *arrays, max_error = columns
        return PrunedCodes._make([axes, *(array[rows] for array in arrays), max_error])

    @property
    def rotation(self) -> PcaRotation:
        """The rotation of the rows."""
        return PcaRotation(self.axes, self.heads.shape[1] if len(self.axes) else None)


SNAPSHOT_ARRAYS = (
    *("axes", "heads", "tails", "scales", "errors", "fines", "fine_scales", "fine_errors", "rests", "widest"),
)
"""The names of the fields in a snapshot file."""
