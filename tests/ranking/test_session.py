"""The session stage moves notes towards the best score of their session."""

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


def scores(ranked: list[Candidate]) -> list[tuple[str, float]]:
    return [(note.id, round(note.score, 6)) for note in ranked]


def test_session_moves_notes_towards_the_best() -> None:
    ranked = lift_sessions(NOTES, weight=0.5)
    # d moves half the way from 0.3 to 0.8; a and c are the best of their sessions, b has no session
    assert scores(ranked) == [("a", 0.8), ("b", 0.7), ("c", 0.6), ("d", 0.55)]
    assert [note.steps[0].reason for note in ranked] == [
        *["no rule of this stage applies"] * 3,
        "in the session of 'Tea'",
    ]
    (step,) = ranked[3].steps
    assert (step.stage, step.factor, step.addend) == ("session", 1.0, 0.25)


def test_session_changes_the_order() -> None:
    notes = [
        Candidate("a", score=0.9, session="s1"),
        Candidate("b", score=0.5),
        Candidate("c", score=0.4, session="s1"),
    ]
    assert scores(lift_sessions(notes, weight=0.3)) == [("a", 0.9), ("c", 0.55), ("b", 0.5)]


@pytest.mark.parametrize("notes", [[], [Candidate("a", score=0.5), Candidate("b", score=0.4)]])
def test_session_without_sessions_changes_nothing(notes: list[Candidate]) -> None:
    assert lift_sessions(notes) == notes


def test_session_weight_0_changes_nothing() -> None:
    assert lift_sessions(NOTES, weight=0) == NOTES


def test_session_without_score_changes_nothing() -> None:
    notes = [Candidate("a", score=0.5, session="s1"), Candidate("b", session="s2"), Candidate("c", session="s2")]
    assert scores(lift_sessions(notes)) == [("a", 0.5), ("b", 0.0), ("c", 0.0)]


@pytest.mark.parametrize(("weight", "problem"), [(-1, "at least 0, got -1"), (1.5, "at most 1, got 1.5")])
def test_session_wrong_weight_raises(weight: float, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^weight: must be {problem}"):
        lift_sessions(NOTES, weight=weight)


_candidates = st.lists(st.tuples(st.floats(-1, 10), st.sampled_from(["", "s1", "s2", "s3"])), max_size=12).map(
    lambda values: [Candidate(str(number), score=score, session=name) for number, (score, name) in enumerate(values)]
)


@given(_candidates, st.floats(0, 0.99))
def test_session_keeps_the_order_within_sessions(candidates: list[Candidate], weight: float) -> None:
    before = sorted(candidates, key=lambda note: -note.score)
    after = lift_sessions(before, weight=weight)
    for session in ("", "s1", "s2", "s3"):
        assert [note.id for note in after if note.session == session] == [
            note.id for note in before if note.session == session
        ]
    scores_before = {note.id: note.score for note in candidates}
    assert all(note.score >= scores_before[note.id] for note in after if scores_before[note.id] >= 0)
    assert [note.score for note in after] == sorted((note.score for note in after), reverse=True)
