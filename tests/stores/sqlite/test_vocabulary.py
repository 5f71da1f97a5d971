"""The vocabulary of an index is current on every kind of connection."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from recollect.stores.sqlite import spelling
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.store import SQLiteStore
from recollect.stores.sqlite.transaction import SqliteTransaction

WRITE = """
import sys
from pathlib import Path
from recollect.stores.sqlite.store import SQLiteStore

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


def test_vocabulary_is_read_for_the_first_unknown_word(store: SQLiteStore) -> None:
    store.similar_words(["kubernetes", "it", "2024"], namespace="default")
    assert store._vocabularies._entries == {}
    assert similar(store, "kuberntes") == ("kubernetes",)
    cached = store._vocabularies._entries[1].cached
    assert similar(store, "kubernetas") == ("kubernetes",)
    store.write([{"path": "a", "importance": 1.0}])
    assert similar(store, "kubernetas") == ("kubernetes",)
    assert store._vocabularies._entries[1].cached is cached


def test_words_written_by_another_process(store: SQLiteStore, path: Path) -> None:
    assert similar(store, "kuberntes") == ("kubernetes",)
    subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True)
    assert similar(store, "kuberntes") == ()
    assert similar(store, "dokcer") == ("docker",)


def test_vocabularies_of_two_namespaces_on_one_connection(store: SQLiteStore) -> None:
    store.write([{"content": "docker", "namespace": "alice"}])
    for _ in range(2):
        assert similar(store, "kuberntes") == ("kubernetes",)
        assert similar(store, "dokcer", "alice") == ("docker",)
        assert similar(store, "dokcer") == similar(store, "kuberntes", "alice") == ()


def test_reading_connection_stays_read_only(store: SQLiteStore) -> None:
    similar(store, "kuberntes")
    with store._connections.reading() as connection, pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM notes")


def test_read_only_store_sees_new_words(store: SQLiteStore, path: Path) -> None:
    reader = SQLiteStore(path, read_only=True)
    assert similar(reader, "kuberntes") == ("kubernetes",)
    store.write([{"path": "a", "content": "docker"}])
    assert similar(reader, "kuberntes") == ()
    assert similar(reader, "dokcer") == ("docker",)
    reader.close()


def test_vocabulary_in_an_unwritable_folder(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_repair_rereads_the_vocabulary(store: SQLiteStore) -> None:
    with store._connections.writing() as connection:
        connection.execute("INSERT INTO words_1 (words_1) VALUES ('delete-all')")
    assert similar(store, "kuberntes") == ()
    store.repair()
    assert similar(store, "kuberntes") == ("kubernetes",)


def test_stem_without_spelling_is_not_suggested(store: SQLiteStore, path: Path) -> None:
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE notes SET content = 'docker'")  # without updating the FTS5 index
    raw.close()
    assert similar(store, "kuberntes") == ()


def test_long_words_are_ignored(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.spelling.MAX_LENGTH", 9)
    store.write([{"path": "b", "content": "kubernetesclusters planets"}])
    assert similar(store, "kubernetesclusterz") == ()
    assert similar(store, "planests") == ("planets",)
    with store._connections.reading() as connection:
        spelling.open_vocabulary(connection, 1)
        assert max(store._vocabularies.get(SqliteTransaction(connection), 1)) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_process_sees_new_words(store: SQLiteStore) -> None:
    similar(store, "kuberntes")
    child = os.fork()
    if child == 0:
        correct = similar(store, "kuberntes") == ("kubernetes",)
        store.write([{"path": "a", "content": "docker"}])
        os._exit(0 if correct and similar(store, "dokcer") == ("docker",) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert similar(store, "dokcer") == ("docker",)
