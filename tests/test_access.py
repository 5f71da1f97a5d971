"""Times of last access are written in the background; their errors never reach a search."""

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

NAMESPACE = "default"


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


def accessed_ids(store: SQLiteStore, namespace: str = NAMESPACE) -> list[str]:
    return sorted(note.id for note in store.notes(namespace=namespace) if note.last_accessed_at)


def wait_for_thread(log: AccessLog) -> None:
    thread = log._thread
    if thread is not None:
        thread.join(60)
        assert not thread.is_alive()


def test_close_writes_pending_accesses(store: SQLiteStore) -> None:
    before = datetime.now(UTC)
    log = AccessLog(store)
    log.record(["a", "b"], NAMESPACE)
    log.record(["a"], "alice")
    log.record(iter(["b", "nobody"]), NAMESPACE)
    assert accessed_ids(store) == []
    log.close()
    assert accessed_ids(store) == ["a", "b"]
    assert accessed_ids(store, "alice") == ["a"]
    (note,) = store.get(["b"], namespace=NAMESPACE)
    assert note is not None
    assert note.last_accessed_at is not None
    assert before <= note.last_accessed_at <= datetime.now(UTC)
    log.record(["c"], NAMESPACE)
    log.close()
    assert accessed_ids(store) == ["a", "b"]


def test_pending_accesses_are_written_after_a_delay(
    store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "FLUSH_SECONDS", 0.01)
    for name in "ab":
        log.record([name], NAMESPACE)
        wait_for_thread(log)
        assert name in accessed_ids(store)
        assert log._thread is None  # it ended; the next access starts a new one


