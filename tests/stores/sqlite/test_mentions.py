"""Mentions and entities do not depend on the order of writes, are cheap to update, and are deleted completely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import StoreError
from recollect.stores import tokens
from recollect.stores.sql import checking, graph, writing
from recollect.stores.sqlite import transaction as sqlite_transaction
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction
from tests.stores.histories import (
    NAMESPACE,
    TRIP,
    check_against_brute_force,
    drafts,
    edges,
    histories,
    problems,
    temporary_store,
)
from tests.stores.sqlite.old_schema import copy_to_schema_1

CASES = settings().max_examples


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(path)
    store.write(TRIP)
    yield store
    store.close()


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    raw = apsw.Connection(str(path))
    results = raw.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()  # noqa: S608 (a name of our own)
    raw.close()
    return results


@pytest.mark.parametrize("min_titles", [1, 10**6])
def test_any_history_has_the_edges_of_brute_force(monkeypatch: pytest.MonkeyPatch, min_titles: int) -> None:
    monkeypatch.setattr(writing, "MIN_TITLES", min_titles)
    monkeypatch.setattr(writing, "BATCH_TITLES", 2)
    monkeypatch.setattr(tokens, "FILTER_BUCKETS", 64)

    @settings(max_examples=CASES // 2)
    @given(histories)
    def law(history: list[list[Any]]) -> None:
        with temporary_store("sqlite") as store:
            check_against_brute_force(store, history)
            with store._connections.reading() as connection:
                for table in ("titles", "titled", "mentions", "entities"):
                    assert connection.execute(f"SELECT count(*) FROM {table}").get == 0  # noqa: S608 (names of our own)

    law()


def stored_mentions(store: SQLiteStore) -> dict[str, set[Any]]:
    """Return the stored titles and mentions without their keys, which depend on the history."""
    with store._connections.reading() as connection:
        return {
            "titles": set(connection.execute("SELECT words, namers, common FROM titles")),
            "mentions": set(
                connection.execute(
                    "SELECT words, id, exact FROM mentions AS m JOIN titles ON titles.key = m.title "
                    "JOIN notes ON notes.key = note"
                )
            ),
        }


def test_common_titles_do_not_depend_on_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MAX_MENTIONS", 2)

    @settings(max_examples=CASES // 4)
    @given(st.lists(drafts, max_size=8), st.randoms(), st.integers(1, 4))
    def law(batch: list[dict[str, Any]], rng: Any, size: int) -> None:
        notes = [{**draft, "id": str(index)} for index, draft in enumerate(batch)]
        states = []
        for turn in range(2):
            shuffled = rng.sample(notes, len(notes)) if turn else notes
            with temporary_store("sqlite") as store:
                for start in range(0, len(notes), size):
                    store.write(shuffled[start : start + size])
                states.append(stored_mentions(store))
                assert problems(store) == {}
                store.repair()
                states.append(stored_mentions(store))
        assert states.count(states[0]) == 4

    law()


def test_title_with_too_many_mentions_has_no_edges(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(writing, "MAX_MENTIONS", 3)
    store = SQLiteStore(path)
    store.write([{"id": "city", "title": "Kyoto", "content": "x"}])
    store.write([{"id": f"{n}", "content": "in Kyoto"} for n in range(3)])
    assert len(edges(store)) == 3
    store.write([{"id": "late", "content": "to Kyoto"}])
    assert edges(store) == set()
    assert rows(path, "mentions") == []
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
    store.close()


def test_new_title_with_too_many_mentions_has_no_edges(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(writing, "MAX_MENTIONS", 3)
    store = SQLiteStore(path)
    store.write([{"id": f"{n}", "content": "run there" if n else "running there"} for n in range(4)])
    store.write([{"title": "Running", "content": "x"}, {"title": "There it runs", "content": "x"}])
    assert edges(store) == set()
    with store._connections.reading() as connection:
        assert connection.execute("SELECT words FROM titles WHERE common").fetchall() == [("running",)]
    store.close()


def test_title_of_many_notes_has_no_edges(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(graph, "MAX_TITLE_NOTES", 2)
    store = SQLiteStore(path)
    store.write([{"id": f"{n}", "title": "Kyoto", "content": "x"} for n in range(2)])
    store.write([{"id": "trip", "content": "to Kyoto"}])
    assert edges(store) == {("trip", "0"), ("trip", "1")}
    store.write([{"id": "2", "title": "Kyoto", "content": "x"}])
    assert edges(store) == edges(store, direction="in") == set()
    store.delete(["0"], namespace=NAMESPACE)
    assert edges(store) == {("trip", "1"), ("trip", "2")}
    store.close()


def test_entity_of_many_notes_has_no_edges(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(graph, "MAX_ENTITY_NOTES", 2)
    store = SQLiteStore(path)
    store.write([{"id": f"{n}", "content": "x", "metadata": {"entities": ["Ines"]}} for n in range(2)])
    assert edges(store, "entity") == {("0", "1"), ("1", "0")}
    store.write([{"id": "2", "content": "x", "metadata": {"entities": ["INES"]}}])
    assert edges(store, "entity") == set()
    store.close()


DAMAGES = {
    "a title that changed": ("UPDATE notes SET title = 'Kettles' WHERE key = 1", "mentions"),
    "a title of no note": ("INSERT INTO titles (namespace, stems, words) VALUES (1, 'old jar', 'old jar')", "mentions"),
    "a title that is missing": ("DELETE FROM titled WHERE note = 1", "mentions"),
    "a title of a note that is gone": ("INSERT INTO titled VALUES (99, 1)", "references"),
    "mentions that are missing": ("DELETE FROM mentions WHERE note = 2", "mentions"),
    "mentions that are wrong": ("INSERT INTO mentions VALUES (2, 1, 1)", "mentions"),
    "mentions that are not counted": ("UPDATE titles SET namers = 7", "mentions"),
    "entities that are missing": ("DELETE FROM entities WHERE note = 1", "entities"),
    "entities that are wrong": ("INSERT INTO entities VALUES (3, 1, 'kyoto')", "entities"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_repair_fixes_damage(store: SQLiteStore, path: Path, name: str) -> None:
    sql, part = DAMAGES[name]
    raw = apsw.Connection(str(path))
    raw.execute(f"PRAGMA foreign_keys = OFF; {sql}")
    raw.close()
    assert part in problems(store)
    assert not any(finding.problem for finding in store.repair())
    if name != "a title that changed":
        assert edges(store) == {("trip", "kyoto"), ("plan", "trip"), ("plan", "kyoto")}
    assert edges(store, "entity") == {("trip", "kyoto"), ("kyoto", "trip")}


def test_check_samples_notes(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "CHECKED_NOTES", 2)
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE mentions SET exact = NOT exact WHERE note = 2")
    raw.close()
    assert problems(store)["mentions"] == "the mentions of note 2 do not agree with its text (namespace 'default')"
    monkeypatch.setattr(checking, "CHECKED_NOTES", 1)  # every fourth note
    assert problems(store) == {}


def test_migration_from_first_version_adds_mentions(tmp_path: Path) -> None:
    new, old = tmp_path / "new.db", tmp_path / "old.db"
    store = SQLiteStore(new)
    store.write([{"id": "kyoto", "title": "Kyoto", "content": "x", "metadata": {"entities": ["Japan"]}}])
    store.write([{"id": f"{n}", "title": f"Day {n}", "content": f"Kyoto, not day {n + 1}"} for n in range(10)])
    store.write([{"id": "japan", "content": "x", "metadata": {"entities": ["japan"]}}])
    expected = edges(store)
    store.close()
    copy_to_schema_1(new, old)
    with pytest.raises(StoreError, match="is empty or has an older schema; open it for writing once"):
        SQLiteStore(old, read_only=True)
    migrated = SQLiteStore(old)
    assert len(expected) == 19
    assert edges(migrated) == expected
    assert edges(migrated, "entity") == {("japan", "kyoto"), ("kyoto", "japan")}
    assert problems(migrated) == {}
    migrated.close()
    reader = SQLiteStore(old, read_only=True)
    assert edges(reader) == expected
    assert problems(reader) == {}
    reader.close()


def test_delete_overwrites_the_file(store: SQLiteStore, path: Path) -> None:
    store.write([{"id": "secret", "title": "Xylophonic plan", "content": "x", "metadata": {"entities": ["Quixotry"]}}])
    store.write([{"id": "other", "content": "the xylophonic plan"}])
    assert ("other", "secret") in edges(store)
    store.delete(["secret", "other"], namespace=NAMESPACE)
    store.close()
    content = path.read_bytes()
    assert b"xylophon" not in content.lower()
    assert b"quixotry" not in content.lower()


def test_edges_take_few_statements(store: SQLiteStore) -> None:
    store.write([{"id": f"{n}", "title": f"Day {n}", "content": f"day {n + 1}", "links": ()} for n in range(100)])
    statements: list[str] = []

    def record_statement(_: Any, sql: str, __: Any) -> bool:
        statements.append(sql)
        return True

    with store._connections.reading() as connection:
        connection.set_exec_trace(record_statement)
        graph.edges(SqliteTransaction(connection), 1, [f"{n}" for n in range(60)], 2)
        connection.set_exec_trace(None)
    assert 0 < len(statements) <= 10


def searched_titles(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch, notes: list[dict[str, Any]]) -> int:
    """Return the number of titles that a write searches in the FTS5 index."""
    titles: list[str] = []
    phrase = sqlite_transaction._phrase

    def count_phrase(title: Any) -> str:
        titles.append(title.words)
        return phrase(title)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_transaction, "_phrase", count_phrase)
        store.write(notes)
    return len(titles)


def test_titles_of_new_words_are_not_searched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def days(start: int, count: int) -> list[dict[str, Any]]:
        return [{"id": f"{n}", "title": f"Day {n}", "content": "x"} for n in range(start, start + count)]

    few = 10  # hash collisions
    store = SQLiteStore(path)
    assert searched_titles(store, monkeypatch, days(0, 100)) == 0  # the store was empty
    assert searched_titles(store, monkeypatch, days(100, 100)) < few
    second_store = SQLiteStore(path)
    assert searched_titles(second_store, monkeypatch, days(200, 100)) == 100  # its term filter is not loaded
    assert searched_titles(second_store, monkeypatch, days(300, 300)) < few  # large batches load it
    assert searched_titles(store, monkeypatch, days(600, 100)) == 100  # the other store has written
    assert searched_titles(store, monkeypatch, [{"title": "Day 250", "content": "x"}]) == 0  # no new title
    store.write([{"id": "log", "content": "of day 4711 and 4712"}])
    assert 2 <= searched_titles(store, monkeypatch, days(4000, 1000)) < few
    assert searched_titles(store, monkeypatch, [{"title": "Elsewhere", "content": "x", "namespace": "b"}]) == 0
    assert searched_titles(store, monkeypatch, days(9000, 1)) == 1  # only one namespace is cached
    assert edges(store) == {("log", "4711")}
    store.close()
    second_store.close()


def test_notes_are_not_tokenized_before_the_first_title(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteStore(path)

    def fail(*_: Any) -> None:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr("recollect.stores.tokens._token_stream", fail)
        store.write([{"id": "1", "content": "to Kyoto"}])
        store.write([{"id": "2", "content": "from Kyoto", "summary": "home"}])
    store.write([{"id": "3", "title": "Kyoto", "content": "x"}])
    assert edges(store) == {("1", "3"), ("2", "3")}
    store.close()
