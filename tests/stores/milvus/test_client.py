"""The connection to Milvus Lite: whose folder it is, how it is closed, and what its errors become."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from recollect.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.base import Model
from recollect.stores.milvus import client as clients
from recollect.stores.milvus.address import read_address
from recollect.stores.milvus.client import Client, let_go
from recollect.stores.milvus.store import MilvusStore
from tests.stores.milvus.conftest import served
from tests.stores.milvus.looking import client_of, collection_of


def address(folder: Path) -> str:
    return f"milvus://{folder}/memory.db"


def test_parent_folders_are_made_and_the_location_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "ü b" / "memory.db"
    store = MilvusStore(f"milvus://{folder}".replace(" ", "%20"))
    store.write([{"content": "tea"}])
    stats = store.stats()
    assert (stats.location, stats.engine[:11], stats.schema) == (f"milvus://{folder}", "Milvus Lite", 1)
    assert stats.bytes > 0
    store.close()
    assert folder.is_dir()


OPEN = """
import sys
from recollect.errors import StoreError
from recollect.stores.milvus.store import MilvusStore
try:
    MilvusStore(sys.argv[1])
except StoreError as error:
    print(type(error).__name__, error)
"""


def test_a_folder_is_open_once(tmp_path: Path) -> None:
    store = MilvusStore(address(tmp_path))
    with pytest.raises(StoreBusyError, match="memory.db is open in another process, or twice in this one"):
        MilvusStore(address(tmp_path))
    done = subprocess.run([sys.executable, "-c", OPEN, address(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"StoreBusyError {tmp_path}/memory.db is open in another process")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    store.write([{"content": "tea"}])
    store.close()
    again = MilvusStore(address(tmp_path))
    assert [note.content for note in again.notes()] == ["tea"]
    again.close()


def test_who_forgets_to_close_loses_nothing(tmp_path: Path) -> None:
    program = "import sys; from recollect.stores.milvus.store import MilvusStore\nstore = MilvusStore(sys.argv[1])\n"
    program += "store.write([{'content': 'tea'}])\n"
    done = subprocess.run(
        [sys.executable, "-c", program, address(tmp_path)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    store = MilvusStore(address(tmp_path))
    assert [note.content for note in store.notes()] == ["tea"]
    store.close()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("SQLite")
    with pytest.raises(StoreDamagedError, match="memory.db is a file; Milvus Lite keeps a folder: choose another name"):
        MilvusStore(address(tmp_path))
    with pytest.raises(StoreError, match="cannot be used as a folder"):
        MilvusStore(f"milvus://{tmp_path}/memory.db/inside.db")


def test_a_server_that_goes_away_is_not_told_by_grpc(tmp_path: Path) -> None:
    program = """
import sys, time
from recollect.stores.milvus.address import read_address
from recollect.stores.milvus.client import Client
for _ in range(4):  # it is told by a thread, and not always
    client = Client(read_address(sys.argv[1]))
    client.collections()
    _, stop, _ = client._open_parts
    stop()
    time.sleep(0.1)
    client.close()
