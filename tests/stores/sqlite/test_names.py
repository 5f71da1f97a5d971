"""The name index is cached in memory and is never older than the snapshot of a search."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.model import Filters
from recollect.stores.name_index import NameIndex
from recollect.stores.sqlite import search, spelling
from recollect.stores.sqlite.search import NamespaceSearch
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch
from tests.stores.sqlite.old_schema import copy_to_schema_1

EVERYTHING = Filters()
WRITE = """
import sys
from pathlib import Path
from recollect.stores.sqlite.store import SQLiteStore

store = SQLiteStore(Path(sys.argv[1]))
store.delete(["kubernetes.md"], namespace="default")
store.write([{"path": "kubernetic.md", "content": "x"}])
store.close()
"""


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(path)
    store.write([{"path": f"{name}.md", "content": "x"} for name in ("kubernetes", "bosch", "tea")])
    yield store
    store.close()


def search_names(store: SQLiteStore, word: str, *, titles: bool = False) -> list[str]:
    results = store.search_names([word], 10, namespace="default", filters=EVERYTHING, titles=titles)
    return [candidate.path for candidate in results]


@pytest.fixture
def name_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how often names are read from the table."""
    reads: list[int] = []

    def counting(*arguments: object) -> list[tuple[object, ...]]:
        reads.append(1)
        return fetch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(spelling, "fetch", counting)
    return reads


def test_names_are_read_once(store: SQLiteStore, name_reads: list[int]) -> None:
    for _ in range(3):
        assert search_names(store, "kubernets") == ["kubernetes.md"]
    assert len(name_reads) == 1


def test_unrelated_writes_do_not_reread_names(store: SQLiteStore, name_reads: list[int]) -> None:
    search_names(store, "tea")
    store.write([{"path": "tea.md", "importance": 0.9, "links": (), "metadata": {"a": 1}, "content": "x"}])
    store.write([{"path": "elsewhere.md", "content": "x", "namespace": "alice"}])
    assert search_names(store, "tea") == ["tea.md"]
    assert len(name_reads) == 1
    store.write([{"path": "tea.md", "content": "y"}])
    assert search_names(store, "tea") == ["tea.md"]
    assert len(name_reads) == 2


def test_names_written_by_another_process(store: SQLiteStore, path: Path) -> None:
    assert search_names(store, "kubernets") == ["kubernetes.md"]
    subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True)
    assert search_names(store, "kubernets") == ["kubernetic.md"]


def test_older_snapshot_rereads_names(store: SQLiteStore) -> None:
    with store._connections.reading() as connection:
        old = connection.execute("SELECT count(*) FROM notes").get
        store.write([{"path": "kubernetic.md", "content": "x"}])
        assert search_names(store, "kubernets") == ["kubernetes.md", "kubernetic.md"]
        index = store._names[False].get(SqliteTransaction(connection), 1)
        results = NamespaceSearch(connection, store._indexes, 1).search_names(
            index, ["kubernets"], 10, EVERYTHING, None
        )
        assert [candidate.path for candidate in results] == ["kubernetes.md", "kubernetic.md"]
        assert connection.execute("SELECT count(*) FROM notes").get == old + 1


def test_failed_write_does_not_reread_names(store: SQLiteStore, name_reads: list[int]) -> None:
    search_names(store, "tea")
    with pytest.raises(ValueError, match="content: is needed"):
        store.write([{"path": "a.md", "content": "x"}, {"path": "b.md"}])
    assert search_names(store, "tea") == ["tea.md"]
    assert len(name_reads) == 1


