"""A note as a tsvector, also if it exceeds the limits of a tsvector."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from recollect.stores.postgres.text import NoteTerms, read_terms
from tests.stores.postgres.server import Server

Matches = Callable[[NoteTerms, str], bool]


@pytest.fixture(scope="module")
def matches(postgres: Server) -> Iterator[Matches]:
    with psycopg.connect(postgres.address("empty"), autocommit=True) as connection:

        def match(words: NoteTerms, query: str) -> bool:
            ((matched,),) = connection.execute(
                "SELECT %s::tsvector @@ %s::tsquery", [words.vector(7)[0], query.replace("~", "7\x1f")]
            ).fetchall()
            return bool(matched)

        yield match


def of_content(text: str) -> NoteTerms:
    return read_terms(["", "", "", "", text])


def test_terms_are_weighted_by_field() -> None:
    words = read_terms(["notes/tea.md", "Tea", "On teas", "tea\ngreen", "Tea, and tea."])
    assert words.tokens == 3 + 1 + 2 + 2 + 3
    assert words.weights["tea"] == 3 + 10 + 5 + 4 + 2
    assert words.weights["md"] == 3


def test_phrase_does_not_cross_fields(matches: Matches) -> None:
    words = read_terms(["", "green", None, "", "tea pot"])
    assert matches(words, "'~tea' <-> '~pot'")
    assert matches(words, "'~green' & '~tea'")
    assert not matches(words, "'~green' <-> '~tea'")
    assert words.vector(7)[1]


def test_label_marks_summary_and_content(matches: Matches) -> None:
    words = read_terms(["green tea.md", "a tea pot", "two mugs", "green tea\nlid", "no sugar"])
    for query in ("'~green' <-> '~tea'", "'~tea' <-> '~pot'"):
        assert matches(words, query)
    for named in ("'~two':A <-> '~mug':A", "'~no':A <-> '~sugar':A"):
        assert matches(words, named)
    for label in ("'~green':A <-> '~tea':A", "'~tea':A <-> '~pot':A", "'~lid':A", "'~md':A"):
        assert not matches(words, label)


def test_empty_note_has_no_terms() -> None:
    assert read_terms([None, "", "", "", "?!"])[:3] == (0, {}, {})
    assert read_terms([None, "", "", "", "?!"]).vector(7) == ("", True)


def test_terms_are_normalised_like_queries() -> None:
    assert list(of_content("e\u0301te\u0301").weights) == list(of_content("été").weights)


def test_term_with_more_than_255_positions_is_incomplete(matches: Matches) -> None:
    assert of_content("tea " * 255).vector(7)[1]
    words = of_content("tea " * 300 + "pot")
    assert not words.vector(7)[1]
    assert matches(words, "'~tea' & '~pot'")
    assert words.weights["tea"] == 300.0


def test_note_of_more_than_16383_tokens_is_incomplete(matches: Matches) -> None:
    words = of_content(" ".join(f"w{number}" for number in range(20_000)))
    assert not words.vector(7)[1]
    assert matches(words, "'~w19999'")
    assert words.tokens == 20_000


@pytest.mark.parametrize("letter", ["w", "é"])
def test_note_with_too_many_terms_is_incomplete(matches: Matches, letter: str) -> None:
    words = of_content(" ".join(f"{letter * 5}{number}" for number in range(150_000)))
    assert not words.vector(7)[1]
    assert matches(words, f"'~{'w' * 5 if letter == 'w' else 'e' * 5}0'")
    assert len(words.weights) == 150_000