"""
    surroundings = {name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"}
    done = subprocess.run(
        [sys.executable, "-c", program, address(tmp_path)], capture_output=True, text=True, check=True, env=surroundings
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("read_only", [True, False])
def test_a_folder_of_other_files_is_left_as_it_is(tmp_path: Path, *, read_only: bool) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ines")
    with pytest.raises(StoreDamagedError, match="holds other files, such as 'letter.txt'; Milvus Lite keeps a folder"):
        MilvusStore(f"milvus://{tmp_path}", read_only=read_only)
    assert [inside.name for inside in tmp_path.iterdir()] == ["letter.txt"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    MilvusStore(f"milvus://{tmp_path}").close()
    MilvusStore(f"milvus://{tmp_path}", read_only=True).close()


@pytest.mark.parametrize("collection", ["notes_1", "records"])
def test_a_collection_that_was_hardly_begun_when_the_process_was_killed(tmp_path: Path, collection: str) -> None:
    remains = tmp_path / "memory.db" / "collections" / collection
    remains.mkdir(parents=True)
    (remains / "schema.json.tmp").write_text("{")
    store = MilvusStore(address(tmp_path))
    store.write([{"content": "tea"}])
    assert [note.content for note in store.notes()] == ["tea"]
    store.close()


@pytest.mark.parametrize("model", [None, Model("tiny", 2)])
def test_notes_without_their_records_are_not_begun_anew(tmp_path: Path, model: Model | None) -> None:
    store = MilvusStore(address(tmp_path))
    store.write([{"content": "tea", "vector": np.ones(2, np.float32)} if model else {"content": "tea"}], model=model)
    store.close()
    collections = tmp_path / "memory.db" / "collections"
    kept = {folder.name for folder in collections.iterdir()} - {"records"}
    shutil.move(collections / "records", tmp_path / "lost")
    for _ in range(2):
        with pytest.raises(StoreDamagedError, match="holds notes and no record of what they are; restore a backup"):
            MilvusStore(address(tmp_path))
    assert {folder.name for folder in collections.iterdir()} == kept
    shutil.move(tmp_path / "lost", collections / "records")
    store = MilvusStore(address(tmp_path))
    assert [note.content for note in store.notes()] == ["tea"]
    store.close()


def test_what_lite_would_print_is_raised_alone(tmp_path: Path) -> None:
    (tmp_path / "memory.db" / "collections" / "notes_1").mkdir(parents=True)
    stays = "import shutil; shutil.rmtree = lambda *_, **__: None\n"
    done = subprocess.run(
        [sys.executable, "-c", stays + OPEN, address(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"StoreError milvus://{tmp_path}/memory.db: [Errno 17] File exists")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_a_folder_that_lite_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    (tmp_path / "memory.db" / "collections").write_text("no folder")
    with pytest.raises(
        StoreDamagedError, match=r"memory.db cannot be opened by Milvus Lite; restore a backup \(.*exists"
    ):
        MilvusStore(address(tmp_path))


def test_a_server_that_is_not_there() -> None:
    advice = "^milvus://127.0.0.1:1/db cannot be reached; check that the server runs, and its host and port "
    with pytest.raises(StoreUnavailableError, match=advice + r"\(Fail connecting") as raised:
        MilvusStore("milvus://ines:secret@127.0.0.1:1/db")
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_server_that_goes_away_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path, monkeypatch) as place:
        store = MilvusStore(place)
        store.write([{"content": "tea"}])
    for ask in (
        store.stats,
        lambda: store.search_text(parse("tea"), 5, namespace="default", filters=Filters()),
        lambda: store.write([{"content": "milk"}]),
    ):
        with pytest.raises(StoreUnavailableError, match="cannot be reached; check that the server runs"):
            ask()
    store.close()


def test_a_server_that_lets_nobody_in() -> None:
    def refuse(_: Any, context: Any) -> None:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure")

    methods = {"Connect": grpc.unary_unary_rpc_method_handler(refuse)}
    handler = grpc.method_handlers_generic_handler("milvus.proto.milvus.MilvusService", methods)
    server = grpc.server(ThreadPoolExecutor(1), handlers=[handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.raises(StoreError, match="does not let this user in; check the user and the password, or the token"):
        MilvusStore(f"milvus://ines:secret@127.0.0.1:{port}/db")
    server.stop(grace=None).wait()


def broken(folder: Path, kind: str) -> str:
    """Return the address of a store of which all files of one kind are broken."""
    store = MilvusStore(address(folder))
    store.write([{"content": "tea", "path": "a", "vector": [1, 0]}, {"content": "milk", "vector": [0, 1]}])
    store.delete(["a"], namespace="default")
    store.close()
    files = list(folder.glob(f"memory.db/collections/notes_2/{kind}"))
    assert files
    for file in files:
        file.write_text("garbage\n")
    return address(folder)


@pytest.mark.parametrize(
    "kind", ["partitions/*/delta/*.parquet", "partitions/*/data/*.parquet", "partitions/*/indexes/*.idx", "schema.json"]
)
def test_a_broken_file(tmp_path: Path, kind: str) -> None:
    place = broken(tmp_path, kind)
    with pytest.raises(StoreDamagedError, match="is damaged and cannot be read; restore a backup") as raised:
        MilvusStore(place)
    assert str(raised.value).startswith(place)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("package", ["pymilvus", "milvus_lite.adapter.grpc.server"])
def test_without_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(StoreError, match=r"packages that are not installed: pip install 'recollect\[milvus\]'"):
        MilvusStore(address(tmp_path))
    monkeypatch.undo()
    MilvusStore(address(tmp_path)).close()


class TestReadOnly:
    def test_nothing_is_written(self, tmp_path: Path) -> None:
        store = MilvusStore(address(tmp_path))
        store.write([{"content": "tea", "expires_at": None}])
        store.close()
        store = MilvusStore(address(tmp_path), read_only=True)
        assert store.read_only
        assert [note.content for note in store.notes()] == ["tea"]
        with pytest.raises(StoreReadOnlyError, match="was opened with read_only=True; open it without to change it"):
            store.write([{"content": "milk"}])
        with pytest.raises(StoreReadOnlyError):
            store.repair()
        store.close()

    def test_nothing_is_begun(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="memory.db does not exist, and reading begins no memory; add a note"):
            MilvusStore(address(tmp_path), read_only=True)
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "memory.db").mkdir()
        with pytest.raises(StoreError, match="holds no memory, and reading begins none; add a note first"):
            MilvusStore(address(tmp_path), read_only=True)
        assert list((tmp_path / "memory.db").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_of_a_fork_opens_its_own(tmp_path: Path) -> None:
    program = """
