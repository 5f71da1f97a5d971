from __future__ import annotations

import pytest
from hypothesis import given

from recollect import ArgumentTypeError
from recollect.query import query_tokens, sanitise, strongest_term
from tests.strategies import any_text, query_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!!!hello, World???", "hello World"),  # case is kept
        ("foo_bar don't C++ €5", "foo bar don t C 5"),
        ("“quoted” — dash", "quoted dash"),
        ("soft\u00adhyphen hel\u200clo", "soft\u00adhyphen hel\u200clo"),
        ("a\ud800b", "a b"),
        ("", ""),
    ],
)
def test_sanitise(text: str, expected: str) -> None:
    assert sanitise(text) == expected


@given(any_text | query_text)
def test_sanitise_is_idempotent(text: str) -> None:
    assert sanitise(sanitise(text)) == sanitise(text)


@pytest.mark.parametrize(
    ("text", "tokens", "strongest"),
    [
        ("how do I deploy kubernetes clusters", ["deploy", "kubernetes", "clusters"], "kubernetes"),
        ("aaaa bbbb", ["aaaa", "bbbb"], "aaaa"),  # the first of the longest
        ("the and or", [], None),
        ("go ab", [], None),
        ("foo foo Foo", ["foo"], "foo"),
        ("NOT", ["not"], "not"),  # the ladder has its own stopwords
        ("to do list", ["list"], "list"),
    ],
)
def test_query_tokens_and_strongest_term(text: str, tokens: list[str], strongest: str | None) -> None:
    assert query_tokens(text) == tokens
    assert strongest_term(text) == strongest


@pytest.mark.parametrize("function", [sanitise, query_tokens, strongest_term])
def test_term_functions_reject_wrong_types(function: object) -> None:
    assert callable(function)
    with pytest.raises(ArgumentTypeError, match="^text: must be a string"):
        function(b"bytes")
