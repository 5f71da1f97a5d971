"""The speaker turns stage: who speaks, who asks and how long a turn is."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Candidate
from recollect.errors import ArgumentError
from tests.ranking.stages import weight_speaker_turns
from tests.strategies import any_text


def turn(content: str, identifier: str = "", **fields: Any) -> Candidate:
    settings = {"score": 1.0, "session": "s", "position": 1, **fields}
    return Candidate(identifier or content, content=content, **settings)


def turn_scores(*contents: str, query: str = "", **constants: float) -> dict[str, float]:
    """Return the scores of turns by content; constants that are not named are 0."""
    ranked = weight_speaker_turns(
        [turn(content) for content in contents], query=query, **{"speaker": 0, "asks": 0, "length": 0} | constants
    )
    return {note.content: note.score for note in ranked}


@pytest.mark.parametrize(
    ("query", "speaker"),
    [
        ("Where did Ada move?", "Ada"),
        ("where is ada's house", "Ada"),
        ("What did Ada Lovelace write", "Ada Lovelace"),
        ("did O'Brien call", "O'Brien"),
        ("what did dr smith say", "Dr. Smith"),
        ("is Anne-Marie coming", "Anne-Marie"),
        ("was sagt Émile", "Émile"),
    ],
)
def test_named_speaker_is_lifted(query: str, speaker: str) -> None:
    named, unnamed = f"{speaker}: I moved.", "Ben: She moved."
    assert turn_scores(named, unnamed, query=query, speaker=0.1) == {named: pytest.approx(1.1), unnamed: 1.0}


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("Where did Ada move?", "Ada: here.", "Ada: there."),  # she is the only speaker
        ("Where did Ada and Ben move?", "Ada: here.", "Ben: there."),
        ("Where did Cleo move?", "Ada: here.", "Ben: there."),
        ("Where did Ada Lovelace's cat move?", "Ada Byron: here.", "Ben: there."),
        ("What is http?", "http://ada.org", "Ben: there."),
        ("What at 12?", "12: 30", "Ben: there."),
    ],
)
def test_name_without_distinction_changes_nothing(query: str, first: str, second: str) -> None:
    assert turn_scores(first, second, query=query, speaker=0.1) == {first: 1.0, second: 1.0}


def test_questions_are_lowered() -> None:
    question, statement_and_question, statement, unpunctuated = (
        "A: How is Oslo?",
        "B: Lovely. And you? Well?!",
        "A: Oslo.",
        "B: Oslo",
    )
    scores = turn_scores(question, statement_and_question, statement, unpunctuated, asks=0.3)
    assert scores == pytest.approx(
        {question: 0.7, statement_and_question: 1 - 0.3 * 2 / 3, statement: 1.0, unpunctuated: 1.0}
    )


def test_short_turns_are_lowered() -> None:
    two_words, four_words, eight_words, endless = "A: b", "A: b c d", "A: b c d e f g h", "A: " + " ".join("a" * 199)
    scores = turn_scores(two_words, four_words, eight_words, endless, length=0.1)
    # The median of 2, 4, 8 and 200 words is 6.
    assert scores == pytest.approx(
        {
            two_words: 1 + 0.1 * log(3 / 7),
            four_words: 1 + 0.1 * log(5 / 7),
            eight_words: 1 + 0.1 * log(9 / 7),
            endless: 1.15,
        }
    )


def test_length_is_relative_to_the_speaker() -> None:
    short_ada, long_ada = "Ada: a b", "Ada: a b c d"
    short_ben, long_ben = "Ben: " + "b " * 9 + "b", "Ben: " + "b " * 19 + "b"
    scores = turn_scores(short_ada, long_ada, short_ben, long_ben, length=0.1)
    # Three and five words of Ada, 4 by median; eleven and 21 of Ben, 16 by median.
    assert scores == pytest.approx(
        {
            short_ada: 1 + 0.1 * log(4 / 5),
            long_ada: 1 + 0.1 * log(6 / 5),
            short_ben: 1 + 0.1 * log(12 / 17),
            long_ben: 1 + 0.1 * log(22 / 17),
        }
    )


@pytest.mark.parametrize("speaker", ["user", "User", "human"])
@pytest.mark.parametrize("query", ["when did I move", "What is my job?", "where do we meet", "who called me"])
def test_first_person_query_lifts_the_user(query: str, speaker: str) -> None:
    user_turn, assistant_turn = f"{speaker}: I moved in May.", "assistant: You moved in May."
    assert turn_scores(user_turn, assistant_turn, query=query, speaker=0.1) == {
        user_turn: pytest.approx(1.1),
        assistant_turn: 1.0,
    }


@pytest.mark.parametrize("query", ["when did you tell me about Oslo?", "is your advice to me the same", "who moved"])
def test_query_about_both_or_neither_changes_nothing(query: str) -> None:
    user_turn, assistant_turn = "user: I moved in May.", "assistant: You moved in May."
    assert turn_scores(user_turn, assistant_turn, query=query, speaker=0.1) == {user_turn: 1.0, assistant_turn: 1.0}


def test_first_person_query_lifts_no_named_speaker() -> None:
    assert turn_scores("Ada: here.", "Ben: there.", query="where did I move", speaker=0.1) == {
        "Ada: here.": 1.0,
        "Ben: there.": 1.0,
    }


def test_query_lifts_user_and_named_speaker() -> None:
    user_turn, named_turn, unnamed_turn = "user: here.", "Ada: there.", "Ben: nowhere."
    scores = turn_scores(user_turn, named_turn, unnamed_turn, query="where did I meet Ada", speaker=0.1)
    assert scores == {user_turn: pytest.approx(1.1), named_turn: pytest.approx(1.1), unnamed_turn: 1.0}


def test_note_without_speaker_is_no_turn() -> None:
    assert turn_scores("How is Oslo?", "A: Oslo.", asks=0.3, length=0.1) == {"How is Oslo?": 1.0, "A: Oslo.": 1.0}


def test_speaker_turns_records_a_step_per_reason() -> None:
    notes = [
        turn("Ada: And you?"),
        turn("Ada: I am still in Bergen."),
        turn("Ben: Well, I have moved to Oslo in May. Why?"),
        turn("Ben: I see."),
    ]
    steps_by_id = {
        note.id: [(step.reason, step.factor) for step in note.steps]
        for note in weight_speaker_turns(notes, query="ada?")
    }
    assert [reason for reason, _ in steps_by_id["Ada: And you?"]] == [
        "the query is about its speaker, Ada",
        "asks more than it tells",
        "short for a turn",
    ]
    assert [reason for reason, _ in steps_by_id["Ben: Well, I have moved to Oslo in May. Why?"]] == [
        "asks",
        "long for a turn",
    ]
    assert [factor for _, factor in steps_by_id["Ada: And you?"]][:2] == [1.1, 0.8]


@pytest.mark.parametrize("fields", [{"session": ""}, {"position": None}])
def test_notes_outside_sessions_keep_their_scores(fields: dict[str, Any]) -> None:
    note = turn("Ada: And you?", **fields)
    assert weight_speaker_turns([note], query="Ada") == [note]
    plain_note, question = weight_speaker_turns([note, turn("Ben: And you?", "b")], query="Ada")
    assert (plain_note.score, question.score) == (1.0, 0.8)
    assert plain_note.steps[0].reason == "no rule of this stage applies"
    assert weight_speaker_turns([], query="Ada") == []


@pytest.mark.parametrize("name", ["speaker", "asks", "length"])
def test_speaker_turns_wrong_constants_raise(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: must be at least 0, got -1"):
        weight_speaker_turns([], query="", **{name: -1})


@given(st.lists(any_text, max_size=6), any_text, st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_speaker_turns_scores_are_never_negative(
    contents: list[str], query: str, speaker: float, asks: float, length: float
) -> None:
    turns = [turn(content, str(number)) for number, content in enumerate(contents)]
    ranked = weight_speaker_turns(turns, query=query, speaker=speaker, asks=asks, length=length)
    assert sorted(note.id for note in ranked) == sorted(note.id for note in turns)
    assert all(note.score >= 0 for note in ranked)


def conversation(*contents: str, session: str = "s", points: float = 0.4) -> list[Candidate]:
    """Return turns at the positions 1, 2 and so on; the first has ``points`` in the vector leg."""
    turns = [turn(content, position=position, session=session) for position, content in enumerate(contents, 1)]
    turns[0].evidence = ("lexical", 1, 3.0, 0.9, "vector", 1, 0.7, points)
    return turns


def answer_addends(turns: list[Candidate], **constants: float) -> list[float]:
    """Return what is added to the score of each turn, by position; factors are turned off."""
    ranked = weight_speaker_turns(turns, query="tea?", **{"speaker": 0, "asks": 0, "length": 0} | constants)
    return [round(note.score - 1.0, 12) for note in sorted(ranked, key=lambda note: note.position or 0)]


def test_turn_after_a_question_gets_a_share_of_the_difference_in_vector_points() -> None:
    # Half of the sentences of the first turn are questions: 1.0 · 0.5 · (0.4 − 0).
    turns = conversation("Ben: Nice. Which tea?", "Ada: Sencha.", "Ben: Thanks.")
    assert answer_addends(turns, answers=1.0) == [0.0, 0.2, 0.0]
    assert answer_addends(turns, answers=0.5) == [0.0, 0.1, 0.0]
    assert answer_addends(turns) == [0.0, 0.0, 0.0]
    turns[1].evidence = ("vector", 2, 0.6, 0.3)  # 1.0 · 0.5 · (0.4 − 0.3)
    assert answer_addends(turns, answers=1.0) == [0.0, 0.05, 0.0]
    (step,) = next(note for note in weight_speaker_turns(turns, query="", answers=1.0) if note.position == 2).steps[:1]
    assert step.reason == "may answer 'Ben: Nice. Which tea?'"


def test_addend_is_multiplied_by_the_factors() -> None:
    turns = conversation("Ben: Which tea?", "Ada: Sencha.")
    ranked = weight_speaker_turns(turns, query="What does Ada drink?", speaker=0.5, asks=0, length=0, answers=1.0)
    assert {note.position: note.score for note in ranked} == {1: 1.0, 2: pytest.approx((1 + 0.4) * 1.5)}


@pytest.mark.parametrize(
    "turns",
    [
        conversation("Ben: A tea.", "Ada: Sencha."),  # no question
        conversation("user: Which tea?", "assistant: Sencha."),
        conversation("Assistant: Which tea?", "User: Sencha."),
        conversation("Which tea?", "Ada: Sencha."),  # no speaker asks
        conversation("Ben: Which tea?", "Ada: Sencha.", points=0.0),
        conversation("Ben: Which tea?", "Ada: Sencha.", points=-0.1),
        [*conversation("Ben: Which tea?"), turn("Ada: Sencha.", position=2, session="other")],
        [*conversation("Ben: Which tea?"), turn("Ada: Sencha.", position=3)],
    ],
)
def test_other_turns_get_no_addend(turns: list[Candidate]) -> None:
    assert set(answer_addends(turns, answers=1.0)) == {0.0}
