"""What was replaced steps back, and what replaced it takes its place."""

from __future__ import annotations

import pytest

from recollect import Candidate
from recollect.errors import ArgumentError
from recollect.ranking import Stage, Superseded, run_stage
from tests.ranking.stages import demote_superseded

OLD, OLDER, NEW = Candidate("old", score=0.6, title="Old"), Candidate("older", score=0.9), Candidate("new", score=0.5)


def scores(found: list[Candidate]) -> list[tuple[str, float]]:
    return [(note.id, round(note.score, 6)) for note in found]


def test_the_new_note_scores_at_least_as_the_old_one_did() -> None:
    found = demote_superseded([OLD, NEW], {"old": ["new"]})
    assert scores(found) == [("new", 0.6), ("old", 0.3)]
    assert [note.steps[0].reason for note in found] == ["supersedes 'Old'", "superseded by 'new'"]


def test_a_new_note_that_scores_better_stays() -> None:
    found = demote_superseded([OLDER, OLD], {"old": ["older"]}, factor=0.1)
    assert scores(found) == [("older", 0.9), ("old", 0.06)]
    assert found[0].steps[0].reason == "no rule of this stage applies"


def test_a_chain_hands_its_best_score_to_the_last() -> None:
    found = demote_superseded([OLDER, OLD, NEW], {"older": ["old"], "old": ["new"]})
    assert scores(found) == [("new", 0.9), ("older", 0.45), ("old", 0.3)]


def test_a_circle_ends() -> None:
    assert scores(demote_superseded([OLD, NEW], {"old": ["new"], "new": ["old"]})) == [("old", 0.3), ("new", 0.25)]


def test_two_heirs() -> None:
    found = demote_superseded([OLD, NEW, Candidate("other")], {"old": ["new", "other"]})
    assert scores(found) == [("new", 0.6), ("other", 0.6), ("old", 0.3)]
    assert found[2].steps[0].reason == "superseded by 'new', 'other'"


def test_a_wrong_factor() -> None:
    with pytest.raises(ArgumentError, match="factor"):
        demote_superseded([OLD], {}, factor=-1)


def test_the_current_note_is_as_relevant_as_what_it_supersedes() -> None:
    def fused(name: str, points: float) -> Candidate:
        return Candidate(name, score=points, evidence=("lexical", 1, 7.0, points), ceiling=0.8)

    found = demote_superseded(
        [fused("old", 0.6), fused("older", 0.2), fused("new", 0.4)], {"old": ["new"], "older": ["old"]}
    )
    assert {note.id: note.relevance for note in found} == pytest.approx({"new": 0.75, "old": 0.75, "older": 0.25})
    assert {note.id: note.inherited_relevance for note in found} == {
        "new": pytest.approx(0.75),
        "old": None,
        "older": None,
    }
    assert found[0].own_relevance == pytest.approx(0.5)
    found = demote_superseded([fused("old", 0.2), fused("new", 0.4)], {"old": ["new"]})
    assert [note.inherited_relevance for note in found] == [None, None]


def test_without_supersessions_the_list_stays() -> None:
    notes = [Candidate("a", score=0.5), Candidate("b", score=0.7)]
    assert run_stage(Superseded(), notes) == notes
    with pytest.raises(NotImplementedError):
        run_stage(Stage(), notes)
