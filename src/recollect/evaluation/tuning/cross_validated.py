"""Choosing constants for one's own questions, and measuring on held-out ones what the choice is worth.

Whoever tries many settings finds one that is better on the questions at hand, by luck if not otherwise. So the gain is
measured by cross-validation that holds the choosing inside: for each fold the constants are chosen on the other folds
alone, and the fold's questions are answered with these. What is recommended is then chosen on all questions, in the
same way; its gain is expected to be that of the held-out questions, not the larger one that is seen on those that it
was chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.evaluation.significance import paired_difference
from recollect.evaluation.tuning.ascent import Setting, ascend
from recollect.evaluation.tuning.folds import folds_of
from recollect.evaluation.tuning.recommendation import SettingChange, TuningResult
from recollect.evaluation.tuning.space import Parameter, search_space
from recollect.progress import Progress
from recollect.retrieval import Preset

__all__ = ["FEWEST_QUESTIONS", "Judge", "require_min_questions", "tune"]

Judge: TypeAlias = Callable[[Preset], NDArray[np.float64]]
"""Gives the value of each question under a preset, in the same order every time, as fractions of 1."""

FEWEST_QUESTIONS = 20
"""Of fewer questions, no choice could be told from luck."""


def tune(
    judge: Judge,
    start: Preset,
    *,
    groups: Sequence[Hashable] | None = None,
    space: Sequence[Parameter] | None = None,
    folds: int = 5,
    passes: int = 2,
    seed: int = 0,
    progress: Progress | None = None,
) -> TuningResult:
    """Choose constants by coordinate ascent from ``start``, and say by nested cross-validation what that gains.

    ``groups`` says which questions belong together and are held out together, such as those to one collection; see
    :func:`~recollect.evaluation.tuning.folds_of`. ``space`` is what is tried, by default
    :func:`~recollect.evaluation.tuning.search_space` of the preset. The same questions, judgements and ``seed`` give
    the same answer.

    >>> import numpy as np
    >>> from recollect.retrieval import presets
    >>> def judge(preset):  # of 40 questions, meaning alone would answer 36
    ...     return np.where(np.arange(40) % 10 < 9, preset.fusion.weights["vector"], 0.0)
    >>> found = tune(judge, presets()["default"])
    >>> [(change.path, change.before, change.after, change.agreeing) for change in found.changes]
    [('fusion.weights.lexical', 0.5, 0.0, 5), ('fusion.weights.vector', 0.5, 1.0, 5)]
    >>> found.recommended, round(found.gain.mean, 3)
    (True, 0.45)
    """
    tried = tuple(search_space(start) if space is None else space)
    held = arguments.at_least_one("folds", folds)
    turns = arguments.at_least_one("passes", passes)
    if held < 2:
        raise ArgumentError("folds", f"must be at least 2, so that questions can be held out, got {held}")
    known = _Judgements(judge, start, tried)
    baseline = known(known.start)
    together = [""] * len(baseline) if groups is None else groups
    if len(together) != len(baseline):
        raise ArgumentError("groups", f"must name one for each of the {len(baseline)} questions, got {len(together)}")
    require_min_questions(len(baseline))
    fold_of = folds_of(together, held, seed=seed)
    rounds = int(fold_of.max()) + 1
    told = _Trials((rounds + 1) * turns * sum(len(parameter.values) for parameter in tried), progress)

    def chosen_on(questions: NDArray[np.bool_], name: str) -> Setting:
        told.name = name
        return ascend(
            known.start, tried, lambda values: float(known(values)[questions].mean()), passes=turns, tried=told
        )

    held_out = np.empty_like(baseline)
    by_fold = []
    for fold in range(rounds):
        outside = fold_of == fold
        by_fold.append(chosen_on(~outside, f"without fold {fold + 1} of {rounds}"))
        held_out[outside] = known(by_fold[-1])[outside]
    chosen = chosen_on(np.ones(len(baseline), dtype=bool), "on all questions")
    return TuningResult(
        start=start,
        chosen=known.preset(chosen),
        changes=_changes(tried, known.start, chosen, by_fold),
        by_fold=tuple(known.preset(setting) for setting in by_fold),
        gain=paired_difference(held_out, baseline, seed=seed),
        before=float(baseline.mean()),
        questions=len(baseline),
        settings=len(known.values),
    )


def require_min_questions(questions: int) -> None:
    """Raise an error if there are too few questions to tune on.

    >>> require_min_questions(20)
    """
    if questions < FEWEST_QUESTIONS:
        raise ArgumentError(
            "questions",
            f"there must be at least {FEWEST_QUESTIONS} to tell a gain from luck, got {questions}; "
            "recollect questions makes some by rule",
        )


class _Judgements:
    """The values of each question under each setting, judged once."""

    def __init__(self, judge: Judge, preset: Preset, space: Sequence[Parameter]) -> None:
        self._judge, self._preset, self._space = judge, preset, space
        self.start: Setting = tuple(parameter.of(preset) for parameter in space)
        self.values: dict[Setting, NDArray[np.float64]] = {}

    def __call__(self, setting: Setting) -> NDArray[np.float64]:
        if setting not in self.values:
            self.values[setting] = np.asarray(self._judge(self.preset(setting)), dtype=np.float64)
        return self.values[setting]

    def preset(self, setting: Setting) -> Preset:
        """Return the preset that a setting makes; only what differs is changed."""
        made = self._preset
        for parameter, values, usual in zip(self._space, setting, self.start, strict=True):
            made = made if values == usual else parameter.applied(made, values)
        return made


class _Trials:
    """How many trials are done, of all that there can be."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress, self.name = 0, total, progress, ""

    def __call__(self, trials: int) -> None:
        self._done += trials
        if self._progress:
            self._progress(self._done, self._total, self.name)


def _changes(
    space: Sequence[Parameter], start: Setting, chosen: Setting, by_fold: Sequence[Setting]
) -> tuple[SettingChange, ...]:
    return tuple(
        SettingChange(path, before, after, sum(setting[place][at] == after for setting in by_fold))
        for place, parameter in enumerate(space)
        for at, (path, before, after) in enumerate(zip(parameter.paths, start[place], chosen[place], strict=True))
        if before != after
    )
