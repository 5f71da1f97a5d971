"""The words of an index, as they are at the moment, on every kind of connection."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from recollect.stores.sqlite import vocabulary
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction

WRITE = """
import sys
from pathlib import Path
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction

store = SQLiteStore(Path(sys.argv[1]))
store.write([{"path": "a", "content": "docker"}])
store.close()
"""


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(path)
    store.write([{"path": "a", "content": "kubernetes"}])
    yield store
    store.close()


def similar(store: SQLiteStore, word: str, namespace: str = "default") -> tuple[str, ...]:
    return store.similar_words([word], namespace=namespace).get(word, ())


def test_words_are_read_when_one_is_unknown_and_kept(store: SQLiteStore) -> None:
    store.similar_words(["kubernetes", "it", "2024"], namespace="default")
    assert store._vocabularies._entries == {}
    assert similar(store, "kuberntes") == ("kubernetes",)
    kept = store._vocabularies._entries[1].cached
    assert similar(store, "kubernetas") == ("kubernetes",)
    store.write([{"path": "a", "importance": 1.0}])
    assert similar(store, "kubernetas") == ("kubernetes",)
    assert store._vocabularies._entries[1].cached is kept


def test_another_process_changes_words(store: SQLiteStore, path: Path) -> None:
    assert similar(store, "kuberntes") == ("kubernetes",)
    subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True)
    assert similar(store, "kuberntes") == ()
    assert similar(store, "dokcer") == ("docker",)


def test_namespaces_take_turns_on_one_connection(store: SQLiteStore) -> None:
    store.write([{"content": "docker", "namespace": "alice"}])
    for _ in range(2):
        assert similar(store, "kuberntes") == ("kubernetes",)
        assert similar(store, "dokcer", "alice") == ("docker",)
        assert similar(store, "dokcer") == similar(store, "kuberntes", "alice") == ()


def test_nothing_can_be_written_where_words_were_read(store: SQLiteStore) -> None:
    similar(store, "kuberntes")
    with store._connections.reading() as connection, pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM notes")


def test_a_store_that_is_only_read(store: SQLiteStore, path: Path) -> None:
    reader = SQLiteStore(path, read_only=True)
    assert similar(reader, "kuberntes") == ("kubernetes",)
    store.write([{"path": "a", "content": "docker"}])
    assert similar(reader, "kuberntes") == ()
    assert similar(reader, "dokcer") == ("docker",)
    reader.close()


def test_a_folder_in_which_nothing_can_be_made(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.close()
    connect = Connections._connect

    def refused(self: Connections, flags: int, options: str = "") -> apsw.Connection:
        if not options:
            raise apsw.CantOpenError("unable to open database file")
        return connect(self, flags, options)

    monkeypatch.setattr(Connections, "_connect", refused)
    reader = SQLiteStore(path, read_only=True)
    for _ in range(2):
        assert similar(reader, "kuberntes") == ("kubernetes",)
    reader.close()


def test_a_word_index_that_is_rebuilt_is_read_anew(store: SQLiteStore) -> None:
    with store._connections.writing() as connection:
        connection.execute("INSERT INTO words_1 (words_1) VALUES ('delete-all')")
    assert similar(store, "kuberntes") == ()
    store.repair()
    assert similar(store, "kuberntes") == ("kubernetes",)


def test_a_stem_that_no_text_spells_any_more_is_not_suggested(store: SQLiteStore, path: Path) -> None:
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE notes SET content = 'docker'")  # behind the back of the word index
    raw.close()
    assert similar(store, "kuberntes") == ()


def test_endless_words_are_not_looked_at(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.spelling.MAX_LENGTH", 9)
    store.write([{"path": "b", "content": "kubernetesclusters planets"}])
    assert similar(store, "kubernetesclusterz") == ()
    assert similar(store, "planests") == ("planets",)
    with store._connections.reading() as connection:
        vocabulary.open_vocabulary(connection, 1)
        assert max(store._vocabularies.get(SqliteTransaction(connection), 1)) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_sides_of_a_fork_know_of_each_other(store: SQLiteStore) -> None:
    similar(store, "kuberntes")
    child = os.fork()
    if child == 0:
        good = similar(store, "kuberntes") == ("kubernetes",)
        store.write([{"path": "a", "content": "docker"}])
        os._exit(0 if good and similar(store, "dokcer") == ("docker",) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert similar(store, "dokcer") == ("docker",)
