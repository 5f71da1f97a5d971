"""What others keep in their namespaces costs nothing: who is asked about a note does not even walk past it."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recollect.model import Filters, Link
from recollect.stores import open_store
from recollect.stores.sql.graph import edges
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction


def work(path: Path, kinds: tuple[str, ...] | None) -> int:
    """Return how many instructions SQLite takes to find the connections of two notes of the namespace ``mine``."""
    connection = apsw.Connection(str(path))
    key = connection.execute("SELECT key FROM namespaces WHERE name = 'mine'").get
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    connection.set_progress_handler(count, 1)
    found = edges(SqliteTransaction(connection), key, ["tea", "milk"], 1, kinds)
    connection.set_progress_handler(None)
    connection.close()
    assert [(edge.source, edge.target) for edge in found] == [("tea", "milk"), ("milk", "tea")]
    return counted


@pytest.mark.parametrize("kinds", [None, ("related",), ("related", "supersedes")])
def test_graph_ignores_links_of_other_namespaces(tmp_path: Path, kinds: tuple[str, ...] | None) -> None:
    path = tmp_path / "memory.db"
    store = open_store(path)
    store.write([{"id": "milk", "content": "m", "namespace": "mine"}])
    store.write([{"id": "tea", "content": "t", "links": [Link("related", "milk")], "namespace": "mine"}])
    theirs = {"content": "x", "links": [Link("related", "milk"), Link("supersedes", "tea")], "namespace": "theirs"}
    store.write([{"id": "n0", **theirs}])
    beside_one = work(path, kinds)
    store.write([{"id": f"n{place}", **theirs} for place in range(500)])
    store.close()
    assert work(path, kinds) == beside_one


def test_iteration_skips_other_namespaces(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    def work_of_a_page() -> int:
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
    work_of_a_page()  # what the first one prepares is not counted
    few = work_of_a_page()
    store.write([{"id": f"n{place}", "content": "x", "namespace": "theirs"} for place in range(1, 500)])
    assert work_of_a_page() == few > 0
    store.close()
