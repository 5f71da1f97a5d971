"""Vectors as they are kept and compared: rows of unit length, one for each piece of a note's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ArgumentError, StoreDamagedError
from recollect.stores.base import Model

if TYPE_CHECKING:
    from recollect.stores.base import Vector

__all__ = ["nearness", "nearnesses", "rows_of", "unit_query", "unit_rows"]

NEARLY = 1e-5


def unit_rows(vectors: Sequence[Vector] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors at unit length; one of zeros stays as it is.

    >>> unit_rows([np.array([3e30, 4e30], dtype=np.float32)]).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    rows = np.asarray(vectors, dtype=np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1)  # first, for the square of a very large number overflows
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    unit = scaled / np.where(lengths > 0, lengths, 1)
    # One that is of unit length already stays as it is to the last bit, so that it survives an export.
    return np.where(np.abs(lengths * largest - 1) < NEARLY, rows, unit).astype(np.float32, copy=False)


def unit_query(vector: Vector, model: Model) -> Vector:
    """Return the vector of a query at unit length, if it can be compared with those of a model."""
    if np.shape(vector) != (model.dimension,):
        raise ArgumentError("vector", f"has {np.size(vector)} numbers; those of {model.name!r} have {model.dimension}")
    unit: Vector = unit_rows([vector])[0]
    return unit


def rows_of(blob: bytes, model: Model) -> NDArray[Any]:
    """Return the rows of a note's pieces from what is stored of them.

    >>> rows_of(np.arange(4, dtype=np.float32).tobytes(), Model("tiny", 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    if not blob or len(blob) % (model.dimension * np.dtype(model.precision).itemsize):
        raise StoreDamagedError("the store holds a vector of a wrong length; 'recollect doctor --repair' helps")
    return np.frombuffer(blob, dtype=model.precision).reshape(-1, model.dimension)


def nearness(rows: NDArray[Any], query: NDArray[np.float64]) -> float:
    """Return how near the nearest of a note's rows is to a query, computed as everywhere.

    >>> nearness(np.array([[1, 0], [0.6, 0.8]], dtype=np.float32), np.array([0.0, 1.0])).__round__(3)
    0.8
    """
    return float((rows.astype(np.float64) * query).sum(axis=1).max())


def nearnesses(blobs: Sequence[bytes], model: Model, query: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each note what :func:`nearness` says of its rows, from what is stored of them, for all at once.

    >>> one, two = np.array([1, 0], dtype=np.float32), np.array([1, 0, 0.6, 0.8], dtype=np.float32)
    >>> nearnesses([one.tobytes(), two.tobytes()], Model("tiny", 2), np.array([0.0, 1.0])).round(3).tolist()
    [0.0, 0.8]
    """
    if not blobs:
        return np.empty(0)
    products = (rows_of(b"".join(blobs), model).astype(np.float64) * query).sum(axis=1)
    width = sum(map(len, blobs)) // len(products)
    starts = np.cumsum([0, *(len(blob) // width for blob in blobs[:-1])])
    return np.maximum.reduceat(products, starts)
