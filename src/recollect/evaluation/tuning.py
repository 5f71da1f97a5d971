"""Tuning of a preset's constants on judged questions, with the gain measured on held-out questions.

A search over many settings always finds one that is better on the given questions, if only by chance. So the gain is
measured by nested cross-validation: for each fold, the constants are chosen on the other folds alone and measured on
the questions of the fold. The recommended constants are then chosen on all questions in the same way. The gain that is
reported for them is the gain on held-out questions, not the larger gain on the questions they were chosen on.
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
"""A function that returns the value of a measure, from 0 to 1, for each question under a preset, in a fixed order."""

Setting: TypeAlias = tuple[tuple[Any, ...], ...]
"""The values of each parameter, in the order of the search space. A parameter of two settings has two values."""

MIN_QUESTIONS = 20
"""With fewer questions no gain can be significant."""

MIN_GAIN = 0.002
"""A value is changed only if it gains at least this much on the questions that it is chosen on."""

_PASSES = 2
"""How often coordinate ascent goes through all parameters."""
_MAX_FLAT_STEPS = 2
"""The ascent along a parameter ends after this many steps without a change of the score."""


class SettingChange(NamedTuple):
    """A setting whose value differs between the start and the chosen preset."""

    setting: str
    before: Any
    after: Any
    agreeing: int
    """The number of folds that chose the same value."""


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
    """The mean value of ``start`` on all questions."""
    questions: int
    settings: int
    """The number of combinations of values that were tried."""

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.by_fold)

    @property
    def recommended(self) -> bool:
        """Whether the held-out gain is significant: its 95 % interval is above zero, and its p-value below 0.05.

        With few questions that differ, the interval alone is too optimistic.
        """
        return bool(self.changes) and self.gain.verdict == "better" and self.gain.p < SIGNIFICANCE_LEVEL

    @property
    def verdict(self) -> str:
        """One line for a person: whether the gain is significant, and how large it is."""
        gain, interval = self.gain, format_interval(self.gain.low, self.gain.high)
        gain_text = f"held out, it gained {format_signed(gain.mean)} ({interval}, p {format_p(gain.p)})"
        if self.recommended:
            return f"significant: {gain_text}"
        reason = gain_text if self.changes else "nothing that was tried is better on all questions"
        return f"not significant: {reason}; keep the preset {self.start.name}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data."""
        return {
            "start": self.start.name,
            "questions": self.questions,
            "folds": self.folds,
            "settings": self.settings,
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

    ``scorer`` returns the values of all questions under a preset. ``groups`` has the group of each question, such as
    its collection; a group is held out as a whole, see :func:`assign_folds`. ``space`` is by default
    :func:`~recollect.evaluation.search_space` of ``start``. The same values and ``seed`` give the same result.

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
    initial: Setting = tuple(parameter.values_in(start) for parameter in parameters)
    scores: dict[Setting, NDArray[np.float64]] = {}

    def preset_of(setting: Setting) -> Preset:
        preset = start
        for parameter, values, initial_values in zip(parameters, setting, initial, strict=True):
            if values != initial_values:
                preset = parameter.apply(preset, values)
        return preset

    def values_of(setting: Setting) -> NDArray[np.float64]:
        if setting not in scores:
            scores[setting] = np.asarray(scorer(preset_of(setting)), dtype=np.float64)
        return scores[setting]

    baseline = values_of(initial)
    question_groups = [""] * len(baseline) if groups is None else groups
    if len(question_groups) != len(baseline):
        raise ArgumentError(
            "groups", f"must have one for each of {len(baseline)} questions, got {len(question_groups)}"
        )
    require_min_questions(len(baseline))
    fold_of = assign_folds(question_groups, folds, seed=seed)
    fold_count = int(fold_of.max()) + 1
    steps = _PASSES * len(parameters)

    def best_setting(in_training: NDArray[np.bool_], run: int, name: str) -> Setting:
        def report(step: int) -> None:
            if progress:
                progress(run * steps + step, (fold_count + 1) * steps, name)

        def mean_score(setting: Setting) -> float:
            return float(values_of(setting)[in_training].mean())

        return coordinate_ascent(initial, parameters, mean_score, on_step=report)

    held_out = np.empty_like(baseline)
    by_fold = []
    for fold in range(fold_count):
        in_fold = fold_of == fold
        setting = best_setting(~in_fold, fold, f"without fold {fold + 1} of {fold_count}")
        held_out[in_fold] = values_of(setting)[in_fold]
        by_fold.append(setting)
    chosen = best_setting(np.ones(len(baseline), dtype=bool), fold_count, "on all questions")
    changes = []
    for number, parameter in enumerate(parameters):
        for position, path in enumerate(parameter.paths):
            before, after = initial[number][position], chosen[number][position]
            if before != after:
                agreeing = sum(setting[number][position] == after for setting in by_fold)
                changes.append(SettingChange(path, before, after, agreeing))
    return TuningResult(
        start=start,
        chosen=preset_of(chosen),
        changes=tuple(changes),
        by_fold=tuple(preset_of(setting) for setting in by_fold),
        gain=paired_difference(held_out, baseline, seed=seed),
        before=float(baseline.mean()),
        questions=len(baseline),
        settings=len(scores),
    )


def require_min_questions(count: int) -> None:
    """Raise ``ArgumentError`` if there are too few questions to tune on."""
    if count < MIN_QUESTIONS:
        problem = f"there must be at least {MIN_QUESTIONS} to tell a gain from chance, got {count}"
        raise ArgumentError("questions", f"{problem}; recollect questions generates some from your notes")


def coordinate_ascent(
    start: Setting,
    space: Sequence[Parameter],
    score: Callable[[Setting], float],
    *,
    passes: int = _PASSES,
    on_step: Callable[[int], None] = lambda _: None,
) -> Setting:
    """Return the best setting reached from ``start`` by improving one parameter at a time, in several passes.

    Most measures rise and then fall along the values of an ordered parameter. So the ascent goes from the current value
    in both directions until the score falls or stays the same for two steps, instead of trying all values. A parameter
    that does not change the score is not tried again. The ascent ends after a pass that changes nothing. ``on_step`` is
    called with the number of parameters that were tried or skipped so far, in all passes.
    """
    best, best_score = start, score(start)
    without_effect: set[int] = set()
    for pass_number in range(passes):
        best_before_pass = best
        for number, parameter in enumerate(space):
            line_best, line_best_score = best, best_score  # the best along this parameter
            tried_scores: set[float] = set()
            for direction in () if number in without_effect else _directions(parameter, best[number]):
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
            elif tried_scores <= {best_score}:
                without_effect.add(number)
            on_step(pass_number * len(space) + number + 1)
        if best == best_before_pass:
            break
    on_step(passes * len(space))
    return best


def _directions(parameter: Parameter, current: tuple[Any, ...]) -> tuple[Sequence[tuple[Any, ...]], ...]:
    """Return two sequences: the values above the current one and the values below it, each the closest first."""
    if current not in parameter.values:
        return tuple((values,) for values in parameter.values)  # no position in the list: try each value by itself
    index = parameter.values.index(current)
    return parameter.values[index + 1 :], parameter.values[:index][::-1]


def assign_folds(groups: Sequence[Hashable], folds: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Return the number of the fold of each question, from 0.

    ``groups`` has the group of each question, such as its collection. All questions of a group are in the same fold,
    because constants that suit some of them may suit the others. If there is only one group, each question becomes a
    group. Folds are as even as the groups allow; with fewer groups than folds there are fewer folds.
    """
    group_of_question: Sequence[Hashable] = groups if len(set(groups)) > 1 else range(len(groups))
    sizes = Counter(group_of_question)
    names = list(sizes)
    shuffled = [names[index] for index in np.random.default_rng(seed).permutation(len(names))]
    shuffled.sort(key=lambda name: -sizes[name])  # the largest first, so that small groups can even out the folds
    fold_sizes = [0] * min(folds, len(shuffled))
    fold_of: dict[Hashable, int] = {}
    for name in shuffled:
        fold_of[name] = fold_sizes.index(min(fold_sizes))
        fold_sizes[fold_of[name]] += sizes[name]
    return np.array([fold_of[name] for name in group_of_question], dtype=np.intp)
