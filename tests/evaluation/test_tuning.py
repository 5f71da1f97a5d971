"""Tuning with scorers that are functions of the preset, so that the best setting is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.errors import ArgumentError
from recollect.evaluation.tuning import (
    MIN_GAIN,
    Combination,
    PresetScorer,
    assign_folds,
    coordinate_ascent,
    tune,
)
from recollect.evaluation.tuning_space import Parameter, search_space, with_setting
from recollect.retrieval import Preset, presets

DEFAULT = with_setting(with_setting(presets()["default"], "graph.seeds", 20), "graph.degree_penalty", 0.5)
SPACE = (
    Parameter(("graph.seeds",), ((5,), (10,), (20,), (40,))),
    Parameter(("graph.degree_penalty",), ((0.0,), (0.5,), (1.0,))),
)


def few_seeds(preset: Preset) -> NDArray[np.float64]:
    """Score 50 questions: nine of ten are answered better the fewer seeds the graph has."""
    return np.where(np.arange(50) % 10 == 0, 0.5, 1 / preset.graph.seeds)


def random_scores(preset: Preset) -> NDArray[np.float64]:
    """Score 50 questions at random, the same way for the same preset."""
    return np.random.default_rng([preset.graph.seeds, int(preset.graph.degree_penalty * 10)]).random(50)


def test_tune_finds_a_real_gain() -> None:
    result = tune(few_seeds, DEFAULT, space=SPACE)
    (change,) = result.changes
    assert change == ("graph.seeds", 20, 5, 5)
    assert result.chosen.graph.seeds == 5
    assert result.chosen.graph.degree_penalty == DEFAULT.graph.degree_penalty
    assert result.gain.mean == pytest.approx(0.9 * (1 / 5 - 1 / 20))
    assert 0 < result.gain.low < result.gain.mean < result.gain.high
    assert result.before == pytest.approx(0.1 * 0.5 + 0.9 / 20)
    assert (result.questions, result.folds, result.recommended) == (50, 5, True)
    assert result.verdict.startswith("significant: the gain on held-out questions is +0.135 (+0.")
    reported = result.to_dict()
    assert reported["changes"] == [{"setting": "graph.seeds", "before": 20, "after": 5, "agreeing": 5}]
    assert reported["recommended"] is True
    assert reported["gain"]["p"] < 0.05


def test_tune_does_not_recommend_chance() -> None:
    result = tune(random_scores, DEFAULT, space=SPACE)
    assert result.changes  # on the questions themselves, something is always better
    assert random_scores(result.chosen).mean() > random_scores(DEFAULT).mean()
    assert not result.recommended
    assert result.verdict.startswith("not significant: the gain on held-out questions is ")
    assert result.verdict.endswith("; keep the preset default")


def test_tune_without_improvement() -> None:
    result = tune(lambda _: np.full(20, 0.5), DEFAULT)
    assert (result.changes, result.chosen, result.recommended) == ((), DEFAULT, False)
    reason = "no combination that was tried has a higher mean over all questions"
    assert result.verdict == f"not significant: {reason}; keep the preset default"


def test_tune_scores_each_combination_once() -> None:
    seen: list[tuple[int, float]] = []

    def scorer(preset: Preset) -> NDArray[np.float64]:
        seen.append((preset.graph.seeds, preset.graph.degree_penalty))
        return few_seeds(preset)

    result = tune(scorer, DEFAULT, space=SPACE)
    assert len(seen) == len(set(seen)) == result.combinations <= 4 * 3


@pytest.mark.parametrize("scorer", [few_seeds, random_scores])
def test_tune_progress(scorer: PresetScorer) -> None:
    reported: list[tuple[int, int, str]] = []
    tune(scorer, DEFAULT, space=SPACE, folds=3, progress=lambda *step: reported.append(step))
    total = (3 + 1) * 2 * 2
    assert {entry[1] for entry in reported} == {total}
    assert [entry[0] for entry in reported] == sorted(entry[0] for entry in reported)
    assert reported[-1] == (total, total, "on all questions")
    assert reported[0][2] == "without fold 1 of 3"


def test_tune_holds_out_groups() -> None:
    """Only questions of the first group gain, so that the setting is not chosen when this group is held out."""
    groups = ["first"] * 10 + ["second"] * 10 + ["third"] * 10

    def scorer(preset: Preset) -> NDArray[np.float64]:
        return np.where(np.arange(30) < 10, 1.0 if preset.graph.seeds == 5 else 0.0, 0.5)

    result = tune(scorer, DEFAULT, space=SPACE, groups=groups)
    assert result.folds == 3
    assert result.changes == (("graph.seeds", 20, 5, 2),)
    assert result.gain.mean == 0
    assert not result.recommended
    assert tune(scorer, DEFAULT, space=SPACE).recommended


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.integers(2, 6))
def test_tune_is_deterministic(seed: int, folds: int) -> None:
    first, second = (tune(random_scores, DEFAULT, space=SPACE, folds=folds, seed=seed) for _ in range(2))
    assert first == second


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.integers(0, 4))
def test_held_out_questions_do_not_affect_their_fold(seed: int, fold: int) -> None:
    """Invert the values of one fold: the preset chosen for it stays the same."""
    in_fold = assign_folds([""] * 50, 5, seed=0) == fold

    def random_values(preset: Preset) -> NDArray[np.float64]:
        return np.random.default_rng([seed, preset.graph.seeds, int(preset.graph.degree_penalty * 10)]).random(50)

    def inverted(preset: Preset) -> NDArray[np.float64]:
        return np.where(in_fold, 1 - random_values(preset), random_values(preset))

    first, second = (tune(scorer, DEFAULT, space=SPACE) for scorer in (random_values, inverted))
    assert first.by_fold[fold] == second.by_fold[fold]
    assert len(first.by_fold) == first.folds == 5


def test_tune_errors() -> None:
    with pytest.raises(ArgumentError, match="questions: there must be at least 20 to tell a gain from chance, got 19"):
        tune(lambda _: np.zeros(19), DEFAULT)
    with pytest.raises(ArgumentError, match="folds: must be at least 2, so that questions can be held out, got 1"):
        tune(few_seeds, DEFAULT, folds=1)
    with pytest.raises(ArgumentError, match="groups: must have one for each of 50 questions, got 2"):
        tune(few_seeds, DEFAULT, groups=["a", "b"])


def test_tune_default_space() -> None:
    result = tune(few_seeds, DEFAULT, folds=2)
    assert result.combinations <= 1 + 2 * 3 * sum(len(parameter.values) for parameter in search_space(DEFAULT))
    assert [change.setting for change in result.changes] == ["graph.seeds"]


TWO_PARAMETERS = (Parameter(("x",), ((0,), (1,), (2,))), Parameter(("y",), ((0,), (1,))))
START: Combination = ((0,), (0,))


def test_ascent_improves_one_parameter_at_a_time() -> None:
    scores = {(0, 0): 0.0, (1, 0): 0.2, (2, 0): 0.1, (1, 1): 0.4, (2, 1): 0.9}
    assert coordinate_ascent(
        START, TWO_PARAMETERS, lambda values: scores.get((values[0][0], values[1][0]), 0.0), passes=1
    ) == (
        (1,),
        (1,),
    )
    assert coordinate_ascent(
        START, TWO_PARAMETERS, lambda values: scores.get((values[0][0], values[1][0]), 0.0), passes=2
    ) == (
        (2,),
        (1,),
    )


def test_ascent_keeps_equal_combinations() -> None:
    assert coordinate_ascent(START, TWO_PARAMETERS, lambda _: 0.5) == START
    assert coordinate_ascent(START, TWO_PARAMETERS, lambda values: float(values[0][0] > 0)) == ((1,), (0,))


def test_ascent_ignores_small_gains() -> None:
    assert coordinate_ascent(START, TWO_PARAMETERS, lambda values: values[1][0] * MIN_GAIN * 0.99) == START
    assert coordinate_ascent(START, TWO_PARAMETERS, lambda values: values[1][0] * MIN_GAIN * 1.01) == ((0,), (1,))


def test_ascent_keeps_a_start_between_values() -> None:
    assert coordinate_ascent(((7,), (0,)), TWO_PARAMETERS, lambda values: float(values[0][0] == 7)) == ((7,), (0,))


def test_ascent_reports_steps() -> None:
    for passes in (1, 2, 5):
        reported: list[int] = []
        coordinate_ascent(START, TWO_PARAMETERS, lambda _: 0.0, passes=passes, on_step=reported.append)
        assert reported == [1, 2, passes * 2]  # a pass that changes nothing is the last


def test_ascent_stops_where_the_score_falls() -> None:
    scores = [0.9, 0.1, 0.3, 0.5, 0.4, 0.8]
    tried: list[int] = []

    def score(combination: Combination) -> float:
        tried.append(combination[0][0])
        return scores[combination[0][0]]

    line = Parameter(("x",), tuple((value,) for value in range(6)))
    assert coordinate_ascent(((2,),), [line], score, passes=1) == ((3,),)
    assert tried == [2, 3, 4, 1]
    assert coordinate_ascent(((2,),), [line._replace(ordered=False)], score, passes=1) == ((0,),)


def test_ascent_crosses_one_flat_step() -> None:
    line = Parameter(("x",), tuple((value,) for value in range(6)))
    assert coordinate_ascent(((0,),), [line], lambda values: float(values[0][0] >= 2)) == ((2,),)
    assert coordinate_ascent(((0,),), [line], lambda values: float(values[0][0] >= 3)) == ((0,),)


def test_ascent_skips_parameters_without_effect() -> None:
    tried: list[Combination] = []

    def score(combination: Combination) -> float:
        tried.append(combination)
        return float(combination[0][0])

    assert coordinate_ascent(START, TWO_PARAMETERS, score, passes=3) == ((2,), (0,))
    assert [combination for combination in tried if combination[1] == (1,)] == [((2,), (1,))]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_folds_keep_groups_together(groups: list[str], folds: int, seed: int) -> None:
    result = assign_folds(groups, folds, seed=seed)
    names = set(groups)
    assert len(result) == len(groups)
    assert set(result.tolist()) == set(range(min(folds, len(names) if len(names) > 1 else len(groups))))
    if len(names) > 1:
        for name in names:
            assert len({int(fold) for fold, group in zip(result, groups, strict=True) if group == name}) == 1
    assert result.tolist() == assign_folds(groups, folds, seed=seed).tolist()


def test_folds_of_one_group_split_questions() -> None:
    result = assign_folds([""] * 23, 5)
    assert sorted(np.bincount(result).tolist()) == [4, 4, 5, 5, 5]
    assert result.tolist() != assign_folds([""] * 23, 5, seed=1).tolist()


def test_folds_separate_large_groups() -> None:
    result = assign_folds(["a"] * 9 + ["b"] * 8 + ["c", "d", "e"], 2)
    assert sorted(np.bincount(result).tolist()) == [10, 10]
