"""A query tree matches the same notes as tsquery and as FTS5 expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recollect.query import Query, expression, parse, render
from recollect.query.expressions import AnyOf, Expression, Match, Semantics
from recollect.stores.postgres.text import read_terms, render_tsquery
from recollect.stores.sqlite.search import _Fts5, render_fts5
from tests.stores.postgres.fts5_reference import NAMESPACE, NOTES, expressions, fts5, queries, with_unique_path
from tests.stores.postgres.server import Server
from tests.strategies import ENGINE_EXAMPLES

Search = Callable[[str | None], set[int]]


@pytest.fixture(scope="module")
def tsquery_search(postgres: Server) -> Iterator[Search]:
    with psycopg.connect(postgres.address("empty"), autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE w (key int, words tsvector); CREATE INDEX ON w USING gin (words)")
        connection.cursor().executemany(
            "INSERT INTO w VALUES (%s, %s::tsvector)",
            [
                (key, read_terms(with_unique_path(key, fields)).tsvector(NAMESPACE)[0])
                for key, fields in enumerate(NOTES, start=1)
            ],
        )

        def search(query: str | None) -> set[int]:
            rows = connection.execute("SELECT key FROM w WHERE words @@ %s::tsquery", [query])
            return {key for (key,) in rows}

        yield search


@pytest.fixture(scope="module")
def fts5_search() -> Search:
    connection: apsw.Connection = fts5()
    return lambda query: {key for (key,) in connection.execute("SELECT rowid FROM w WHERE w MATCH ?", (query,))}


@settings(max_examples=ENGINE_EXAMPLES // 40, suppress_health_check=[HealthCheck.too_slow])
@given(expressions)
def test_any_tree_finds_the_same_notes_as_fts5(tsquery_search: Search, fts5_search: Search, node: Expression) -> None:
    expected = fts5_search(render(node, _Fts5()))
    assert tsquery_search(render_tsquery(node, NAMESPACE)) == expected


@settings(max_examples=ENGINE_EXAMPLES // 40)
@given(queries, st.sampled_from(["strict", "literal"]))
@example(parse("tea NOT ?!"), "literal")
@example(parse("tea AND ?!"), "literal")
@example(parse("\x00"), "strict")
def test_any_query_finds_the_same_notes_as_fts5(
    tsquery_search: Search, fts5_search: Search, query: Query, semantics: Semantics
) -> None:
    node = expression(query, semantics)
    matching = set() if node is None else tsquery_search(render_tsquery(node, NAMESPACE))
    fts5_query = render_fts5(query, semantics)
    assert matching == (fts5_search(fts5_query) if fts5_query else set())


@pytest.mark.usefixtures("tsquery_search")
def test_reference_notes_match(fts5_search: Search) -> None:
    assert 0 < len(fts5_search('"green tea" OR "brew" *')) < len(NOTES)


def test_another_namespace_finds_nothing(tsquery_search: Search) -> None:
    node = expression(parse("tea OR gre*"))
    assert node is not None
    assert tsquery_search(render_tsquery(node, NAMESPACE))
    assert tsquery_search(render_tsquery(node, 70)) == set()
    assert tsquery_search(render_tsquery(node, 1)) == set()


@pytest.mark.parametrize("number", [20_000, 50_000])
def test_query_of_many_terms_is_not_too_deep(tsquery_search: Search, number: int) -> None:
    node = AnyOf(tuple(Match("term", f"w{index}") for index in range(number)) + (Match("term", "tea"),))
    assert tsquery_search(render_tsquery(node, NAMESPACE)) == tsquery_search(
        render_tsquery(Match("term", "tea"), NAMESPACE)
    )


def test_long_prefix_is_truncated(tsquery_search: Search) -> None:
    assert tsquery_search(render_tsquery(Match("prefix", "y" * 1500 + "x"), NAMESPACE)) == {len(NOTES)}
    assert tsquery_search(render_tsquery(Match("prefix", "y" * 900 + "x"), NAMESPACE)) == set()
