from __future__ import annotations

import pytest

from recollect.errors import ArgumentError
from recollect.evaluation import exact_tokens
from recollect.evaluation.synthetic.lexicon import Lexicon, content_words, tokenise, word_root
from recollect.model import Note


def test_content_words() -> None:
    assert content_words("The TEA, the tea; het kopje. I am at no. 42!") == ["tea", "kopje"]
    assert content_words("") == []


def test_lexicon_indexes_titles_and_summaries() -> None:
    lexicon = Lexicon([Note(content="x", title="Teapots", summary="Glazed.")])
    assert lexicon.notes_with(["teapot", "glazed"]) == {0}
    assert lexicon.notes_with(["teapot", "kettle"]) == lexicon.notes_with([]) == set()
    assert lexicon.contains(0, "glazing")
    assert not lexicon.contains(0, "kettle")


def test_rare_depends_on_the_number_of_notes() -> None:
    few = Lexicon([Note(content=f"note {word}") for word in ("tea", "teas", "kettle")])
    assert [few.is_rare(word) for word in ("kettle", "tea", "note", "absent")] == [True, True, False, False]
    assert [few.is_distinctive(word) for word in ("note", "absent")] == [True, False]
    many = Lexicon([Note(content="tea" if index < 20 else f"kettle {'pot' * (index < 70)}") for index in range(1000)])
    assert [many.is_rare(word) for word in ("tea", "pot")] == [False, False]
    assert [many.is_distinctive(word) for word in ("tea", "pot", "kettle")] == [True, True, False]


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
        ("cache/2026-03-14", "path"),
        ("tea", "word"),
        ("Tea", "word"),
    ],
)
def test_tokens_by_kind(text: str, kind: str) -> None:
    assert list(tokenise(f"{text}!")) == [(text, kind)]


def test_names_are_capitalised_inside_sentences() -> None:
    assert [token for token, kind in tokenise("Today Ines met Ada-Lou. Then rain, Bob!") if kind == "name"] == [
        "Ines",
        "Ada",
        "Bob",
    ]


def test_joined_words_are_separate_words() -> None:
    assert [token for token, _ in tokenise("well-known tea/coffee, don't")] == [
        "well",
        "known",
        "tea",
        "coffee",
        "don",
        "t",
    ]


def test_exact_tokens_are_in_one_note() -> None:
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
        ("drinks", "word", "n3"),  # garage is also in the path of n3; 12.3.1 does not contain the token 2.3.1
    }


def test_exact_tokens_exclude_phrases_of_other_notes() -> None:
    notes = [
        Note(id="n1", content="Call lh-ingest-01 now."),
        Note(id="n2", content="See lh ingest 01 and more, call now."),
    ]
    assert [token for token, _, note in exact_tokens(notes) if note == "n1"] == []
    apart = [Note(id="n1", content="Call lh-ingest-01 now."), Note(id="n2", content="01 ingest lh: call now.")]
    assert [token for token, _, note in exact_tokens(apart) if note == "n1"] == ["lh-ingest-01"]


def test_exact_tokens_alternate_between_kinds() -> None:
    notes = [Note(id="n1", content="alpha beta gamma delta epsilon zeta 2.3.1 and ERR_4021")]
    drawn = list(exact_tokens(notes, 3, seed=7))
    assert [kind for _, kind, _ in drawn] == ["identifier", "number", "version"]
    assert drawn == list(exact_tokens(notes, 3, seed=7))
    assert len(list(exact_tokens(notes))) == 10  # six words, the identifier and its two parts, the version
    with pytest.raises(ArgumentError, match="limit: must be at least 1"):
        list(exact_tokens(notes, 0))


def test_exact_tokens_exclude_stopwords() -> None:
    assert list(exact_tokens([Note(id="n1", content="the of it ab, a 12")])) == []
    assert list(exact_tokens([])) == []


@pytest.mark.parametrize(
    "forms",
    [
        "prefer prefers preferred preferring",
        "bike bikes",
        "study studies studied studying",
        "box boxes boxed",
        "glass glasses",
        "tell tells telling",
        "stop stopped stopping stops",
    ],
)
def test_inflected_forms_have_one_root(forms: str) -> None:
    assert len({word_root(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(("word", "other_word"), [("tea", "bike"), ("red", "ring"), ("is", "as")])
def test_short_words_keep_their_suffix(word: str, other_word: str) -> None:
    assert word_root(word) != word_root(other_word)
