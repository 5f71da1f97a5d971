from __future__ import annotations

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import exact_tokens
from recollect.evaluation.synthetic.tokens import tokens_of
from recollect.model import Note


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ERR_4021", "identifier"),
        ("BZH-20931", "identifier"),
        ("parseConfig", "identifier"),
        ("ines@example.org", "identifier"),
        ("48,500", "number"),
        ("20931", "number"),
        ("2026-04-18", "number"),
        ("13:16", "number"),
        ("2.3.1", "version"),
        ("v2", "version"),
        ("v3.0.0-beta.1", "version"),
        ("docs/api.md", "path"),
        ("page.md", "path"),
        ("journal/2026-03-14", "path"),
        ("tea", "word"),
        ("Tea", "word"),
    ],
)
def test_tokens_by_kind(text: str, kind: str) -> None:
    assert list(tokens_of(f"{text}!")) == [(text, kind)]


def test_a_name_is_capitalised_inside_of_a_sentence() -> None:
    assert [token for token, kind in tokens_of("Today Ines met Ada-Lou. Then rain, Bob!") if kind == "name"] == [
        "Ines",
        "Ada",
        "Bob",
    ]


def test_words_joined_by_signs_are_words_of_their_own() -> None:
    assert [token for token, _ in tokens_of("well-known tea/coffee, don't")] == [
        "well",
        "known",
        "tea",
        "coffee",
        "don",
        "t",
    ]


def test_exact_tokens_stand_in_exactly_one_note() -> None:
    notes = [
        Note(id="n1", content="The Vermilion van, version 2.3.1, of it."),
        Note(id="n2", content="A VAN in 12.3.1 and the rest.", title="Garage"),
        Note(id="n3", content="Rest.", path="rest/garage.md", tags=("drinks",)),
    ]
    assert set(exact_tokens(notes)) == {
        ("Vermilion", "name", "n1"),
        ("version", "word", "n1"),
        ("2.3.1", "version", "n1"),
        ("12.3.1", "version", "n2"),
        ("drinks", "word", "n3"),  # garage stands in the path of n3, too; 2.3.1 does not stand in 12.3.1
    }


def test_a_token_whose_words_follow_each_other_in_another_note_is_not_exact() -> None:
    notes = [
        Note(id="n1", content="Call lh-ingest-01 now."),
        Note(id="n2", content="See lh ingest 01 and more, call now."),
    ]
    assert [token for token, _, note in exact_tokens(notes) if note == "n1"] == []
    apart = [Note(id="n1", content="Call lh-ingest-01 now."), Note(id="n2", content="01 ingest lh: call now.")]
    assert [token for token, _, note in exact_tokens(apart) if note == "n1"] == ["lh-ingest-01"]


def test_tokens_are_drawn_by_turns_of_each_kind() -> None:
    notes = [Note(id="n1", content="alpha beta gamma delta epsilon zeta 2.3.1 and ERR_4021")]
    drawn = list(exact_tokens(notes, 3, seed=7))
    assert [kind for _, kind, _ in drawn] == ["identifier", "number", "version"]
    assert drawn == list(exact_tokens(notes, 3, seed=7))
    assert len(list(exact_tokens(notes))) == 10  # six words, the identifier and its two parts, the version
    with pytest.raises(ArgumentError, match="limit: must be at least 1"):
        list(exact_tokens(notes, 0))


def test_words_that_say_nothing_are_no_exact_tokens() -> None:
    assert list(exact_tokens([Note(id="n1", content="the of it ab, a 12")])) == []
    assert list(exact_tokens([])) == []
