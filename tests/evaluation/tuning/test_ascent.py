from __future__ import annotations

from recollect.evaluation.tuning.ascent import WORTH_IT, Setting, ascend
from recollect.evaluation.tuning.space import Parameter

SPACE = (Parameter(("x",), ((0,), (1,), (2,))), Parameter(("y",), ((0,), (1,))))
START: Setting = ((0,), (0,))


def test_one_after_the_other() -> None:
    heights = {(0, 0): 0.0, (1, 0): 0.2, (2, 0): 0.1, (1, 1): 0.4, (2, 1): 0.9}
    assert ascend(START, SPACE, lambda at: heights.get((at[0][0], at[1][0]), 0.0), passes=1) == ((1,), (1,))
    assert ascend(START, SPACE, lambda at: heights.get((at[0][0], at[1][0]), 0.0), passes=2) == ((2,), (1,))


def test_what_is_as_good_stays_and_the_first_of_the_best_is_taken() -> None:
    assert ascend(START, SPACE, lambda _: 0.5) == START
    assert ascend(START, SPACE, lambda at: float(at[0][0] > 0)) == ((1,), (0,))


def test_a_gain_too_small_to_be_worth_a_change() -> None:
    assert ascend(START, SPACE, lambda at: at[1][0] * WORTH_IT * 0.99) == START
    assert ascend(START, SPACE, lambda at: at[1][0] * WORTH_IT * 1.01) == ((0,), (1,))


def test_a_start_beside_the_values_is_kept_where_none_is_better() -> None:
    assert ascend(((7,), (0,)), SPACE, lambda at: float(at[0][0] == 7)) == ((7,), (0,))


def test_every_trial_is_told_also_those_that_were_spared() -> None:
    for passes in (1, 2, 5):
        for score in (lambda _: 0.0, lambda at: float(at[0][0])):
            told: list[int] = []
            ascend(START, SPACE, score, passes=passes, tried=told.append)
            assert sum(told) == passes * 5
            assert told[0] == 1  # each value counts as soon as it was scored


def test_a_walk_ends_where_it_falls_and_goes_both_ways() -> None:
    heights = [0.9, 0.1, 0.3, 0.5, 0.4, 0.8]
    asked: list[int] = []

    def score(at: Setting) -> float:
        asked.append(at[0][0])
        return heights[at[0][0]]

    line = Parameter(("x",), tuple((value,) for value in range(6)))
    assert ascend(((2,),), [line], score, passes=1) == ((3,),)
    assert asked == [2, 3, 4, 1]
    assert ascend(((2,),), [line._replace(ordered=False)], score, passes=1) == ((0,),)


def test_one_flat_step_is_walked_over_and_two_are_not() -> None:
    line = Parameter(("x",), tuple((value,) for value in range(6)))
    assert ascend(((0,),), [line], lambda at: float(at[0][0] >= 2)) == ((2,),)
    assert ascend(((0,),), [line], lambda at: float(at[0][0] >= 3)) == ((0,),)


def test_what_makes_no_difference_is_not_tried_again() -> None:
    asked: list[Setting] = []

    def score(at: Setting) -> float:
        asked.append(at)
        return float(at[0][0])

    assert ascend(START, SPACE, score, passes=3) == ((2,), (0,))
    assert [at for at in asked if at[1] == (1,)] == [((2,), (1,))]
