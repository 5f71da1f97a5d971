"""Mentions and entities do not depend on the order of writes, are cheap to update, and are deleted completely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings

from recollect.stores import tokens
from recollect.stores.postgres import transaction
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sql import writing
from tests.stores import naming
from tests.stores.histories import (
    NAMESPACE,
    TRIP,
    check_against_brute_force,
    edges,
    histories,
    problems,
    temporary_store,
)

CASES = settings().max_examples

RunSql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database)) as opened:
        yield opened


@pytest.fixture
def trip(store: PostgresStore) -> PostgresStore:
    store.write(TRIP)
    return store


@pytest.mark.parametrize("min_titles", [1, 10**6])
def test_any_history_has_the_edges_of_brute_force(monkeypatch: pytest.MonkeyPatch, min_titles: int) -> None:
    monkeypatch.setattr(writing, "MIN_TITLES", min_titles)
    monkeypatch.setattr(writing, "BATCH_TITLES", 2)
    monkeypatch.setattr(tokens, "FILTER_BUCKETS", 64)

    @settings(max_examples=CASES // 10)
    @given(histories)
    def law(history: list[list[Any]]) -> None:
        with temporary_store("postgres") as store:
            check_against_brute_force(store, history)
            remaining = store._connections.read(
                lambda at: [
                    at.connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 (names of our own)
                    for table in ("titles", "titled", "mentions", "entities", "words", "postings", "names")
                ],
                namespace=None,
            )
            assert remaining == [(0,)] * 7

    law()


def test_title_with_too_many_mentions_has_no_edges(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, run_sql: RunSql
) -> None:
    monkeypatch.setattr(writing, "MAX_MENTIONS", 3)
    store.write([{"id": "city", "title": "Kyoto", "content": "x"}])
    store.write([{"id": f"{n}", "content": "in Kyoto"} for n in range(3)])
    assert len(edges(store)) == 3
    store.write([{"id": "late", "content": "to Kyoto"}])
    assert edges(store) == set()
    assert run_sql("SELECT * FROM recollect.mentions") == []
    store.delete(["late"], namespace=NAMESPACE)
    assert edges(store) == set()  # until repair counts again
    assert problems(store) == {}
    store.repair()
    assert len(edges(store)) == 3
    store.write([{"id": "late", "content": "to Kyoto"}])
    store.delete(["city"], namespace=NAMESPACE)
    store.delete(["late"], namespace=NAMESPACE)
    store.write([{"id": "city", "title": "Kyoto", "content": "x"}])
    assert len(edges(store)) == 3  # the title was deleted with its last note


def test_new_title_with_too_many_mentions_has_no_edges(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, run_sql: RunSql
) -> None:
    monkeypatch.setattr(writing, "MAX_MENTIONS", 3)
    store.write([{"id": f"{n}", "content": "run there" if n else "running there"} for n in range(4)])
    store.write([{"id": f"{n} more", "path": f"run/{n}", "tags": ("there it runs",), "content": "x"} for n in range(9)])
    store.write([{"title": "Running", "content": "x"}, {"title": "There it runs", "content": "x"}])
    assert edges(store) == set()
    assert run_sql("SELECT words FROM recollect.titles WHERE common") == [("running",)]


def test_mentions_in_notes_with_incomplete_terms(store: PostgresStore, run_sql: RunSql) -> None:
    pages = " ".join(f"page {n} of it" for n in range(6_000))
    store.write([{"id": "book", "content": f"{pages} then green tea in Kyoto"}])
    store.write([{"id": "tags", "content": pages, "tags": ("green tea", "kyoto")}])
    assert run_sql("SELECT whole FROM recollect.words") == [(False,), (False,)]
    store.write(
        [{"id": title, "title": title, "content": "x"} for title in ("Green tea", "Kyoto", "Tea green", "Osaka")]
    )
    assert edges(store) == {("book", "Green tea"), ("book", "Kyoto")}
    assert problems(store) == {}


DAMAGES = {
    "a title that changed": ("UPDATE notes SET title = 'Kettles' WHERE id = 'kyoto'", "mentions of 'default'"),
    "a title of no note": (
        "INSERT INTO titles (namespace, stems, words) SELECT key, 'old jar', 'old jar' FROM namespaces",
        "mentions of 'default'",
    ),
    "a title that is missing": (
        "DELETE FROM titled USING notes WHERE note = key AND id = 'kyoto'",
        "mentions of 'default'",
    ),
    "mentions that are missing": (
        "DELETE FROM mentions USING notes WHERE note = key AND id = 'trip'",
        "mentions of 'default'",
    ),
    "mentions that are wrong": (
        "INSERT INTO mentions SELECT t.key, n.key, true FROM titles AS t, notes AS n "
        "WHERE words = 'plan' AND id = 'trip'",
        "mentions of 'default'",
    ),
    "mentions that are not counted": ("UPDATE titles SET namers = 7", "mentions of 'default'"),
    "entities that are missing": (
        "DELETE FROM entities USING notes WHERE note = key AND id = 'kyoto'",
        "entities of 'default'",
    ),
    "entities that are wrong": (
        "INSERT INTO entities SELECT key, namespace, mark('kyoto') FROM notes WHERE id = 'plan'",
        "entities of 'default'",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_repair_fixes_damage(trip: PostgresStore, run_sql: RunSql, name: str) -> None:
    statement, part = DAMAGES[name]
    run_sql(f"SET search_path = recollect; {statement}")
    assert part in problems(trip)
    assert not any(finding.problem for finding in trip.repair())
    if name != "a title that changed":
        assert edges(trip) == {("trip", "kyoto"), ("plan", "trip"), ("plan", "kyoto")}
    assert edges(trip, "entity") == {("trip", "kyoto"), ("kyoto", "trip")}


def searched_titles(store: PostgresStore, monkeypatch: pytest.MonkeyPatch, notes: list[dict[str, Any]]) -> int:
    checked: list[Any] = []
    original = transaction._title_queries

    def counted(namespace_id: int, title: Any) -> Any:
        checked.append(title)
        return original(namespace_id, title)

    with monkeypatch.context() as patch:
        patch.setattr(transaction, "_title_queries", counted)
        store.write(notes)
    return len(checked)


def test_titles_of_new_words_are_not_searched(
    store: PostgresStore, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def days(start: int, count: int) -> list[dict[str, Any]]:
        return [{"id": f"{n}", "title": f"Day {n}", "content": "x"} for n in range(start, start + count)]

    few = 10  # hash collisions
    assert searched_titles(store, monkeypatch, days(0, 100)) == 0  # the store was empty
    assert searched_titles(store, monkeypatch, days(100, 100)) < few
    with closing(PostgresStore(database)) as second_store:
        assert searched_titles(second_store, monkeypatch, days(200, 100)) == 100  # its term filter is not loaded
        assert searched_titles(second_store, monkeypatch, days(300, 300)) < few  # large batches load it
    assert searched_titles(store, monkeypatch, days(600, 100)) == 100  # the other store has written
    assert searched_titles(store, monkeypatch, [{"title": "Day 250", "content": "x"}]) == 0  # no new title
    store.write([{"id": "log", "content": "of day 4711 and 4712"}])
    assert 2 <= searched_titles(store, monkeypatch, days(4000, 1000)) < few
    assert searched_titles(store, monkeypatch, [{"title": "Elsewhere", "content": "x", "namespace": "b"}]) == 0
    assert searched_titles(store, monkeypatch, days(9000, 100)) < few  # several namespaces are cached
    with pytest.raises(ValueError, match="content: is needed"):
        store.write([*days(9100, 1), {"title": "x"}])
    assert searched_titles(store, monkeypatch, days(9200, 100)) < few  # the failed write changed no filter
    assert edges(store) == {("log", "4711")}


def test_title_of_one_very_long_word_is_searched(store: PostgresStore) -> None:
    word = "𝄞𐐨" * 140  # letters of four bytes
    store.write([{"id": "first", "title": "Begun", "content": f"to {word} and back"}])
    store.write([{"id": "second", "title": word, "content": "x"}])
    assert edges(store) == naming.mentions(
        {note.id: {"title": note.title, "content": note.content} for note in store.notes()}
    )
    assert problems(store) == {}


@pytest.mark.filterwarnings("ignore:.*bypasses row-level security")
@pytest.mark.parametrize("role", ["recollect", "postgres"])
def test_title_is_not_searched_in_other_namespaces(database: str, role: str) -> None:
    """Long notes are matched by their text; for the superuser no policy hides those of other namespaces."""
    various = " ".join(f"word{number}" for number in range(1000))
    with closing(PostgresStore(database)) as store:
        store.write([{"namespace": "theirs", "id": "long", "content": f"{various}{' green tea' * 300}"}])
    with closing(PostgresStore(database.replace("recollect@", f"{role}@"))) as store:
        store.write([{"namespace": "ours", "id": "milk", "content": "Milk."}])
        store.write([{"namespace": "ours", "id": "tea", "title": "Green tea", "content": "Hot."}])
        assert store.edges(["tea"], namespace="ours") == []
        assert problems(store) == {}
