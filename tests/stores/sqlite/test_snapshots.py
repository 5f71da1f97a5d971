"""Snapshots speed up searches, never change results, and contain no deleted text."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import StoreError
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.base import Model
from recollect.stores.sqlite import posting_index, snapshots, vector_index
from recollect.stores.sqlite.search import NamespaceSearch, render_fts5
from recollect.stores.sqlite.store import SQLiteStore
from tests.frozen_clock import FrozenClock
from tests.stores.sqlite.snapshot_helpers import (
    EVERYTHING,
    ROWS,
    drafts,
    fill,
    lower_snapshot_thresholds,
    nearest_paths,
    search_paths,
    snapshot_files,
    uses_snapshots,
)

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _low_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_snapshot_thresholds(monkeypatch)


def test_close_writes_snapshots(path: Path) -> None:
    fill(path)
    assert len(snapshot_files(path)) == 2
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        assert uses_snapshots(store) == (True, True)
        assert store.stats().bytes >= sum(snapshot.stat().st_size for snapshot in (path, *snapshot_files(path)))


def test_few_notes_have_no_snapshot(path: Path) -> None:
    fill(path, 19)
    with closing(SQLiteStore(path)) as store:
        store.write_documents([], namespace="empty")
    assert snapshot_files(path) == []
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word3") == ["3"]
        assert nearest_paths(store, 3) == ["3"]
        assert uses_snapshots(store) == (False, False)


def test_added_note_is_found_without_a_new_snapshot(path: Path) -> None:
    fill(path)
    before = snapshot_files(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store), nearest_paths(store, 1)
        store.write(drafts(60, 61))
        assert search_paths(store, "word60") == ["60"]
        assert nearest_paths(store, 60) == ["60"]
        assert uses_snapshots(store) == (True, True)
    assert snapshot_files(path) == before
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word60") == ["60"]
        assert nearest_paths(store, 60) == ["60"]
        assert uses_snapshots(store) == (True, True)


def test_deleted_text_leaves_the_snapshots_on_close(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write([*drafts(0, 60), {"path": "secret", "content": "tea quetzalcoatlus", "vector": ROWS[99]}])
    assert any(b"quetzalcoatlu" in snapshot.read_bytes() for snapshot in snapshot_files(path))
    sizes = sorted(snapshot.stat().st_size for snapshot in snapshot_files(path))
    with closing(SQLiteStore(path)) as store:
        store.delete(["secret"], namespace="default")
        assert nearest_paths(store, 99) != ["secret"]
    assert len(snapshot_files(path)) == 2
    assert not any(b"quetzalcoatlu" in snapshot.read_bytes() for snapshot in snapshot_files(path))
    assert sorted(snapshot.stat().st_size for snapshot in snapshot_files(path)) < sizes
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "quetzalcoatlus") == []
        assert len(search_paths(store, "tea", 99)) == 60
        assert len(nearest_paths(store, 99, 99)) == 60
        assert uses_snapshots(store) == (True, True)


def test_changed_text_leaves_the_snapshots_on_close(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        store.write([{"path": "7", "content": "brachiosaurus", "vector": ROWS[77]}])
    assert not any(b"word7" + b"word8" in snapshot.read_bytes() for snapshot in snapshot_files(path))
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word7") == []
        assert search_paths(store, "brachiosaurus") == ["7"]
        assert nearest_paths(store, 77) == ["7"]
        with store._connections.reading() as connection:
            assert connection.execute("SELECT count(*) FROM word_changes").get == 0


def test_snapshot_is_rebuilt_after_most_notes_were_deleted(path: Path) -> None:
    fill(path, 200)
    with closing(SQLiteStore(path)) as store:
        store.delete([f"{n}" for n in range(150)], namespace="default")
    with closing(SQLiteStore(path)) as store:
        assert len(search_paths(store, "tea", 999)) == 50
        (lists,) = store._indexes._postings.values()
        assert lists._view is not None
        assert len(lists._view.lists.keys) == 50


def test_search_after_deleting_everything(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        store.delete([f"{n}" for n in range(60)], namespace="default")
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store) == []
        assert nearest_paths(store, 1) == []
        store.write(drafts(100, 101))
        assert search_paths(store) == ["100"]
        assert nearest_paths(store, 100) == ["100"]


def test_missing_snapshot_is_rebuilt(path: Path) -> None:
    fill(path)
    for snapshot in snapshot_files(path):
        snapshot.unlink()
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        store._indexes.worker.wait()
        assert search_paths(store, "word33") == ["33"]
        nearest_paths(store, 33)
        store._indexes.worker.wait()
        assert len(snapshot_files(path)) == 2
        nearest_paths(store, 33)
        assert uses_snapshots(store) == (True, True)


def test_backup_builds_its_own_snapshots(path: Path) -> None:
    fill(path)
    copy = path.with_name("copy.db")
    with closing(SQLiteStore(path)) as store:
        store.backup(copy)
    with closing(SQLiteStore(copy)) as store:
        assert search_paths(store, "word33") == ["33"]
        store._indexes.worker.wait()
        search_paths(store)
        assert uses_snapshots(store)[0]
    assert any(snapshot.name.startswith("copy.db-snapshot-") for snapshot in snapshot_files(copy))


def test_read_only_store_writes_no_snapshots(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path, read_only=True)) as store:
        search_paths(store), nearest_paths(store, 1)
        assert uses_snapshots(store) == (True, True)
    for snapshot in snapshot_files(path):
        snapshot.unlink()
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        store._indexes.worker.wait()
        assert uses_snapshots(store) == (False, False)
    assert snapshot_files(path) == []


def test_store_uses_the_snapshot_of_another_process(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store), nearest_paths(store, 1)
        with closing(SQLiteStore(path)) as writer:
            writer.write(drafts(60, 90))
            writer.delete(["5"], namespace="default")
        assert search_paths(store, "word5") == []
        assert search_paths(store, "word88") == ["88"]
        assert len(search_paths(store, "tea", 99)) == 89
        assert len(nearest_paths(store, 5, 99)) == 89
        with store._connections.reading() as connection:
            tokens = {token for (token,) in connection.execute("SELECT token FROM snapshots")}
        assert {index._ref.token for index in store._indexes._postings.values() if index._ref} < tokens
        assert {index._loaded.ref.token for index in store._indexes._vectors.values() if index._loaded.ref} < tokens


def test_large_delta_falls_back_to_fts5(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(60, 100))
        assert search_paths(store, "word99") == ["99"]
        assert uses_snapshots(store)[0] is False
        store._indexes.worker.wait()
        assert search_paths(store, "word99") == ["99"]
        assert uses_snapshots(store)[0] is True


def test_snapshot_is_written_before_the_delta_is_full(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        before = snapshot_files(path)
        store.write(drafts(60, 75))
        search_paths(store)
        store._indexes.worker.wait()
        assert snapshot_files(path) != before
        store.write(drafts(75, 76))
        assert search_paths(store, "word75") == ["75"]
        assert uses_snapshots(store)[0] is True


def write_snapshot_while_another_process_deletes(
    store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write a snapshot; another process deletes a note and closes between the read and the write."""
    lists = store._indexes.postings(1)
    read = lists._read_snapshot

    def read_then_delete(*args: Any, **options: Any) -> Any:
        written = read(*args, **options)
        with closing(SQLiteStore(path)) as writer:
            writer.delete(["3"], namespace="default")
        return written

    monkeypatch.setattr(lists, "_read_snapshot", read_then_delete)
    lists.write_snapshot(lambda: False)


