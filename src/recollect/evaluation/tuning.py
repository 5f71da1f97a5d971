"""Tuning of a preset's constants on judged questions, with the gain measured on held-out questions.

A search over many settings always finds one that is better on the given questions, if only by chance. So the gain is
measured by nested cross-validation: for each fold, the constants are chosen on the other folds alone and measured on
the questions of the fold. The recommended constants are then chosen on all questions in the same
way; their expected gain is that of the held-out questions, not the larger one on the questions they were chosen on.
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
from recollect.evaluation.significance import SIGNIFICANT, Difference, paired_difference
from recollect.evaluation.tuning_space import Parameter, search_space
from recollect.progress import Progress
from recollect.retrieval import Preset

PresetScorer: TypeAlias = Callable[[Preset], NDArray[np.float64]]
"""Return a measure's value for each question under a preset, always in the same order, from 0 to 1."""

Setting: TypeAlias = tuple[tuple[Any, ...], ...]
"""A value tuple for each parameter of the search space, in its order."""

MIN_QUESTIONS = 20
"""With fewer questions no gain can be significant."""

MIN_GAIN = 0.002
"""A value is changed only if it gains at least this much on the questions that it is chosen on."""

_PASSES = 2
_MAX_FLAT_STEPS = 2
"""The ascent along a parameter ends after this many steps without a change of the score."""


