"""Comparisons with a baseline, with numbers computed by hand."""

from __future__ import annotations

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation.comparison import ALL_QUESTIONS, ComparisonResult, compare_outcomes, win_loss
from recollect.evaluation.significance import Difference, holm, paired_difference
from tests.evaluation.outcomes import dataset, outcome, simulated_outcome

STRATA = {"early": [0, 1, 2], "late": [3, 4], "none": []}
OLD = outcome("old", {"any@5": [0.0] * 10, "mrr": [0.1] * 10}, strata=STRATA)
NEW = outcome("new", {"any@5": [1.0] * 8 + [0.0] * 2, "mrr": [0.1] * 10}, strata=STRATA)
BAD = outcome("bad", {"any@5": [0.0] * 10, "mrr": [0.0] * 10}, strata=STRATA)


def test_compare_outcomes() -> None:
    actual = compare_outcomes([OLD, NEW, BAD])
    assert (actual.baseline, actual.systems, actual.compared_systems) == ("old", ("old", "new", "bad"), ("new", "bad"))
    assert actual.measures == ("any@5", "mrr")
    assert actual.strata == (ALL_QUESTIONS, "early", "late")
    assert len(actual.results) == 3 * 2 * 3
    assert actual.result("old", "any@5") == ComparisonResult(10, 0.0)
    early = actual.result("new", "any@5", "early")
    # 1, 1 and 1 against 0: only all + and all − of 8 sign flips, p = 2/8; the other system has p = 1.
    assert (early.questions, early.mean, early.difference) == (3, 1.0, Difference(1.0, 1.0, 1.0, p=0.25))
    assert early.adjusted_p == 0.5


def test_compare_outcomes_corrects_p_values() -> None:
    outcomes = [
        simulated_outcome("a", 4, 60),
        simulated_outcome("b", 3, 60, seed=1),
        simulated_outcome("c", 3.4, 60, seed=2),
        simulated_outcome("d", 2, 60, seed=3),
    ]
    actual = compare_outcomes(outcomes)
    indexes = outcomes[0].strata["multi-hop"]
    differences = [
        paired_difference(system_outcome.values["mrr"][indexes], outcomes[0].values["mrr"][indexes])
        for system_outcome in outcomes[1:]
    ]
    results = [actual.result(name, "mrr", "multi-hop") for name in "bcd"]
    assert [result.difference for result in results] == differences
    assert tuple(result.adjusted_p for result in results) == holm([difference.p for difference in differences])


@pytest.mark.parametrize(
    ("result", "significant"),
    [
        (ComparisonResult(9, 0.5), False),
        (ComparisonResult(9, 0.5, Difference(0.1, -0.1, 0.3, p=0.01), adjusted_p=0.01), False),
        (ComparisonResult(9, 0.5, Difference(0.1, 0.05, 0.3, p=0.01), adjusted_p=0.05), False),
        (ComparisonResult(9, 0.5, Difference(0.1, 0.05, 0.3, p=0.01), adjusted_p=0.049), True),
    ],
)
def test_comparison_result_significant(result: ComparisonResult, significant: bool) -> None:
    assert result.significant is significant


def test_compare_one_system() -> None:
    actual = compare_outcomes([OLD])
    assert actual.compared_systems == ()
    assert actual.result("old", "mrr").mean == pytest.approx(0.1)


def test_compare_outcomes_leaves_out_counts() -> None:
    first = outcome("one", {"any@5": [0.0, 1.0], "count": [3.0, 4.0], "own": [1.0, 1.0]})
    second = outcome("other", {"any@5": [1.0, 1.0], "count": [1.0, 1.0]})
    assert compare_outcomes([first, second]).measures == ("any@5",)
    with pytest.raises(ArgumentError, match="outcomes: must share a measure whose values are from 0 to 1, got none"):
        compare_outcomes([outcome("one", {"count": [3.0]})])


def test_compare_outcomes_stratum_named_all() -> None:
    assert (
        compare_outcomes([outcome("one", {"mrr": [0.5, 1.0]}, strata={"all": [0]})]).result("one", "mrr").questions == 2
    )


def test_compare_outcomes_errors() -> None:
    with pytest.raises(ArgumentError, match="outcomes: must have at least one outcome of at least one question"):
        compare_outcomes([])
    with pytest.raises(ArgumentError, match="outcomes: must have at least one outcome of at least one question"):
        compare_outcomes([outcome("empty", {"mrr": []})])
    with pytest.raises(ArgumentError, match="must be of systems with different names, got 'old' twice"):
        compare_outcomes([OLD, OLD])
    with pytest.raises(ArgumentError, match="must be of the same questions, but those of 'few' and 'old' differ"):
        compare_outcomes([OLD, outcome("few", {"mrr": [0.5]})])
    with pytest.raises(ArgumentError, match="must be of the same questions"):
        compare_outcomes([OLD, outcome("far", {"mrr": [0.5] * 10}, dataset="other")])


BEFORE = outcome("old", {"mrr": [0.5, 0.5, 1.0, 0.0, 0.3]}, ranks=[2, 2, 1, None, 3])
AFTER = outcome("new", {"mrr": [1.0, 0.25, 0.0, 1.0, 0.1 + 0.2]}, ranks=[1, 4, None, 1, 3])


def test_win_loss_orders_by_difference() -> None:
    actual = win_loss(AFTER, BEFORE, dataset(5).questions, "mrr")
    assert (actual.system, actual.baseline, actual.measure) == ("new", "old", "mrr")
    assert [(difference.question.id, difference.gain) for difference in actual.wins] == [("q3", 1.0), ("q0", 0.5)]
    assert [(difference.question.id, difference.gain) for difference in actual.losses] == [("q2", -1.0), ("q1", -0.25)]
    assert [difference.question.id for difference in actual.ties] == ["q4"]
    assert [(difference.baseline_rank, difference.rank) for difference in actual.wins] == [(None, 1), (2, 1)]
    assert [(difference.baseline, difference.value) for difference in actual.losses] == [(1.0, 0.0), (0.5, 0.25)]


def test_win_loss_errors() -> None:
    questions = dataset(5).questions
    with pytest.raises(ArgumentError, match="must have the same questions as 'new', but those of 'few' differ"):
        win_loss(AFTER, outcome("few", {"mrr": [1.0]}), questions, "mrr")