def test_slower_process_discards_its_snapshot(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        write_snapshot_while_another_process_deletes(store, path, monkeypatch)
        assert len(snapshot_files(path)) == 2
        assert search_paths(store, "word3") == []
        assert search_paths(store, "word4") == ["4"]


def test_changes_during_the_first_snapshot_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting_index.PostingsIndex, "min_rows", 1000)
    fill(path)
    with closing(SQLiteStore(path)) as store:
        write_snapshot_while_another_process_deletes(store, path, monkeypatch)
        assert search_paths(store, "word3") == []
        assert len(search_paths(store, "tea", 99)) == 59
        assert uses_snapshots(store)[0]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), StoreError("busy")])
def test_search_without_disk_space_for_snapshots(
    path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(snapshots, "save_arrays", fail)
    fill(path)
    assert snapshot_files(path) == []
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        store._indexes.worker.wait()
    assert snapshot_files(path) == []


def test_each_model_has_its_own_snapshot(path: Path) -> None:
    fill(path)
    new_model = Model("other", 16)
    with closing(SQLiteStore(path)) as store:
        pending = store.pending(new_model, 99)
        store.embed(new_model, [(note, ROWS[number + 1000]) for number, note in enumerate(pending)])
        store.activate(new_model)
    assert len(snapshot_files(path)) == 2
    with closing(SQLiteStore(path)) as store:
        results = store.search_vectors(ROWS[1033], 1, namespace="default", filters=EVERYTHING)
        assert [hit.path for hit in results] == ["33"]
        assert uses_snapshots(store)[1]


def test_each_namespace_has_its_own_snapshots(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(0, 60))
        store.write(drafts(60, 120, namespace="home"))
    assert len(snapshot_files(path)) == 4
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert search_paths(store, "word33", namespace="home") == []
        assert search_paths(store, "word99", namespace="home") == ["99"]


def test_snapshot_of_notes_with_several_chunks(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(
            [{"path": f"{n}", "content": f"{n}", "vector": ROWS[4 * n : 4 * n + 1 + n % 4]} for n in range(500)]
        )
    with closing(SQLiteStore(path)) as store:
        store.delete(["3"], namespace="default")
        store.write([{"path": "900", "content": "900", "vector": ROWS[3600:3603]}])
    with closing(SQLiteStore(path)) as store:
        for n in (1, 7, 499, 900):
            for chunk in range(1 + n % 4 if n < 900 else 3):
                assert nearest_paths(store, 4 * n + chunk) == [f"{n}"]
        assert nearest_paths(store, 12) != ["3"]
        assert uses_snapshots(store)[1]


def test_rotation_is_refitted_when_vectors_double(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.vector_scan.MIN_SAMPLE", 10)
    fill(path)
    sampled = []
    for first, last in ((60, 100), (100, 200)):
        with closing(SQLiteStore(path)) as store:
            store.write(drafts(first, last))
        with closing(SQLiteStore(path)) as store:
            assert nearest_paths(store, last - 1) == [f"{last - 1}"]
            (ref,) = [index._loaded.ref for index in store._indexes._vectors.values()]
            snapshot = store._indexes.snapshots.load(ref.token) if ref else None
            sampled.append(snapshot.facts["sampled"] if snapshot else None)
    assert sampled == [60, 200]


def test_expired_notes_are_not_found(path: Path, frozen_clock: FrozenClock) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        store.write([{"path": "soon", "content": "tea soon", "expires_at": frozen_clock.time + HOUR}])
        search_paths(store)
    frozen_clock.time += 2 * HOUR
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert search_paths(store, "soon") == []
        assert len(search_paths(store, "tea", 99)) == 60


def test_phrases_and_prefixes_use_fts5(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        assert search_paths(store, '"tea word33"') == ["33"]
        assert sorted(search_paths(store, "word5*", 99)) == ["5", *(f"5{n}" for n in range(10))]
        assert search_paths(store, "tea AND word8") == ["8"]
        assert search_paths(store, "word8 NOT tea") == []
        store.write([{"path": "private", "content": "abc\ue000def"}])
        assert search_paths(store, "\ue000") == []
        assert search_paths(store, "abc\ue000def") == ["private"]
        assert search_paths(store, "\ue000\ue000") == []
        assert search_paths(store, "tea " + "x" * 40_000, 2) == search_paths(store, "tea", 2)
        store.delete(["private"], namespace="default")
        assert store.note_counts([parse("tea"), parse("word1*")], namespace="default")[1] == [60, 11]
        assert store.note_counts([parse("tea"), parse("?")], namespace="default") == (60, [60, 0])


@pytest.mark.parametrize(("limit", "prefix"), [(2, "1"), (1, "33"), (3, "33"), (9, "nothing")])
def test_filtered_search_returns_the_results_of_fts5(path: Path, limit: int, prefix: str) -> None:
    fill(path, 300)
    filters = Filters(path_prefix=prefix)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        results = store.search_text(parse("tea milk"), limit, namespace="default", filters=filters)
        with store._connections.reading() as connection:
            search = NamespaceSearch(connection, store._indexes, 1)
            expected = search.search_fts5(render_fts5(parse("tea milk")), limit, filters)
        assert [(candidate.path, candidate.score) for candidate in results] == [
            (candidate.path, candidate.score) for candidate in expected
        ]


def test_fork_stops_a_snapshot(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(60, 61))
        for write in (store._indexes.postings(1).write_snapshot, _vector_index(store).write_snapshot):
            before = snapshot_files(path)
            write(lambda: True)
            assert snapshot_files(path) == before


def _vector_index(store: SQLiteStore) -> vector_index.VectorIndex:
    nearest_paths(store, 1)
    (index,) = store._indexes._vectors.values()
    return index


def test_no_snapshot_without_vectors(path: Path) -> None:
    fill(path, 1)
    with closing(SQLiteStore(path)) as store:
        index = _vector_index(store)
        store.delete(["0"], namespace="default")
        index.write_snapshot(lambda: False)
    assert snapshot_files(path) == []


def test_worker_pauses_after_a_snapshot(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "PAUSE_FACTOR", 10**6)
    written = []

    def write(_: Callable[[], bool]) -> None:
        time.sleep(0.001)
        written.append(True)

    with closing(SQLiteStore(path)) as store:
        index = store._indexes.postings(1)
        monkeypatch.setattr(index, "write_snapshot", write)
        for _ in range(3):
            store._indexes.worker.start(index)
            store._indexes.worker.wait()
    assert len(written) == 1


def test_vector_search_after_deleting_everything_twice(path: Path) -> None:
    fill(path)
    for _ in range(2):
        with closing(SQLiteStore(path)) as store:
            store.delete([f"{n}" for n in range(61)], namespace="default")
        with closing(SQLiteStore(path)) as store:
            assert nearest_paths(store, 1) == []
            store.write(drafts(60, 61))
    with closing(SQLiteStore(path)) as store:
        assert nearest_paths(store, 60) == ["60"]


def test_close_retries_after_an_older_snapshot_won(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write([*drafts(0, 60), {"path": "secret", "content": "tea quetzalcoatlus"}])
    second_store, store = SQLiteStore(path), SQLiteStore(path)
    faster_index = second_store._indexes.postings(1)
    read = faster_index._read_snapshot

    def read_then_close_other(*args: Any, **options: Any) -> Any:
        written = read(*args, **options)
        monkeypatch.setattr(faster_index, "_read_snapshot", read)
        store.delete(["secret"], namespace="default")
        own_index = store._indexes.postings(1)
        read_own = own_index._read_snapshot

        def read_then_wait(*args: Any, **options: Any) -> Any:
            monkeypatch.setattr(own_index, "_read_snapshot", read_own)
            results = read_own(*args, **options)
            read_done.set()
            assert written_first.wait(5)
            return results

        monkeypatch.setattr(own_index, "_read_snapshot", read_then_wait)
        closer.start()
        assert read_done.wait(5)
        return written

    read_done, written_first = threading.Event(), threading.Event()
    closer = threading.Thread(target=store.close)
    monkeypatch.setattr(faster_index, "_read_snapshot", read_then_close_other)
    faster_index.write_snapshot(lambda: False)
    written_first.set()
    closer.join()
    second_store.close()
    assert not any(b"quetzalcoatlu" in snapshot.read_bytes() for snapshot in snapshot_files(path))


def test_interrupted_close_closes_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    fill(path)
    store = SQLiteStore(path)
    store.delete(["3"], namespace="default")
    monkeypatch.setattr(store._indexes, "write_snapshots", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    with pytest.raises(StoreError, match="is closed"):
        search_paths(store)


def test_many_changes_are_merged_in_the_background(path: Path) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        store.write([{"path": f"{n}", "content": f"coffee word{n}"} for n in range(30)])
        assert len(search_paths(store, "coffee", 99)) == 30
        assert uses_snapshots(store)[0] is False
        store._indexes.worker.wait()
        assert len(search_paths(store, "coffee", 99)) == 30
        assert uses_snapshots(store)[0] is True


def test_failed_catch_up_is_not_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        monkeypatch.setattr(store._indexes.worker, "start", lambda _: None)
        store.write(drafts(60, 100))
        search_paths(store)
        (lists,) = store._indexes._postings.values()
        monkeypatch.setattr(lists, "_advance", None)
        assert search_paths(store, "word99") == ["99"]


def test_interrupted_search_leaves_the_postings_consistent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        search_paths(store)
        (lists,) = store._indexes._postings.values()
        assert lists._view is not None
        added = lists._view.delta
        store.write(drafts(60, 62))

        class Interrupted(dict[str, Any]):
            def setdefault(self, *_: Any) -> Any:
                raise KeyboardInterrupt

        monkeypatch.setattr(added, "_lists", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            search_paths(store)
        assert search_paths(store, "word61") == ["61"]
        assert len(search_paths(store, "tea", 99)) == 62


def test_interrupted_search_leaves_the_vectors_consistent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        _vector_index(store)
        store.write(drafts(60, 63))
        put = vector_index._put
        for interrupted_call in range(8):  # six arrays of codes, the ends and the keys
            calls = iter(range(9))

            def interrupted(*args: Any, calls: Iterator[int] = calls, call: int = interrupted_call) -> Any:
                if next(calls) == call:
                    raise KeyboardInterrupt
                return put(*args)

            with monkeypatch.context() as patched:
                patched.setattr(vector_index, "_put", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    nearest_paths(store, 61)
        for n in (5, 60, 61, 62):
            assert nearest_paths(store, n) == [f"{n}"]
        assert len(nearest_paths(store, 1, 99)) == 63


def test_threads_search_during_writes(path: Path) -> None:
    fill(path, 1000)
    problems: list[BaseException] = []
    with closing(SQLiteStore(path)) as store:
        ended = threading.Event()

        def search() -> None:
            try:
                while not ended.is_set():
                    results = store.search_text(parse("tea"), 5000, namespace="default", filters=EVERYTHING)
                    assert len({hit.id for hit in results}) == len(results) >= 1000
            except BaseException as error:  # noqa: BLE001 (asserted below)
                problems.append(error)

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        for n in range(1000, 1400, 8):
            store.write(drafts(n, n + 8))
        ended.set()
        for thread in threads:
            thread.join()
        assert problems == []
        assert len(search_paths(store, "tea", 9999)) == 1400


def test_abandoned_snapshot_leaves_no_rows(path: Path) -> None:
    fill(path, 19)
    with closing(SQLiteStore(path)) as store:
        store._indexes.postings(1).write_snapshot(lambda: True)
        store.delete(["3"], namespace="default")
        with store._connections.reading() as connection:
            assert connection.execute("SELECT count(*) FROM snapshots").get == 0
            assert connection.execute("SELECT count(*) FROM word_changes").get == 0


def test_least_recently_used_index_is_dropped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.search.MAX_NAMESPACES", 2)
    with closing(SQLiteStore(path)) as store:
        for name in "abc":
            store.write(drafts(0, 30, namespace=name))
        for name in "abca":
            assert search_paths(store, "word3", namespace=name) == ["3"]
        assert list(store._indexes._postings) == [3, 1]


def test_expired_text_leaves_the_snapshots(path: Path, frozen_clock: FrozenClock) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        store.write([{"path": "soon", "content": "tea quetzalcoatlus", "expires_at": frozen_clock.time + HOUR}])
        store._indexes.postings(1).write_snapshot(lambda: False)
    assert any(b"quetzalcoatlu" in snapshot.read_bytes() for snapshot in snapshot_files(path))
    frozen_clock.time += 2 * HOUR
    with closing(SQLiteStore(path)) as store:
        assert store.expire(frozen_clock.time) == 1
    assert not any(b"quetzalcoatlu" in snapshot.read_bytes() for snapshot in snapshot_files(path))


def test_search_without_threads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    fill(path)
    for snapshot in snapshot_files(path):
        snapshot.unlink()
    with closing(SQLiteStore(path)) as store:
        monkeypatch.setattr(threading.Thread, "start", fail)
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        monkeypatch.undo()


def test_worker_writes_one_snapshot_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()
    written = []

    def first(stopped: Callable[[], bool]) -> None:
        started.set()
        release.wait(5)
        written.append(stopped())

    with closing(SQLiteStore(path)) as store:
        worker = snapshots.SnapshotWorker(store._connections)
        first_index, second_index = store._indexes.postings(1), store._indexes.postings(2)
        monkeypatch.setattr(first_index, "write_snapshot", first)
        monkeypatch.setattr(second_index, "write_snapshot", lambda _: written.append(True))
        worker.wait()
        worker.start(first_index)
        started.wait(5)
        worker.start(second_index)
        release.set()
        worker.wait()
        assert written == [False]
        worker.stop()
        worker.start(second_index)
        assert written == [False]
