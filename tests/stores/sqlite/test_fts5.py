from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import ArgumentError, ArgumentTypeError
from recollect.query import (
    Query,
    Token,
    augment_with_temporal,
    expand_aliases,
    expand_temporal,
    parse,
    with_dates,
)
from recollect.query.expressions import Semantics
from recollect.stores.sqlite.search import render_fts5
from tests.stores.sqlite.fts5_table import Fts5Table
from tests.strategies import ENGINE_EXAMPLES, query_text


@pytest.mark.parametrize(
    ("text", "strict", "literal"),
    [
        ("foo", '"foo"', '"foo"'),
        ("", "", ""),
        ("to do list", "", ""),
        ("foo AND bar NOT baz", '("foo" AND "bar") NOT "baz"', '("foo" AND "bar") NOT "baz"'),
        ("foo OR bar NOT baz", '("foo" OR "bar") NOT "baz"', '"foo" OR ("bar" NOT "baz")'),
        ("NOT alpha bravo", '"bravo" NOT "alpha"', '"alpha" OR "bravo"'),
        ("NOT alpha", "", '"alpha"'),
        ("foo NOT bar NOT baz", '"foo" NOT ("bar" OR "baz")', '"foo" NOT ("bar" OR "baz")'),
        ("foo NOT bar AND baz", '("foo" AND "baz") NOT "bar"', '("foo" AND "baz") NOT "bar"'),
        ("foo NOT bar baz", '("foo" OR "baz") NOT "bar"', '("foo" NOT "bar") OR "baz"'),
        ("foo AND kube*", '"foo" AND "kube" *', '"foo" AND "kube" *'),
        ('"big tea" cup', '"big tea" OR "cup"', '"big tea" OR "cup"'),
        ("node.js", '"nodejs" OR "node js"', '"nodejs"'),
        ("foo AND node.js", '"foo" AND ("nodejs" OR "node js")', '"foo" AND "nodejs"'),
        ("foo NOT don't", '"foo" NOT ("dont" OR "don t")', '"foo" NOT "dont"'),
        ("foo.ba*", '"fooba" * OR "foo ba" *', '"fooba" *'),
        ("(foo)", '"foo"', '"foo"'),
        ("会議2026-04-18", '"会議20260418" OR "会議2026 04 18"', '"会議20260418"'),
        ("(2026-04-18),", '"2026 04 18"', '"2026 04 18"'),
        ("2026/04/18 2026-04-18", '"2026 04 18"', '"2026 04 18"'),
        ("foo foo", '"foo"', '"foo" OR "foo"'),
        ("foo NOT tea NOT tea", '"foo" NOT "tea"', '"foo" NOT ("tea" OR "tea")'),
        ("foo NOT 2026-04-18", '"foo" NOT ("2026 04 18" OR "20260418")', '"foo" NOT "2026 04 18"'),
        ("2026-04-18* foo", '"2026 04 18" * OR "foo"', '"2026 04 18" * OR "foo"'),
        ("2026-04-1*", '"2026041" * OR "2026 04 1" *', '"2026041" *'),
        # no index has punctuation: it is ignored, and so is its operator
        ('foo AND "?!"', '"foo"', '"foo" AND "?!"'),
        ('foo OR "?!" AND bar', '"foo" OR "bar"', '"foo" OR ("?!" AND "bar")'),
        ('"?!" NOT foo', '"?!" NOT "foo"', '"?!" NOT "foo"'),
        ('foo NOT "?!"', '"foo" NOT "?!"', '"foo" NOT "?!"'),
        ("foo AND €", '"foo"', '"foo" AND "€"'),
        ("🍵 AND foo", '"foo"', '"🍵" AND "foo"'),
        ("foo OR 🥑", '"foo" OR "🥑"', '"foo" OR "🥑"'),  # newer than SQLite's tables, and so indexed
        # an excluded term is also excluded as written: SQLite lowers fewer capitals than Python
        ("foo NOT ᲐᲑᲒ", '"foo" NOT ("აბგ" OR "ᲐᲑᲒ")', '"foo" NOT "აბგ"'),
        ('foo NOT "Ꭰ b"', '"foo" NOT ("ꭰ b" OR "Ꭰ b")', '"foo" NOT "ꭰ b"'),
        # control characters never reach MATCH
        ("foo\x00bar", '"foo bar"', '"foo bar"'),
        ('"\x01 \x9f" foo', '"   " OR "foo"', '"   " OR "foo"'),
    ],
)
def test_render(text: str, strict: str, literal: str) -> None:
    assert render_fts5(parse(text)) == strict
    assert render_fts5(parse(text), "literal") == literal