def test_concurrent_threads_read_names_once(store: SQLiteStore, name_reads: list[int]) -> None:
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda: results.append(search_names(store, "kubernets"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [["kubernetes.md"]] * 8
    assert len(name_reads) == 1


def test_concurrent_writes_and_name_searches(store: SQLiteStore) -> None:
    errors: list[object] = []

    def work(number: int) -> None:
        for turn in range(15):
            path = f"{number}/kubernetes-{turn}.md"
            store.write([{"path": path, "content": "x"}])
            if path not in all_paths(store):
                errors.append(path)
            store.delete([path], namespace="default")
            if path in all_paths(store):
                errors.append(path)

    def all_paths(store: SQLiteStore) -> list[str]:
        results = store.search_names(["kubernetes"], 1000, namespace="default", filters=EVERYTHING)
        return [candidate.path for candidate in results]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert search_names(store, "kubernets") == ["kubernetes.md"]


def test_blocks_are_filled_and_deleted_names_are_dropped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.name_index.BLOCK_NAMES", 4)
    monkeypatch.setattr(search, "FILTERED_NOTES", 3)
    store = SQLiteStore(path)
    for turn in range(6):
        store.write(
            [{"path": f"{turn}/alpha{n}.md", "content": "x", "title": f"alpha beta{n}"} for n in range(turn * 3)]
        )
        for titles in (False, True):
            results = store.search_names(["alpha1"], 100, namespace="default", filters=EVERYTHING, titles=titles)
            assert [candidate.path for candidate in results if candidate.score == 1] == [
                f"{n}/alpha1.md" for n in range(1, turn + 1)
            ]
    filters = Filters(path_prefix="5/")
    results = store.search_names(["alpha1"], 2, namespace="default", filters=filters)
    assert [candidate.path for candidate in results] == ["5/alpha1.md", "5/alpha10.md"]
    sizes = [len(block.sizes) for block in name_index(store, titles=False).blocks]
    assert sizes == [4, 4, 4, 3]
    for titles in (False, True):
        store.write([{"path": f"{n}.md", "content": "x", "title": f"gamma delta{n}"} for n in range(50)])
        full = len(name_index(store, titles=titles).numbers)
        store.delete([note.path for note in store.notes() if not note.path.endswith("alpha1.md")], namespace="default")
        assert store.search_names(["alpha1"], 1, namespace="default", filters=EVERYTHING, titles=titles)[0].score == 1
        left = len(name_index(store, titles=titles).numbers)
        assert left < full / 2
    store.close()


def name_index(store: SQLiteStore, *, titles: bool) -> NameIndex:
    with store._connections.reading() as connection:
        return store._names[titles].get(SqliteTransaction(connection), 1)


@pytest.mark.parametrize("titles", [False, True])
def test_read_only_store_sees_new_names(store: SQLiteStore, path: Path, titles: bool) -> None:
    reader = SQLiteStore(path, read_only=True)
    assert search_names(reader, "kubernets", titles=titles) == ["kubernetes.md"]
    store.write([{"path": "kubernetic.md", "content": "x"}])
    assert search_names(reader, "kubernets", titles=titles) == ["kubernetes.md", "kubernetic.md"]
    reader.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_process_shares_names(store: SQLiteStore) -> None:
    search_names(store, "kubernets")
    child = os.fork()
    if child == 0:
        correct = search_names(store, "kubernets") == ["kubernetes.md"]
        store.write([{"path": "kubernetic.md", "content": "x"}])
        correct = correct and search_names(store, "kubernets") == ["kubernetes.md", "kubernetic.md"]
        os._exit(0 if correct else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert search_names(store, "kubernets") == ["kubernetes.md", "kubernetic.md"]


def test_migration_from_first_version_indexes_names(store: SQLiteStore, path: Path) -> None:
    store.write([{"path": "kubernetes.md", "content": "x"}])
    store.close()
    copy_to_schema_1(path, path.with_name("old.db"))
    old = SQLiteStore(path.with_name("old.db"))
    assert search_names(old, "kubernets") == ["kubernetes.md"]
    old.write([{"path": "kubernetic.md", "content": "x"}])
    assert search_names(old, "kubernets") == ["kubernetes.md", "kubernetic.md"]
    assert not any(finding.problem for finding in old.check())
    old.close()
