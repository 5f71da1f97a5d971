"""Duplicates: drop candidates whose content an earlier one has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.fusion.deduplication import MOVED_UP, copies_message, find_copies
from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult

__all__ = ["Duplicates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates(Stage):
    """Drop each candidate whose content, apart from case and white space, a higher-ranked one has.

    >>> from recollect.ranking import run_stage
    >>> [note.id for note in run_stage(Duplicates(), [{"id": "a", "content": "Tea."}, {"id": "b", "content": "tea. "}])]
    ['a']
    """

    name: ClassVar[str] = "duplicates"

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:  # noqa: ARG002 (not used)
        """Return which candidates are dropped; ``None`` if there are no duplicates."""
        copies = find_copies(candidates)
        dropped = frozenset(index for indexes in copies.values() for index in indexes)
        if not dropped:
            return None
        first = min(dropped)
        adjustments = [[_MOVED_UP] if index > first else [] for index in range(len(candidates))]
        for index, indexes in copies.items():
            adjustments[index] = [_repeated_by([candidates[copy].id for copy in indexes])]
        return StageResult(adjustments, dropped=dropped, records_all=False)


_MOVED_UP = Adjustment(MOVED_UP)


def _repeated_by(ids: Sequence[str]) -> Adjustment:
    return Adjustment(lambda: copies_message(ids))
