from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.errors import ArgumentError, ArgumentTypeError, StoreBusyError, StoreError, StoreReadOnlyError
from recollect.stores import open_store
from recollect.stores.sqlite import connections, schema
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.store import SQLiteStore

FORK = """
import os, sys, threading
from pathlib import Path
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.sqlite.store import SQLiteStore

store = SQLiteStore(Path(sys.argv[1]))
store.write([{"id": "parent", "content": "tea", "vector": [1.0, 0.0]}])
busy = True

def search():
    while busy:
        store.search_text(parse("tea"), 5, namespace="default", filters=Filters())
        store.search_vectors([1.0, 0.0], 5, namespace="default", filters=Filters())

def write():
    number = 0
    while busy:
        store.write([{"id": f"thread{number}", "content": "tea", "vector": [1.0, 0.0]}])
        number += 1

threads = [threading.Thread(target=target) for target in (search, search, write)]
for thread in threads:
    thread.start()
for number in range(10):
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        store.write([{"id": f"child{number}a", "content": "tea", "vector": [1.0, 0.0]}])
        os.write(there[1], b"x")
        os.read(back[0], 1)
        assert len(store.search_vectors([1.0, 0.0], 5, namespace="default", filters=Filters())) >= 2
        store.write([{"id": f"child{number}b", "content": "tea", "vector": [1.0, 0.0]}])
        store.close()
        os._exit(0)
    os.read(there[0], 1)
    if number == 9:
        busy = False
        for thread in threads:
            thread.join()
        store.close()
    os.write(back[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
store = SQLiteStore(Path(sys.argv[1]))
assert not any(finding.problem for finding in store.check())
print(*(note.id for note in store.notes() if "thread" not in note.id))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
def test_forked_processes_lose_no_notes(tmp_path: Path) -> None:
    code = FORK.replace("[1.0, 0.0]", "np.array([1, 0], np.float32)").replace("import os,", "import numpy as np, os,")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "memory.db")],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    expected = ["parent", *(f"child{number}{letter}" for number in range(10) for letter in "ab")]
    assert sorted(done.stdout.split()) == sorted(expected)


def test_fork_waits_for_readers(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store.write([{"content": "one"}])
    opened = store._connections
    began, ended = threading.Event(), threading.Event()

    def fork() -> None:
        began.set()
        opened.before_fork()
        ended.set()
        opened.after_fork()

    with opened.reading() as connection:
        thread = threading.Thread(target=fork)
        thread.start()
        began.wait()
        assert not ended.wait(0.05)
        assert connection.execute("SELECT count(*) FROM notes").get == 1
    thread.join()
    assert ended.is_set()
    assert opened._idle == []
    store.write([{"content": "two"}])
    assert len(list(store.notes())) == 2
    store.close()


def test_fork_closes_every_store(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store.write([{"content": "one"}])
    connections._before_fork()
    assert store._connections._idle == []
    assert store._connections._writer is None
    connections._after_fork()
    store.write([{"content": "two"}])
    assert len(list(store.notes())) == 2
    store.close()


def test_failed_connection_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store._connections._close_idle()

    def refused(*_: object) -> apsw.Connection:
        raise apsw.CantOpenError("too many open files")

    monkeypatch.setattr(Connections, "_connect", refused)
    with pytest.raises(StoreError, match="cannot be opened"):
        list(store.notes())
    assert store._connections._in_use == 0
    store.close()


def test_interrupt_while_waiting_leaves_no_transaction(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    locker = apsw.Connection(str(tmp_path / "memory.db"))
    locker.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: locker.execute("ROLLBACK")).start()
    threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        store.write([{"content": "one"}])
    store.write([{"content": "two"}])
    assert [note.content for note in store.notes()] == ["two"]
    store.close()
    locker.close()


def test_interrupt_stops_a_long_search(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    forever = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), store._connections.reading() as connection:
        connection.execute(forever).get  # noqa: B018 (it runs it)
    store.write([{"content": "one"}])
    assert len(list(store.notes())) == 1
    store.close()


def test_transaction_rolled_back_by_sqlite(tmp_path: Path) -> None:
    """SQLite rolls back by itself if the disk is full or a page cannot be read."""
    store = SQLiteStore(tmp_path / "memory.db")
    with store._connections.reading() as connection:
        connection.execute("ROLLBACK")
    with pytest.raises(ZeroDivisionError), store._connections.writing() as connection:  # noqa: PT012 (the error is raised inside)
        connection.execute("ROLLBACK")
        raise ZeroDivisionError
    store.write([{"content": "one"}])
    assert len(list(store.notes())) == 1
    store.close()


def test_read_only_folder_without_wal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "memory.db"
    store = SQLiteStore(file)
    store.write([{"content": "one"}])
    store.close()
    connect = Connections._connect

    def refused(self: Connections, flags: int, options: str = "") -> apsw.Connection:
        if not options:
            raise apsw.CantOpenError("unable to open database file")
        return connect(self, flags, options)

    monkeypatch.setattr(Connections, "_connect", refused)
    store = SQLiteStore(file, read_only=True)
    assert len(list(store.notes())) == 1
    assert store._connections._idle == []  # the next read opens the file again
    store.close()
    file.with_name("memory.db-wal").write_bytes(b"what others are writing")
    with pytest.raises(StoreError, match="cannot be opened; check"):
        SQLiteStore(file, read_only=True)


def test_file_opened_read_only_by_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "memory.db"
    SQLiteStore(file).close()
    connect = Connections._connect
    monkeypatch.setattr(Connections, "_connect", lambda self, _: connect(self, apsw.SQLITE_OPEN_READONLY))
    with pytest.raises(StoreReadOnlyError, match="cannot be written to; make it and its folder writable"):
        SQLiteStore(file)


def test_enabling_wal_is_retried() -> None:
    class Busy:
        def __init__(self) -> None:
            self.answers = [apsw.BusyError("locked"), apsw.BusyError("locked"), None]

        def pragma(self, *_: str) -> None:
            answer = self.answers.pop(0)
            if answer:
                raise answer

    busy = Busy()
    connections._enable_wal(busy)  # type: ignore[arg-type]
    assert busy.answers == []


def test_connection_in_use_survives_close(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    store.write([{"content": "one"}])
    with store._connections.reading() as connection:
        store.close()
        assert connection.execute("SELECT count(*) FROM notes").get == 1
    with pytest.raises(apsw.ConnectionClosedError):
        connection.execute("SELECT 1")


def test_concurrent_creation_of_one_store(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    errors: list[BaseException] = []

    def create(number: int) -> None:
        try:
            store = SQLiteStore(file)
            store.write([{"content": f"by {number}"}])
            store.close()
        except BaseException as error:  # noqa: BLE001 (asserted below)
            errors.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    store = SQLiteStore(file)
    assert len(list(store.notes())) == 8
    store.close()


def test_new_store_locked_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_TIMEOUT", 0.05)
    file = tmp_path / "memory.db"
    locker = apsw.Connection(str(file))
    locker.execute("CREATE TABLE x (y); DROP TABLE x; BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusyError, match="is locked by other writers"):
        Connections(file)
    locker.execute("ROLLBACK")
    locker.execute("BEGIN; SELECT count(*) FROM sqlite_schema")  # a reader is enough to block WAL mode
    with pytest.raises(StoreBusyError, match="is locked by other writers"):
        Connections(file)
    locker.close()
    Connections(file).close()


def test_concurrent_migration(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    Connections(file).close()
    raw = apsw.Connection(str(file))
    schema.migrate(raw, "memory.db")
    assert raw.pragma("user_version") == schema.SCHEMA_VERSION
    raw.close()


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("postgres2://x", "no store opens 'postgres2://x'; give the path of a file"),
        (":memory:", "a memory lives in a file; for a temporary one, give a path in a temporary folder"),
        ("", "must be the path of a file, got ''"),
        ("a\0b", "must be the path of a file, got 'a\\\\x00b'"),
    ],
)
def test_open_rejects_invalid_targets(target: str, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^target: {problem}"):
        open_store(target)


def test_open_rejects_other_types() -> None:
    with pytest.raises(ArgumentTypeError, match="^target: must be the path of a file, got int"):
        open_store(7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="^target: must be the path of a file, got bytes"):
        open_store(b"memory.db")  # type: ignore[arg-type]


def test_file_names_may_have_any_characters(tmp_path: Path) -> None:
    file = tmp_path / "what? 100% #1 & ünï.db"
    store = open_store(file)
    store.write([{"content": "one"}])
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name]
    copy = Path(os.fsdecode(bytes(tmp_path) + b"/\xff\xfe copy.db"))
    store = open_store(file)
    store.backup(copy)
    store.close()
    store = open_store(copy)
    assert len(list(store.notes())) == 1
    store.close()


def test_memory_survives_a_change_of_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with closing(SQLiteStore(Path("memory.db"))) as store:
            store.write([{"content": f"tea from {name}"}])
    monkeypatch.chdir(tmp_path / "here")
    with closing(SQLiteStore(Path("memory.db"))) as store:
        monkeypatch.chdir(tmp_path / "there")
        with store._connections.reading(), store._connections.reading():  # opens further connections
            store.write([{"content": "milk from here"}])
            assert [note.content for note in store.notes()] == ["tea from here", "milk from here"]
        store.backup(Path("copy.db"))
    assert (tmp_path / "there" / "copy.db").exists()
    with closing(SQLiteStore(Path("memory.db"))) as store:
        assert [note.content for note in store.notes()] == ["tea from there"]


@pytest.mark.skipif(os.name == "nt", reason="links are for administrators there")
def test_symbolic_link_opens_the_same_memory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    memory, link = tmp_path / "elsewhere" / "memory.db", tmp_path / "link.db"
    link.symlink_to(memory)
    with closing(SQLiteStore(link)) as store:
        store.write([{"content": f"tea {n}"} for n in range(3_000)])
        assert store.stats().location == str(link)
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["link.db"]
    assert any(file.name.startswith("memory.db-snapshot-") for file in memory.parent.iterdir())


@pytest.mark.parametrize("name", ["x" * 300, "lone \ud800"])
def test_open_rejects_impossible_file_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be used as a file"):
        SQLiteStore(tmp_path / name)
    store = SQLiteStore(tmp_path / "memory.db")
    with pytest.raises(StoreError, match="cannot be written|cannot be used as a file"):
        store.backup(tmp_path / name)
    store.close()


def test_write_timeout(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    opened = store._connections
    problem = "is locked by other writers; nothing was written"
    with opened.writing(), pytest.raises(StoreBusyError, match=problem), opened.writing(timeout=0.01):
        pass
    locker = apsw.Connection(str(tmp_path / "memory.db"))
    locker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError, match=problem), opened.writing(timeout=0.01):
        pass
    threading.Timer(0.1, lambda: locker.execute("ROLLBACK")).start()
    store.write([{"content": "one"}])  # with the default timeout
    with opened.writing(timeout=0.01) as connection:
        assert connection.execute("SELECT count(*) FROM notes").get == 1
    store.close()
    locker.close()
