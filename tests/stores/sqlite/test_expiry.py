"""What is due is removed from the file, or kept out of sight where the file cannot be written to."""

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


def found(store: SQLiteStore) -> list[list[str]]:
    """Return what each way of reading finds, in order."""
    everything = Filters()
    listed = [
        [note.id for note in store.notes()],
        [each.id for each in store.search_text(parse("tea"), 9, namespace="default", filters=everything)],
        [each.id for each in store.search_vectors(UP, 9, namespace="default", filters=everything)],
        [each.id for each in store.search_names(["tea", "fair", "fig"], 9, namespace="default", filters=everything)],
    ]
    return [sorted(each) for each in listed]


def test_a_reader_loses_sight_of_each_when_its_time_comes(
    store: SQLiteStore, path: Path, frozen_clock: FrozenClock
) -> None:
    reader = SQLiteStore(path, read_only=True)
    for time, there in ((0 * HOUR, "abc"), (HOUR, "ac"), (1.5 * HOUR, "ac"), (2 * HOUR, "a")):
        frozen_clock.time = NOON + time
        assert found(reader) == [list(there)] * 4
        assert reader.expire(frozen_clock.time) == 0
        assert reader.stats().notes == {"default": len(there)}
    reader.close()
    raw = apsw.Connection(str(path))
    assert raw.execute("SELECT count(*) FROM notes").get == 3
    raw.close()
    assert store.expire(frozen_clock.time) == 2


def test_all_is_seen_again_once_the_rest_is_gone(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    reader = SQLiteStore(path, read_only=True)
    frozen_clock.time += HOUR
    assert found(reader) == [["a", "c"]] * 4
    with reader._connections.reading() as connection:
        assert transaction.hides_notes(connection)
    assert store.expire(frozen_clock.time) == 1
    assert found(reader) == [["a", "c"]] * 4
    with reader._connections.reading() as connection:
        assert not transaction.hides_notes(connection)
    reader.close()


def test_who_only_looks_waits_for_nobody(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    assert store.expire(NOON) == 0
    frozen_clock.time += HOUR
    with pytest.raises(StoreBusyError, match="is locked by other writers; nothing was written"):
        store.expire(frozen_clock.time)
    assert found(store) == [["a", "c"]] * 4
    other.execute("ROLLBACK")
    other.close()
    with store._connections.writing(), pytest.raises(StoreBusyError):
        store.expire(frozen_clock.time)
    assert store.expire(frozen_clock.time) == 1
    assert found(store) == [["a", "c"]] * 4


def test_a_check_looks_at_what_is_there(store: SQLiteStore, frozen_clock: FrozenClock) -> None:
    frozen_clock.time += HOUR
    assert found(store) == [["a", "c"]] * 4
    assert not any(finding.problem for finding in store.check())
    assert not any(finding.problem for finding in store.repair())
    assert found(store) == [["a", "c"]] * 4


def test_a_reader_can_make_a_copy_and_look_at_every_part(
    store: SQLiteStore, path: Path, frozen_clock: FrozenClock
) -> None:
    reader = SQLiteStore(path, read_only=True)
    frozen_clock.time += HOUR
    assert found(reader) == [["a", "c"]] * 4
    reader.backup(path.with_name("copy.db"))
    assert not any(finding.problem for finding in reader.check())
    assert found(reader) == [["a", "c"]] * 4
    reader.close()
    copy = SQLiteStore(path.with_name("copy.db"))
    assert found(copy) == [["a", "c"]] * 4
    assert copy.expire(frozen_clock.time) == store.expire(frozen_clock.time) == 1
    copy.close()


def test_nothing_of_it_is_left_in_the_file(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
    frozen_clock.time += HOUR
    store.write([{"content": "another"}])
    store.close()
    assert b"xylophon" not in path.read_bytes()


def test_whether_something_is_due_is_read_from_an_index(store: SQLiteStore) -> None:
    with store._connections.reading() as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {transaction._EXPIRY}", (0,)).fetchall()
    assert sum("USING COVERING INDEX notes_by_expiry (expires_at<?)" in str(step) for step in plan) == 2


def test_a_store_from_before_is_brought_up_to_date(store: SQLiteStore, path: Path, frozen_clock: FrozenClock) -> None:
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
    newer = SQLiteStore(path)
    assert newer.stats().schema == schema.SCHEMA_VERSION == 6
    assert [note.expires_at for note in newer.notes()] == [None] * 3
    assert [edge.source for edge in newer.edges(["c"], namespace="default")] == ["c"]
    newer.write([{"id": "a", "expires_at": frozen_clock.time + HOUR}])
    frozen_clock.time += HOUR
    assert found(newer) == [["b", "c"]] * 4
    newer.close()
