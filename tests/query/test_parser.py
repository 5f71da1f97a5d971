from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentTypeError
from recollect.query import MAX_LENGTH, compile_fts5, normalise, parse
from recollect.query.parser import is_question, lower_operators, symbolic_name
from recollect.query.terms import DUTCH_STOPWORDS, ENGLISH_STOPWORDS, LADDER_STOPWORDS
from recollect.text import WHITESPACE
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
def test_parse_documented_examples(text: str) -> None:
    assert parse(text).to_dict() == WORKED_EXAMPLES[text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # position of a star
        ("foo*bar", [("term", "foobar")]),
        ("foo**", [("prefix", "foo")]),
        ("*foo", [("term", "foo")]),
        ("*", []),
        ("the*", []),
        ('"foo"*', [("phrase", "foo")]),
        # quotes split words
        ('foo"bar"baz', [("term", "foo"), ("phrase", "bar"), ("term", "baz")]),
        ('""', []),
        ('"  "', []),
        ('"to the End', [("phrase", "to the end")]),
        ('OR"x"', [("phrase", "x", "OR")]),
        # pending operators
        ("foo AND ?? bar", [("term", "foo"), ("term", "bar")]),
        ('foo AND "" bar', [("term", "foo"), ("term", "bar", "AND")]),
        ("foo AND OR bar", [("term", "foo"), ("term", "bar", "OR")]),
        ("foo NOT", [("term", "foo")]),
        # operators
        ("foo and bar or not baz", [("term", "foo"), ("term", "bar"), ("term", "baz")]),
        ("(foo OR bar) AND baz", [("term", "foo"), ("term", "bar", "OR"), ("term", "baz", "AND")]),
        ("foo AND, bar", [("term", "foo"), ("term", "bar")]),
        # the stopword filter, on and off
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
def test_parse_tokens(text: str, expected: list[tuple[str, ...]]) -> None:
    assert tree(text) == expected


def test_parse_removes_punctuation() -> None:
    assert tree("x*():^+-?!.,;/\\[]{}<>|&'$#@%=~`yz") == [("term", "xyz")]


def test_stopword_lists_are_complete() -> None:
    assert (len(ENGLISH_STOPWORDS), len(DUTCH_STOPWORDS), len(LADDER_STOPWORDS)) == (183, 84, 94)
    for word in (*ENGLISH_STOPWORDS, *DUTCH_STOPWORDS, "and", "or", "not"):
        assert tree(word) == []


def test_parse_keeps_stopwords() -> None:
    assert [token.text for token in parse("to do list", drop_stopwords=False).tokens] == ["to", "do", "list"]


def test_token_source() -> None:
    assert [token.source for token in parse('node.js AND "Big Tea" kube*').tokens] == ["node.js", '"Big Tea"', "kube*"]


@given(any_text | query_text)
def test_parse_any_text(text: str) -> None:
    query = parse(text)
    assert query.raw == normalise(text)
    assert query.warnings == ()
    assert all(token.text and token.text == token.text.strip(" ") for token in query.tokens)
    assert parse(text, drop_stopwords=False).has_operators == query.has_operators


def test_parse_truncates_long_query_with_warning() -> None:
    text = "alpha " * 20_000
    query = parse(text)
    assert len(query.raw) <= MAX_LENGTH
    assert {token.text for token in query.tokens} == {"alpha"}
    assert query.warnings == ("the query has 120,000 characters; only the first 100,000 were read",)
    assert parse(text[:MAX_LENGTH]).warnings == ()


@pytest.mark.parametrize("tail", [" omega", "omega", "\u3000omega"])
def test_parse_keeps_word_that_ends_at_the_limit(tail: str) -> None:
    text = "alpha " * 16_000 + "b" * 3_994 + " gamma" + tail
    assert len(text) - len(tail) == MAX_LENGTH
    last = parse(text).tokens[-1].text
    assert (last == "gamma") is (tail != "omega")


def test_parse_truncates_long_word() -> None:
    assert len(parse("x" * 150_000).tokens[0].text) == MAX_LENGTH


def test_parse_rejects_wrong_types() -> None:
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
def test_parse_keeps_short_names(text: str, words: list[str]) -> None:
    assert [token.text for token in parse(text, keep_short=True).tokens] == words
    assert all(len(token.text) > 2 for token in parse(text).tokens)


@pytest.mark.parametrize(
    ("word", "name"),
    [("C++", "c++"), ("(f#),", "f#"), (".NET?", ".net"), ("...net", ""), ("18+", ""), ("#5", ""), ("node.js", "")],
)
def test_symbolic_name(word: str, name: str) -> None:
    assert symbolic_name(word) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  a \t\n b  ", "a b"),
        ("cafe\u0301", "caf\u00e9"),
        ("hel\u200clo \u200bwor\u200dld\ufeff", "hello world"),
        ("a\u00a0\u00a0b", "a b"),
        ('say "two   words"', 'say "two words"'),
        ("a\x1cb\x1fc\x85d", "a\x1cb\x1fc\x85d"),  # white space to Python, not to JavaScript
        ("a\u180eb", "a\u180eb"),
        ("e\u200b\u0301", "\u00e9"),  # an accent that meets its letter only when the zero-width space is gone
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud800b\udc00", "a\ufffdb\ufffd"),
        ("a\x00b", "a\x00b"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize("space", WHITESPACE)
def test_normalise_collapses_javascript_white_space(space: str) -> None:
    assert normalise(f"{space}a{space}{space}b{space}") == ("ab" if space == "\ufeff" else "a b")


@given(any_text | query_text)
def test_normalise_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once.encode().decode() == once


_MARKS = st.text(
    st.sampled_from("\u0301\u0323\u0315\u0334\u0345\u093c\u0903\u05b0\u3099\u20dd\u0f73"), min_size=30, max_size=80
)


@given(st.lists(st.tuples(st.sampled_from("aéक한x"), _MARKS)))
def test_normalise_composes_many_marks(letters: list[tuple[str, str]]) -> None:
    text = "".join(letter + marks for letter, marks in letters)
    assert normalise(text) == unicodedata.normalize("NFC", text)


def test_normalise_takes_linear_time() -> None:
    # Python alone takes many minutes for this.
    text = "a" + "\u0315" * 250_000 + "\u0323" * 250_000
    assert normalise(text) == "ạ" + "\u0323" * 249_999 + "\u0315" * 250_000
    # Combining class 0, but composed of two marks of other classes.
    assert len(normalise("a" + "\u0f73" * 200_000)) == 400_001


def test_normalise_rejects_wrong_types() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^text: must be a string, got 5 \(int\)$"):
        normalise(5)  # type: ignore[arg-type]


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
def test_is_question(text: str) -> None:
    assert is_question(text)
    read, operators = lower_operators(text)
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
def test_lower_operators_ignores_search_terms(text: str) -> None:
    assert not is_question(text)
    assert lower_operators(text) == (text, ())


def test_lower_operators_without_operators() -> None:
    assert lower_operators("why  do we use NOTES and ORDERS?") == ("why  do we use NOTES and ORDERS?", ())


def test_lower_operators_returns_distinct_operators() -> None:
    assert lower_operators("is it OR is it NOT this OR that?") == ("is it or is it not this or that?", ("OR", "NOT"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Kubernetes Deployment", "kubernetes OR deployment"),
        ('"hello world" kube*', '"hello world" OR kube*'),
        ("foo AND bar NOT baz", "foo AND bar AND NOT baz"),
        ("NOT alpha bravo", "alpha OR bravo"),
        ("AND alpha bravo", "alpha OR bravo"),
        ("to do list", ""),
        ("foo AND NOT bar", "foo AND NOT bar"),
        ("2026/04/18", "20260418"),
    ],
)
def test_compile_fts5(text: str, expected: str) -> None:
    assert compile_fts5(parse(text)) == expected


def test_compile_fts5_needs_a_query() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^query: must be a Query as parse\(\) returns it, got str"):
        compile_fts5("foo")  # type: ignore[arg-type]
