"""Session: move each score towards the best score of its session.

The notes of a conversation share a topic: if one of them matches well, the others are more likely to be relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, display_name
from recollect.settings import number, setting

_ZERO_SCORE = Candidate("")  # used while a session has no best note: a best note must score above 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLift(Stage):
    """Add ``weight * (best score of the session - score)`` to each score.

    The best note of a session and a note without a session keep their scores. The order in a session does not change.

    >>> from recollect.ranking import run_stage
    >>> notes = [{"id": "a", "score": 0.8, "session": "s1"}, {"id": "b", "score": 0.7, "session": "s2"},
    ...          {"id": "c", "score": 0.6, "session": "s1"}]
    >>> [(note.id, round(note.score, 3)) for note in run_stage(SessionLift(weight=0.75), notes)]
    [('a', 0.8), ('c', 0.75), ('b', 0.7)]
    """

    name: ClassVar[str] = "session"
    weight: float = setting(0.33, number(0, 1))

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:  # noqa: ARG002 (not used)
        """Return the addends; ``None`` if no candidate with a session scores above 0, or the weight is 0."""
        best_of_session: dict[str, Candidate] = {}
        for note in candidates:
            if note.session and note.score > best_of_session.get(note.session, _ZERO_SCORE).score:
                best_of_session[note.session] = note
        if not best_of_session or not self.weight:
            return None
        return StageResult([self._adjustments(note, best_of_session.get(note.session, note)) for note in candidates])

    def _adjustments(self, candidate: Candidate, best_note: Candidate) -> list[Adjustment]:
        gain = self.weight * (best_note.score - candidate.score)
        return [Adjustment(lambda: f"in the session of {display_name(best_note)!r}", addend=gain)] if gain > 0 else []
