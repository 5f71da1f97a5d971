"""Composite: a weighted sum in which relevance decides, and recency and importance order notes of similar relevance."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from recollect import arguments
from recollect.errors import ArgumentTypeError
from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Candidates, Stage, StageContext, StageResult, clamp, run_stage
from recollect.settings import number, setting

_RECENCY_SCALE = timedelta(days=7)  # the age at which recency has fallen to 1/e


class CompositeWeights(NamedTuple):
    """The weight of each signal.

    >>> CompositeWeights()
    CompositeWeights(relevance=0.8, recency=0.05, importance=0.15)
    """

    relevance: float = 0.80
    recency: float = 0.05
    importance: float = 0.15


WeightsSpec = CompositeWeights | Mapping[str, float] | Sequence[float]
_DEFAULT_WEIGHTS = CompositeWeights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite(Stage):
    """Replace a score by ``relevance * score / best + recency * exp(-age / 7 days) + importance * note.importance``.

    ``best`` is the highest score; if that is not above 0, relevance adds nothing. The age is the time since the last
    access, at least 0; if the last access is unknown, recency adds nothing. The importance is limited to 0–1.

    >>> Composite().recency
    0.05
    """

    name: ClassVar[str] = "composite"
    relevance: float = setting(_DEFAULT_WEIGHTS.relevance, number())
    recency: float = setting(_DEFAULT_WEIGHTS.recency, number())
    importance: float = setting(_DEFAULT_WEIGHTS.importance, number())

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult:
        """Return a factor for relevance and addends for recency and importance."""
        best = max((candidate.score for candidate in candidates), default=0.0)
        factor = self.relevance / best if best >= sys.float_info.min else 0.0  # a smaller divisor can overflow
        relevance = Adjustment(f"relevance: its share of the best score × {self.relevance:g}", factor)
        return StageResult([(relevance, *self._addends(candidate, context.now)) for candidate in candidates])

    def _addends(self, candidate: Candidate, now: datetime) -> tuple[Adjustment, Adjustment]:
        """Return the adjustments for recency and for importance, in this order."""
        value = clamp(candidate.importance)
        importance = Adjustment(lambda: f"importance {value:.2f} × {self.importance:g}", addend=self.importance * value)
        if candidate.last_accessed_at is None:
            return _NO_KNOWN_ACCESS, importance
        age = max(now - arguments.instant("last_accessed_at", candidate.last_accessed_at), timedelta())
        recency = Adjustment(
            lambda: f"recency, from the last access {age / timedelta(days=1):.1f} days ago × {self.recency:g}",
            addend=self.recency * math.exp(-age / _RECENCY_SCALE),
        )
        return recency, importance


_NO_KNOWN_ACCESS = Adjustment("recency: no access is recorded")


def composite(candidates: Candidates, *, now: datetime, weights: WeightsSpec = _DEFAULT_WEIGHTS) -> list[Candidate]:
    """Return ``candidates`` ranked by the stage :class:`Composite`, the best first.

    >>> from datetime import datetime
    >>> notes = [{"id": "a", "score": 0.50, "importance": 0.0}, {"id": "b", "score": 0.48, "importance": 1.0}]
    >>> [(note.id, round(note.score, 3)) for note in composite(notes, now=datetime(2026, 4, 18))]
    [('b', 0.918), ('a', 0.8)]
    """
    stage = Composite(**composite_weights(weights)._asdict())
    return run_stage(stage, candidates, StageContext(now=arguments.instant("now", now)))


def composite_weights(weights: WeightsSpec) -> CompositeWeights:
    """Return a mapping or a sequence as ``CompositeWeights``, and check each weight."""
    try:
        unchecked = CompositeWeights(**weights) if isinstance(weights, Mapping) else CompositeWeights(*weights)
    except TypeError:
        names = ", ".join(CompositeWeights._fields)
        raise ArgumentTypeError("weights", f"must hold {names} and nothing else, got {weights!r}") from None
    checked = {name: arguments.number(f"weights.{name}", weight) for name, weight in unchecked._asdict().items()}
    return CompositeWeights(**checked)
