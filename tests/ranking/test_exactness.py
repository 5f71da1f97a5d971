from __future__ import annotations

from typing import Any

import pytest

from recollect import ArgumentError, Candidate
from recollect.ranking import exact_match


def factor(query: str, **fields: Any) -> float:
    return exact_match([Candidate("n", score=1.0, **fields)], query=query, bonus=0.5)[0].score


@pytest.mark.parametrize(
    ("query", "fields", "expected"),
    [
        ("green tea", {"content": "I like Green-Tea!"}, 1.5),
        ("green tea", {"title": "green teapot"}, 1.0),  # whole words
        ("green tea", {"content": "tea green"}, 1.0),
        ("ERR_42", {"summary": "err 42"}, 1.5),
        ("foo.bar()", {"path": "code/foo-bar.md"}, 1.5),
        ('"green tea" "cup"', {"content": "a cup of green tea"}, 1.5),
        ('"green tea" shop', {"content": "green tea"}, 1.5),  # what is quoted is what must be exact
        ('"green tea" "cup"', {"content": "green tea", "title": "cup"}, 1.0),  # all in one field
        ('"green tea', {"content": "green tea"}, 1.5),
        ("?!", {"content": "?!"}, 1.0),
        ('tea NOT "red bush"', {"content": "tea of red bush"}, 1.5),
        ('tea NOT "red bush"', {"content": "of red bush"}, 1.0),  # what is excluded earns nothing
        ("green AND tea NOT sugar", {"content": "green tea"}, 1.5),
        ("NOT sugar", {"content": "sugar"}, 1.0),
        ('tea NOT "" rooibos', {"content": "tea rooibos"}, 1.5),
        ('tea NOT "" rooibos', {"content": "rooibos"}, 1.0),
        ("cafe\u0301", {"content": "my café"}, 1.5),
        ('""', {"content": "tea"}, 1.0),
        ("日本語", {"title": "日本語"}, 1.5),
    ],
)
def test_word_for_word(query: str, fields: dict[str, str], expected: float) -> None:
    assert factor(query, **fields) == expected


def test_the_order_and_the_record() -> None:
    notes = [Candidate("near", score=1.0, content="teapot"), Candidate("exact", score=0.8, title="Tea")]
    found = exact_match(notes, query="tea", bonus=0.5)
    assert [each.id for each in found] == ["exact", "near"]
    assert found[0].steps[0].reason == "the title holds the query word for word"


def test_a_negative_bonus_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="^bonus: must be at least 0, got -0.1"):
        exact_match([], query="tea", bonus=-0.1)
