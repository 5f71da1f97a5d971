"""What a model said of some documents, checked and put in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from numbers import Integral, Real
from typing import Any

from recollect.errors import RerankerError

__all__ = ["ranking"]


def ranking(model: str, answer: Any, *, count: int) -> list[tuple[int, float]]:
    """Return ``answer`` as pairs of an index below ``count`` and a finite score, the best first.

    It is a list of ``count`` scores, or of pairs in any order, where some may be missing. Equal scores stay in the
    order of the documents. Anything else raises a ``RerankerError`` that says what ``model`` did wrong.

    >>> ranking("toy", [0.25, 0.5], count=2)
    [(1, 0.5), (0, 0.25)]
    >>> ranking("toy", [(2, 0.5), (0, 0.75)], count=3)
    [(0, 0.75), (2, 0.5)]
    >>> ranking("toy", [(3, 0.5)], count=3)
    Traceback (most recent call last):
        ...
    recollect.errors.RerankerError: toy returned the index 3 for 3 documents
    """
    try:
        items = None if isinstance(answer, (str, bytes, Mapping, Set)) else list(answer)
    except TypeError:
        items = None
    if items is None:
        raise RerankerError(f"{model} returned {_shown(answer)}, neither scores nor pairs of an index and a score")
    if items and all(_is_number(item) for item in items):
        if len(items) != count:
            raise RerankerError(f"{model} returned {len(items)} scores for {count} documents")
        items = list(enumerate(items))
    scores: dict[int, float] = {}
    for item in items:
        index, score = _pair(model, item)
        if not 0 <= index < count:
            raise RerankerError(f"{model} returned the index {index} for {count} documents")
        if index in scores:
            raise RerankerError(f"{model} returned the index {index} twice")
        scores[index] = score
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def _pair(model: str, item: Any) -> tuple[int, float]:
    """Return an index and a finite score."""
    try:
        index, score = item
    except (TypeError, ValueError):
        index = score = None
    if isinstance(index, bool) or not isinstance(index, Integral) or not _is_number(score):
        raise RerankerError(f"{model} returned {_shown(item)} where a pair of an index and a score should be")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RerankerError(f"{model} returned the score {number}, which is not finite, for document {index}")
    return int(index), number


def _is_number(value: Any) -> bool:
    """Return whether ``value`` is a number; truth is none, nor is a text that could be read as one."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Return a short picture of ``value``."""
    picture = ascii(value)
    return picture if len(picture) <= 60 else f"{picture[:57]}..."
