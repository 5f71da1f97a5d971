from __future__ import annotations

import pytest

from recollect import ArgumentTypeError, Candidate
from recollect.fusion import reciprocal_rank_fusion
from tests.ranking.stages import importance_prior


@pytest.mark.parametrize(("importance", "factor"), [(0.0, 0.7), (1.0, 1.0), (0.5, 0.85), (2.0, 1.0), (-1.0, 0.7)])
def test_source_e_formula(importance: float, factor: float) -> None:
    (found,) = importance_prior([Candidate("n", score=0.5, importance=importance)])
    assert found.score == pytest.approx(0.5 * factor)
    assert [step.stage for step in found.steps] == ["importance"]


def test_source_e_rank_27_with_importance_1_beats_rank_1_with_importance_0() -> None:
    notes = [Candidate(f"{rank:02d}", importance=1.0 if rank == 27 else 0.0) for rank in range(1, 100)]
    found = importance_prior(reciprocal_rank_fusion([notes], ties="id"))
    assert [each.id for each in found[:2]] == ["27", "01"]
    notes[26].importance, notes[27].importance = 0.0, 1.0
    assert importance_prior(reciprocal_rank_fusion([notes], ties="id"))[0].id == "01"


def test_another_prior() -> None:
    assert importance_prior([Candidate("n", score=1.0, importance=0.5)], base=0.5, slope=1)[0].score == 1.0
    with pytest.raises(ArgumentTypeError, match="^slope: must be a number"):
        importance_prior([], slope=None)
