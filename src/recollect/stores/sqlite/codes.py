"""Vectors in a byte a number, to see quickly which of them can be near a query, and how wrong that can be.

A row x is kept as x' = s·c, with whole numbers c from -127 to 127, and with the length e of what that leaves out,
x - x'. So is a query q. By Cauchy and Schwarz, for rows and queries of unit length::

    |q·x - q'·x'| = |q·(x - x') + (q - q')·x'|  <=  e_x + e_q · (1 + e_x)

What is left out is kept in bytes of its own, which leaves out next to nothing: those are read only of what can be among
the nearest by the bound, and what can be by both is compared in full.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

try:
    import simsimd
except ImportError:  # pragma: no cover (there is no wheel for every platform)
    simsimd = None  # type: ignore[assignment]

__all__ = ["SLACK", "Codes", "encode", "products", "wrong"]

_MOST = 127
AT_ONCE = 4_096
"""How many rows of bytes become rows of numbers at once where there is no simsimd."""
SLACK = 1e-5
"""More than float32 can be wrong by in the product of two vectors of unit length and a few thousand numbers, turned."""


class Codes(NamedTuple):
    """Some rows as bytes."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]
    """The length of what each row leaves out."""
    fines: NDArray[np.int8]
    """What that is, likewise."""
    fine_scales: NDArray[np.float32]
    fine_errors: NDArray[np.float32]
    """The length of what is left out then."""


def encode(vectors: NDArray[np.float32]) -> Codes:
    """Return rows as bytes.

    >>> codes = encode(np.array([[0.6, 0.8], [0, 0]], dtype=np.float32))
    >>> codes.rows.tolist(), codes.fines.tolist()
    ([[95, 127], [0, 0]], [[127, 0], [0, 0]])
    """
    rows, scales, left_out = _in_bytes(vectors)
    fines, fine_scales, rest = _in_bytes(left_out)
    return Codes(rows, scales, _lengths(left_out), fines, fine_scales, _lengths(rest))


def _in_bytes(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """Return rows as whole numbers, what these are to be multiplied by, and what that leaves out."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(_MOST)
    rows = np.rint(vectors / np.where(scales > 0, scales, 1)[:, np.newaxis])
    return rows.astype(np.int8), scales, vectors - rows * scales[:, np.newaxis]


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return lengths


def wrong(errors: Any, query: Codes) -> Any:
    """Return how wrong the products of rows with such errors and a query can be; it is the one row of its codes.

    >>> rows = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    >>> codes, query = encode(rows), encode(rows[:1])
    >>> near = products(codes.rows, query.rows) * codes.scales * query.scales[0]
    >>> bool((np.abs(near - rows @ rows[0]) <= wrong(codes.errors, query)).all())
    True
    """
    return errors * (1 + query.errors[0]) + np.float32(query.errors[0] + SLACK)


def products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the products of rows with the one row of a query.

    >>> products(np.array([[1, 2]], dtype=np.int8), np.array([[3, 4]], dtype=np.int8)).tolist()
    [11.0]
    """
    if not QUICK:
        asked = query[0].astype(np.float32)
        parts = [rows[at : at + AT_ONCE].astype(np.float32) @ asked for at in range(0, len(rows), AT_ONCE)]
        return np.concatenate(parts)
    return _by_simsimd(rows, query)


def _by_simsimd(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    found: Any = simsimd.dot(query, rows, out_dtype="float32")
    return np.asarray(found, dtype=np.float32).reshape(len(rows))  # of a single row it is a number


def _is_quick() -> bool:
    """Return whether simsimd is there and computes what it should.

    Where usearch was imported before, some of simsimd's functions are taken for those of the same names that usearch
    brings. What was called once stays as it was then.
    """
    if simsimd is None:
        return False
    rows = np.arange(-64, 64, dtype=np.int8).reshape(4, 32)
    try:
        found = _by_simsimd(rows, rows[1:2])
    except (TypeError, ValueError, LookupError):
        return False
    return bool(np.array_equal(found, rows.astype(np.int64) @ rows[1].astype(np.int64)))


QUICK = _is_quick()
"""Whether bytes are compared by simsimd; numpy needs thrice the time."""
