"""Where one note fits well, the others of its session are more likely to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Candidate
from recollect.errors import ArgumentError
from tests.ranking.stages import lift_sessions

NOTES = [
    Candidate("a", score=0.8, session="s1", title="Tea"),
    Candidate("b", score=0.7),
    Candidate("c", score=0.6, session="s2"),
    Candidate("d", score=0.3, session="s1"),
]


def scores(found: list[Candidate]) -> list[tuple[str, float]]:
    return [(note.id, round(note.score, 6)) for note in found]


def test_each_moves_towards_the_best_of_its_session() -> None:
    found = lift_sessions(NOTES, weight=0.5)
    # d is half of the way from 0.3 to 0.8; a and c are the best of theirs, and b is in none
    assert scores(found) == [("a", 0.8), ("b", 0.7), ("c", 0.6), ("d", 0.55)]
    assert [note.steps[0].reason for note in found] == [
        *["no rule of this stage applies"] * 3,
        "in the session of 'Tea'",
    ]
    (step,) = found[3].steps
    assert (step.stage, step.factor, step.addend) == ("session", 1.0, 0.25)


def test_a_note_of_a_good_session_passes_one_of_a_poor_one() -> None:
    notes = [
        Candidate("a", score=0.9, session="s1"),
        Candidate("b", score=0.5),
        Candidate("c", score=0.4, session="s1"),
    ]
    assert scores(lift_sessions(notes, weight=0.3)) == [("a", 0.9), ("c", 0.55), ("b", 0.5)]


@pytest.mark.parametrize("notes", [[], [Candidate("a", score=0.5), Candidate("b", score=0.4)]])
def test_without_sessions_nothing_changes(notes: list[Candidate]) -> None:
    assert lift_sessions(notes) == notes


def test_without_a_weight_nothing_changes() -> None:
    assert lift_sessions(NOTES, weight=0) == NOTES


def test_a_session_without_score_leads_nowhere() -> None:
    notes = [Candidate("a", score=0.5, session="s1"), Candidate("b", session="s2"), Candidate("c", session="s2")]
    assert scores(lift_sessions(notes)) == [("a", 0.5), ("b", 0.0), ("c", 0.0)]


@pytest.mark.parametrize(("weight", "problem"), [(-1, "at least 0, got -1"), (1.5, "at most 1, got 1.5")])
def test_a_wrong_weight(weight: float, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^weight: must be {problem}"):
        lift_sessions(NOTES, weight=weight)


_candidates = st.lists(st.tuples(st.floats(-1, 10), st.sampled_from(["", "s1", "s2", "s3"])), max_size=12).map(
    lambda drawn: [Candidate(str(place), score=score, session=name) for place, (score, name) in enumerate(drawn)]
)


@given(_candidates, st.floats(0, 0.99))
def test_the_order_within_a_session_stays(candidates: list[Candidate], weight: float) -> None:
    before = sorted(candidates, key=lambda note: -note.score)
    after = lift_sessions(before, weight=weight)
    for session in ("", "s1", "s2", "s3"):
        assert [note.id for note in after if note.session == session] == [
            note.id for note in before if note.session == session
        ]
    was = {note.id: note.score for note in candidates}
    assert all(note.score >= was[note.id] for note in after if was[note.id] >= 0)
    assert [note.score for note in after] == sorted((note.score for note in after), reverse=True)
