"""Scores of recent queries are cached until a term changes, up to a number of scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from psycopg import Connection

from recollect.model import draft_of
from recollect.query.expressions import Expression, Match
from recollect.stores.bm25 import Scores
from recollect.stores.postgres import postings as scoring
from recollect.stores.postgres.postings import ScoreCache, score_notes
from recollect.stores.postgres.store import PostgresStore

TEA, MILK, RUM = (Match("term", word) for word in ("tea", "milk", "rum"))


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database)) as opened:
        opened.write([draft_of("green tea"), draft_of("tea with milk"), draft_of("rum"), draft_of("water")])
        yield opened


@pytest.fixture
def computed_queries(monkeypatch: pytest.MonkeyPatch) -> list[Expression]:
    """Return a list of the queries whose scores were computed."""
    nodes: list[Expression] = []

    def counting(connection: Connection, namespace: int, node: Expression) -> Scores:
        nodes.append(node)
        return score_notes(connection, namespace, node)

    monkeypatch.setattr(scoring, "score_notes", counting)
    return nodes


def scores(store: PostgresStore, cache: ScoreCache, node: Expression) -> list[float]:
    results = store._connections.read(
        lambda at: cache.scores(at.connection, at.namespaces["default"], node), namespace="default"
    )
    return list(map(float, results.scores))


def test_scores_of_a_query_are_computed_once(store: PostgresStore, computed_queries: list[Expression]) -> None:
    cache = ScoreCache()
    assert scores(store, cache, TEA) == scores(store, cache, TEA)
    assert computed_queries == [TEA]


def test_write_invalidates_the_cache(store: PostgresStore, computed_queries: list[Expression]) -> None:
    cache = ScoreCache()
    assert len(scores(store, cache, TEA)) == 2
    store.write([draft_of("more tea")])
    assert len(scores(store, cache, TEA)) == 3
    assert computed_queries == [TEA, TEA]


def test_the_least_recently_used_query_is_dropped(
    store: PostgresStore, computed_queries: list[Expression], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "MAX_SCORES", 3)
    cache = ScoreCache()
    for node in (TEA, MILK, TEA, RUM):  # two scores, one, and one more than the limit
        scores(store, cache, node)
    assert computed_queries == [TEA, MILK, RUM]
    scores(store, cache, TEA)
    assert computed_queries == [TEA, MILK, RUM]
    scores(store, cache, MILK)
    assert computed_queries == [TEA, MILK, RUM, MILK]


def test_queries_are_limited_in_number(
    store: PostgresStore, computed_queries: list[Expression], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "MAX_QUERIES", 1)
    cache = ScoreCache()
    for node in (TEA, MILK, TEA):
        scores(store, cache, node)
    assert computed_queries == [TEA, MILK, TEA]
