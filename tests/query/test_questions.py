"""Operators inside an ordinary question are words; in a query of search terms they stay operators."""

from __future__ import annotations

import pytest

from recollect.query.questions import is_question, operators_as_words


@pytest.mark.parametrize(
    "text",
    [
        "why do we NOT use MongoDB?",
        "Why do we NOT use MongoDB",
        "WHY DO WE NOT USE MONGODB?",
        "do we use Postgres OR MySQL?",
        "Postgres AND MySQL, what is the difference?",
        "waarom gebruiken we NOT MongoDB?",
        "we do NOT use MongoDB",
        "the servers are NOT in Berlin",
        "what did Ines NOT eat at\u00a0the party?",
    ],
)
def test_an_ordinary_question(text: str) -> None:
    assert is_question(text)
    read, operators = operators_as_words(text)
    assert operators
    assert not {"AND", "OR", "NOT"} & set(read.split(" "))


@pytest.mark.parametrize(
    "text",
    [
        "coffee NOT decaf",
        "coffee NOT decaf?",
        "alpha AND beta",
        '"exact phrase" NOT draft',
        'why is "exact phrase" NOT draft?',
        "foo OR bar NOT baz",
        "NOT coffee",
        "NOT",
        "the coffee NOT the decaf",
        "what NOT decaf",
        "",
        "???",
    ],
)
def test_a_query_of_search_terms_is_left_as_it_is(text: str) -> None:
    assert not is_question(text)
    assert operators_as_words(text) == (text, ())


def test_a_question_without_operators_is_left_as_it_is() -> None:
    assert operators_as_words("why  do we use NOTES and ORDERS?") == ("why  do we use NOTES and ORDERS?", ())


def test_the_operators_are_named_once_in_their_order() -> None:
    assert operators_as_words("is it OR is it NOT this OR that?") == ("is it or is it not this or that?", ("OR", "NOT"))
