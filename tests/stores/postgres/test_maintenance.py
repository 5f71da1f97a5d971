"""Checks find damage to derived data and repair it; backups are complete; expired notes are deleted without waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import ArgumentError, StoreBusyError, StoreError, StoreReadOnlyError
from recollect.model import Document, Filters, Link, draft_of
from recollect.query import parse
from recollect.stores import open_store
from recollect.stores.base import Finding, Model, Store
from recollect.stores.batches import Batch, Plan
from recollect.stores.postgres import checking
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.sqlite.store import SQLiteStore
from tests.frozen_clock import HOUR, FrozenClock

NAMESPACE = "default"
EVERYTHING = Filters()

RunSql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(database)) as opened:
        opened.write(
            [
                {"content": f"tea {n}", "title": "jar", "path": f"{n}.md", "vector": np.eye(8, dtype=np.float32)[n]}
                for n in range(8)
            ]
        )
        yield opened


def problems(store: Store) -> dict[str, str]:
    return {finding.part: finding.problem for finding in store.check() if finding.problem}


WORDS, VECTORS = "words of 'default'", "vectors"
DAMAGES = {
    "words that are missing": ("DELETE FROM words WHERE note = SECOND", WORDS),
    "words that are wrong": ("UPDATE notes SET content = 'changed behind our back' WHERE key = SECOND", WORDS),
    "a vector of words that is none": ("UPDATE words SET words = '' WHERE note = SECOND", WORDS),
    "words that are not whole": ("UPDATE words SET whole = false WHERE note = SECOND", WORDS),
    "postings that are missing": ("DELETE FROM postings WHERE term = 'tea'", WORDS),
    "postings of no note": (
        "INSERT INTO postings SELECT namespace, 'pot', block, count, list FROM postings WHERE term = 'tea'",
        WORDS,
    ),
    "postings that are miscounted": ("UPDATE postings SET count = 7 WHERE term = 'tea'", WORDS),
    "postings that are not in order": ("UPDATE postings SET list = list || list, count = 16 WHERE term = 'tea'", WORDS),
    "notes that are miscounted": ("UPDATE namespaces SET notes = 7", WORDS),
    "words that are miscounted": ("UPDATE namespaces SET tokens = 7", WORDS),
    "names that are missing": ("DELETE FROM names WHERE note = SECOND", "names of 'default'"),
    "a cut vector": ("UPDATE vectors SET vector = '\\x00' WHERE note = SECOND", VECTORS),
    "a vector of another text": ("UPDATE vectors SET digest = '\\x00' WHERE note = SECOND", VECTORS),
    "a vector in another namespace": (
        "WITH new AS (INSERT INTO namespaces (name) VALUES ('b') RETURNING key) "
        "UPDATE vectors SET namespace = new.key FROM new WHERE note = SECOND",
        VECTORS,
    ),
    "many vectors": ("UPDATE vectors SET digest = '\\x00'", VECTORS),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_repair_fixes_damage(store: PostgresStore, run_sql: RunSql, name: str) -> None:
    statement, part = DAMAGES[name]
    second = "(SELECT key FROM notes WHERE path = '2.md')"
    run_sql(f"SET search_path = recollect; {statement.replace('SECOND', second)}")
    assert part in problems(store)
    repaired = {finding.part: finding.problem for finding in store.repair()}
    assert not any(repaired.values())
    assert problems(store) == {}
    assert len(list(store.notes())) == 8
    assert len(store.search_text(parse("jar"), 20, namespace=NAMESPACE, filters=EVERYTHING)) == 8


def test_check_summarises_many_problems(store: PostgresStore, run_sql: RunSql) -> None:
    run_sql("UPDATE recollect.vectors SET digest = '\\x00'")
    assert problems(store)["vectors"].endswith(" and 5 more")


def test_dropped_vectors_can_be_embedded_again(store: PostgresStore, run_sql: RunSql) -> None:
    run_sql("UPDATE recollect.vectors SET vector = '\\x00'")
    store.repair()
    assert len(store.pending(Model("given", 8), 20)) == 8


def test_check_reports_a_missing_table(store: PostgresStore, run_sql: RunSql) -> None:
    run_sql("DROP TABLE recollect.entities")
    (finding,) = store.check()
    assert finding == Finding("tables", "the table entities is missing", repairable=False)


def test_check_reads_in_batches(store: PostgresStore, monkeypatch: pytest.MonkeyPatch, run_sql: RunSql) -> None:
    monkeypatch.setattr("recollect.stores.sql.checking.BATCH_NOTES", 3)
    monkeypatch.setattr(checking, "BATCH_VECTORS", 3)
    monkeypatch.setattr(checking, "BATCH_BLOCKS", 2)
    assert problems(store) == {}
    store.repair()
    assert problems(store) == {}
    run_sql("DELETE FROM recollect.postings WHERE term = '7'")
    assert "the postings of note" in problems(store)[WORDS]


def test_backup_is_a_consistent_snapshot(store: PostgresStore, tmp_path: Path) -> None:
    note = {"id": "a", "path": "a", "content": "x \0 y", "links": (Link("related", "1.md"),), "importance": 0.9}
    store.write([{**note, "metadata": {"n": [1, 1e16]}, "namespace": "alice", "vector": [[1.0] * 8, [2.0] * 8]}])
    drafts = [draft_of({"path": f"b#{n}", "content": f"b {n}", "tags": ["x"]}) for n in range(3)]
    store.write_documents([Document("/vault", "b.md", "7", drafts), Document("/vault", "c", "8", [])], namespace="bob")
    store.write([{"content": "later"}, {"content": "gone", "expires_at": datetime(2020, 1, 1, tzinfo=UTC)}])
    target = tmp_path / "copy.db"
    store.backup(target)
    notes = list(store.notes())
    store.write([{"content": "later still"}])
    with closing(open_store(target)) as copy:
        assert list(copy.notes()) == notes
        assert copy.model == store.model
        for expected, vector in zip(store.vectors_of(notes)[1], copy.vectors_of(notes)[1], strict=True):
            assert (expected is None and vector is None) or np.array_equal(expected, vector)  # type: ignore[arg-type]
        assert copy.documents("/vault", namespace="bob") == {"b.md": "7", "c": "8"}
        assert copy.remove_documents("/vault", ["b.md"], namespace="bob") == 3
        assert problems(copy) == {}


def test_backup_without_vectors(database: str, tmp_path: Path) -> None:
    with closing(PostgresStore(database)) as store:
        store.write([{"content": "tea"}])
        store.backup(tmp_path / "copy.db")
    with closing(SQLiteStore(tmp_path / "copy.db")) as copy:
        assert [note.content for note in copy.notes()] == ["tea"]
        assert copy.model is None


def test_backup_to_an_unwritable_target(store: PostgresStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere does not exist; create it first"):
        store.backup(tmp_path / "nowhere" / "copy.db")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match=r"folder' cannot be written: "):
        store.backup(tmp_path / "folder", overwrite=True)
    (tmp_path / "copy.db-wal").write_bytes(b"what a crash left behind")
    with pytest.raises(ArgumentError, match="is in use, or was not closed; choose another name"):
        store.backup(tmp_path / "copy.db")
    assert not [path.name for path in tmp_path.iterdir() if "partial" in path.name]


class TestExpiry:
    def test_expired_note_is_hidden_from_readers(self, store: PostgresStore, frozen_clock: FrozenClock) -> None:
        store.write([{"id": "fair", "content": "xylophones", "expires_at": frozen_clock.now() + HOUR}])
        assert len(store.search_text(parse("xylophones"), 1, namespace=NAMESPACE, filters=EVERYTHING)) == 1
        frozen_clock.time += HOUR
        assert store.search_text(parse("xylophones"), 1, namespace=NAMESPACE, filters=EVERYTHING) == []
        assert store.get(["fair"], namespace=NAMESPACE) == [None]

    def test_expire_does_not_wait_for_locks(self, store: PostgresStore, frozen_clock: FrozenClock) -> None:
        store.write([{"id": "fair", "content": "x", "expires_at": frozen_clock.now() + HOUR}])
        frozen_clock.time += HOUR
        with store._connections.write([NAMESPACE]), ThreadPoolExecutor(1) as executor:
            with pytest.raises(StoreBusyError, match="is locked by other writers"):
                executor.submit(store.expire, frozen_clock.now()).result(30)
            assert executor.submit(store.expire, frozen_clock.now() - HOUR).result(30) == 0
        assert store.expire(frozen_clock.now()) == 1

    def test_expire_does_not_lock_other_namespaces(self, store: PostgresStore, frozen_clock: FrozenClock) -> None:
        store.write([{"id": "fair", "content": "x", "expires_at": frozen_clock.now() + HOUR, "namespace": "alice"}])
        frozen_clock.time += HOUR
        with store._connections.write([NAMESPACE]):
            assert store.expire(frozen_clock.now()) == 1

    def test_read_only_store_expires_nothing(
        self, store: PostgresStore, database: str, frozen_clock: FrozenClock
    ) -> None:
        store.write([{"id": "fair", "content": "x", "expires_at": frozen_clock.now() + HOUR}])
        frozen_clock.time += HOUR
        with closing(PostgresStore(database, read_only=True)) as reader:
            assert reader.read_only
            assert reader.expire(frozen_clock.now()) == 0
            with pytest.raises(StoreReadOnlyError):
                reader.write([{"content": "x"}])
            assert len(list(reader.notes())) == 8
            assert problems(reader) == {}
        assert store.expire(frozen_clock.now()) == 1


class TestTouching:
    def test_touch_does_not_wait_for_writers(self, store: PostgresStore) -> None:
        (note,) = store.get(["1.md"], namespace=NAMESPACE)
        assert note is not None
        with store._connections.write([NAMESPACE]):
            assert store.touch({note.id: datetime(2026, 4, 18, tzinfo=UTC)}, namespace=NAMESPACE) == 1

    def test_touch_times_out_on_a_locked_note(self, store: PostgresStore) -> None:
        (note,) = store.get(["1.md"], namespace=NAMESPACE)
        assert note is not None
        with store._connections.write([NAMESPACE]) as at:
            at.connection.execute("UPDATE notes SET importance = 0.7 WHERE id = %s", [note.id])
            with pytest.raises(StoreBusyError, match="is locked by other writers"):
                store.touch({note.id: datetime(2026, 4, 18, tzinfo=UTC)}, namespace=NAMESPACE)

    def test_concurrent_write_keeps_the_touch(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        (note,) = store.get(["1.md"], namespace=NAMESPACE)
        assert note is not None
        accessed_at = datetime(2026, 4, 18, tzinfo=UTC)
        plan = Batch.plan

        def touched(batch: Batch, *args: Any) -> Plan:
            assert store.touch({note.id: accessed_at}, namespace=NAMESPACE) == 1  # after the batch has read the note
            return plan(batch, *args)

        with monkeypatch.context() as patch:
            patch.setattr(Batch, "plan", touched)
            store.write([{"path": "1.md", "content": "green tea"}])
        (after,) = store.get(["1.md"], namespace=NAMESPACE)
        assert after is not None
        assert (after.content, after.last_accessed_at) == ("green tea", accessed_at)
        earlier = accessed_at - timedelta(days=1)
        store.write([draft_of({"path": "1.md", "last_accessed_at": earlier})])
        (after,) = store.get(["1.md"], namespace=NAMESPACE)
        assert after is not None
        assert after.last_accessed_at == earlier


class TestModels:
    def test_activate_waits_for_writers(self, store: PostgresStore) -> None:
        new_model = Model("other", 2)
        vector = np.array([1, 0], np.float32)
        assert store.embed(new_model, [(note, vector) for note in store.pending(new_model, 20)]) == 8
        inside, go_on = threading.Event(), threading.Event()

        def write() -> None:
            with store._connections.write([NAMESPACE]):
                inside.set()
                go_on.wait(30)

        with ThreadPoolExecutor(2) as executor:
            writing = executor.submit(write)
            inside.wait(30)
            activating = executor.submit(store.activate, new_model)
            assert store.model == Model("given", 8)
            go_on.set()
            assert activating.result(30)
            writing.result(30)
        assert store.model == new_model
        assert len(store.search_vectors(vector, 20, namespace=NAMESPACE, filters=EVERYTHING)) == 8

    def test_concurrent_first_vectors_agree_on_a_model(self, database: str) -> None:
        with closing(PostgresStore(database)) as store:

            def write(namespace: str) -> None:
                store.write([{"content": "x", "vector": [1.0, 2.0], "namespace": namespace}])

            for _ in range(3):
                with ThreadPoolExecutor(4) as executor:
                    list(executor.map(write, "abcd"))
            assert store.stats().vectors == {"given": 12}

    def test_too_wide_vectors_are_refused(self, database: str) -> None:
        with closing(PostgresStore(database)) as store:
            with pytest.raises(StoreError, match="cannot store this: a text, a vector .* 16000 dimensions"):
                store.write([{"content": "x", "vector": np.ones(16_001, np.float32)}])
            assert store.stats().notes == {}

    def test_half_precision_round_trips(self, database: str) -> None:
        model = Model("half", 3, "float16")
        with closing(PostgresStore(database)) as store:
            store.write([{"content": "x", "vector": [3.0, 4.0, 0.0]}], model=model)
            assert store.model == model
            (note,) = store.notes()
            _, (vector,) = store.vectors_of([note])
            assert vector is not None
            assert vector.tolist() == np.array([0.6, 0.8, 0], np.float16).astype(np.float32).tolist()
            assert problems(store) == {}


def test_write_uses_one_timestamp(store: PostgresStore, frozen_clock: FrozenClock) -> None:
    store.write([{"path": "due", "content": "x", "expires_at": frozen_clock.now() + timedelta(microseconds=1)}])
    frozen_clock.time += timedelta(microseconds=1)
    ((note,), _) = store.write([{"path": "due", "content": "y"}])
    assert note.expires_at is None
    assert problems(store) == {}
