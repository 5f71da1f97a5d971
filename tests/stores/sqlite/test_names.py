"""Names are kept in memory, and never older than the state that a search sees."""

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
from recollect.stores.sqlite import names
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction, fetch
from tests.stores.sqlite.older import as_first_version

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


def named(store: SQLiteStore, word: str, *, titles: bool = False) -> list[str]:
    found = store.search_names([word], 10, namespace="default", filters=EVERYTHING, titles=titles)
    return [candidate.path for candidate in found]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how often names are read from the table."""
    counted: list[int] = []

    def counting(*arguments: object) -> list[tuple[object, ...]]:
        counted.append(1)
        return fetch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(names, "fetch", counting)
    return counted


def test_names_are_read_once(store: SQLiteStore, builds: list[int]) -> None:
    for _ in range(3):
        assert named(store, "kubernets") == ["kubernetes.md"]
    assert len(builds) == 1


def test_what_changes_no_name_or_word_is_no_reason_to_read_them_again(store: SQLiteStore, builds: list[int]) -> None:
    named(store, "tea")
    store.write([{"path": "tea.md", "importance": 0.9, "links": (), "metadata": {"a": 1}, "content": "x"}])
    store.write([{"path": "elsewhere.md", "content": "x", "namespace": "alice"}])
    assert named(store, "tea") == ["tea.md"]
    assert len(builds) == 1
    store.write([{"path": "tea.md", "content": "y"}])
    assert named(store, "tea") == ["tea.md"]
    assert len(builds) == 2


def test_another_process_changes_names(store: SQLiteStore, path: Path) -> None:
    assert named(store, "kubernets") == ["kubernetes.md"]
    subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True)
    assert named(store, "kubernets") == ["kubernetic.md"]


def test_who_reads_an_older_state_than_the_one_at_hand_reads_anew(store: SQLiteStore) -> None:
    index = store._names[False]
    with store._connections.reading() as connection:
        old = connection.execute("SELECT count(*) FROM notes").get
        store.write([{"path": "kubernetic.md", "content": "x"}])
        assert named(store, "kubernets") == ["kubernetes.md", "kubernetic.md"]
        everything = names.NameFilter(connection, 1, EVERYTHING, "")
        found = names.search_names(everything, index.get(SqliteTransaction(connection), 1), ["kubernets"], 10)
        assert [candidate.path for candidate in found] == ["kubernetes.md", "kubernetic.md"]
        assert connection.execute("SELECT count(*) FROM notes").get == old + 1


def test_a_write_that_is_undone_changes_nothing(store: SQLiteStore, builds: list[int]) -> None:
    named(store, "tea")
    with pytest.raises(ValueError, match="content: is needed"):
        store.write([{"path": "a.md", "content": "x"}, {"path": "b.md"}])
    assert named(store, "tea") == ["tea.md"]
    assert len(builds) == 1


def test_threads_that_come_at_once_read_names_once(store: SQLiteStore, builds: list[int]) -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(named(store, "kubernets"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["kubernetes.md"]] * 8
    assert len(builds) == 1


def test_threads_that_write_and_search(store: SQLiteStore) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for turn in range(15):
            path = f"{number}/kubernetes-{turn}.md"
            store.write([{"path": path, "content": "x"}])
            if path not in named_all(store):
                wrong.append(path)
            store.delete([path], namespace="default")
            if path in named_all(store):
                wrong.append(path)

    def named_all(store: SQLiteStore) -> list[str]:
        found = store.search_names(["kubernetes"], 1000, namespace="default", filters=EVERYTHING)
        return [candidate.path for candidate in found]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert named(store, "kubernets") == ["kubernetes.md"]


def test_blocks_fill_up_and_names_that_are_gone_are_let_go_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.name_index.BLOCK_NAMES", 4)
    monkeypatch.setattr(names, "FILTERED_NOTES", 3)
    store = SQLiteStore(path)
    for turn in range(6):
        store.write(
            [{"path": f"{turn}/alpha{n}.md", "content": "x", "title": f"alpha beta{n}"} for n in range(turn * 3)]
        )
        for titles in (False, True):
            found = store.search_names(["alpha1"], 100, namespace="default", filters=EVERYTHING, titles=titles)
            assert [each.path for each in found if each.score == 1] == [f"{n}/alpha1.md" for n in range(1, turn + 1)]
    filters = Filters(path_prefix="5/")
    found = store.search_names(["alpha1"], 2, namespace="default", filters=filters)
    assert [each.path for each in found] == ["5/alpha1.md", "5/alpha10.md"]
    sizes = [len(block.sizes) for block in kept(store, titles=False).blocks]
    assert sizes == [4, 4, 4, 3]
    for titles in (False, True):
        store.write([{"path": f"{n}.md", "content": "x", "title": f"gamma delta{n}"} for n in range(50)])
        full = len(kept(store, titles=titles).numbers)
        store.delete([note.path for note in store.notes() if not note.path.endswith("alpha1.md")], namespace="default")
        assert store.search_names(["alpha1"], 1, namespace="default", filters=EVERYTHING, titles=titles)[0].score == 1
        left = len(kept(store, titles=titles).numbers)
        assert left < full / 2
    store.close()


def kept(store: SQLiteStore, *, titles: bool) -> NameIndex:
    with store._connections.reading() as connection:
        return store._names[titles].get(SqliteTransaction(connection), 1)


@pytest.mark.parametrize("titles", [False, True])
def test_a_store_that_is_only_read(store: SQLiteStore, path: Path, titles: bool) -> None:
    reader = SQLiteStore(path, read_only=True)
    assert named(reader, "kubernets", titles=titles) == ["kubernetes.md"]
    store.write([{"path": "kubernetic.md", "content": "x"}])
    assert named(reader, "kubernets", titles=titles) == ["kubernetes.md", "kubernetic.md"]
    reader.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_sides_of_a_fork_know_of_each_other(store: SQLiteStore) -> None:
    named(store, "kubernets")
    child = os.fork()
    if child == 0:
        good = named(store, "kubernets") == ["kubernetes.md"]
        store.write([{"path": "kubernetic.md", "content": "x"}])
        good = good and named(store, "kubernets") == ["kubernetes.md", "kubernetic.md"]
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert named(store, "kubernets") == ["kubernetes.md", "kubernetic.md"]


def test_a_store_of_the_first_version_is_brought_up_to_date(store: SQLiteStore, path: Path) -> None:
    store.write([{"path": "kubernetes.md", "content": "x"}])
    store.close()
    as_first_version(path, path.with_name("old.db"))
    old = SQLiteStore(path.with_name("old.db"))
    assert named(old, "kubernets") == ["kubernetes.md"]
    old.write([{"path": "kubernetic.md", "content": "x"}])
    assert named(old, "kubernets") == ["kubernetes.md", "kubernetic.md"]
    assert not any(finding.problem for finding in old.check())
    old.close()
