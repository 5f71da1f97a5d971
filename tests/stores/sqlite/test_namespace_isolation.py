"""Notes of other namespaces do not slow down a query: SQLite does not read their rows."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recollect.model import Filters, Link
from recollect.stores import open_store
from recollect.stores.sql.graph import edges
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction


def count_instructions(path: Path, kinds: tuple[str, ...] | None) -> int:
    """Return how many instructions SQLite executes to read the edges of two notes in ``mine``."""
    connection = apsw.Connection(str(path))
    key = connection.execute("SELECT key FROM namespaces WHERE name = 'mine'").get
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    connection.set_progress_handler(count, 1)
    results = edges(SqliteTransaction(connection), key, ["tea", "milk"], 1, kinds)
    connection.set_progress_handler(None)
    connection.close()
    assert [(edge.source, edge.target) for edge in results] == [("tea", "milk"), ("milk", "tea")]
    return counted


@pytest.mark.parametrize("kinds", [None, ("related",), ("related", "supersedes")])
def test_graph_ignores_links_of_other_namespaces(tmp_path: Path, kinds: tuple[str, ...] | None) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    store.write([{"id": "milk", "content": "m", "namespace": "mine"}])
    store.write([{"id": "tea", "content": "t", "links": [Link("related", "milk")], "namespace": "mine"}])
    theirs = {"content": "x", "links": [Link("related", "milk"), Link("supersedes", "tea")], "namespace": "theirs"}
    store.write([{"id": "n0", **theirs}])
    expected = count_instructions(path, kinds)
    store.write([{"id": f"n{index}", **theirs} for index in range(500)])
    store.close()
    assert count_instructions(path, kinds) == expected


def test_iteration_skips_other_namespaces(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    def page_instructions() -> int:
        nonlocal counted
        with store._connections.reading() as connection:
            connection.set_progress_handler(count, 1)
        counted = 0
        page = store.page(5, namespace="mine", filters=Filters())
        assert [note.id for note in page.notes] == ["milk", "tea"]
        return counted

    store.write([{"id": "milk", "content": "m", "namespace": "mine"}])
    store.write([{"id": "n0", "content": "x", "namespace": "theirs"}])
    store.write([{"id": "tea", "content": "t", "namespace": "mine"}])
    page_instructions()  # warm up: the first page prepares statements
    few = page_instructions()
    store.write([{"id": f"n{index}", "content": "x", "namespace": "theirs"} for index in range(1, 500)])
    assert page_instructions() == few > 0
    store.close()