class SettingChange(NamedTuple):
    """A setting that would change."""

    setting: str
    before: Any
    after: Any
    agreeing: int
    """In how many folds the same value was chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """Constants chosen on all questions, and the gain of this choice, measured on held-out questions."""

    start: Preset
    chosen: Preset
    """The start with the constants that are best on all questions, so its score on them is too optimistic."""
    by_fold: tuple[Preset, ...]
    """The preset of each fold, chosen without its questions."""
    changes: tuple[SettingChange, ...]
    """Where the chosen preset differs from the start."""
    gain: Difference
    """The gain over ``start``, measured on held-out questions."""
    before: float
    """The mean value of ``start`` on all questions."""
    questions: int
    settings: int
    """The number of settings that were tried."""

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.by_fold)

    @property
    def recommended(self) -> bool:
        """Whether the held-out gain is significant: its 95 % interval is above zero, and its p-value below 0.05.

        With few questions that differ, the interval alone is too optimistic.
        """
        return bool(self.changes) and self.gain.verdict == "better" and self.gain.p < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """The result in one line for a person."""
        gain = self.gain
        held_out = f"{format_signed(gain.mean)} ({format_interval(gain.low, gain.high)}, p {format_p(gain.p)})"
        if self.recommended:
            return f"significant: held out, it gained {held_out}"
        why = f"held out, it gained {held_out}" if self.changes else "nothing that was tried is better on all questions"
        return f"not significant: {why}; keep the preset {self.start.name}"

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

    ``groups`` names the group of each question, such as its collection; a group is held out as a whole, see
    :func:`assign_folds`. ``space`` is by default :func:`~recollect.evaluation.search_space` of the preset. The same
    questions, judgements and ``seed`` give the same result.

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
        for parameter, values, unchanged in zip(parameters, setting, initial, strict=True):
            preset = preset if values == unchanged else parameter.apply(preset, values)
        return preset

    def values_of(setting: Setting) -> NDArray[np.float64]:
        if setting not in scores:
            scores[setting] = np.asarray(scorer(preset_of(setting)), dtype=np.float64)
        return scores[setting]

    baseline = values_of(initial)
    question_groups = [""] * len(baseline) if groups is None else groups
    if len(question_groups) != len(baseline):
        raise ArgumentError(
            "groups", f"must name one for each of the {len(baseline)} questions, got {len(question_groups)}"
        )
    require_min_questions(len(baseline))
    fold_of = assign_folds(question_groups, folds, seed=seed)
    fold_count = int(fold_of.max()) + 1
    steps = _PASSES * len(parameters)

    def choose(questions: NDArray[np.bool_], number: int, name: str) -> Setting:
        def report(step: int) -> None:
            if progress:
                progress(number * steps + step, (fold_count + 1) * steps, name)

        return coordinate_ascent(
            initial, parameters, lambda setting: float(values_of(setting)[questions].mean()), on_step=report
        )

    held_out = np.empty_like(baseline)
    by_fold = []
    for fold in range(fold_count):
        in_fold = fold_of == fold
        setting = choose(~in_fold, fold, f"without fold {fold + 1} of {fold_count}")
        held_out[in_fold] = values_of(setting)[in_fold]
        by_fold.append(setting)
    chosen = choose(np.ones(len(baseline), dtype=bool), fold_count, "on all questions")
    changes = (
        SettingChange(path, before, after, sum(setting[number][position] == after for setting in by_fold))
        for number, parameter in enumerate(parameters)
        for position, (path, before, after) in enumerate(
            zip(parameter.paths, initial[number], chosen[number], strict=True)
        )
        if before != after
    )
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
        raise ArgumentError(
            "questions",
            f"there must be at least {MIN_QUESTIONS} to tell a gain from chance, got {count}; "
            "recollect questions generates some from your notes",
        )


def coordinate_ascent(
    start: Setting,
    space: Sequence[Parameter],
    score: Callable[[Setting], float],
    *,
    passes: int = _PASSES,
    on_step: Callable[[int], None] = lambda _: None,
) -> Setting:
    """Return the best setting reached from ``start`` by improving one parameter at a time, in several passes.

    Most measures rise and fall once along the values of an ordered parameter. So the ascent goes from the current value
    in both directions until the score falls or stays the same for two steps, instead of trying all values. A parameter
    that makes no difference is not tried again, and a pass that changes nothing is the last. ``on_step`` is called with
    the number of parameters that were tried or skipped so far, in all passes.
    """
    best, best_score = start, score(start)
    without_effect: set[int] = set()
    for pass_number in range(passes):
        before = best
        for number, parameter in enumerate(space):
            leader, leader_score = best, best_score
            seen: set[float] = set()
            for direction in _directions(parameter, best[number]) if number not in without_effect else ():
                flat_steps = 0
                for values in direction:
                    candidate = (*best[:number], values, *best[number + 1 :])
                    candidate_score = score(candidate)
                    seen.add(candidate_score)
                    flat_steps = flat_steps + 1 if candidate_score == leader_score else 0
                    if candidate_score > leader_score:
                        leader, leader_score = candidate, candidate_score
                    elif parameter.ordered and (candidate_score < leader_score or flat_steps == _MAX_FLAT_STEPS):
                        break
            if leader_score - best_score >= MIN_GAIN:
                best, best_score = leader, leader_score
            elif seen <= {best_score}:
                without_effect.add(number)
            on_step(pass_number * len(space) + number + 1)
        if best == before:
            break
    on_step(passes * len(space))
    return best


def _directions(parameter: Parameter, current: tuple[Any, ...]) -> tuple[Sequence[tuple[Any, ...]], ...]:
    """Return the values above the current one, and those below it, the closest first."""
    if current not in parameter.values:
        return tuple((values,) for values in parameter.values)  # not in the list: try each value
    index = parameter.values.index(current)
    return parameter.values[index + 1 :], parameter.values[:index][::-1]


def assign_folds(groups: Sequence[Hashable], folds: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Return the fold of each question.

    ``groups`` names the group of each question, such as its collection; a group is in one fold, because
    what is learnt on some of its questions may hold for the others. With a single group, each question is its own.
    Folds are as even as the groups allow; with fewer groups than folds there are fewer folds.
    """
    keys: Sequence[Hashable] = groups if len(set(groups)) > 1 else range(len(groups))
    sizes = Counter(keys)
    names = list(sizes)
    shuffled = [names[index] for index in np.random.default_rng(seed).permutation(len(names))]
    shuffled.sort(key=lambda name: -sizes[name])  # the largest first, so that the small ones even out
    fold_sizes = [0] * min(folds, len(shuffled))
    fold_of: dict[Hashable, int] = {}
    for name in shuffled:
        fold_of[name] = fold_sizes.index(min(fold_sizes))
        fold_sizes[fold_of[name]] += sizes[name]
    return np.array([fold_of[name] for name in keys], dtype=np.intp)
