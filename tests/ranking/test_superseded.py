"""The superseded stage: superseded notes are demoted, their successors take over their scores."""

from __future__ import annotations

import pytest

from recollect import Candidate
from recollect.errors import ArgumentError
from recollect.ranking import Stage, Superseded, run_stage
from tests.ranking.stages import demote_superseded

OLD, OLDER, NEW = Candidate("old", score=0.6, title="Old"), Candidate("older", score=0.9), Candidate("new", score=0.5)


def scores(ranked: list[Candidate]) -> list[tuple[str, float]]:
    return [(note.id, round(note.score, 6)) for note in ranked]


def test_successor_gets_the_score_of_the_superseded_note() -> None:
    ranked = demote_superseded([OLD, NEW], {"old": ["new"]})
    assert scores(ranked) == [("new", 0.6), ("old", 0.3)]
    assert [note.steps[0].reason for note in ranked] == ["supersedes 'Old'", "superseded by 'new'"]


def test_successor_with_a_better_score_keeps_it() -> None:
    ranked = demote_superseded([OLDER, OLD], {"old": ["older"]}, factor=0.1)
    assert scores(ranked) == [("older", 0.9), ("old", 0.06)]
    assert ranked[0].steps[0].reason == "no rule of this stage applies"


def test_last_of_a_chain_gets_the_best_score() -> None:
    ranked = demote_superseded([OLDER, OLD, NEW], {"older": ["old"], "old": ["new"]})
    assert scores(ranked) == [("new", 0.9), ("older", 0.45), ("old", 0.3)]


def test_supersession_cycle() -> None:
    assert scores(demote_superseded([OLD, NEW], {"old": ["new"], "new": ["old"]})) == [("old", 0.3), ("new", 0.25)]


def test_two_successors() -> None:
    ranked = demote_superseded([OLD, NEW, Candidate("other")], {"old": ["new", "other"]})
    assert scores(ranked) == [("new", 0.6), ("other", 0.6), ("old", 0.3)]
    assert ranked[2].steps[0].reason == "superseded by 'new', 'other'"


def test_superseded_wrong_factor_raises() -> None:
    with pytest.raises(ArgumentError, match="factor"):
        demote_superseded([OLD], {}, factor=-1)


def test_successor_inherits_relevance() -> None:
    def fused(name: str, points: float) -> Candidate:
        return Candidate(name, score=points, evidence=("lexical", 1, 7.0, points), ceiling=0.8)

    ranked = demote_superseded(
        [fused("old", 0.6), fused("older", 0.2), fused("new", 0.4)], {"old": ["new"], "older": ["old"]}
    )
    assert {note.id: note.relevance for note in ranked} == pytest.approx({"new": 0.75, "old": 0.75, "older": 0.25})
    assert {note.id: note.inherited_relevance for note in ranked} == {
        "new": pytest.approx(0.75),
        "old": None,
        "older": None,
    }
    assert ranked[0].own_relevance == pytest.approx(0.5)
    ranked = demote_superseded([fused("old", 0.2), fused("new", 0.4)], {"old": ["new"]})
    assert [note.inherited_relevance for note in ranked] == [None, None]


def test_superseded_without_supersessions_changes_nothing() -> None:
    notes = [Candidate("a", score=0.5), Candidate("b", score=0.7)]
    assert run_stage(Superseded(), notes) == notes
    with pytest.raises(NotImplementedError):
        run_stage(Stage(), notes)