def test_many_pending_accesses_are_flushed(store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_PENDING", 3)
    log.record([], NAMESPACE)
    assert log._thread is None
    log.record(["a", "b"], NAMESPACE)
    thread = log._thread
    assert thread is not None
    assert thread.daemon
    assert accessed_ids(store) == []
    log.record(["c"], NAMESPACE)
    thread.join(60)
    assert accessed_ids(store) == ["a", "b", "c"]


def test_access_during_flush_is_written(store: SQLiteStore, log: AccessLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "FLUSH_SECONDS", 0.01)
    touch = store.touch
    recorded = threading.Event()

    def slow(accessed: dict[str, datetime], *, namespace: str) -> int:
        if not recorded.is_set():
            recorded.set()
            log.record(["b"], NAMESPACE)
        return touch(accessed, namespace=namespace)

    monkeypatch.setattr(store, "touch", slow)
    log.record(["a"], NAMESPACE)
    wait_for_thread(log)
    assert accessed_ids(store) == ["a", "b"]


def test_accesses_are_written_when_the_store_is_free(
    store: SQLiteStore, log: AccessLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.01)
    monkeypatch.setattr(access, "MAX_PENDING", 2)
    locker = apsw.Connection(str(path))
    locker.execute("BEGIN IMMEDIATE")
    log._thread = threading.current_thread()  # no background thread starts
    log.record(["a", "b"], NAMESPACE)
    (first,) = {accessed_at for (_, name), accessed_at in log._pending.items() if name == "a"}
    assert log._should_flush()
    assert log.flush() == 0
    assert not log._should_flush()  # no immediate retry
    log.record(["b", "c"], NAMESPACE)
    assert log.flush() == 0
    assert log._pending["default", "a"] == first < log._pending["default", "b"]
    locker.close()
    assert log.flush() == 3
    assert accessed_ids(store) == ["a", "b", "c"]
    assert log._pending == {}


def test_background_thread_retries_busy_store(
    store: SQLiteStore, log: AccessLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.0)
    monkeypatch.setattr(access, "FLUSH_SECONDS", 0.01)
    locker = apsw.Connection(str(path))
    locker.execute("BEGIN IMMEDIATE")
    tries = threading.Semaphore(0)
    touch = store.touch

    def counted(accessed: dict[str, datetime], *, namespace: str) -> int:
        tries.release()
        return touch(accessed, namespace=namespace)

    monkeypatch.setattr(store, "touch", counted)
    log.record(["a"], NAMESPACE)
    for _ in range(3):
        assert tries.acquire(timeout=60)
    locker.close()
    wait_for_thread(log)
    assert accessed_ids(store) == ["a"]


def test_close_warns_about_busy_store(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.01)
    locker = apsw.Connection(str(path))
    locker.execute("BEGIN IMMEDIATE")
    log = AccessLog(store)
    log.record(["a", "b"], NAMESPACE)
    with pytest.warns(
        RecollectWarning, match=r"^the last access of 2 notes could not be written: .* is locked by other"
    ):
        log.close()
    locker.close()


def test_close_warns_about_unwritable_store(store: SQLiteStore, path: Path) -> None:
    store.close()
    reader = SQLiteStore(path, read_only=True)
    for opened, problem in ((store, "is closed"), (reader, "was opened read-only")):
        log = AccessLog(opened)
        log.record(["a"], NAMESPACE)
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
        log.record(["a"], NAMESPACE)
    log.record(["b"], NAMESPACE)
    assert log._thread is not None
    log.close()
    assert accessed_ids(store) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_has_its_own_access_log(store: SQLiteStore, log: AccessLog) -> None:
    log.record(["a"], NAMESPACE)
    with log._changed, log._flush_lock:  # other threads may have the locks during a fork
        child = os.fork()
        if child == 0:
            good = not log._pending
            log.record(["b"], NAMESPACE)
            good = good and log._thread is not None and log._thread.is_alive()
            log.close()
            os._exit(0 if good and accessed_ids(store) == ["b"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert accessed_ids(store) == ["b"]
    log.close()
    assert accessed_ids(store) == ["a", "b"]


def test_forked_child_resets_access_log(store: SQLiteStore) -> None:
    log = AccessLog(store)
    log.record(["a"], NAMESPACE)
    thread = log._thread
    changed = log._changed
    access._after_fork_in_child()
    assert log._pending == {}
    assert log._thread is None
    log.close()
    assert accessed_ids(store) == []
    with changed:
        changed.notify_all()  # wakes the parent's thread, which ends
    assert thread is not None


class TestMemory:
    @pytest.fixture(autouse=True)
    def _notes(self, store: SQLiteStore) -> None:
        """Write the notes of the fixture ``store``."""

    def test_search_and_get_record_access(self, path: Path, store: SQLiteStore) -> None:
        with recollect.open(path, embedder=None) as memory:
            assert [hit.id for hit in memory.search("a OR b", top_k=2)] == ["a", "b"]
            memory.search("c", top_k=0)
            memory.search("elsewhere", namespace="alice")
            assert memory.get("d.md")
            assert memory.get("nobody") is None
            assert accessed_ids(store) == []
        assert accessed_ids(store) == ["a", "b", "d"]
        assert accessed_ids(store, "alice") == ["a"]

    def test_touch_changes_only_last_accessed_at(self, path: Path, store: SQLiteStore) -> None:
        before = {note.id: note for note in store.notes(namespace=NAMESPACE)}
        with recollect.open(path, embedder=None) as memory:
            memory.search("tea")
        for note in store.notes(namespace=NAMESPACE):
            assert note.last_accessed_at is not None
            assert replace(note, last_accessed_at=None) == before[note.id]

    def test_update_and_iteration_are_no_access(self, path: Path, store: SQLiteStore) -> None:
        with recollect.open(path, embedder=None) as memory:
            memory.update("a", title="A")
            memory.link("a", "b")
            memory.neighbours("a")
            assert list(memory.notes())
            assert list(memory.export())
        assert accessed_ids(store) == []

    def test_record_access_can_be_disabled(self, path: Path, store: SQLiteStore) -> None:
        with recollect.open(path, embedder=None, record_access=False) as memory:
            memory.search("tea")
            memory.get("a")
        with recollect.open(path, embedder=None, read_only=True) as memory:
            memory.search("tea")
            memory.get("a")
        assert accessed_ids(store) == []

    def test_earlier_access_does_not_overwrite_later(self, path: Path, store: SQLiteStore) -> None:
        later = datetime.now(UTC) + timedelta(days=1)
        with recollect.open(path, embedder=None) as memory:
            memory.get("a")
            memory.update("a", last_accessed_at=later)
        (note,) = store.get(["a"], namespace=NAMESPACE)
        assert note is not None
        assert note.last_accessed_at == later

    def test_close_closes_store_after_log_error(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite, "TOUCH_TIMEOUT", 0.01)
        memory = recollect.open(path, embedder=None)
        memory.get("a")
        locker = apsw.Connection(str(path))
        locker.execute("BEGIN IMMEDIATE")
        with pytest.raises(RecollectWarning, match="could not be written"):  # warnings are errors here
            memory.close()
        locker.close()
        with pytest.raises(StoreError, match="is closed"):
            memory.get("a")

    def test_async_memory_records_access(self, path: Path, store: SQLiteStore) -> None:
        async def search(*, record_access: bool) -> None:
            async with await recollect.open_async(path, embedder=None, record_access=record_access) as memory:
                await memory.search("tea", top_k=1)

        asyncio.run(search(record_access=False))
        assert accessed_ids(store) == []
        asyncio.run(search(record_access=True))
        assert len(accessed_ids(store)) == 1
