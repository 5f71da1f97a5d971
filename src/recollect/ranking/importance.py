"""Importance prior: multiply each score by a factor that grows with the note's importance, whatever the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, clamp
from recollect.settings import number, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportancePrior(Stage):
    """Multiply each score by ``base + slope * importance``, with the importance limited to 0–1.

    >>> from recollect.ranking import run_stage
    >>> notes = [{"id": "a", "score": 1.0, "importance": 0.0}, {"id": "b", "score": 0.9, "importance": 1.0}]
    >>> [(note.id, note.score) for note in run_stage(ImportancePrior(), notes)]
    [('b', 0.9), ('a', 0.7)]
    """

    name: ClassVar[str] = "importance"
    base: float = setting(0.7, number())
    slope: float = setting(0.3, number())

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult:  # noqa: ARG002 (not used)
        """Return the factor of each candidate."""
        return StageResult([[self._adjustment(clamp(candidate.importance))] for candidate in candidates])

    def _adjustment(self, importance: float) -> Adjustment:
        return Adjustment(lambda: f"importance {importance:.2f}", factor=self.base + self.slope * importance)