@pytest.mark.parametrize(
    ("text", "strict", "literal"),
    [
        ("foo NOT bar", '"foo" NOT ("x one" OR "y" OR "bar")', '"foo" NOT ("x one" OR "y")'),
        ("foo AND bar", '"foo" AND ("x one" OR "y")', '"foo" AND ("x one" OR "y")'),
        ("foo b-ar", '"foo" OR ("x one" OR "y")', '"foo" OR ("x one" OR "y")'),
        ("foo NOT b-ar", '"foo" NOT ("x one" OR "y" OR "bar" OR "b ar")', '"foo" NOT ("x one" OR "y")'),
    ],
)
def test_render_groups_aliases(text: str, strict: str, literal: str) -> None:
    query = expand_aliases(parse(text), {"bar": ["x one", "y"]})
    assert render_fts5(query) == strict
    assert render_fts5(query, "literal") == literal


def test_render_many_dates() -> None:
    dates = " ".join(
        f"{year:04d}-{month:02d}-{day:02d}"
        for year in range(2000, 2025)
        for month in range(1, 13)
        for day in range(1, 29)
    )
    assert render_fts5(parse(dates[:100_000])).count(" OR ") > 8_000


def test_render_alternative_without_its_term() -> None:
    assert render_fts5(Query("", (Token("term", "tea", None, "tea", 2),), has_operators=False)) == '"tea"'


def test_render_escapes_quotes() -> None:
    query = Query("", (Token("phrase", 'say "hi" \ud800'),), has_operators=True)
    assert render_fts5(query) == '"say ""hi""  "'
    assert Fts5Table(["she may say: hi!"]).search(render_fts5(query))


def test_added_dates_ignore_open_quotes_and_operators() -> None:
    for question in ('tea "green 3 days ago', "tea 3 days ago NOT"):
        hints = expand_temporal(question, "2026-04-18").date_hints
        assert render_fts5(with_dates(parse(question), hints)).endswith(' OR "2026 04 15"')
    with pytest.raises(ArgumentTypeError, match="^date_hints: must be a list, got '2026/04/15'"):
        with_dates(parse("tea"), "2026/04/15")


def test_dates_match_both_spellings() -> None:
    table = Fts5Table(["on 2026/04/04 we met", "2026-04-04: met", "20260404", "2026 04 05"])
    text = augment_with_temporal("zzz 2 weeks ago", "2026-04-18")
    for semantics in SEMANTICS:
        assert table.search(render_fts5(parse(text), semantics)) == {"on 2026/04/04 we met", "2026-04-04: met"}


SEMANTICS: Sequence[Semantics] = ("strict", "literal")


@pytest.fixture(scope="module")
def table() -> Fts5Table:
    return Fts5Table(["foo bar", "Kubernetes, foo", "node.js 2026-04-18", "日本語 🥑 😀", "straße ﬁ ΣΣ", ""])


@settings(max_examples=ENGINE_EXAMPLES)
@given(query_text)
def test_any_text_renders_a_valid_query(table: Fts5Table, text: str) -> None:
    query = parse(text)
    for semantics in SEMANTICS:
        table.search(render_fts5(query, semantics))


@given(query_text, st.dictionaries(st.sampled_from(["foo", "bar", "kube", "nodejs"]), st.lists(query_text, max_size=3)))
def test_any_aliases_render_a_valid_query(table: Fts5Table, text: str, aliases: dict[str, list[str]]) -> None:
    query = expand_aliases(parse(text), aliases)
    for semantics in SEMANTICS:
        table.search(render_fts5(query, semantics))


