"""How sure it is that a note has to do with a query at all, on a scale from 0 to 1.

Fused scores only say which note is the best of what there is, and there always is a best. Whether it is any good shows
in how near its meaning is and in how many of the query's words it holds: a logistic regression of judged pairs on both.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

__all__ = ["Calibration", "calibration_of", "confidence"]


class Calibration(NamedTuple):
    """The constants of one model: what its similarities mean.

    >>> Calibration(-6.0, 9.0, 2.0).similarity
    9.0
    """

    base: float
    similarity: float
    """What a cosine of 1 adds."""
    coverage: float
    """What holding all words of the query adds."""
    strength: float = 1.0
    """What its ranking is worth beside one by words, where that of a good sentence encoder is worth 1."""


def confidence(similarity: float | None, coverage: float, calibration: Calibration) -> float:
    """Return how sure it is that a note is relevant, from its similarity, if known, and the share of words it holds.

    >>> round(confidence(0.62, 0.5, Calibration(-6.0, 9.0, 2.0)), 3)
    0.641
    """
    known = WORDS_ALONE if similarity is None else calibration
    exponent = known.base + known.similarity * (similarity or 0.0) + known.coverage * coverage
    return 1 / (1 + exp(-max(-60.0, min(60.0, exponent))))


def calibration_of(model: str) -> Calibration:
    """Return the constants of a model by its name; of one that was never measured, cautious ones.

    >>> calibration_of("a model of one's own") == UNKNOWN
    True
    """
    return next((held for name, held in _BY_MODEL.items() if model.startswith(name)), UNKNOWN)


# Fitted by studies/calibration.py on the ten best notes of 400 questions to three public collections (science claims,
# multi-hop questions, conversations), relevant or not, and of 600 questions put to a collection they were not made for.
# With constants fitted on two of them, at least 95 of 100 notes found for a foreign question in the third have a
# confidence below 0.3, and 9 of 10 relevant ones above it, but for multi-hop questions, whose later steps look like
# nothing that was asked for.
_BY_MODEL = {
    "all-MiniLM-L6-v2": Calibration(-4.6, 8.9, 2.0),
    "wordllama": Calibration(-3.8, 6.8, 2.4, strength=0.45),
}
WORDS_ALONE = Calibration(-1.9, 0.0, 5.0)
UNKNOWN = Calibration(-4.2, 7.8, 2.2)