import os, sys
from recollect.errors import StoreError
from recollect.stores.milvus.store import MilvusStore
store = MilvusStore(sys.argv[1])
store.write([{"content": "before"}])
child = os.fork()
if not child:
    try:
        list(store.notes())
    except StoreError as error:
        print(error, flush=True)
    store.close()
    sys.exit()
os.waitpid(child, 0)
store.write([{"content": "after"}])
print([note.content for note in store.notes()])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, address(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    told, kept = done.stdout.splitlines()
    assert told.endswith("was opened by another process, before a fork; open it anew in this one")
    assert kept == "['before', 'after']"


class TestReading:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Any:
        opened = MilvusStore(address(tmp_path))
        opened.write([{"content": f"note {number}", "path": f"{number:02}"} for number in range(23)])
        yield opened
        opened.close()

    @pytest.mark.parametrize("fields", [["key"], ["note"], ["body", "key"]])
    def test_pages_have_all_rows_in_order(
        self, store: MilvusStore, monkeypatch: pytest.MonkeyPatch, fields: list[str]
    ) -> None:
        client, collection = client_of(store), collection_of(store)
        everything = client.rows(collection, "key >= 0", fields)
        keys = [row["key"] for row in client.rows(collection, "key >= 0", ["key"])]
        assert keys == sorted(keys)
        assert len(everything) == 23
        monkeypatch.setattr(clients, "LITE_PAGE_ROWS", 10)
        monkeypatch.setattr(clients, "PAGE_ROWS", 4)
        assert client.rows(collection, "key >= 0", fields) == everything
        assert client.rows(collection, "key >= 0", fields, limit=20) == everything[:20]
        assert client.rows(collection, "key >= 0", fields, limit=3) == everything[:3]
        assert client.rows(collection, "key >= 0", fields, limit=0) == []
        assert client.rows(collection, "key < 0", fields) == []
        assert client.count(collection, f"key > {keys[3]}") == 19

    def test_records_are_paged_by_their_names(self, store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
        store.write([{"content": "x", "namespace": f"n{number}"} for number in range(12)])
        monkeypatch.setattr(clients, "LITE_PAGE_ROWS", 5)
        assert len(store.stats().notes) == 13

    def test_many_keys_are_asked_for_in_turn(self, store: MilvusStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clients, "ASKED_AT_ONCE", 7)
        notes = store.get([f"{number:02}" for number in range(23)], namespace="default")
        assert [note and note.content for note in notes] == [f"note {number}" for number in range(23)]

    def test_what_milvus_refuses_is_one_line(self, store: MilvusStore) -> None:
        client = client_of(store)
        with pytest.raises(StoreError, match="memory.db: ") as raised:
            client.rows(collection_of(store), "no expression (", ["key"])
        assert "\n" not in str(raised.value)


def test_what_was_written_is_sorted_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    flush = Client.flush

    def noted(client: Client, collection: str) -> None:
        flushed.append(collection)
        flush(client, collection)

    monkeypatch.setattr(Client, "flush", noted)
    monkeypatch.setattr(clients, "UNFLUSHED_ROWS", 10)
    store = MilvusStore(address(tmp_path))
    for number in range(25):
        store.write([{"content": f"note {number}"}])
    assert [name for name in flushed if name != "records"] == ["notes_1", "notes_1"]
    assert len(list(store.notes())) == 25
    store.close()


def test_what_another_process_opened_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(read_address(address(tmp_path)))
    with monkeypatch.context() as patched:
        patched.setattr(client, "_process", -1)
        with pytest.raises(StoreError, match="was opened by another process, before a fork; open it anew in this one"):
            client.collections()
    closed: list[str] = []
    parts = [lambda: closed.append("first"), lambda: closed.append("second")]
    let_go(parts, -1)
    assert closed == []
    let_go(parts, os.getpid())
    assert closed == ["second", "first"]
    client.close()


def test_an_error_of_ours_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(read_address(address(tmp_path)))

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(client._milvus, "list_collections", fail)
    with pytest.raises(ZeroDivisionError):
        client.collections()
    client.close()


def test_closing_twice_is_no_error(tmp_path: Path) -> None:
    client = Client(read_address(address(tmp_path)))
    client.close()
    client.close()
    with pytest.raises(StoreError, match="is closed; open it again to use it"):
        client.collections()
