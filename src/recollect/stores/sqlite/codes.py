"""Vectors in a byte a number, to see quickly which of them can be near a query, and how wrong that can be.

A row x is kept as x' = s·c, with whole numbers c from -127 to 127, and with the length e of what that leaves out,
x - x'. So is a query q. By Cauchy and Schwarz, for rows and queries of unit length::

    |q·x - q'·x'| = |q·(x - x') + (q - q')·x'|  <=  e_x + e_q · (1 + e_x)

What can be among the nearest by this bound is few, and compared in full.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import simsimd
except ImportError:  # pragma: no cover (there is no wheel for every platform; numpy needs thrice the time)
    simsimd = None  # type: ignore[assignment]

__all__ = ["Codes", "Reach", "encode", "reaches"]

_MOST = 127
_SLACK = 4e-6
"""More than float32 can be wrong by in the product of two vectors of unit length and a few thousand numbers."""


class Codes(NamedTuple):
    """Some rows as bytes."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]
    """The length of what each row leaves out."""


class Reach(NamedTuple):
    """The least and the most that the product of each row with a query can be."""

    least: NDArray[np.float32]
    most: NDArray[np.float32]


def encode(vectors: NDArray[np.float32]) -> Codes:
    """Return rows as bytes.

    >>> encode(np.array([[0.6, 0.8], [0, 0]], dtype=np.float32)).rows.tolist()
    [[95, 127], [0, 0]]
    """
    scales = np.abs(vectors).max(axis=1) / np.float32(_MOST)
    rows = np.rint(vectors / np.where(scales > 0, scales, 1)[:, np.newaxis])
    left_out = vectors - rows * scales[:, np.newaxis]
    errors = np.sqrt(np.einsum("ij,ij->i", left_out, left_out))
    return Codes(rows.astype(np.int8), scales, errors)


def reaches(codes: Codes, query: Codes) -> Reach:
    """Return what the products of rows with a query can be; ``query`` is the one row of its codes.

    >>> rows = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    >>> least, most = reaches(encode(rows), encode(rows[:1]))
    >>> bool((least <= rows @ rows[0]).all() and (rows @ rows[0] <= most).all() and (most - least < 0.02).all())
    True
    """
    near = _products(codes.rows, query.rows) * (codes.scales * query.scales[0])
    wrong = codes.errors * (1 + query.errors[0]) + np.float32(query.errors[0] + _SLACK)
    return Reach(near - wrong, near + wrong)


def _products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    if simsimd is None:  # pragma: no cover (as above)
        return rows.astype(np.float32) @ query[0].astype(np.float32)
    products: NDArray[np.float32] = np.asarray(simsimd.cdist(query, rows, metric="dot", out_dtype="float32"))[0]
    return products
