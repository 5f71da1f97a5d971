from __future__ import annotations

import pytest

from recollect import ArgumentTypeError, Candidate
from recollect.fusion import reciprocal_rank_fusion
from tests.ranking.stages import importance_prior


@pytest.mark.parametrize(("importance", "factor"), [(0.0, 0.7), (1.0, 1.0), (0.5, 0.85), (2.0, 1.0), (-1.0, 0.7)])
def test_importance_source_e_formula(importance: float, factor: float) -> None:
    (candidate,) = importance_prior([Candidate("n", score=0.5, importance=importance)])
    assert candidate.score == pytest.approx(0.5 * factor)
    assert [step.stage for step in candidate.steps] == ["importance"]


def test_importance_source_e_rank_27_beats_rank_1() -> None:
    notes = [Candidate(f"{rank:02d}", importance=1.0 if rank == 27 else 0.0) for rank in range(1, 100)]
    ranked = importance_prior(reciprocal_rank_fusion([notes], ties="id"))
    assert [note.id for note in ranked[:2]] == ["27", "01"]
    notes[26].importance, notes[27].importance = 0.0, 1.0
    assert importance_prior(reciprocal_rank_fusion([notes], ties="id"))[0].id == "01"


def test_importance_settings() -> None:
    assert importance_prior([Candidate("n", score=1.0, importance=0.5)], base=0.5, slope=1)[0].score == 1.0
    with pytest.raises(ArgumentTypeError, match="^slope: must be a number"):
        importance_prior([], slope=None)
