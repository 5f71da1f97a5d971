"""Questions won, lost and drawn."""

from __future__ import annotations

import pytest

from recollect import ArgumentError
from recollect.evaluation.win_loss import win_loss
from tests.evaluation.outcomes import dataset, outcome

OLD = outcome("old", {"mrr": [0.5, 0.5, 1.0, 0.0, 0.3]}, ranks=[2, 2, 1, None, 3])
NEW = outcome("new", {"mrr": [1.0, 0.25, 0.0, 1.0, 0.1 + 0.2]}, ranks=[1, 4, None, 1, 3])


def test_the_largest_differences_come_first() -> None:
    found = win_loss(NEW, OLD, dataset(5).questions, "mrr")
    assert (found.system, found.baseline, found.measure) == ("new", "old", "mrr")
    assert [(each.question.id, each.gain) for each in found.wins] == [("q3", 1.0), ("q0", 0.5)]
    assert [(each.question.id, each.gain) for each in found.losses] == [("q2", -1.0), ("q1", -0.25)]
    assert [each.question.id for each in found.ties] == ["q4"]
    assert [(each.baseline_rank, each.rank) for each in found.wins] == [(None, 1), (2, 1)]
    assert [(each.baseline, each.value) for each in found.losses] == [(1.0, 0.0), (0.5, 0.25)]


def test_what_cannot_be_held_against_each_other() -> None:
    questions = dataset(5).questions
    with pytest.raises(ArgumentError, match="baseline: must have been asked what 'new' was, got 'few'"):
        win_loss(NEW, outcome("few", {"mrr": [1.0]}), questions, "mrr")
    with pytest.raises(ArgumentError, match="measure: must be one of mrr, got 'any@5'"):
        win_loss(NEW, OLD, questions, "any@5")
    with pytest.raises(ArgumentError, match="questions: must be those of the outcomes, but 'q4' is missing"):
        win_loss(NEW, OLD, questions[:4], "mrr")
