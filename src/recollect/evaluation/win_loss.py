"""Question by question: which of two systems answered it better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recollect.errors import ArgumentError
from recollect.evaluation.dataset import Question
from recollect.evaluation.outcome import Outcome, Ranking

__all__ = ["QuestionDifference", "WinLoss", "first_relevant", "win_loss"]


@dataclass(frozen=True, slots=True)
class QuestionDifference:
    """One question, what two systems' answers to it are worth, and where the first right note is in each."""

    question: Question
    value: float
    baseline: float
    rank: int | None
    """From 1; ``None`` where no right note was returned."""
    baseline_rank: int | None

    @property
    def gain(self) -> float:
        """How much more the answer is worth than the baseline's."""
        return round(self.value - self.baseline, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinLoss:
    """The questions that a system answers better than the baseline, those it answers worse, and the rest."""

    system: str
    baseline: str
    measure: str
    wins: tuple[QuestionDifference, ...]
    """The greatest gain first; where two are equal, in the order of the dataset."""
    losses: tuple[QuestionDifference, ...]
    """The greatest loss first."""
    ties: tuple[QuestionDifference, ...]


def first_relevant(question: Question, ranking: Ranking) -> int | None:
    """Return the place, from 1, of the first note that answers the question, or ``None`` where there is none.

    >>> question = Question(id="q", text="which tea?", collection="home", relevant={"n7": 1})
    >>> first_relevant(question, Ranking(ids=("n3", "n7"), scores=(0.9, 0.4), milliseconds=1.5))
    2
    """
    return next((place for place, note in enumerate(ranking.ids, 1) if note in question.relevant), None)


def win_loss(outcome: Outcome, baseline: Outcome, questions: Iterable[Question], measure: str) -> WinLoss:
    """Hold the answers of two systems against each other, question by question, by their values on ``measure``.

    >>> import numpy as np
    >>> question = Question(id="q", text="which tea?", collection="home", relevant={"n7": 1})
    >>> def outcome(system: str, mrr: float, *ids: str) -> Outcome:
    ...     return Outcome(dataset="tiny", system=system, preset=system, mode="auto", embedder="none", strata={},
    ...         rankings={"q": Ranking(ids, (1.0,) * len(ids), 1.0)}, values={"mrr": np.array([mrr])})
    >>> found = win_loss(outcome("new", 1.0, "n7"), outcome("old", 0.5, "n3", "n7"), [question], "mrr")
    >>> [(each.question.text, each.baseline_rank, each.rank, each.gain) for each in found.wins]
    [('which tea?', 2, 1, 0.5)]
    """
    if list(outcome.rankings) != list(baseline.rankings):
        raise ArgumentError("baseline", f"must have been asked what {outcome.system!r} was, got {baseline.system!r}")
    for each in (outcome, baseline):
        if measure not in each.values:
            raise ArgumentError("measure", f"must be one of {', '.join(each.values)}, got {measure!r}")
    known = {question.id: question for question in questions}
    answered = []
    for place, (name, ranking) in enumerate(outcome.rankings.items()):
        if name not in known:
            raise ArgumentError("questions", f"must be those of the outcomes, but {name!r} is missing")
        question = known[name]
        answered.append(
            QuestionDifference(
                question,
                value=float(outcome.values[measure][place]),
                baseline=float(baseline.values[measure][place]),
                rank=first_relevant(question, ranking),
                baseline_rank=first_relevant(question, baseline.rankings[name]),
            )
        )
    return WinLoss(
        system=outcome.system,
        baseline=baseline.system,
        measure=measure,
        wins=tuple(sorted((each for each in answered if each.gain > 0), key=lambda each: -each.gain)),
        losses=tuple(sorted((each for each in answered if each.gain < 0), key=lambda each: each.gain)),
        ties=tuple(each for each in answered if each.gain == 0),
    )
