"""Tuning of a preset's constants, the values of its settings, with the gain measured on held-out questions.

A search over many combinations of values always finds one that is better on the given questions, if only by chance. So
the gain is measured by nested cross-validation: for each fold, the constants are chosen on the other folds alone and
measured on the questions of the fold. The recommended constants are then chosen on all questions in the same way. The
gain that is reported for them is the gain on held-out questions, not the larger gain on the questions they were chosen
on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect import arguments
from recollect.errors import ArgumentError
from recollect.evaluation.report.text import format_interval, format_p, format_signed
from recollect.evaluation.significance import SIGNIFICANCE_LEVEL, Difference, paired_difference
from recollect.evaluation.tuning_space import Parameter, search_space
from recollect.progress import Progress
from recollect.retrieval import Preset

PresetScorer: TypeAlias = Callable[[Preset], NDArray[np.float64]]
"""A function that returns the score of each question under a preset, from 0 to 1, always in the same order."""
Combination: TypeAlias = tuple[tuple[Any, ...], ...]
"""For each parameter of the search space, in order, a tuple with one value for each setting that it changes."""

MIN_QUESTIONS = 20
"""The minimum number of questions to tune on; with fewer, a gain can hardly be told from chance."""
MIN_GAIN = 0.002
"""A parameter is changed only if the mean score of the questions that it is chosen on rises by at least this much."""
_PASSES = 2  # how often coordinate ascent goes through all parameters
_MAX_FLAT_STEPS = 2  # the ascent in one direction ends after this many steps in a row without a change of the score


class SettingChange(NamedTuple):
    """A setting whose value differs between the start and the chosen preset."""

    setting: str
    before: Any
    after: Any
    agreeing: int
    """The number of folds in which the value ``after`` was chosen as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """Constants chosen on all questions, and the gain of this choice, measured on held-out questions."""

    start: Preset
    chosen: Preset
    """``start`` with the constants that are best on all questions; its score on these questions is too optimistic."""
    by_fold: tuple[Preset, ...]
    """For each fold, the preset that was chosen on the questions of the other folds."""
    changes: tuple[SettingChange, ...]
    """The settings in which ``chosen`` differs from ``start``."""
    gain: Difference
    """The gain over ``start``, measured on held-out questions."""
    before: float
    """The mean score of ``start`` on all questions."""
    questions: int
    combinations: int
    """How many combinations of values were tried."""

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.by_fold)

    @property
    def recommended(self) -> bool:
        """Whether all of these hold: settings change, the gain's 95 % interval is above 0, and its p is below 0.05.

        The p-value p is needed because the interval alone is too optimistic if only few questions change their score.
        """
        return bool(self.changes) and self.gain.verdict == "better" and self.gain.p < SIGNIFICANCE_LEVEL

    @property
    def verdict(self) -> str:
        """One line for a person: whether the gain is significant, and how large it is."""
        gain, interval = self.gain, format_interval(self.gain.low, self.gain.high)
        gain_text = f"the gain on held-out questions is {format_signed(gain.mean)} ({interval}, p {format_p(gain.p)})"
        if self.recommended:
            return f"significant: {gain_text}"
        reason = gain_text if self.changes else "no combination that was tried has a higher mean over all questions"
        return f"not significant: {reason}; keep the preset {self.start.name}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data."""
        return {
            "start": self.start.name,
            "questions": self.questions,
            "folds": self.folds,
            "combinations": self.combinations,
            "before": self.before,
            "gain": asdict(self.gain),
            "changes": [change._asdict() for change in self.changes],
            "recommended": self.recommended,
            "verdict": self.verdict,
        }


