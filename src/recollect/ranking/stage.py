"""What every stage shares: it changes scores, sorts, and writes down what it did to each candidate and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recollect.model import Candidate, Step

__all__ = ["Effect", "clamp", "rescore", "shown_name"]


class Effect(NamedTuple):
    """One change to one score, and why: ``score * factor + addend``."""

    reason: str
    factor: float = 1.0
    addend: float = 0.0


def rescore(
    stage: str,
    candidates: Sequence[Candidate],
    effects_on: Callable[[Candidate], Iterable[Effect]],
) -> list[Candidate]:
    """Return copies of ``candidates`` with every effect applied and recorded, the best first, ties as they came."""
    changed = []
    for rank_before, candidate in enumerate(candidates, 1):
        effects = tuple(effects_on(candidate)) or _UNTOUCHED
        score = candidate.score
        for effect in effects:
            score = score * effect.factor + effect.addend
        changed.append((score, rank_before, candidate, effects))
    changed.sort(key=_by_score, reverse=True)  # a reversed sort is stable too
    return [
        candidate.rescored(score, _steps(stage, candidate.score, effects, rank_before, rank_after))
        for rank_after, (score, rank_before, candidate, effects) in enumerate(changed, 1)
    ]


def clamp(value: float) -> float:
    """Return ``value`` brought into the range from 0 to 1."""
    return min(1.0, max(0.0, value))


def shown_name(candidate: Candidate) -> str:
    """Return what a reason calls a candidate, not too long.

    >>> shown_name(Candidate("n1", path="tea.md"))
    'tea.md'
    """
    name = candidate.title or candidate.path or candidate.content or candidate.id
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


_LONGEST_NAME = 40
_UNTOUCHED = (Effect("no rule of this stage applies"),)


def _by_score(row: tuple[float, int, Candidate, tuple[Effect, ...]]) -> float:
    return row[0]


def _steps(stage: str, score: float, effects: Sequence[Effect], rank_before: int, rank_after: int) -> list[Step]:
    steps = []
    for reason, factor, addend in effects:
        before, score = score, score * factor + addend
        steps.append(Step(stage, reason, factor, addend, before, score, rank_before, rank_after))
    return steps
