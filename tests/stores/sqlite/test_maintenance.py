"""Repair of derived data, complete deletion, and migration of older schemas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from recollect.errors import ArgumentError, StoreBusyError, StoreDamagedError, StoreError
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.base import Model
from recollect.stores.sqlite import connections, schema
from recollect.stores.sqlite.search import NamespaceSearch
from recollect.stores.sqlite.store import SQLiteStore

EVERYTHING = Filters()


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(path)
    store.write(
        [
            {"content": f"tea {n}", "title": "jar", "path": f"{n}.md", "vector": np.eye(8, dtype=np.float32)[n]}
            for n in range(8)
        ]
    )
    yield store
    store.close()


def problems(store: SQLiteStore) -> dict[str, str]:
    return {finding.part: finding.problem for finding in store.check() if finding.problem}


def damage(path: Path, sql: str) -> None:
    raw = apsw.Connection(str(path))
    raw.create_scalar_function("indexed", lambda *texts: texts[0], 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)
    raw.execute(sql)
    raw.close()


DAMAGES = {
    "words that are missing": ("DELETE FROM words_1 WHERE rowid = 3", "words of 'default'"),
    "words that are wrong": (
        "UPDATE notes SET content = 'changed behind our back' WHERE key = 2",
        "words of 'default'",
    ),
    "broken words": ("DELETE FROM words_1_data WHERE id > 10", "words of 'default'"),
    "no words": ("DROP TABLE words_1", "words of 'default'"),
    "a cut vector": ("UPDATE vectors SET vector = x'00' WHERE note = 2", "vectors"),
    "a vector of another text": ("UPDATE vectors SET digest = x'00' WHERE note = 2", "vectors"),
    "a vector of no note": ("UPDATE vectors SET note = 99 WHERE note = 2", "vectors"),
    "a vector in another namespace": (
        "INSERT INTO namespaces (key, name) VALUES (2, 'b'); UPDATE vectors SET namespace = 2 WHERE note = 2",
        "vectors",
    ),
    "many vectors": ("UPDATE vectors SET digest = x'00'", "vectors"),
    "links of no note": ("INSERT INTO links VALUES (99, 0, 'related', 'x', 'x', 1)", "references"),
    "documents that are gone": ("UPDATE notes SET document = 99 WHERE key = 1", "references"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_repair_fixes_damage(store: SQLiteStore, path: Path, name: str) -> None:
    sql, part = DAMAGES[name]
    damage(path, f"PRAGMA foreign_keys = OFF; {sql}")
    assert part in problems(store)
    repaired = {finding.part: finding.problem for finding in store.repair()}
    assert not any(repaired.values())
    assert problems(store) == {}
    assert len(list(store.notes())) == 8
    assert len(store.search_text(parse("jar"), 20, namespace="default", filters=EVERYTHING)) == 8


def test_check_summarises_many_problems(store: SQLiteStore, path: Path) -> None:
    damage(path, "UPDATE vectors SET digest = x'00'")
    assert problems(store)["vectors"].endswith(" and 5 more")


@pytest.mark.usefixtures("store")
def test_check_reports_a_damaged_file(path: Path) -> None:
    damage(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    page = 8192
    broken = bytearray(data)
    for start in range(3 * page, len(data), page):
        broken[start : start + 16] = b"\xff" * 16
    copy = path.with_name("broken.db")
    copy.write_bytes(bytes(broken))
    damaged = SQLiteStore(copy)
    (finding,) = damaged.check()
    assert finding.part == "file"
    assert finding.problem
    assert not finding.repairable
    damaged.close()


def test_repair_rebuilds_a_corrupt_fts5_index(store: SQLiteStore, path: Path) -> None:
    store.write([{"path": f"more/{n}", "content": f"word{n} " * 20, "title": "jar"} for n in range(400)])
    store.close()
    raw = apsw.Connection(str(path))
    pages = [
        page for (page,) in raw.execute("SELECT pageno FROM dbstat WHERE name = 'words_1_data' AND pagetype = 'leaf'")
    ]
    raw.close()
    data = bytearray(path.read_bytes())
    for page in pages[:6]:
        data[(page - 1) * 8192 : page * 8192] = b"\xa5" * 8192
    path.write_bytes(bytes(data))
    broken = SQLiteStore(path)
    with pytest.raises(StoreDamagedError, match="is damaged; 'recollect doctor --repair' rebuilds what can be rebuilt"):
        broken.search_text(parse("jar"), 10, namespace="default", filters=EVERYTHING)
    (finding,) = broken.check()
    assert finding.problem
    assert finding.repairable
    assert not any(finding.problem for finding in broken.repair())
    assert len(broken.search_text(parse("jar"), 500, namespace="default", filters=EVERYTHING)) == 408
    broken.close()


def test_check_reports_a_missing_table(store: SQLiteStore, path: Path) -> None:
    damage(path, "DROP TABLE vectors; DROP TABLE words_1")
    (finding,) = store.check()
    assert (finding.problem, finding.repairable) == ("the table vectors is missing", False)
    with pytest.raises(StoreDamagedError, match="no such table: words_1"):
        store.search_text(parse("jar"), 10, namespace="default", filters=EVERYTHING)


def test_delete_overwrites_the_file(store: SQLiteStore, path: Path) -> None:
    word = "xylophonic"
    vector = np.arange(1, 9, dtype=np.float32)
    unit = (vector / np.linalg.norm(vector)).tobytes()
    store.write([{"path": "secret.md", "content": f"the {word} plan", "title": "hush", "vector": vector}])
    store.write([{"path": "kept.md", "content": "another plan"}])
    assert store.delete(["secret.md"], namespace="default") == 1
    store.close()
    content = path.read_bytes()
    assert word.encode() not in content
    assert word[:9].encode() not in content
    assert b"hush" not in content
    assert unit not in content
    assert not path.with_name("memory.db-wal").exists()


def test_vector_index_is_rebuilt_after_many_deletions(path: Path) -> None:
    rng = np.random.default_rng(3)
    store = SQLiteStore(path)
    store.write(
        [{"path": f"{n}", "content": f"{n}", "vector": row} for n, row in enumerate(rng.standard_normal((1500, 4)))]
    )

    def nearest(limit: int) -> list[str]:
        results = store.search_vectors(np.ones(4, np.float32), limit, namespace="default", filters=EVERYTHING)
        return [candidate.path for candidate in results]

    best = nearest(1500)
    store.delete(best[:700], namespace="default")
    assert nearest(800) == best[700:]
    (index,) = store._indexes._vectors.values()
    assert len(index._loaded.keys) - len(index._loaded.tombstones) == 800
    assert nearest(5) == best[700:705]
    assert len(index._loaded.keys) == 800
    store.close()


def test_view_is_consistent_with_its_transaction(path: Path) -> None:
    """Concurrent changes of the index are invisible to a running search."""
    store = SQLiteStore(path)
    store.write([{"path": f"{n}", "content": f"{n}", "vector": [1, n]} for n in range(2000)])
    nearest = store.search_vectors(np.array([1, 0]), 2, namespace="default", filters=EVERYTHING)
    assert [candidate.path for candidate in nearest] == ["0", "1"]
    (index,) = store._indexes._vectors.values()
    with store._connections.reading() as connection:
        view = index.view(connection)
        store.delete([f"{n}" for n in range(1000)], namespace="default")
        store.search_vectors(np.array([1, 0]), 1, namespace="default", filters=EVERYTHING)
        store.search_vectors(np.array([1, 0]), 1, namespace="default", filters=EVERYTHING)
        assert len(index._loaded.keys) == 1000
        assert len(view.search(np.array([1, 0], np.float32), 2000)) == 2000
        index.mark_deleted([1, 2, 3])
    assert index._loaded.tombstones == frozenset()
    store.close()


def test_model_changes_during_a_search(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteStore(path)
    store.write([{"path": "a", "content": "a", "vector": [1, 0]}])
    new_model = Model("other", 2)
    search = NamespaceSearch.search_vectors

    def search_after_model_change(*arguments: Any) -> Any:
        monkeypatch.setattr(NamespaceSearch, "search_vectors", search)
        (pending,) = store.pending(new_model, 10)
        store.embed(new_model, [(pending, np.array([0, 1], np.float32))])
        assert store.activate(new_model)
        return search(*arguments)

    monkeypatch.setattr(NamespaceSearch, "search_vectors", search_after_model_change)
    (candidate,) = store.search_vectors(np.array([0, 1], np.float32), 1, namespace="default", filters=EVERYTHING)
    assert candidate.score == pytest.approx(1)
    store.close()


def test_vectors_are_read_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.vector_index.READ_RECORDS", 70)
    monkeypatch.setattr("recollect.stores.sqlite.vector_index.MIN_REREAD_NOTES", 70)
    rows = np.random.default_rng(5).standard_normal((350, 4)).astype(np.float32)
    store = SQLiteStore(path)
    for start in range(0, 350, 50):
        store.write([{"path": f"{n}", "content": f"{n}", "vector": rows[n]} for n in range(start, start + 50)])
        store.search_vectors(rows[0], 1, namespace="default", filters=EVERYTHING)
    for n in (0, 99, 100, 101, 199, 349):
        (candidate,) = store.search_vectors(rows[n], 1, namespace="default", filters=EVERYTHING)
        assert candidate.path == f"{n}"
        assert candidate.score == pytest.approx(1)
    store.close()


def test_chunks_are_read_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.vector_index.READ_RECORDS", 7)
    monkeypatch.setattr("recollect.stores.sqlite.vector_index.MIN_REREAD_NOTES", 7)
    rows = np.random.default_rng(5).standard_normal((60, 4, 6)).astype(np.float32)
    store = SQLiteStore(path)
    for start in range(0, 60, 15):
        store.write(
            [{"path": f"{n}", "content": f"{n}", "vector": rows[n, : 1 + n % 4]} for n in range(start, start + 15)]
        )
        store.search_vectors(rows[0, 0], 1, namespace="default", filters=EVERYTHING)
    store.delete(["20", "31"], namespace="default")
    for n in (0, 3, 19, 22, 30, 32, 59):
        for chunk in range(1 + n % 4):
            (candidate,) = store.search_vectors(rows[n, chunk], 1, namespace="default", filters=EVERYTHING)
            assert candidate.path == f"{n}"
            assert candidate.score == pytest.approx(1)
    assert len(store.search_vectors(rows[0, 0], 99, namespace="default", filters=EVERYTHING)) == 58
    store.close()


def test_count_cache_is_limited(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sql.dialect.MAX_COUNTS", 2)
    for query, expected in (("tea", 8), ("tea", 8), ("jar", 8), ("pot", 0), ("tea", 8)):
        assert store.note_counts([parse(query)], namespace="default") == (8, [expected])


def test_counts_of_two_stores_on_one_file(store: SQLiteStore, path: Path) -> None:
    writer = SQLiteStore(path)
    assert store.note_counts([parse("tea")], namespace="default") == (8, [8])
    writer.write([{"content": "tea"}, {"content": "pot"}])
    assert store.note_counts([parse("tea")], namespace="default") == (10, [9])
    writer.close()


def test_two_stores_on_one_file_share_notes(store: SQLiteStore, path: Path) -> None:
    second_store = SQLiteStore(path)
    vector = np.full(8, 0.5, np.float32)

    def nearest(searched_store: SQLiteStore) -> list[str]:
        return [
            candidate.path
            for candidate in searched_store.search_vectors(vector, 1, namespace="default", filters=EVERYTHING)
        ]

    assert nearest(store) == nearest(second_store) == ["0.md"]
    second_store.write([{"path": "new.md", "content": "new", "vector": vector}])
    assert nearest(store) == ["new.md"]
    store.delete(["new.md"], namespace="default")
    assert nearest(second_store) == ["0.md"]
    second_store.close()


def test_scores_do_not_depend_on_the_batches(store: SQLiteStore, path: Path) -> None:
    rng = np.random.default_rng(11)
    vector = rng.standard_normal(8).astype(np.float32)
    for n in range(30):
        store.write([{"path": f"x{n}", "content": f"x{n}", "vector": rng.standard_normal(8)}])
        store.search_vectors(vector, 5, namespace="default", filters=EVERYTHING)
        if n % 3 == 0:
            store.delete([f"x{n}"], namespace="default")
    fresh = SQLiteStore(path)
    incremental, loaded = (
        [
            (candidate.id, candidate.score)
            for candidate in searched_store.search_vectors(vector, 50, namespace="default", filters=EVERYTHING)
        ]
        for searched_store in (store, fresh)
    )
    assert incremental == loaded
    fresh.close()


def test_backup_during_writes_is_consistent(store: SQLiteStore, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    store.backup(target)
    store.write([{"content": "later"}])
    copy = SQLiteStore(target)
    assert len(list(copy.notes())) == 8
    assert problems(copy) == {}
    assert copy.model == store.model
    copy.write([{"content": "another life"}])
    copy.close()
    with pytest.raises(StoreError, match=r"nowhere/copy\.db.* cannot be opened; check that its folder exists"):
        store.backup(tmp_path / "nowhere" / "copy.db")


def test_backup_rejects_a_target_with_a_wal(store: SQLiteStore, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    store.backup(target)
    target.with_name("copy.db-wal").write_bytes(b"what a crash left behind")
    with pytest.raises(ArgumentError, match="is in use, or was not closed; choose another name"):
        store.backup(target, overwrite=True)


def test_vector_of_a_wrong_length(store: SQLiteStore, path: Path) -> None:
    damage(path, "UPDATE vectors SET vector = x'00' WHERE note = 2")
    with pytest.raises(StoreDamagedError, match="has a vector of a wrong length; run 'recollect doctor --repair'"):
        store.search_vectors(np.ones(8, np.float32), 1, namespace="default", filters=EVERYTHING)
    (note,) = store.get(["1.md"], namespace="default")
    assert note is not None
    with pytest.raises(StoreDamagedError, match="has a vector of a wrong length"):
        store.similarities(np.ones(8, np.float32), [note.id], namespace="default")
    with pytest.raises(StoreDamagedError, match="has a vector of a wrong length"):
        store.vectors_of([note])
    store.repair()
    assert len(store.search_vectors(np.ones(8, np.float32), 9, namespace="default", filters=EVERYTHING)) == 7


@pytest.mark.parametrize("blob", ["x''", "zeroblob(31)", "zeroblob(33)", "zeroblob(63)"])
def test_check_reports_an_incomplete_chunk(store: SQLiteStore, path: Path, blob: str) -> None:
    damage(path, f"UPDATE vectors SET vector = {blob} WHERE note = 2")  # noqa: S608 (written above)
    assert "has" in problems(store)["vectors"]
    with pytest.raises(StoreDamagedError):
        store.search_vectors(np.ones(8, np.float32), 1, namespace="default", filters=EVERYTHING)
    store.repair()
    assert problems(store) == {}


def test_unknown_precision(store: SQLiteStore, path: Path) -> None:
    damage(path, "UPDATE models SET precision = 'float7'")
    assert "in float7" in problems(store)["vectors"]
    with pytest.raises(StoreDamagedError, match="unknown precision .float7."):
        store.search_vectors(np.ones(8, np.float32), 1, namespace="default", filters=EVERYTHING)


def test_check_of_a_locked_store(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_TIMEOUT", 0.05)
    second_store = SQLiteStore(path)
    with store._connections.writing(), pytest.raises(StoreBusyError):
        second_store.check()
    second_store.close()


def test_vector_index_is_rebuilt_after_many_updates(path: Path) -> None:
    store = SQLiteStore(path)
    vectors = np.eye(4, dtype=np.float32)
    for turn in range(8):
        store.write([{"path": f"{n}", "content": f"{n} {turn}", "vector": vectors[n % 4]} for n in range(600)])
        store.search_vectors(vectors[0], 1, namespace="default", filters=EVERYTHING)
    (index,) = store._indexes._vectors.values()
    assert len(index._loaded.keys) < 8 * 600 / 2
    assert len(store.search_vectors(vectors[0], 1000, namespace="default", filters=EVERYTHING)) == 600
    store.close()


def test_failed_migration_changes_nothing(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.close()
    migrations = schema._MIGRATIONS
    for prefix in ("", "ROLLBACK; "):  # SQLite may have rolled back by itself
        broken = (*migrations, f"CREATE TABLE half (x); {prefix}SELECT * FROM nowhere")  # noqa: S608 (names of our own)
        monkeypatch.setattr(schema, "_MIGRATIONS", broken)
        monkeypatch.setattr(schema, "SCHEMA_VERSION", len(broken))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            SQLiteStore(path)
    monkeypatch.setattr(schema, "_MIGRATIONS", (*migrations, "CREATE TABLE whole (x)"))
    with pytest.raises(StoreError, match="is empty or has an older schema; open it for writing once"):
        SQLiteStore(path, read_only=True)
    migrated = SQLiteStore(path)
    raw = apsw.Connection(str(path))
    tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_schema")}
    assert "whole" in tables
    assert "half" not in tables
    assert raw.pragma("user_version") == schema.SCHEMA_VERSION
    assert len(list(migrated.notes())) == 8
    migrated.close()
    raw.close()