def tune(
    scorer: PresetScorer,
    start: Preset,
    *,
    groups: Sequence[Hashable] | None = None,
    space: Sequence[Parameter] | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> TuningResult:
    """Choose constants by coordinate ascent from ``start``, and measure the gain by nested cross-validation.

    ``scorer`` returns the scores of all questions under a preset. ``groups`` has the group of each question, such as
    its collection; a group is held out as a whole, see :func:`assign_folds`. ``space`` is by default
    :func:`~recollect.evaluation.search_space` of ``start``. The same scores and ``seed`` give the same result.

    >>> import numpy as np
    >>> from recollect.retrieval import presets
    >>> def scorer(preset):  # of 40 questions, vector search alone would answer 36
    ...     return np.where(np.arange(40) % 10 < 9, preset.fusion.weights["vector"], 0.0)
    >>> result = tune(scorer, presets()["default"])
    >>> [(change.setting, change.before, change.after) for change in result.changes]
    [('fusion.weights.lexical', 0.5, 0.0), ('fusion.weights.vector', 0.5, 1.0)]
    >>> result.recommended, round(result.gain.mean, 3)
    (True, 0.45)
    """
    parameters = tuple(search_space(start) if space is None else space)
    if arguments.at_least_one("folds", folds) < 2:
        raise ArgumentError("folds", f"must be at least 2, so that questions can be held out, got {folds}")
    initial: Combination = tuple(parameter.values_in(start) for parameter in parameters)
    scores_by_combination: dict[Combination, NDArray[np.float64]] = {}

    def preset_of(combination: Combination) -> Preset:
        preset = start
        for parameter, values, initial_values in zip(parameters, combination, initial, strict=True):
            if values != initial_values:
                preset = parameter.apply(preset, values)
        return preset

    def scores_of(combination: Combination) -> NDArray[np.float64]:
        if combination not in scores_by_combination:
            scores_by_combination[combination] = np.asarray(scorer(preset_of(combination)), dtype=np.float64)
        return scores_by_combination[combination]

    start_scores = scores_of(initial)
    question_count = len(start_scores)
    question_groups = [""] * question_count if groups is None else groups
    if len(question_groups) != question_count:
        problem = f"must have one for each of {question_count} questions, got {len(question_groups)}"
        raise ArgumentError("groups", problem)
    require_min_questions(question_count)
    fold_of_question = assign_folds(question_groups, folds, seed=seed)
    fold_count = int(fold_of_question.max()) + 1
    steps_per_ascent = _PASSES * len(parameters)

    def best_combination(in_training: NDArray[np.bool_], finished_ascents: int, progress_name: str) -> Combination:
        def report(step: int) -> None:
            if progress:
                progress(finished_ascents * steps_per_ascent + step, (fold_count + 1) * steps_per_ascent, progress_name)

        def mean_score(combination: Combination) -> float:
            return float(scores_of(combination)[in_training].mean())

        return coordinate_ascent(initial, parameters, mean_score, on_step=report)

    held_out_scores = np.empty_like(start_scores)
    by_fold = []
    for fold in range(fold_count):
        in_fold = fold_of_question == fold
        combination = best_combination(~in_fold, fold, f"without fold {fold + 1} of {fold_count}")
        held_out_scores[in_fold] = scores_of(combination)[in_fold]
        by_fold.append(combination)
    chosen = best_combination(np.ones(question_count, dtype=bool), fold_count, "on all questions")
    changes = []
    for number, parameter in enumerate(parameters):
        for position, path in enumerate(parameter.paths):
            before, after = initial[number][position], chosen[number][position]
            if before != after:
                agreeing = sum(combination[number][position] == after for combination in by_fold)
                changes.append(SettingChange(path, before, after, agreeing))
    return TuningResult(
        start=start,
        chosen=preset_of(chosen),
        changes=tuple(changes),
        by_fold=tuple(preset_of(combination) for combination in by_fold),
        gain=paired_difference(held_out_scores, start_scores, seed=seed),
        before=float(start_scores.mean()),
        questions=question_count,
        combinations=len(scores_by_combination),
    )


def require_min_questions(count: int) -> None:
    """Raise ``ArgumentError`` if there are too few questions to tune on."""
    if count < MIN_QUESTIONS:
        problem = f"there must be at least {MIN_QUESTIONS} to tell a gain from chance, got {count}"
        raise ArgumentError("questions", f"{problem}; recollect questions generates some from your notes")


def coordinate_ascent(
    start: Combination,
    space: Sequence[Parameter],
    score: Callable[[Combination], float],
    *,
    passes: int = _PASSES,
    on_step: Callable[[int], None] = lambda _: None,
) -> Combination:
    """Return the best combination reached from ``start`` by improving one parameter at a time, in several passes.

    Most measures rise and then fall along the values of an ordered parameter. So the ascent goes from the current value
    in both directions until the score falls or stays the same for two steps, instead of trying all values. A parameter
    that does not change the score is not tried again. The ascent ends after a pass that changes nothing. ``on_step`` is
    called with the number of parameters that were tried or skipped so far, summed over all passes.
    """
    best, best_score = start, score(start)
    without_effect: set[int] = set()
    for pass_number in range(passes):
        best_before_pass = best
        for number, parameter in enumerate(space):
            line_best, line_best_score = best, best_score  # the best along the values of this parameter
            tried_scores: set[float] = set()
            directions = () if number in without_effect else _directions(parameter, best[number])
            for direction in directions:
                flat_steps = 0
                for values in direction:
                    candidate = (*best[:number], values, *best[number + 1 :])
                    candidate_score = score(candidate)
                    tried_scores.add(candidate_score)
                    flat_steps = flat_steps + 1 if candidate_score == line_best_score else 0
                    if candidate_score > line_best_score:
                        line_best, line_best_score = candidate, candidate_score
                    elif parameter.ordered and (candidate_score < line_best_score or flat_steps == _MAX_FLAT_STEPS):
                        break
            if line_best_score - best_score >= MIN_GAIN:
                best, best_score = line_best, line_best_score
            elif tried_scores <= {best_score}:  # no value of this parameter changed the score
                without_effect.add(number)
            on_step(pass_number * len(space) + number + 1)
        if best == best_before_pass:
            break
    on_step(passes * len(space))
    return best


def _directions(parameter: Parameter, current: tuple[Any, ...]) -> tuple[Sequence[tuple[Any, ...]], ...]:
    """Return the values after the current ones, and the values before them, each sequence with the closest first.

    If the current values are not in ``parameter.values``, return each item as a sequence, so that all are tried.
    """
    if current not in parameter.values:
        return tuple((values,) for values in parameter.values)
    index = parameter.values.index(current)
    return parameter.values[index + 1 :], parameter.values[:index][::-1]


def assign_folds(groups: Sequence[Hashable], folds: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Return an array with the number of each question's fold, from 0.

    ``groups`` has the group of each question, such as its collection. All questions of a group are in the same fold:
    they resemble each other, so a group in two folds would make the gain too optimistic. If there is only one group,
    each question becomes a group. Folds are as even as the groups allow; fewer groups than folds give fewer folds.
    """
    group_of_question: Sequence[Hashable] = groups if len(set(groups)) > 1 else range(len(groups))
    group_sizes = Counter(group_of_question)
    distinct = list(group_sizes)
    shuffled = [distinct[index] for index in np.random.default_rng(seed).permutation(len(distinct))]
    shuffled.sort(key=lambda group: -group_sizes[group])  # the largest first: small groups then even out the folds
    fold_sizes = [0] * min(folds, len(shuffled))
    fold_of_group: dict[Hashable, int] = {}
    for group in shuffled:
        smallest_fold = fold_sizes.index(min(fold_sizes))
        fold_of_group[group] = smallest_fold
        fold_sizes[smallest_fold] += group_sizes[group]
    return np.array([fold_of_group[group] for group in group_of_question], dtype=np.intp)
