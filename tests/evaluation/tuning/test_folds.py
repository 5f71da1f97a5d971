from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluation.tuning import folds_of


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_groups_are_held_out_together_and_every_fold_holds_something(groups: list[str], folds: int, seed: int) -> None:
    found = folds_of(groups, folds, seed=seed)
    kinds = set(groups)
    assert len(found) == len(groups)
    assert set(found.tolist()) == set(range(min(folds, len(kinds) if len(kinds) > 1 else len(groups))))
    if len(kinds) > 1:
        for kind in kinds:
            assert len({int(fold) for fold, group in zip(found, groups, strict=True) if group == kind}) == 1
    assert found.tolist() == folds_of(groups, folds, seed=seed).tolist()


def test_one_group_is_as_good_as_none() -> None:
    found = folds_of([""] * 23, 5)
    assert sorted(np.bincount(found).tolist()) == [4, 4, 5, 5, 5]
    assert found.tolist() != folds_of([""] * 23, 5, seed=1).tolist()


def test_large_groups_do_not_meet() -> None:
    found = folds_of(["a"] * 9 + ["b"] * 8 + ["c", "d", "e"], 2)
    assert sorted(np.bincount(found).tolist()) == [10, 10]
