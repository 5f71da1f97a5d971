"""Which turns of a conversation are likely to hold an answer."""

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


def weighed(*contents: str, query: str = "", **constants: float) -> dict[str, float]:
    """Return what each turn is worth, with the constants that are not named at 0."""
    found = weight_speaker_turns(
        [turn(content) for content in contents], query=query, **{"speaker": 0, "asks": 0, "length": 0} | constants
    )
    return {note.content: note.score for note in found}


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
def test_who_is_asked_about_tells_more(query: str, speaker: str) -> None:
    told, other = f"{speaker}: I moved.", "Ben: She moved."
    assert weighed(told, other, query=query, speaker=0.1) == {told: pytest.approx(1.1), other: 1.0}


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        ("Where did Ada move?", "Ada: here.", "Ada: there."),  # all that is known is said by her
        ("Where did Ada and Ben move?", "Ada: here.", "Ben: there."),
        ("Where did Cleo move?", "Ada: here.", "Ben: there."),
        ("Where did Ada Lovelace's cat move?", "Ada Byron: here.", "Ben: there."),
        ("What is http?", "http://ada.org", "Ben: there."),
        ("What at 12?", "12: 30", "Ben: there."),
    ],
)
def test_a_name_that_sets_nothing_apart(query: str, first: str, second: str) -> None:
    assert weighed(first, second, query=query, speaker=0.1) == {first: 1.0, second: 1.0}


def test_who_asks_tells_less() -> None:
    asked, both, told, bare = "A: How is Oslo?", "B: Lovely. And you? Well?!", "A: Oslo.", "B: Oslo"
    found = weighed(asked, both, told, bare, asks=0.3)
    assert found == pytest.approx({asked: 0.7, both: 1 - 0.3 * 2 / 3, told: 1.0, bare: 1.0})


def test_short_turns_tell_less() -> None:
    two, four, eight, endless = "A: b", "A: b c d", "A: b c d e f g h", "A: " + " ".join("a" * 199)
    found = weighed(two, four, eight, endless, length=0.1)
    # The median of 2, 4, 8 and 200 words is 6.
    assert found == pytest.approx(
        {two: 1 + 0.1 * log(3 / 7), four: 1 + 0.1 * log(5 / 7), eight: 1 + 0.1 * log(9 / 7), endless: 1.15}
    )


def test_a_turn_is_short_or_long_for_its_own_speaker() -> None:
    brief, wordy = "Ada: a b", "Ada: a b c d"
    briefer, wordier = "Ben: " + "b " * 9 + "b", "Ben: " + "b " * 19 + "b"
    found = weighed(brief, wordy, briefer, wordier, length=0.1)
    # Three and five words of Ada, 4 by median; eleven and 21 of Ben, 16 by median.
    assert found == pytest.approx(
        {
            brief: 1 + 0.1 * log(4 / 5),
            wordy: 1 + 0.1 * log(6 / 5),
            briefer: 1 + 0.1 * log(12 / 17),
            wordier: 1 + 0.1 * log(22 / 17),
        }
    )


@pytest.mark.parametrize("speaker", ["user", "User", "human"])
@pytest.mark.parametrize("query", ["when did I move", "What is my job?", "where do we meet", "who called me"])
def test_a_query_about_its_author_favours_the_user(query: str, speaker: str) -> None:
    own, other = f"{speaker}: I moved in May.", "assistant: You moved in May."
    assert weighed(own, other, query=query, speaker=0.1) == {own: pytest.approx(1.1), other: 1.0}


@pytest.mark.parametrize("query", ["when did you tell me about Oslo?", "is your advice to me the same", "who moved"])
def test_a_query_that_speaks_of_both_or_of_neither_favours_nobody(query: str) -> None:
    own, other = "user: I moved in May.", "assistant: You moved in May."
    assert weighed(own, other, query=query, speaker=0.1) == {own: 1.0, other: 1.0}


def test_a_first_person_query_favours_no_named_speaker() -> None:
    assert weighed("Ada: here.", "Ben: there.", query="where did I move", speaker=0.1) == {
        "Ada: here.": 1.0,
        "Ben: there.": 1.0,
    }


def test_a_query_may_be_about_its_author_and_a_named_speaker() -> None:
    own, named, other = "user: here.", "Ada: there.", "Ben: nowhere."
    found = weighed(own, named, other, query="where did I meet Ada", speaker=0.1)
    assert found == {own: pytest.approx(1.1), named: pytest.approx(1.1), other: 1.0}


def test_what_nobody_says_is_no_turn() -> None:
    assert weighed("How is Oslo?", "A: Oslo.", asks=0.3, length=0.1) == {"How is Oslo?": 1.0, "A: Oslo.": 1.0}


def test_each_reason_is_a_step_of_its_own() -> None:
    notes = [
        turn("Ada: And you?"),
        turn("Ada: I am still in Bergen."),
        turn("Ben: Well, I have moved to Oslo in May. Why?"),
        turn("Ben: I see."),
    ]
    told = {
        note.id: [(step.reason, step.factor) for step in note.steps]
        for note in weight_speaker_turns(notes, query="ada?")
    }
    assert [reason for reason, _ in told["Ada: And you?"]] == [
        "the query is about its speaker, Ada",
        "asks more than it tells",
        "short for a turn",
    ]
    assert [reason for reason, _ in told["Ben: Well, I have moved to Oslo in May. Why?"]] == ["asks", "long for a turn"]
    assert [factor for _, factor in told["Ada: And you?"]][:2] == [1.1, 0.8]


@pytest.mark.parametrize("fields", [{"session": ""}, {"position": None}])
def test_notes_that_are_no_turns_stay(fields: dict[str, Any]) -> None:
    note = turn("Ada: And you?", **fields)
    assert weight_speaker_turns([note], query="Ada") == [note]
    apart, asking = weight_speaker_turns([note, turn("Ben: And you?", "b")], query="Ada")
    assert (apart.score, asking.score) == (1.0, 0.8)
    assert apart.steps[0].reason == "no rule of this stage applies"
    assert weight_speaker_turns([], query="Ada") == []


@pytest.mark.parametrize("name", ["speaker", "asks", "length"])
def test_wrong_constants(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: must be at least 0, got -1"):
        weight_speaker_turns([], query="", **{name: -1})


@given(st.lists(any_text, max_size=6), any_text, st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_no_constant_makes_a_score_negative(
    contents: list[str], query: str, speaker: float, asks: float, length: float
) -> None:
    turns = [turn(content, str(place)) for place, content in enumerate(contents)]
    found = weight_speaker_turns(turns, query=query, speaker=speaker, asks=asks, length=length)
    assert sorted(note.id for note in found) == sorted(note.id for note in turns)
    assert all(note.score >= 0 for note in found)
