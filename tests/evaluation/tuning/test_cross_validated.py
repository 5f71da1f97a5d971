"""Tuning by judges that are functions of the preset: what is best is known, and so is what is luck."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.errors import ArgumentError
from recollect.evaluation.tuning import Judge, Parameter, folds_of, tune
from recollect.evaluation.tuning.settings import with_setting
from recollect.evaluation.tuning.space import search_space
from recollect.retrieval import Preset, presets

DEFAULT = with_setting(with_setting(presets()["default"], "graph.seeds", 20), "graph.degree_penalty", 0.5)
SPACE = (
    Parameter(("graph.seeds",), ((5,), (10,), (20,), (40,))),
    Parameter(("graph.degree_penalty",), ((0.0,), (0.5,), (1.0,))),
)


def few_seeds(preset: Preset) -> NDArray[np.float64]:
    """Judge 50 questions: nine of ten are answered better the fewer notes lend."""
    return np.where(np.arange(50) % 10 == 0, 0.5, 1 / preset.graph.seeds)


def by_luck(preset: Preset) -> NDArray[np.float64]:
    """Judge 50 questions by a die that falls the same way for the same preset."""
    return np.random.default_rng([preset.graph.seeds, int(preset.graph.degree_penalty * 10)]).random(50)


def test_a_gain_that_is_there_is_found_and_measured() -> None:
    found = tune(few_seeds, DEFAULT, space=SPACE)
    (change,) = found.changes
    assert change == ("graph.seeds", 20, 5, 5)
    assert found.chosen.graph.seeds == 5
    assert found.chosen.graph.degree_penalty == DEFAULT.graph.degree_penalty
    assert found.gain.mean == pytest.approx(0.9 * (1 / 5 - 1 / 20))
    assert 0 < found.gain.low < found.gain.mean < found.gain.high
    assert found.before == pytest.approx(0.1 * 0.5 + 0.9 / 20)
    assert (found.questions, found.folds, found.recommended) == (50, 5, True)
    assert found.verdict.startswith("significant: held out, it gained +0.135 (+0.")
    assert found.preset("mine", "tuned").to_dict() == found.chosen.to_dict() | {"name": "mine", "about": "tuned"}
    told = found.to_dict()
    assert told["changes"] == [{"setting": "graph.seeds", "before": 20, "after": 5, "agreeing": 5}]
    assert told["recommended"] is True
    assert told["gain"]["p"] < 0.05


def test_luck_is_not_recommended() -> None:
    found = tune(by_luck, DEFAULT, space=SPACE)
    assert found.changes  # on the questions themselves, something is always better
    assert by_luck(found.chosen).mean() > by_luck(DEFAULT).mean()
    assert not found.recommended
    assert found.verdict.startswith("not significant: held out, it gained ")
    assert found.verdict.endswith("; keep the preset default")


def test_where_nothing_is_better() -> None:
    found = tune(lambda _: np.full(20, 0.5), DEFAULT)
    assert (found.changes, found.chosen, found.recommended) == ((), DEFAULT, False)
    assert (
        found.verdict == "not significant: nothing that was tried is better on all questions; keep the preset default"
    )


def test_each_setting_is_judged_once() -> None:
    seen: list[tuple[int, float]] = []

    def judge(preset: Preset) -> NDArray[np.float64]:
        seen.append((preset.graph.seeds, preset.graph.degree_penalty))
        return few_seeds(preset)

    found = tune(judge, DEFAULT, space=SPACE, passes=4)
    assert len(seen) == len(set(seen)) == found.settings <= 4 * 3


@pytest.mark.parametrize("judge", [few_seeds, by_luck])
def test_the_bar_ends_at_its_end_and_never_goes_back(judge: Judge) -> None:
    told: list[tuple[int, int, str]] = []
    tune(judge, DEFAULT, space=SPACE, folds=3, passes=2, progress=lambda *now: told.append(now))
    total = (3 + 1) * 2 * 7
    assert {each[1] for each in told} == {total}
    assert [each[0] for each in told] == sorted(each[0] for each in told)
    assert told[-1] == (total, total, "on all questions")
    assert told[0][2] == "without fold 1 of 3"


def test_questions_of_one_collection_are_held_out_together() -> None:
    """Only questions of the first collection gain, so that nobody who was not told of them chooses what they need."""
    groups = ["first"] * 10 + ["second"] * 10 + ["third"] * 10

    def judge(preset: Preset) -> NDArray[np.float64]:
        return np.where(np.arange(30) < 10, 1.0 if preset.graph.seeds == 5 else 0.0, 0.5)

    found = tune(judge, DEFAULT, space=SPACE, groups=groups)
    assert found.folds == 3
    assert found.changes == (("graph.seeds", 20, 5, 2),)
    assert found.gain.mean == 0
    assert not found.recommended
    assert tune(judge, DEFAULT, space=SPACE).recommended


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.integers(2, 6))
def test_the_same_seed_gives_the_same_answer(seed: int, folds: int) -> None:
    one, other = (tune(by_luck, DEFAULT, space=SPACE, folds=folds, seed=seed) for _ in range(2))
    assert one == other


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.integers(0, 4))
def test_held_out_questions_have_no_say_in_the_constants_of_their_fold(seed: int, fold: int) -> None:
    """Turn the judgements of one fold upside down: what its questions are answered with stays the same."""
    outside = folds_of([""] * 50, 5, seed=0) == fold

    def random(preset: Preset) -> NDArray[np.float64]:
        return np.random.default_rng([seed, preset.graph.seeds, int(preset.graph.degree_penalty * 10)]).random(50)

    def turned(preset: Preset) -> NDArray[np.float64]:
        return np.where(outside, 1 - random(preset), random(preset))

    one, other = (tune(judge, DEFAULT, space=SPACE) for judge in (random, turned))
    assert one.by_fold[fold] == other.by_fold[fold]
    assert len(one.by_fold) == one.folds == 5


def test_wrong_use() -> None:
    with pytest.raises(ArgumentError, match="questions: there must be at least 20 to tell a gain from luck, got 19"):
        tune(lambda _: np.zeros(19), DEFAULT)
    with pytest.raises(ArgumentError, match="folds: must be at least 2, so that questions can be held out, got 1"):
        tune(few_seeds, DEFAULT, folds=1)
    with pytest.raises(ArgumentError, match="passes: must be at least 1"):
        tune(few_seeds, DEFAULT, passes=0)
    with pytest.raises(ArgumentError, match="groups: must name one for each of the 50 questions, got 2"):
        tune(few_seeds, DEFAULT, groups=["a", "b"])


def test_the_whole_space_is_tried_by_default() -> None:
    found = tune(few_seeds, DEFAULT, passes=1, folds=2)
    assert found.settings <= 1 + 3 * sum(len(parameter.values) for parameter in search_space(DEFAULT))
    assert [change.path for change in found.changes] == ["graph.seeds"]
