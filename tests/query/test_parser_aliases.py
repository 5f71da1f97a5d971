from __future__ import annotations

import pytest

from recollect import ArgumentTypeError
from recollect.query import AliasTable, Query, compile_fts5, expand_aliases, parse
from recollect.stores.sqlite.search import render_fts5


def compiled(text: str, aliases: dict[str, list[str]]) -> str:
    return compile_fts5(expand_aliases(parse(text), aliases))


@pytest.mark.parametrize(
    ("text", "aliases", "expected"),
    [
        ("kubernetes deployment", {}, "kubernetes OR deployment"),
        ("dude", {"dude": ["oude"]}, "oude"),  # the term is replaced
        ("BOSCH", {"bosch": ["bosch", "robert-bosch"]}, 'bosch OR "robert bosch"'),  # unless it lists itself
        ('"bosch" kube*', {"bosch": ["x"], "kube": ["k8s"]}, '"bosch" OR kube*'),  # terms only
        ("foo", {"foo": ["Foo", "foo", "FOO "]}, "foo"),  # the same alternative once
        ("foo bar", {"foo": ["bar", "qux"]}, "bar OR qux OR bar"),  # once per word of the query
        ("foo", {"foo": []}, "foo"),
        ("foo", {"foo": ["?!", " "]}, "foo"),  # every alternative cleans to nothing
        ("foo", {"foo": ["bar"], "bar": ["baz"]}, "bar"),  # expanded once
        ("foo NOT bar", {"bar": ["x one", "y"]}, 'foo AND NOT "x one" OR y'),  # the operator goes to the first
        ("foo", {"FOO": ["bar"]}, "bar"),  # keys match in any case
        ("café", {"CAFE\u0301": ["koffie-huis"]}, '"koffie huis"'),  # and in any normal form
        ("foo", {"Foo": ["lost"], "foo": ["kept"], "FOO": ["lost"]}, "kept"),  # the lower-case key comes first
        ("the", {"the": ["article"]}, ""),  # a stopword is gone before
        ("node.js", {"node.js": ["deno"]}, "deno"),  # keys are cleaned as words are
        ("green tea", {"green tea": ["sencha"]}, "green OR tea"),  # and are one word
    ],
)
def test_expand_aliases(text: str, aliases: dict[str, list[str]], expected: str) -> None:
    assert compiled(text, aliases) == expected


def test_expand_aliases_keeps_other_fields() -> None:
    query = parse("foo " * 30_000)
    expanded = expand_aliases(query, {"foo": ["bar"]})
    assert (expanded.raw, expanded.has_operators, expanded.warnings) == (query.raw, False, query.warnings)
    assert expanded.warnings


def test_aliases_are_not_expanded_twice() -> None:
    once = expand_aliases(parse("foo NOT bar"), {"bar": ["x", "y"]})
    twice = expand_aliases(once, {"y": ["z"], "foo": ["f"]})
    assert compile_fts5(twice) == "f AND NOT x OR y"
    assert render_fts5(twice) == '"f" NOT ("x" OR "y" OR "bar")'


def test_alias_table_is_a_mapping() -> None:
    table = AliasTable({"Foo": ["bar", "Big-Baz"]})
    assert dict(table) == {"foo": ("bar", "Big-Baz")}
    assert len(table) == 1
    assert table["FOO"] == ("bar", "Big-Baz")
    assert "foo" in table
    assert 5 not in table  # type: ignore[comparison-overlap]
    assert compile_fts5(expand_aliases(parse("foo"), table)) == 'bar OR "big baz"'


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ([("foo", ["bar"])], "aliases: must map a term to a list of alternatives, got list"),
        ({"foo": "bar"}, r"aliases\['foo'\]: must be a list, got 'bar' \(str\)"),
        ({"foo": [1]}, r"aliases\['foo'\]: must be a string, got 1 \(int\)"),
        ({1: ["foo"]}, r"aliases key: must be a string, got 1 \(int\)"),
    ],
)
def test_alias_table_rejects_wrong_types(aliases: object, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{message}"):
        expand_aliases(parse("foo"), aliases)  # type: ignore[arg-type]


def test_expand_aliases_needs_a_query() -> None:
    with pytest.raises(ArgumentTypeError, match=r"^query: must be a Query as parse\(\) returns it, got str"):
        expand_aliases("foo", {})  # type: ignore[arg-type]
    assert isinstance(expand_aliases(parse("foo"), {}), Query)
