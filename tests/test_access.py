"""When notes were last read is written behind the back of searches, which never hear of what goes wrong."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import RecollectWarning, StoreError, access
from recollect.access import AccessLog
from recollect.stores.sqlite import store as sqlite
from recollect.stores.sqlite.store import SQLiteStore

HOME = "default"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(path)
    store.write([{"id": name, "path": f"{name}.md", "content": f"tea {name}"} for name in "abcde"])
    store.write([{"id": "a", "content": "elsewhere", "namespace": "alice"}])
    yield store
    store.close()


@pytest.fixture
def log(store: SQLiteStore) -> Iterator[AccessLog]:
    log = AccessLog(store)
    yield log
    log.close()


def read(store: SQLiteStore, namespace: str = HOME) -> list[str]:
    return sorted(note.id for note in store.notes(namespace=namespace) if note.last_accessed_at)


def finished(log: AccessLog) -> None:
    thread = log._thread
    if thread is not None:
        thread.join(60)
        assert not thread.is_alive()


def test_close_writes_pending_accesses(store: SQLiteStore) -> None:
    before = datetime.now(UTC)
    log = AccessLog(store)
    log.record(["a", "b"], HOME)
    log.record(["a"], "alice")
    log.record(iter(["b", "nobody"]), HOME)
    assert read(store) == []
    log.close()
    assert read(store) == ["a", "b"]
    assert read(store, "alice") == ["a"]
    (note,) = store.get(["b"], namespace=HOME)
    assert note is not None
    assert note.last_accessed_at is not None
    assert before <= note.last_accessed_at <= datetime.now(UTC)
    log.record(["c"], HOME)
    log.close()
    assert read(store) == ["a", "b"]


def test_pending_accesses_are_written_after_a_delay(
    store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "FLUSH_SECONDS", 0.01)
    for name in "ab":
        log.record([name], HOME)
        finished(log)
        assert name in read(store)
        assert log._thread is None  # it ended, and the next begins when something waits again


def test_many_pending_accesses_are_flushed(store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_PENDING", 3)
    log.record([], HOME)
    assert log._thread is None
    log.record(["a", "b"], HOME)
    thread = log._thread
    assert thread is not None
    assert thread.daemon
    assert read(store) == []
    log.record(["c"], HOME)
    thread.join(60)
    assert read(store) == ["a", "b", "c"]


def test_access_during_flush_is_written(store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "FLUSH_SECONDS", 0.01)
    touch = store.touch
    noted = threading.Event()

    def slow(accessed: dict[str, datetime], *, namespace: str) -> int:
        if not noted.is_set():
            noted.set()
            log.record(["b"], HOME)
        return touch(accessed, namespace=namespace)

    monkeypatch.setattr(store, "touch", slow)
    log.record(["a"], HOME)
    finished(log)
    assert read(store) == ["a", "b"]


def test_accesses_are_written_when_the_store_is_free(
    store: SQLiteStore, log: AccessLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.01)
    monkeypatch.setattr(access, "MAX_PENDING", 2)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    log._thread = threading.current_thread()  # nobody else writes meanwhile
    log.record(["a", "b"], HOME)
    (first,) = {moment for (_, name), moment in log._pending.items() if name == "a"}
    assert log._should_flush()
    assert log.flush() == 0
    assert not log._should_flush()  # it is not tried again and again
    log.record(["b", "c"], HOME)
    assert log.flush() == 0
    assert log._pending["default", "a"] == first < log._pending["default", "b"]
    other.close()
    assert log.flush() == 3
    assert read(store) == ["a", "b", "c"]
    assert log._pending == {}


def test_background_thread_retries_busy_store(
    store: SQLiteStore, log: AccessLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.0)
    monkeypatch.setattr(access, "FLUSH_SECONDS", 0.01)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    tries = threading.Semaphore(0)
    touch = store.touch

    def counted(accessed: dict[str, datetime], *, namespace: str) -> int:
        tries.release()
        return touch(accessed, namespace=namespace)

    monkeypatch.setattr(store, "touch", counted)
    log.record(["a"], HOME)
    for _ in range(3):
        assert tries.acquire(timeout=60)
    other.close()
    finished(log)
    assert read(store) == ["a"]


def test_close_warns_about_busy_store(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.01)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    log = AccessLog(store)
    log.record(["a", "b"], HOME)
    with pytest.warns(
        RecollectWarning, match=r"^the last access of 2 notes could not be written: .* is locked by other"
    ):
        log.close()
    other.close()


def test_close_warns_about_unwritable_store(store: SQLiteStore, path: Path) -> None:
    store.close()
    reader = SQLiteStore(path, read_only=True)
    for opened, problem in ((store, "is closed"), (reader, "was opened with read_only=True")):
        log = AccessLog(opened)
        log.record(["a"], HOME)
        assert log.flush() == 0
        assert log._pending == {}
        with pytest.warns(RecollectWarning, match=f"^the last access of one note could not be written: .*{problem}"):
            log.close()
        log.close()
    reader.close()


def test_accesses_are_written_without_thread(
    store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        log.record(["a"], HOME)
    log.record(["b"], HOME)
    assert log._thread is not None
    log.close()
    assert read(store) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_has_its_own_access_log(store: SQLiteStore, log: AccessLog) -> None:
    log.record(["a"], HOME)
    with log._changed, log._flushing:  # others may hold its locks at the moment of the fork
        child = os.fork()
        if child == 0:
            good = not log._pending
            log.record(["b"], HOME)
            good = good and log._thread is not None and log._thread.is_alive()
            log.close()
            os._exit(0 if good and read(store) == ["b"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert read(store) == ["b"]
    log.close()
    assert read(store) == ["a", "b"]


def test_forked_child_resets_access_log(store: SQLiteStore) -> None:
    log = AccessLog(store)
    log.record(["a"], HOME)
    thread = log._thread
    changed = log._changed
    access._after_fork_in_child()
    assert log._pending == {}
    assert log._thread is None
    log.close()
    assert read(store) == []
    with changed:
        changed.notify_all()  # the thread of the side that was left behind looks around, and ends
    assert thread is not None


class TestMemory:
    @pytest.fixture(autouse=True)
    def _notes(self, store: SQLiteStore) -> None:
        """Begin with the notes of the store."""

    def test_search_and_get_record_access(self, path: Path, store: SQLiteStore) -> None:
        with recollect.open(path, embedder=None) as memory:
            assert [hit.id for hit in memory.search("a OR b", top_k=2)] == ["a", "b"]
            memory.search("c", top_k=0)
            memory.search("elsewhere", namespace="alice")
            assert memory.get("d.md")
            assert memory.get("nobody") is None
            assert read(store) == []
        assert read(store) == ["a", "b", "d"]
        assert read(store, "alice") == ["a"]

    def test_touch_changes_only_last_accessed_at(self, path: Path, store: SQLiteStore) -> None:
        before = {note.id: note for note in store.notes(namespace=HOME)}
        with recollect.open(path, embedder=None) as memory:
            memory.search("tea")
        for note in store.notes(namespace=HOME):
            assert note.last_accessed_at is not None
            assert replace(note, last_accessed_at=None) == before[note.id]

    def test_update_and_iteration_are_no_access(self, path: Path, store: SQLiteStore) -> None:
        with recollect.open(path, embedder=None) as memory:
            memory.update("a", title="A")
            memory.link("a", "b")
            memory.neighbours("a")
            assert list(memory.notes())
            assert list(memory.export())
        assert read(store) == []

    def test_record_access_can_be_disabled(self, path: Path, store: SQLiteStore) -> None:
        with recollect.open(path, embedder=None, record_access=False) as memory:
            memory.search("tea")
            memory.get("a")
        with recollect.open(path, embedder=None, read_only=True) as memory:
            memory.search("tea")
            memory.get("a")
        assert read(store) == []

    def test_earlier_access_does_not_overwrite_later(self, path: Path, store: SQLiteStore) -> None:
        later = datetime.now(UTC) + timedelta(days=1)
        with recollect.open(path, embedder=None) as memory:
            memory.get("a")
            memory.update("a", last_accessed_at=later)
        (note,) = store.get(["a"], namespace=HOME)
        assert note is not None
        assert note.last_accessed_at == later

    def test_close_closes_store_after_log_error(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.01)
        memory = recollect.open(path, embedder=None)
        memory.get("a")
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecollectWarning, match="could not be written"):  # warnings are errors here
            memory.close()
        other.close()
        with pytest.raises(StoreError, match="is closed"):
            memory.get("a")

    def test_async_supersedes(self, path: Path, store: SQLiteStore) -> None:
        async def ask(*, record_access: bool) -> None:
            async with await recollect.open_async(path, embedder=None, record_access=record_access) as memory:
                await memory.search("tea", top_k=1)

        asyncio.run(ask(record_access=False))
        assert read(store) == []
        asyncio.run(ask(record_access=True))
        assert len(read(store)) == 1
