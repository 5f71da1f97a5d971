"""The scale of the vector leg: which similarity counts as 0, and which in full.

In most models even unrelated texts have similarities far above 0. So a similarity is measured from the background of
the query, and counts in full only if it is an outlier among the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import pstdev
from typing import NamedTuple

from recollect.model import Candidate
from recollect.model.chunks import chunk_count

__all__ = ["ScaledLeg", "scale_similarities"]


class ScaledLeg(NamedTuple):
    """The candidates of the vector leg, best first, with the score that counts as 0 and the one that counts as 1."""

    found: list[Candidate]
    zero: float
    one: float


def scale_similarities(
    found: Sequence[Candidate], background: float, *, penalty: float, deviations: float
) -> ScaledLeg:
    """Return candidates with the chunk penalty taken off their scores, and the scale of these scores.

    A note of several chunks loses ``penalty * span * ln(chunks)``, where ``span`` is the distance from ``background``
    to the best score: a note's similarity is that of its nearest chunk, and the largest of many similarities that have
    nothing to do with the query grows with about the logarithm of their number.

    The lowest score that is left of a candidate at or above ``background`` counts as 0. The score that lies
    ``deviations`` standard deviations above it counts as 1, or the best, if that is higher.

    >>> long = Candidate("long", content="Green tea, mostly sencha. " * 60, score=0.9)
    >>> short = Candidate("short", content="Prefers sencha.", score=0.8)
    >>> far = Candidate("far", content="The bike.", score=0.4)
    >>> scaled = scale_similarities([long, short, far], 0.4, penalty=0.2, deviations=6)
    >>> [(note.id, round(note.score, 2)) for note in scaled.found], scaled.zero, round(scaled.one, 2)
    ([('short', 0.8), ('long', 0.72), ('far', 0.4)], 0.4, 1.44)
    """
    best = max((candidate.score for candidate in found), default=background)
    span = max(0.0, best - background)
    discounted = [(_discounted(candidate, penalty * span), candidate.score >= background) for candidate in found]
    own = [candidate.score for candidate, is_own in discounted if is_own]
    ranked = sorted((candidate for candidate, _ in discounted), key=lambda candidate: -candidate.score)
    if not own:
        return ScaledLeg(ranked, background, background)
    zero = min(own)
    deviation = pstdev([candidate.score for candidate in ranked]) if deviations else 0.0
    return ScaledLeg(ranked, zero, max(ranked[0].score, zero + deviations * deviation))


def _discounted(candidate: Candidate, penalty: float) -> Candidate:
    """Return a candidate whose score is lower by ``penalty`` times the natural logarithm of its number of chunks."""
    chunks = chunk_count(len(candidate.title) + len(candidate.summary) + len(candidate.content))
    if chunks == 1 or not penalty:
        return candidate
    discounted = candidate.copy()  # the caller's candidate is not changed
    discounted.score -= penalty * log(chunks)
    return discounted
