"""Files beside a memory quicken its searches, never change what they find, and hold nothing that was deleted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import StoreError
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.base import Model
from recollect.stores.sqlite import renewing, searching, snapshots, vectors
from recollect.stores.sqlite.fts5 import render_fts5
from recollect.stores.sqlite.postings import index
from recollect.stores.sqlite.store import SQLiteStore
from tests.hands import Clock
from tests.stores.sqlite.snapshotting import (
    EVERYTHING,
    ROWS,
    by_vector,
    by_words,
    drafts,
    files,
    filled,
    let_few_be_enough,
    uses_snapshots,
)

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    let_few_be_enough(monkeypatch)


def test_who_wrote_much_leaves_snapshots_behind(path: Path) -> None:
    filled(path)
    assert len(files(path)) == 2
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        assert uses_snapshots(store) == (True, True)
        assert store.stats().bytes >= sum(each.stat().st_size for each in (path, *files(path)))


def test_a_few_notes_need_none(path: Path) -> None:
    filled(path, 19)
    with closing(SQLiteStore(path)) as store:
        store.write_documents([], namespace="empty")
    assert files(path) == []
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word3") == ["3"]
        assert by_vector(store, 3) == ["3"]
        assert uses_snapshots(store) == (False, False)


def test_one_more_note_is_seen_at_once_and_renews_nothing(path: Path) -> None:
    filled(path)
    before = files(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store), by_vector(store, 1)
        store.write(drafts(60, 61))
        assert by_words(store, "word60") == ["60"]
        assert by_vector(store, 60) == ["60"]
        assert uses_snapshots(store) == (True, True)
    assert files(path) == before
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word60") == ["60"]
        assert by_vector(store, 60) == ["60"]
        assert uses_snapshots(store) == (True, True)


def test_what_is_deleted_leaves_the_files_when_the_memory_is_closed(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write([*drafts(0, 60), {"path": "secret", "content": "tea quetzalcoatlus", "vector": ROWS[99]}])
    assert any(b"quetzalcoatlu" in each.read_bytes() for each in files(path))
    sizes = sorted(each.stat().st_size for each in files(path))
    with closing(SQLiteStore(path)) as store:
        store.delete(["secret"], namespace="default")
        assert by_vector(store, 99) != ["secret"]
    assert len(files(path)) == 2
    assert not any(b"quetzalcoatlu" in each.read_bytes() for each in files(path))
    assert sorted(each.stat().st_size for each in files(path)) < sizes
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "quetzalcoatlus") == []
        assert len(by_words(store, "tea", 99)) == 60
        assert len(by_vector(store, 99, 99)) == 60
        assert uses_snapshots(store) == (True, True)


def test_what_changed_leaves_them_too(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        store.write([{"path": "7", "content": "brachiosaurus", "vector": ROWS[77]}])
    assert not any(b"word7" + b"word8" in each.read_bytes() for each in files(path))
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word7") == []
        assert by_words(store, "brachiosaurus") == ["7"]
        assert by_vector(store, 77) == ["7"]
        with store._connections.reading() as connection:
            assert connection.execute("SELECT count(*) FROM word_changes").get == 0


def test_where_most_is_gone_all_is_made_anew(path: Path) -> None:
    filled(path, 200)
    with closing(SQLiteStore(path)) as store:
        store.delete([f"{n}" for n in range(150)], namespace="default")
    with closing(SQLiteStore(path)) as store:
        assert len(by_words(store, "tea", 999)) == 50
        (lists,) = store._indexes._postings.values()
        assert lists._state is not None
        assert len(lists._state.moment.snapshot.keys) == 50


def test_all_is_deleted(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        store.delete([f"{n}" for n in range(60)], namespace="default")
    with closing(SQLiteStore(path)) as store:
        assert by_words(store) == []
        assert by_vector(store, 1) == []
        store.write(drafts(100, 101))
        assert by_words(store) == ["100"]
        assert by_vector(store, 100) == ["100"]


def test_a_file_that_is_missing_is_made_anew(path: Path) -> None:
    filled(path)
    for each in files(path):
        each.unlink()
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        store._indexes.renewals.wait()
        assert by_words(store, "word33") == ["33"]
        by_vector(store, 33)
        store._indexes.renewals.wait()
        assert len(files(path)) == 2
        by_vector(store, 33)
        assert uses_snapshots(store) == (True, True)


def test_a_copy_elsewhere_has_none_and_makes_its_own(path: Path) -> None:
    filled(path)
    copy = path.with_name("copy.db")
    with closing(SQLiteStore(path)) as store:
        store.backup(copy)
    with closing(SQLiteStore(copy)) as store:
        assert by_words(store, "word33") == ["33"]
        store._indexes.renewals.wait()
        by_words(store)
        assert uses_snapshots(store)[0]
    assert any(each.name.startswith("copy.db-snapshot-") for each in files(copy))


def test_who_only_reads_uses_them_and_makes_none(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path, read_only=True)) as store:
        by_words(store), by_vector(store, 1)
        assert uses_snapshots(store) == (True, True)
    for each in files(path):
        each.unlink()
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        store._indexes.renewals.wait()
        assert uses_snapshots(store) == (False, False)
    assert files(path) == []


def test_others_go_on_with_the_snapshot_that_another_process_made(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store), by_vector(store, 1)
        with closing(SQLiteStore(path)) as other:
            other.write(drafts(60, 90))
            other.delete(["5"], namespace="default")
        assert by_words(store, "word5") == []
        assert by_words(store, "word88") == ["88"]
        assert len(by_words(store, "tea", 99)) == 89
        assert len(by_vector(store, 5, 99)) == 89
        with store._connections.reading() as connection:
            tokens = {token for (token,) in connection.execute("SELECT token FROM snapshots")}
        assert {each._state.base.token for each in store._indexes._postings.values() if each._state} < tokens
        assert {each._held.kept.token for each in store._indexes._vectors.values() if each._held.kept} < tokens


def test_more_than_can_be_read_on_the_way_is_searched_by_fts5_until_it_is_taken_in(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(60, 100))
        assert by_words(store, "word99") == ["99"]
        assert uses_snapshots(store)[0] is False
        store._indexes.renewals.wait()
        assert by_words(store, "word99") == ["99"]
        assert uses_snapshots(store)[0] is True


def test_a_snapshot_is_made_before_too_much_is_new(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        before = files(path)
        store.write(drafts(60, 75))
        by_words(store)
        store._indexes.renewals.wait()
        assert files(path) != before
        store.write(drafts(75, 76))
        assert by_words(store, "word75") == ["75"]
        assert uses_snapshots(store)[0] is True


def renewed_while_another_deletes(store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a snapshot, and have another process delete a note and close after all was read and before it is kept."""
    lists = store._indexes.postings(1)
    read = lists._read

    def meanwhile(*given: Any) -> Any:
        made = read(*given)
        with closing(SQLiteStore(path)) as other:
            other.delete(["3"], namespace="default")
        return made

    monkeypatch.setattr(lists, "_read", meanwhile)
    lists.renew(lambda: False)


