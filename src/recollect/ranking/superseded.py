"""Superseded: lower the scores of superseded notes and put the current notes in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from recollect.model import Candidate
from recollect.ranking.stage import Adjustment, Stage, StageContext, StageResult, display_name
from recollect.settings import number, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded(Stage):
    """Multiply the scores of superseded notes by ``factor``, and raise the scores of current notes.

    A current note supersedes others, directly or through a chain of notes, and is not superseded. It is added if it is
    not a candidate yet. Its score is raised to the best score that the notes it supersedes had before this stage. Its
    relevance is raised to the best relevance of these notes.

    >>> Superseded(factor=0.25).factor
    0.25
    """

    name: ClassVar[str] = "superseded"
    factor: float = setting(0.5, number(0))
    """The factor of a superseded note's score."""

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return factors for superseded notes and addends for current notes; ``None`` if no candidate is superseded."""
        added, superseded_by = context.current_notes(candidates)
        if not superseded_by:
            return None
        notes = [*candidates, *added]
        best_predecessors: dict[str, Candidate] = {}
        relevances: dict[str, float] = {}  # the highest relevance of a note's predecessors, by the note's id
        for note in notes:
            for successor in _successors(note.id, superseded_by):
                relevances[successor] = max(relevances.get(successor, 0.0), note.relevance or 0.0)
                if successor not in best_predecessors or note.score > best_predecessors[successor].score:
                    best_predecessors[successor] = note
        notes_by_id = {note.id: note for note in notes}
        adjustments = []
        for note in notes:
            successors = superseded_by.get(note.id)
            if successors:
                note.superseded_by = tuple(successors)
                adjustments.append([Adjustment(partial(_superseded_reason, successors, notes_by_id), self.factor)])
                continue
            if relevances.get(note.id, 0.0) > (note.relevance or 0.0):
                note.inherited_relevance = relevances[note.id]
            adjustments.append(_inherited_score(note, best_predecessors.get(note.id, note)))
        return StageResult(adjustments, added)


def _superseded_reason(successors: Sequence[str], notes_by_id: Mapping[str, Candidate]) -> str:
    names = (display_name(notes_by_id[note_id]) if note_id in notes_by_id else note_id for note_id in successors)
    return f"superseded by {', '.join(map(repr, names))}"


def _inherited_score(note: Candidate, predecessor: Candidate) -> list[Adjustment]:
    """Return an addend that brings a current note to the score of its best predecessor, if that score is higher."""
    gain = predecessor.score - note.score
    return [Adjustment(lambda: f"supersedes {display_name(predecessor)!r}", addend=gain)] if gain > 0 else []


def _successors(note_id: str, superseded_by: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the ids of all direct and indirect successors of a note."""
    # In a search, the map leads to current notes in one step. A caller's own map may have chains of direct successors.
    successors: set[str] = set()
    pending = [note_id]
    while pending:
        for successor in superseded_by.get(pending.pop(), ()):
            if successor not in successors and successor != note_id:
                successors.add(successor)
                pending.append(successor)
    return successors
