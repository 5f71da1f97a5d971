"""The chunk penalty: the best of many chunks is near to a query by chance.

A note's similarity is that of its nearest chunk. The largest of ``m`` similarities that have nothing to do with the
query grows with about the logarithm of ``m``, so that a long note would pass a short one that fits as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from recollect.model import Candidate
from recollect.model.splitting import chunk_count

__all__ = ["discount_chunks"]


def discount_chunks(found: Sequence[Candidate], background: float, penalty: float) -> list[Candidate]:
    """Return the notes of the vector leg, best first, with ``penalty * span * ln(chunks)`` off the score of each.

    ``span`` is the distance from ``background``, the score that counts as 0, to the best score.

    >>> long = Candidate("long", content="Green tea, mostly sencha. " * 60, score=0.9)
    >>> short = Candidate("short", content="Prefers sencha.", score=0.8)
    >>> [(note.id, round(note.score, 2)) for note in discount_chunks([long, short], 0.4, 0.2)]
    [('short', 0.8), ('long', 0.72)]
    """
    span = max((candidate.score for candidate in found), default=background) - background
    if span <= 0:
        return list(found)
    discounted = []
    for candidate in found:
        chunks = chunk_count(len(candidate.title) + len(candidate.summary) + len(candidate.content))
        if chunks > 1:
            candidate = candidate.copy()  # noqa: PLW2901 (what was given stays as it is)
            candidate.score -= penalty * span * log(chunks)
        discounted.append(candidate)
    discounted.sort(key=lambda candidate: -candidate.score)
    return discounted