@pytest.mark.parametrize("separator", [" ", " AND ", " NOT ", '" "', " OR NOT "])
def test_longest_query_is_valid(table: Fts5Table, separator: str) -> None:
    words = separator.join(f"w{number}" for number in range(12_000))
    for semantics in SEMANTICS:
        table.search(render_fts5(parse(words[:100_000]), semantics))


def test_queries_are_valid_for_the_sqlite3_module() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE notes USING fts5(content, tokenize='porter unicode61')")
    for text in ("foo AND bar NOT baz", 'NOT "?!" foo*', "a\x00b OR 2026-04-18", "foo NOT node.js", '"', "😀 AND foo"):
        for semantics in SEMANTICS:
            match = render_fts5(parse(text), semantics)
            if match:
                connection.execute("SELECT rowid FROM notes WHERE notes MATCH ?", (match,)).fetchall()
    connection.close()


# Exclusion, compared with a simple word matcher.

_VOCABULARY = "foo bar baz tea node js node.js kubernetes kube running 2026-04-18 x one".split()
_VOCABULARY += "café Ångström Привет ΟΔΟΣ straße 日本語 عربى ERR_42 don't 42 ᲐᲑᲒ Ꭰ".split()
_notes = st.lists(st.lists(st.sampled_from(_VOCABULARY), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=8)
_operand = st.one_of(
    st.sampled_from(_VOCABULARY),
    st.sampled_from(["kube*", "n*", "node.j*"]),
    st.lists(st.sampled_from(_VOCABULARY), min_size=1, max_size=2).map(lambda words: f'"{" ".join(words)}"'),
)
_joined = st.lists(
    st.tuples(st.sampled_from(["", "OR", "AND", "NOT", "NOT", "AND NOT"]), _operand), min_size=1, max_size=5
)
_boolean_query = _joined.map(lambda parts: " ".join(f"{operator} {operand}" for operator, operand in parts))
_ALIASES = {"bar": ["x one", "tea"]}


def words_of(text: str) -> list[str]:
    return regex.findall(r"[\p{L}\p{N}]+", text.lower())


def contains(note: str, phrase: str, *, prefix: bool) -> bool:
    note_words, phrase_words = words_of(note), words_of(phrase)
    return any(
        window[:-1] == phrase_words[:-1]
        and (window[-1].startswith(phrase_words[-1]) if prefix else window[-1] == phrase_words[-1])
        for window in (
            note_words[start : start + len(phrase_words)] for start in range(len(note_words) - len(phrase_words) + 1)
        )
    )


def excluded_by(text: str) -> Iterator[Token]:
    return (token for token in parse(text).tokens if token.operator == "NOT")


@settings(max_examples=ENGINE_EXAMPLES // 5)
@given(_notes, _boolean_query)
def test_excluded_terms_never_match(notes: list[str], text: str) -> None:
    results = Fts5Table(notes).search(render_fts5(expand_aliases(parse(text), _ALIASES)))
    for token in excluded_by(text):
        for phrase in (token.source, *_ALIASES.get(token.text if token.kind == "term" else "", [])):
            assert not [note for note in results if contains(note, phrase, prefix=token.kind == "prefix")]


@settings(max_examples=ENGINE_EXAMPLES // 5)
@given(_notes, _boolean_query.filter(lambda text: "AND" not in text.replace("AND NOT", "")))
def test_included_terms_match_unless_excluded(notes: list[str], text: str) -> None:
    table = Fts5Table(notes)
    results = table.search(render_fts5(parse(text)))
    excluded = table.search(
        " OR ".join(render_fts5(Query("", (token._replace(operator=None),), True)) for token in excluded_by(text))
    )
    for token in parse(text).tokens:
        if token.operator != "NOT":
            expected = {note for note in notes if contains(note, token.source, prefix=token.kind == "prefix")}
            assert expected - excluded <= results


def test_render_rejects_wrong_arguments() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^query: must be a Query as parse\(\) returns it, got str"):
        render_fts5("foo")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"^semantics: must be one of strict, literal, got 'loose' \(str\)"):
        render_fts5(parse("foo"), "loose")  # type: ignore[arg-type]
