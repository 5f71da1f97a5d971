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

        def match(terms: NoteTerms, query: str) -> bool:
            ((matched,),) = connection.execute(
                "SELECT %s::tsvector @@ %s::tsquery", [terms.tsvector(7)[0], query.replace("~", "7\x1f")]
            ).fetchall()
            return bool(matched)

        yield match


def content_terms(text: str) -> NoteTerms:
    return read_terms(["", "", "", "", text])


def test_terms_are_weighted_by_field() -> None:
    terms = read_terms(["notes/tea.md", "Tea", "On teas", "tea\ngreen", "Tea, and tea."])
    assert terms.tokens == 3 + 1 + 2 + 2 + 3
    assert terms.weights["tea"] == 3 + 10 + 5 + 4 + 2
    assert terms.weights["md"] == 3


def test_phrase_does_not_cross_fields(matches: Matches) -> None:
    terms = read_terms(["", "green", None, "", "tea pot"])
    assert matches(terms, "'~tea' <-> '~pot'")
    assert matches(terms, "'~green' & '~tea'")
    assert not matches(terms, "'~green' <-> '~tea'")
    assert terms.tsvector(7)[1]


def test_label_marks_summary_and_content(matches: Matches) -> None:
    terms = read_terms(["green tea.md", "a tea pot", "two mugs", "green tea\nlid", "no sugar"])
    for query in ("'~green' <-> '~tea'", "'~tea' <-> '~pot'"):
        assert matches(terms, query)
    for named in ("'~two':A <-> '~mug':A", "'~no':A <-> '~sugar':A"):
        assert matches(terms, named)
    for label in ("'~green':A <-> '~tea':A", "'~tea':A <-> '~pot':A", "'~lid':A", "'~md':A"):
        assert not matches(terms, label)


def test_empty_note_has_no_terms() -> None:
    assert read_terms([None, "", "", "", "?!"])[:3] == (0, {}, {})
    assert read_terms([None, "", "", "", "?!"]).tsvector(7) == ("", True)


def test_terms_are_normalised_like_queries() -> None:
    assert list(content_terms("e\u0301te\u0301").weights) == list(content_terms("été").weights)


def test_term_with_more_than_255_positions_is_incomplete(matches: Matches) -> None:
    assert content_terms("tea " * 255).tsvector(7)[1]
    terms = content_terms("tea " * 300 + "pot")
    assert not terms.tsvector(7)[1]
    assert matches(terms, "'~tea' & '~pot'")
    assert terms.weights["tea"] == 300.0


def test_note_of_more_than_16383_tokens_is_incomplete(matches: Matches) -> None:
    terms = content_terms(" ".join(f"w{number}" for number in range(20_000)))
    assert not terms.tsvector(7)[1]
    assert matches(terms, "'~w19999'")
    assert terms.tokens == 20_000


@pytest.mark.parametrize("letter", ["w", "é"])
def test_note_with_too_many_terms_is_incomplete(matches: Matches, letter: str) -> None:
    terms = content_terms(" ".join(f"{letter * 5}{number}" for number in range(150_000)))
    assert not terms.tsvector(7)[1]
    assert matches(terms, f"'~{'w' * 5 if letter == 'w' else 'e' * 5}0'")
    assert len(terms.weights) == 150_000
