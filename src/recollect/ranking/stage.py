"""The contract of a stage, and the function that applies what a stage returns.

A stage returns adjustments of each candidate's score. An adjustment is a factor, an addend and a reason. This module
applies them: it sets the scores, sorts the candidates and records the changes. A reason may be a function, which is
called only for candidates that are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from recollect.model import Candidate, Step, as_candidates
from recollect.settings import Settings

Candidates = Iterable[Candidate | Mapping[str, Any]]
"""Candidates, or mappings with a candidate's keys."""


class Adjustment(NamedTuple):
    """A change of a candidate's score to ``score * factor + addend``, and the reason for it.

    >>> Adjustment("importance 0.80", factor=0.94).addend
    0.0
    """

    reason: str | Callable[[], str]
    """The reason as a text for people, or a function that returns this text."""
    factor: float = 1.0
    addend: float = 0.0


class StageResult(NamedTuple):
    """The adjustments that one stage returns for a list of candidates.

    >>> StageResult([[Adjustment("boosted", addend=0.5)], []]).added
    ()
    """

    adjustments: Sequence[Sequence[Adjustment]]
    """For each candidate, and then for each candidate in ``added``, the adjustments to apply one after the other."""
    added: Sequence[Candidate] = ()
    """Candidates that the stage adds."""
    dropped: frozenset[int] = frozenset()
    """The indexes, from 0, of the candidates that the stage drops."""
    records_all: bool = True
    """Whether candidates without adjustments also get a step, with the reason that no rule of the stage applies."""


CurrentNotes = Callable[[Sequence[Candidate]], tuple[list[Candidate], Mapping[str, Sequence[str]]]]
"""A function that finds the current notes (which no note supersedes) that supersede candidates. It returns those that
are not candidates themselves, and by the id of each superseded candidate the ids of the current notes."""


@dataclass(frozen=True, slots=True)
class StageContext:
    """The data of the search that a stage may use.

    >>> StageContext("green tea").time_only
    False
    """

    query: str = ""
    now: datetime = datetime(2000, 1, 1, tzinfo=UTC)  # any fixed time, for stages that do not use the time
    current_notes: CurrentNotes = lambda _: ([], {})
    term_forms: tuple[str, ...] = ()
    """If the query is one term: the other forms of this term, such as 1240 for 1,240, that occur in notes."""
    time_only: bool = False
    """Whether the query names only a time."""


_NO_CONTEXT = StageContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(Settings):
    """A stage of the ranking after fusion; its fields are its settings.

    >>> class Recent(Stage):
    ...     name = "recent"
    ...     def adjust(self, candidates, context):
    ...         return StageResult([[Adjustment("recent", 2.0)] if note.created_at else [] for note in candidates])
    >>> [note.score for note in run_stage(Recent(), [Candidate("a", score=0.5, created_at="2026-04-18")])]
    [1.0]
    """

    name: ClassVar[str]
    """The name in presets and in steps."""

    def parts(self) -> tuple[Stage, ...]:
        """Return the stages that this stage consists of, in their order; for most stages only the stage itself."""
        return (self,)

    def adjust(self, candidates: Sequence[Candidate], context: StageContext) -> StageResult | None:
        """Return the adjustments of ``candidates``, which are sorted best first; ``None`` if the stage does not apply.

        The candidates are the search's own copies: a stage may set their fields, except their scores.
        """
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as data for a table in a TOML file."""
        return {"stage": self.name, **Settings.to_dict(self)}


class Change(NamedTuple):
    """The effect of an adjustment on a candidate; ranks count from 1. A reason that is a function is not called yet."""

    stage: str
    adjustment: Adjustment
    score_before: float
    score_after: float
    rank_before: int
    rank_after: int

    def step(self) -> Step:
        """Return the change as a step for the candidate's ``steps``."""
        reason, factor, addend = self.adjustment
        text = reason if isinstance(reason, str) else reason()
        return Step(self.stage, text, factor, addend, *self[2:])  # the scores and the ranks


def apply_result(
    stage: str, candidates: Sequence[Candidate], result: StageResult
) -> list[tuple[Candidate, list[Change]]]:
    """Set the new scores; return pairs of a candidate and its changes, best first. Equal scores keep their order."""
    rows: list[tuple[float, int, Candidate, Sequence[Adjustment]]] = []  # new score, old rank, candidate, adjustments
    default_adjustments: Sequence[Adjustment] = _UNCHANGED if result.records_all else ()
    adjusted = zip((*candidates, *result.added), result.adjustments, strict=True)
    for rank_before, (candidate, adjustments) in enumerate(adjusted, 1):
        if rank_before - 1 not in result.dropped:
            score = candidate.score
            for _, factor, addend in adjustments:
                score = score * factor + addend
            rows.append((score, rank_before, candidate, adjustments or default_adjustments))
    rows.sort(key=_SCORE, reverse=True)  # stable although reversed: equal scores keep their order
    ranked = []
    for rank, (new_score, rank_before, candidate, adjustments) in enumerate(rows, 1):
        changes = []
        score = candidate.score
        for adjustment in adjustments:
            score_before = score
            score = score_before * adjustment.factor + adjustment.addend
            changes.append(Change(stage, adjustment, score_before, score, rank_before, rank))
        candidate.score = new_score
        ranked.append((candidate, changes))
    return ranked


def run_stage(stage: Stage, candidates: Candidates, context: StageContext = _NO_CONTEXT) -> list[Candidate]:
    """Return copies of ``candidates``, best first, with the adjustments of a stage applied and recorded in ``steps``.

    >>> from recollect.ranking import ImportancePrior
    >>> run_stage(ImportancePrior(), [{"id": "a", "score": 0.5, "importance": 1.0}])[0].steps[0].reason
    'importance 1.00'
    """
    ranked = as_candidates("candidates", candidates)
    for part in stage.parts():
        copies = [candidate.copy() for candidate in ranked]
        result = part.adjust(copies, context)
        ranked = ranked if result is None else with_steps(apply_result(part.name, copies, result))
    return ranked


def with_steps(ranked: Iterable[tuple[Candidate, list[Change]]]) -> list[Candidate]:
    """Append the changes of each candidate to its ``steps``, and return the candidates."""
    candidates = []
    for candidate, changes in ranked:
        candidate.steps = (*candidate.steps, *(change.step() for change in changes))
        candidates.append(candidate)
    return candidates


def clamp(value: float) -> float:
    """Return ``value`` limited to the range from 0 to 1."""
    return min(1.0, max(0.0, value))


def display_name(candidate: Candidate) -> str:
    """Return the name of a candidate in a reason, at most 40 characters long."""
    name = candidate.title or candidate.path or candidate.content or candidate.id
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[: _MAX_NAME_CHARS - 1]}…"


_MAX_NAME_CHARS = 40
_UNCHANGED = (Adjustment("no rule of this stage applies"),)
_SCORE = itemgetter(0)
