"""Expired notes are deleted from the file, or hidden if the file cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from recollect import arguments
from recollect.errors import StoreBusyError
from recollect.model import Filters, Link
from recollect.query import parse
from recollect.stores.sqlite import schema, transaction
from recollect.stores.sqlite.store import SQLiteStore
from tests.frozen_clock import HOUR, NOON, FrozenClock

UP = np.array([1, 0], dtype=np.float32)


@pytest.fixture
def store(path: Path, frozen_clock: FrozenClock) -> Iterator[SQLiteStore]:
    assert arguments.now() == frozen_clock.time
    opened = SQLiteStore(path)
    opened.write(
        [
            {"id": "a", "path": "tea.md", "content": "green tea", "vector": UP},
            {"id": "b", "path": "fair.md", "content": "xylophonic tea", "vector": UP, "expires_at": NOON + HOUR},
            {"id": "c", "path": "fig.md", "content": "fig tea", "vector": UP, "expires_at": NOON + 2 * HOUR},
        ]
    )
    yield opened
    opened.close()


def ids_by_method(store: SQLiteStore) -> list[list[str]]:
    """Return the sorted ids of iteration, lexical search, vector search and name search."""
    filters = Filters()
    results = [
        [note.id for note in store.notes()],
        [candidate.id for candidate in store.search_text(parse("tea"), 9, namespace="default", filters=filters)],
        [candidate.id for candidate in store.search_vectors(UP, 9, namespace="default", filters=filters)],
        [
            candidate.id
            for candidate in store.search_names(["tea", "fair", "fig"], 9, namespace="default", filters=filters)
        ],
    ]
    return [sorted(ids) for ids in results]


def test_read_only_store_hides_expired_notes(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    reader = SQLiteStore(path, read_only=True)
    for time, visible in ((0 * HOUR, "abc"), (HOUR, "ac"), (1.5 * HOUR, "ac"), (2 * HOUR, "a")):
        frozen_clock.time = NOON + time
        assert ids_by_method(reader) == [list(visible)] * 4
        assert reader.expire(frozen_clock.time) == 0
        assert reader.stats().notes == {"default": len(visible)}
    reader.close()
    raw = apsw.Connection(str(path))
    assert raw.execute("SELECT count(*) FROM notes").get == 3
    raw.close()
    assert store.expire(frozen_clock.time) == 2


def test_notes_are_not_hidden_after_expire(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    reader = SQLiteStore(path, read_only=True)
    frozen_clock.time += HOUR
    assert ids_by_method(reader) == [["a", "c"]] * 4
    with reader._connections.reading() as connection:
        assert transaction.hides_notes(connection)
    assert store.expire(frozen_clock.time) == 1
    assert ids_by_method(reader) == [["a", "c"]] * 4
    with reader._connections.reading() as connection:
        assert not transaction.hides_notes(connection)
    reader.close()


def test_expire_and_search_do_not_wait_for_locks(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    locker = apsw.Connection(str(path))
    locker.execute("BEGIN IMMEDIATE")
    assert store.expire(NOON) == 0
    frozen_clock.time += HOUR
    with pytest.raises(StoreBusyError, match="is locked by other writers; nothing was written"):
        store.expire(frozen_clock.time)
    assert ids_by_method(store) == [["a", "c"]] * 4
    locker.execute("ROLLBACK")
    locker.close()
    with store._connections.writing(), pytest.raises(StoreBusyError):
        store.expire(frozen_clock.time)
    assert store.expire(frozen_clock.time) == 1
    assert ids_by_method(store) == [["a", "c"]] * 4


def test_check_and_repair_ignore_expired_notes(store: SQLiteStore, frozen_clock: FrozenClock) -> None:
    frozen_clock.time += HOUR
    assert ids_by_method(store) == [["a", "c"]] * 4
    assert not any(finding.problem for finding in store.check())
    assert not any(finding.problem for finding in store.repair())
    assert ids_by_method(store) == [["a", "c"]] * 4


def test_read_only_backup_and_check_with_expired_notes(
    store: SQLiteStore, path: Path, frozen_clock: FrozenClock
) -> None:
    reader = SQLiteStore(path, read_only=True)
    frozen_clock.time += HOUR
    assert ids_by_method(reader) == [["a", "c"]] * 4
    reader.backup(path.with_name("copy.db"))
    assert not any(finding.problem for finding in reader.check())
    assert ids_by_method(reader) == [["a", "c"]] * 4
    reader.close()
    copy = SQLiteStore(path.with_name("copy.db"))
    assert ids_by_method(copy) == [["a", "c"]] * 4
    assert copy.expire(frozen_clock.time) == store.expire(frozen_clock.time) == 1
    copy.close()


def test_expired_text_is_overwritten_in_the_file(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    frozen_clock.time += HOUR
    store.write([{"content": "another"}])
    store.close()
    assert b"xylophon" not in path.read_bytes()


def test_expiry_query_uses_a_covering_index(store: SQLiteStore) -> None:
    with store._connections.reading() as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {transaction._EXPIRY}", (0,)).fetchall()
    assert sum("USING COVERING INDEX notes_by_expiry (expires_at<?)" in str(step) for step in plan) == 2


def test_migration_from_schema_3_adds_expiry(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    store.write([{"id": key, "expires_at": None} for key in "bc"])
    store.write([{"id": "b", "links": [Link("related", "c")]}])
    store.close()
    raw = apsw.Connection(str(path))
    raw.execute("DROP INDEX notes_by_expiry; ALTER TABLE notes DROP COLUMN expires_at; PRAGMA user_version = 3")
    raw.execute("DROP INDEX links_by_target; DROP INDEX links_by_name; DROP INDEX links_by_kind")
    raw.execute("DROP INDEX notes_by_namespace; DROP TABLE snapshots; DROP TABLE word_changes")
    raw.execute("ALTER TABLE links DROP COLUMN namespace; CREATE INDEX links_by_target ON links (target)")
    raw.execute("CREATE INDEX links_by_name ON links (name); CREATE INDEX links_by_kind ON links (kind)")
    raw.close()
    frozen_clock.time += 3 * HOUR
    migrated = SQLiteStore(path)
    assert migrated.stats().schema == schema.SCHEMA_VERSION == 6
    assert [note.expires_at for note in migrated.notes()] == [None] * 3
    assert [edge.source for edge in migrated.edges(["c"], namespace="default")] == ["c"]
    migrated.write([{"id": "a", "expires_at": frozen_clock.time + HOUR}])
    frozen_clock.time += HOUR
    assert ids_by_method(migrated) == [["b", "c"]] * 4
    migrated.close()
