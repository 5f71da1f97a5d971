"""What a model returned, checked and brought to unit length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.errors import EmbedderError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

__all__ = ["unit_rows"]


def unit_rows(model: str, answer: Any, *, count: int, dimension: int | None) -> NDArray[float32]:
    """Return ``answer`` as ``count`` rows of unit length; raise ``EmbedderError`` that says what ``model`` did wrong.

    Any dimension is right if ``dimension`` is ``None``. A row of zeros has no direction and stays as it is: such a text
    is near to nothing.

    >>> unit_rows("toy", [[3.0, 4.0], [0.0, 0.0]], count=2, dimension=2).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    >>> unit_rows("toy", [[1.0, 2.0, 3.0]], count=1, dimension=2)
    Traceback (most recent call last):
        ...
    recollect.errors.EmbedderError: toy returned vectors of 3 dimensions instead of 2
    """
    import numpy as np  # noqa: PLC0415 (heavy: only who has vectors pays for it)

    try:
        rows = np.asarray(answer, dtype=np.float64)  # numbers that float32 cannot hold still have a direction
    except (TypeError, ValueError, OverflowError):
        raise EmbedderError(f"{model} returned something that is not one list of numbers for each text") from None
    if rows.ndim != 2 or rows.shape[0] != count:
        wanted = f"{count} {'vector' if count == 1 else 'vectors'}"
        raise EmbedderError(f"{model} returned an array of shape {rows.shape} where {wanted} should be")
    if not rows.shape[1] or dimension not in (None, rows.shape[1]):
        wanted = "at least 1" if dimension is None else str(dimension)
        raise EmbedderError(f"{model} returned vectors of {rows.shape[1]} dimensions instead of {wanted}")
    if not np.isfinite(rows).all():
        raise EmbedderError(f"{model} returned numbers that are not finite")
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1)  # first, for the square of a very large number overflows
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