def test_who_is_slower_lets_the_other_be(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        renewed_while_another_deletes(store, path, monkeypatch)
        assert len(files(path)) == 2
        assert by_words(store, "word3") == []
        assert by_words(store, "word4") == ["4"]


def test_what_changes_while_the_first_is_made_is_not_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "LEAST_NOTES", 1000)
    filled(path)
    with closing(SQLiteStore(path)) as store:
        renewed_while_another_deletes(store, path, monkeypatch)
        assert by_words(store, "word3") == []
        assert len(by_words(store, "tea", 99)) == 59
        assert uses_snapshots(store)[0]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), StoreError("busy")])
def test_where_none_can_be_kept_searches_go_on(path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def full(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(snapshots, "save", full)
    filled(path)
    assert files(path) == []
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        store._indexes.renewals.wait()
    assert files(path) == []


def test_another_model_has_a_snapshot_of_its_own(path: Path) -> None:
    filled(path)
    other = Model("other", 16)
    with closing(SQLiteStore(path)) as store:
        pending = store.pending(other, 99)
        store.embed(other, [(each, ROWS[place + 1000]) for place, each in enumerate(pending)])
        store.activate(other)
    assert len(files(path)) == 2
    with closing(SQLiteStore(path)) as store:
        found = store.search_vectors(ROWS[1033], 1, namespace="default", filters=EVERYTHING)
        assert [each.path for each in found] == ["33"]
        assert uses_snapshots(store)[1]


def test_namespaces_have_their_own(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(0, 60))
        store.write(drafts(60, 120, namespace="home"))
    assert len(files(path)) == 4
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_words(store, "word33", namespace="home") == []
        assert by_words(store, "word99", namespace="home") == ["99"]


def test_vectors_of_many_pieces_come_back(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(
            [{"path": f"{n}", "content": f"{n}", "vector": ROWS[4 * n : 4 * n + 1 + n % 4]} for n in range(500)]
        )
    with closing(SQLiteStore(path)) as store:
        store.delete(["3"], namespace="default")
        store.write([{"path": "900", "content": "900", "vector": ROWS[3600:3603]}])
    with closing(SQLiteStore(path)) as store:
        for n in (1, 7, 499, 900):
            for piece in range(1 + n % 4 if n < 900 else 3):
                assert by_vector(store, 4 * n + piece) == [f"{n}"]
        assert by_vector(store, 12) != ["3"]
        assert uses_snapshots(store)[1]


def test_vectors_are_turned_anew_when_twice_as_many_came(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.sieve.LEAST_SAMPLE", 10)
    filled(path)
    sampled = []
    for first, last in ((60, 100), (100, 200)):
        with closing(SQLiteStore(path)) as store:
            store.write(drafts(first, last))
        with closing(SQLiteStore(path)) as store:
            assert by_vector(store, last - 1) == [f"{last - 1}"]
            (kept,) = [each._held.kept for each in store._indexes._vectors.values()]
            found = store._indexes.snapshots.opened(kept, vectors.SHAPE) if kept else None
            sampled.append(found.facts["sampled"] if found else None)
    assert sampled == [60, 200]


def test_notes_that_are_due_are_not_found_by_the_lists(path: Path, hands: Clock) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        store.write([{"path": "soon", "content": "tea soon", "expires_at": hands.time + HOUR}])
        by_words(store)
    hands.time += 2 * HOUR
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert by_words(store, "soon") == []
        assert len(by_words(store, "tea", 99)) == 60


def test_phrases_and_prefixes_are_left_to_fts5(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        assert by_words(store, '"tea word33"') == ["33"]
        assert sorted(by_words(store, "word5*", 99)) == ["5", *(f"5{n}" for n in range(10))]
        assert by_words(store, "tea AND word8") == ["8"]
        assert by_words(store, "word8 NOT tea") == []
        store.write([{"path": "private", "content": "abc\ue000def"}])
        assert by_words(store, "\ue000") == []
        assert by_words(store, "abc\ue000def") == ["private"]
        assert by_words(store, "\ue000\ue000") == []
        assert by_words(store, "tea " + "x" * 40_000, 2) == by_words(store, "tea", 2)
        store.delete(["private"], namespace="default")
        assert store.note_counts([parse("tea"), parse("word1*")], namespace="default")[1] == [60, 11]
        assert store.note_counts([parse("tea"), parse("?")], namespace="default") == (60, [60, 0])


@pytest.mark.parametrize(("limit", "prefix"), [(2, "1"), (1, "33"), (3, "33"), (9, "nothing")])
def test_filters_look_deeper_and_leave_the_rest_to_fts5(path: Path, limit: int, prefix: str) -> None:
    filled(path, 300)
    filters = Filters(path_prefix=prefix)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        found = store.search_text(parse("tea milk"), limit, namespace="default", filters=filters)
        with store._reading() as connection:
            expected = searching.search_words(connection, 1, render_fts5(parse("tea milk")), limit, filters)
        assert [(each.path, each.score) for each in found] == [(each.path, each.score) for each in expected]


def test_a_fork_does_not_wait_for_a_snapshot(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(60, 61))
        for renew in (store._indexes.postings(1).renew, _index_of(store).renew):
            before = files(path)
            renew(lambda: True)
            assert files(path) == before


def _index_of(store: SQLiteStore) -> vectors.VectorIndex:
    by_vector(store, 1)
    (held,) = store._indexes._vectors.values()
    return held


def test_where_nothing_has_a_vector_no_snapshot_is_made(path: Path) -> None:
    filled(path, 1)
    with closing(SQLiteStore(path)) as store:
        held = _index_of(store)
        store.delete(["0"], namespace="default")
        held.renew(lambda: False)
    assert files(path) == []


def test_after_a_snapshot_there_is_a_rest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewing, "RESTS", 10**6)
    made = []

    def make(_: Callable[[], bool]) -> None:
        time.sleep(0.001)
        made.append(True)

    with closing(SQLiteStore(path)) as store:
        for _ in range(3):
            store._indexes.renewals.begin(make)
            store._indexes.renewals.wait()
    assert len(made) == 1


def test_all_vectors_are_deleted_twice(path: Path) -> None:
    filled(path)
    for _ in range(2):
        with closing(SQLiteStore(path)) as store:
            store.delete([f"{n}" for n in range(61)], namespace="default")
        with closing(SQLiteStore(path)) as store:
            assert by_vector(store, 1) == []
            store.write(drafts(60, 61))
    with closing(SQLiteStore(path)) as store:
        assert by_vector(store, 60) == ["60"]


def test_who_deleted_makes_another_if_others_were_quicker_without_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write([*drafts(0, 60), {"path": "secret", "content": "tea quetzalcoatlus"}])
    other, store = SQLiteStore(path), SQLiteStore(path)
    quicker = other._indexes.postings(1)
    read = quicker._read

    def overtaken(*given: Any) -> Any:
        made = read(*given)
        monkeypatch.setattr(quicker, "_read", read)
        store.delete(["secret"], namespace="default")
        ours = store._indexes.postings(1)
        of_ours = ours._read

        def meanwhile(*given: Any) -> Any:
            monkeypatch.setattr(ours, "_read", of_ours)
            found = of_ours(*given)
            done.set()
            assert kept.wait(5)
            return found

        monkeypatch.setattr(ours, "_read", meanwhile)
        closer.start()
        assert done.wait(5)
        return made

    done, kept = threading.Event(), threading.Event()
    closer = threading.Thread(target=store.close)
    monkeypatch.setattr(quicker, "_read", overtaken)
    quicker.renew(lambda: False)
    kept.set()
    closer.join()
    other.close()
    assert not any(b"quetzalcoatlu" in each.read_bytes() for each in files(path))


def test_what_goes_wrong_at_the_end_leaves_nothing_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    filled(path)
    store = SQLiteStore(path)
    store.delete(["3"], namespace="default")
    monkeypatch.setattr(store._indexes, "renew", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    with pytest.raises(StoreError, match="is closed"):
        by_words(store)


def test_much_that_changed_at_once_is_taken_in_behind_a_search(path: Path) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        store.write([{"path": f"{n}", "content": f"coffee word{n}"} for n in range(30)])
        assert len(by_words(store, "coffee", 99)) == 30
        assert uses_snapshots(store)[0] is False
        store._indexes.renewals.wait()
        assert len(by_words(store, "coffee", 99)) == 30
        assert uses_snapshots(store)[0] is True


def test_what_cannot_be_caught_up_with_is_tried_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        monkeypatch.setattr(store._indexes.renewals, "begin", lambda _: None)
        store.write(drafts(60, 100))
        by_words(store)
        (lists,) = store._indexes._postings.values()
        monkeypatch.setattr(lists, "_caught_up", None)
        assert by_words(store, "word99") == ["99"]


def test_an_interrupted_search_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_words(store)
        (lists,) = store._indexes._postings.values()
        assert lists._state is not None
        added = lists._state.moment.added
        store.write(drafts(60, 62))

        class Interrupted(dict[str, Any]):
            def setdefault(self, *_: Any) -> Any:
                raise KeyboardInterrupt

        monkeypatch.setattr(added, "_lists", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            by_words(store)
        assert by_words(store, "word61") == ["61"]
        assert len(by_words(store, "tea", 99)) == 62


def test_an_interrupted_search_by_vector_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        held = _index_of(store)._held
        store.write(drafts(60, 63))

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        for growing in (held._codes[3], held._keys, held._ends):
            with monkeypatch.context() as patched:
                patched.setattr(growing, "put", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    by_vector(store, 61)
        for n in (5, 60, 61, 62):
            assert by_vector(store, n) == [f"{n}"]
        assert len(by_vector(store, 1, 99)) == 63


def test_threads_search_while_notes_come(path: Path) -> None:
    filled(path, 1000)
    problems: list[BaseException] = []
    with closing(SQLiteStore(path)) as store:
        ended = threading.Event()

        def search() -> None:
            try:
                while not ended.is_set():
                    found = store.search_text(parse("tea"), 5000, namespace="default", filters=EVERYTHING)
                    assert len({each.id for each in found}) == len(found) >= 1000
            except BaseException as error:  # noqa: BLE001 (told below)
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
        assert len(by_words(store, "tea", 9999)) == 1400


def test_a_snapshot_that_was_not_made_leaves_no_trace(path: Path) -> None:
    filled(path, 19)
    with closing(SQLiteStore(path)) as store:
        store._indexes.postings(1).renew(lambda: True)
        store.delete(["3"], namespace="default")
        with store._connections.reading() as connection:
            assert connection.execute("SELECT count(*) FROM snapshots").get == 0
            assert connection.execute("SELECT count(*) FROM word_changes").get == 0


def test_only_so_many_are_kept_at_hand(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.stores.sqlite.indexes.MOST_AT_HAND", 2)
    with closing(SQLiteStore(path)) as store:
        for name in "abc":
            store.write(drafts(0, 30, namespace=name))
        for name in "abca":
            assert by_words(store, "word3", namespace=name) == ["3"]
        assert list(store._indexes._postings) == [3, 1]


def test_notes_that_expired_leave_the_snapshots(path: Path, hands: Clock) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        store.write([{"path": "soon", "content": "tea quetzalcoatlus", "expires_at": hands.time + HOUR}])
        store._indexes.postings(1).renew(lambda: False)
    assert any(b"quetzalcoatlu" in each.read_bytes() for each in files(path))
    hands.time += 2 * HOUR
    with closing(SQLiteStore(path)) as store:
        assert store.expire(hands.time) == 1
    assert not any(b"quetzalcoatlu" in each.read_bytes() for each in files(path))


def test_without_a_thread_searches_go_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    filled(path)
    for each in files(path):
        each.unlink()
    with closing(SQLiteStore(path)) as store:
        monkeypatch.setattr(threading.Thread, "start", none)
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        monkeypatch.undo()


def test_one_snapshot_is_made_at_a_time(path: Path) -> None:
    begun, let_go = threading.Event(), threading.Event()
    made = []

    def first(stopped: Callable[[], bool]) -> None:
        begun.set()
        let_go.wait(5)
        made.append(stopped())

    with closing(SQLiteStore(path)) as store:
        renewals = renewing.Renewals(store._connections)
        renewals.wait()
        renewals.begin(first)
        begun.wait(5)
        renewals.begin(lambda _: made.append(True))
        let_go.set()
        renewals.wait()
        assert made == [False]
        renewals.stop()
        renewals.begin(lambda _: made.append(True))
        assert made == [False]
