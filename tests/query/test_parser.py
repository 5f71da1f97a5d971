from __future__ import annotations

import pytest
from hypothesis import given

from recollect import ArgumentTypeError
from recollect.query import MAX_LENGTH, normalise, parse
from recollect.query.parser import symbolic_name
from recollect.query.stopwords import DUTCH, ENGLISH, LADDER
from tests.strategies import any_text, query_text


def tree(text: str) -> list[tuple[str, ...]]:
    return [tuple(token.to_dict().values()) for token in parse(text).tokens]


# The worked examples of the source document, whole.
WORKED_EXAMPLES = {
    "The Kubernetes Deployment": {
        "raw": "The Kubernetes Deployment",
        "tokens": [{"kind": "term", "text": "kubernetes"}, {"kind": "term", "text": "deployment"}],
        "hasOperators": False,
    },
    '"hello world" kube*': {
        "raw": '"hello world" kube*',
        "tokens": [{"kind": "phrase", "text": "hello world"}, {"kind": "prefix", "text": "kube"}],
        "hasOperators": True,
    },
    "foo AND bar NOT baz": {
        "raw": "foo AND bar NOT baz",
        "tokens": [
            {"kind": "term", "text": "foo"},
            {"kind": "term", "text": "bar", "operator": "AND"},
            {"kind": "term", "text": "baz", "operator": "NOT"},
        ],
        "hasOperators": True,
    },
    "NOT alpha bravo": {
        "raw": "NOT alpha bravo",
        "tokens": [{"kind": "term", "text": "alpha", "operator": "NOT"}, {"kind": "term", "text": "bravo"}],
        "hasOperators": True,
    },
    "to do list": {"raw": "to do list", "tokens": [], "hasOperators": False},
}


@pytest.mark.parametrize("text", WORKED_EXAMPLES)
def test_worked_examples(text: str) -> None:
    assert parse(text).to_dict() == WORKED_EXAMPLES[text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # where a star stands
        ("foo*bar", [("term", "foobar")]),
        ("foo**", [("prefix", "foo")]),
        ("*foo", [("term", "foo")]),
        ("*", []),
        ("the*", []),
        ('"foo"*', [("phrase", "foo")]),
        # quotes cut words
        ('foo"bar"baz', [("term", "foo"), ("phrase", "bar"), ("term", "baz")]),
        ('""', []),
        ('"  "', []),
        ('"to the End', [("phrase", "to the end")]),
        ('OR"x"', [("phrase", "x", "OR")]),
        # what becomes of a pending operator
        ("foo AND ?? bar", [("term", "foo"), ("term", "bar")]),
        ('foo AND "" bar', [("term", "foo"), ("term", "bar", "AND")]),
        ("foo AND OR bar", [("term", "foo"), ("term", "bar", "OR")]),
        ("foo NOT", [("term", "foo")]),
        # what counts as an operator
        ("foo and bar or not baz", [("term", "foo"), ("term", "bar"), ("term", "baz")]),
        ("(foo OR bar) AND baz", [("term", "foo"), ("term", "bar", "OR"), ("term", "baz", "AND")]),
        ("foo AND, bar", [("term", "foo"), ("term", "bar")]),
        # what the filter drops, and when it is off
        ("go ab abc", [("term", "abc")]),
        ("het huis van de buren", [("term", "huis"), ("term", "buren")]),
        ("the OR ab", [("term", "the"), ("term", "ab", "OR")]),
        ('the "x"', [("term", "the"), ("phrase", "x")]),
        # cleaning
        ("node.js don't $5 C#", [("term", "nodejs"), ("term", "dont")]),
        ("foo_bar İSTANBUL ΣΑΣ", [("term", "foo_bar"), ("term", "i̇stanbul"), ("term", "σας")]),
        ("a\x00b\x1fc foo", [("term", "a\x00b\x1fc"), ("term", "foo")]),
    ],
)
def test_tokens(text: str, expected: list[tuple[str, ...]]) -> None:
    assert tree(text) == expected


def test_the_whole_strip_set_is_taken_out_of_a_word() -> None:
    assert tree("x*():^+-?!.,;/\\[]{}<>|&'$#@%=~`yz") == [("term", "xyz")]


def test_the_stopword_lists_are_whole() -> None:
    assert (len(ENGLISH), len(DUTCH), len(LADDER)) == (183, 84, 94)
    for word in (*ENGLISH, *DUTCH, "and", "or", "not"):
        assert tree(word) == []


def test_stopwords_can_be_kept() -> None:
    assert [token.text for token in parse("to do list", drop_stopwords=False).tokens] == ["to", "do", "list"]


def test_a_token_remembers_what_was_written() -> None:
    assert [token.source for token in parse('node.js AND "Big Tea" kube*').tokens] == ["node.js", '"Big Tea"', "kube*"]


@given(any_text | query_text)
def test_no_text_is_an_error(text: str) -> None:
    query = parse(text)
    assert query.raw == normalise(text)
    assert query.warnings == ()
    assert all(token.text and token.text == token.text.strip(" ") for token in query.tokens)
    assert parse(text, drop_stopwords=False).has_operators == query.has_operators


def test_a_long_query_is_cut_at_a_word_with_a_warning() -> None:
    text = "alpha " * 20_000
    query = parse(text)
    assert len(query.raw) <= MAX_LENGTH
    assert {token.text for token in query.tokens} == {"alpha"}
    assert query.warnings == ("the query has 120,000 characters; only the first 100,000 were read",)
    assert parse(text[:MAX_LENGTH]).warnings == ()


@pytest.mark.parametrize("tail", [" omega", "omega", "\u3000omega"])
def test_the_cut_keeps_a_word_that_ends_there(tail: str) -> None:
    text = "alpha " * 16_000 + "b" * 3_994 + " gamma" + tail
    assert len(text) - len(tail) == MAX_LENGTH
    last = parse(text).tokens[-1].text
    assert (last == "gamma") is (tail != "omega")


def test_a_single_word_that_is_too_long_is_cut_all_the_same() -> None:
    assert len(parse("x" * 150_000).tokens[0].text) == MAX_LENGTH


def test_wrong_type_names_the_argument() -> None:
    with pytest.raises(ArgumentTypeError, match="^text: must be a string, got None"):
        parse(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flat 5", ["flat", "5"]),
        ("class 2b", ["class", "2b"]),
        ("who does QA?", ["qa"]),
        ("C# or c++", ["c", "c"]),
        ("Go modules in the UK", ["go", "modules", "uk"]),
        ("東京 hotel", ["東京", "hotel"]),
        ("IS IT an ox", []),
    ],
)
def test_short_words_that_name_something_are_kept_if_asked_for(text: str, words: list[str]) -> None:
    assert [token.text for token in parse(text, keep_short=True).tokens] == words
    assert all(len(token.text) > 2 for token in parse(text).tokens)


@pytest.mark.parametrize(
    ("piece", "name"),
    [("C++", "c++"), ("(f#),", "f#"), (".NET?", ".net"), ("...net", ""), ("18+", ""), ("#5", ""), ("node.js", "")],
)
def test_symbols_that_belong_to_a_name(piece: str, name: str) -> None:
    assert symbolic_name(piece) == name
