"""Confidence: how likely it is that a note answers a query, on a scale from 0 to 1.

Fused scores only say which note is the best of what there is, and there always is a best. Whether it is an answer shows
in how near it is to the query, how much of the query it holds, how far it stands above the next candidate, and whether
it is of the time that the query names: a logistic regression of judged first hits on these.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

__all__ = ["Calibration", "ConfidenceEvidence", "bounded_margin", "calibration_of", "confidence"]

MAX_MARGIN = 0.5
"""A larger distance to the next candidate says no more."""
NEGATIVE_MARGIN_WEIGHT = 0.25
"""What a distance to a better candidate counts, where one to the next counts 1: several notes may answer a query."""


class ConfidenceEvidence(NamedTuple):
    """What the confidence in one candidate rests on.

    >>> ConfidenceEvidence(0.62, 0.5, 0.2, 0.0).to_dict()
    {'similarity': 0.62, 'coverage': 0.5, 'margin': 0.2, 'timeMatch': 0.0}
    """

    similarity: float | None
    """The cosine of note and query; ``None`` where no vector was compared."""
    coverage: float
    """The share of the query's term weights (inverse document frequencies) that the note holds."""
    margin: float
    """The distance to the best other candidate, as a share of the highest possible score; below 0 behind the first."""
    time_match: float = 0.0
    """From 0 to 1, how well the note fits the time that the query names."""

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready data with camelCase names."""
        return {
            "similarity": self.similarity,
            "coverage": self.coverage,
            "margin": self.margin,
            "timeMatch": self.time_match,
        }


class Calibration(NamedTuple):
    """The weights of the logistic regression for one model.

    >>> Calibration(-6.0, 9.0, 2.0).similarity
    9.0
    """

    base: float
    similarity: float
    """What a cosine of 1 adds."""
    coverage: float
    """What holding all terms of the query adds."""
    both: float = 0.0
    """What similarity times coverage adds: less than nothing where one makes up for the other."""
    margin: float = 0.0
    """What a margin of 1 adds; it is bounded to half of that."""
    time_match: float = 0.0
    """What matching the query's time adds to a note that holds all terms of the query."""
    strength: float = 1.0
    """What its ranking is worth beside the lexical leg's, where that of a good sentence encoder is worth 1."""


def confidence(evidence: ConfidenceEvidence, calibration: Calibration) -> float:
    """Return how likely it is that a note answers the query.

    It is ``1 / (1 + exp(-x))`` with ``x`` the sum of the calibration's weights times the evidence.

    >>> round(confidence(ConfidenceEvidence(0.62, 0.5, 0.1), Calibration(-6.0, 9.0, 2.0, margin=5.0)), 3)
    0.746
    """
    known = LEXICAL_ONLY if evidence.similarity is None else calibration
    similarity = evidence.similarity or 0.0
    exponent = (
        known.base
        + known.similarity * similarity
        + known.coverage * evidence.coverage
        + known.both * similarity * evidence.coverage
        + known.margin * bounded_margin(evidence.margin)
        + known.time_match * evidence.time_match * evidence.coverage
    )
    return 1 / (1 + exp(-max(-60.0, min(60.0, exponent))))


def bounded_margin(margin: float) -> float:
    """Return a margin as the regression uses it: at most :data:`MAX_MARGIN`, and a quarter of a negative one.

    >>> bounded_margin(0.8), bounded_margin(-0.2)
    (0.5, -0.05)
    """
    return min(MAX_MARGIN, margin) if margin > 0 else max(-MAX_MARGIN, margin) * NEGATIVE_MARGIN_WEIGHT


def calibration_of(model: str) -> Calibration:
    """Return the constants of a model by its name; of one that was never measured, those without similarity.

    >>> calibration_of("a model of one's own") == LEXICAL_ONLY
    True
    """
    return next((weights for name, weights in _BY_MODEL.items() if model.startswith(name)), LEXICAL_ONLY)


# Fitted by benchmarks/studies/calibration.py on the first hits of questions to six collections: everyday notes, two-hop
# questions, conversations of two kinds, scientific claims and times. The negatives are wrong first hits, questions
# without an answer, questions of another collection, and, at a tenth of the weight, questions whose relevant notes were
# removed.
_BY_MODEL = {
    "all-MiniLM-L6-v2": Calibration(-5.93, 8.9, 5.49, -10.48, 8.97, 1.21),
    "wordllama": Calibration(-5.29, 7.86, 4.35, -7.81, 7.24, 1.62, strength=0.45),
}
LEXICAL_ONLY = Calibration(-3.06, 0.0, 2.63, 0.0, 6.19, 1.04)
