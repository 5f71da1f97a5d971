"""Files that are damaged, left behind, swapped or somebody's own: no search hangs on them, and nobody loses one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.query import parse
from recollect.stores.sqlite import searching
from recollect.stores.sqlite.arrays import load, save
from recollect.stores.sqlite.growing import Growing
from recollect.stores.sqlite.store import SQLiteStore
from tests.stores.sqlite.snapshotting import (
    ROWS,
    by_vector,
    by_words,
    drafts,
    files,
    filled,
    let_few_be_enough,
    uses_snapshots,
)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    let_few_be_enough(monkeypatch)


def test_what_others_left_unfinished_is_swept(path: Path) -> None:
    filled(path, 19)
    old, empty, young = (path.with_name(f"memory.db-snapshot-{digit * 16}") for digit in "0e2")
    for each in (old, young):
        save(each, {"some": ROWS}, {})
    empty.touch()
    for each in (old, empty):
        os.utime(each, (1, 1))
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(19, 60))
    assert [each.exists() for each in (old, empty, young)] == [False, False, True]


@pytest.mark.parametrize("name", ["2026-11-01", "before-cleanup.db", "0123456789abcdef"])
def test_what_is_only_named_like_one_belongs_to_somebody(path: Path, name: str) -> None:
    filled(path)
    own = path.with_name(f"memory.db-snapshot-{name}")
    own.write_bytes(path.read_bytes())
    os.utime(own, (1, 1))
    with closing(SQLiteStore(path)) as store:
        store.delete(["1"], namespace="default")
    with closing(SQLiteStore(path)) as store:
        assert not [each for each in store.repair() if each.problem]
    assert own.exists()


def test_what_others_left_is_told_of_and_dropped(path: Path) -> None:
    filled(path)
    old, young = (path.with_name(f"memory.db-snapshot-{digit * 16}") for digit in "01")
    for each in (old, young):
        save(each, {"some": ROWS}, {})
    os.utime(old, (1, 1))
    with closing(SQLiteStore(path)) as store:
        (finding,) = [each for each in store.check() if each.problem]
        assert finding.problem == f"left behind, needed by nobody: {old.name}"
        assert not [each for each in store.repair() if each.problem]
    assert not old.exists()
    assert not young.exists()


def test_a_file_that_goes_while_it_is_looked_at_is_left_by_nobody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    gone = path.with_name(f"memory.db-snapshot-{'0' * 16}")
    with closing(SQLiteStore(path)) as store:
        monkeypatch.setattr(store._indexes.snapshots, "files", lambda: [gone])
        assert not [each for each in store.check() if each.problem]
        monkeypatch.setattr(store._indexes.snapshots, "_ours", lambda: [gone])
        assert not [each for each in store.check() if each.problem]


def test_a_file_that_was_just_replaced_counts_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, 1)
    with closing(SQLiteStore(path)) as store:
        before = store.stats().bytes
        monkeypatch.setattr(store._indexes.snapshots, "files", lambda: [path.with_name("memory.db-snapshot-gone")])
        assert store.stats().bytes == before


def test_a_folder_that_cannot_be_listed_has_no_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)

    def refused(_: Path) -> Iterator[Path]:
        raise PermissionError

    with closing(SQLiteStore(path)) as store:
        monkeypatch.setattr(Path, "iterdir", refused)
        assert store._indexes.snapshots.files() == []
        monkeypatch.undo()


def test_damage_is_found_and_put_right(path: Path) -> None:
    filled(path)
    (broken, _) = files(path)
    whole = bytearray(broken.read_bytes())
    whole[-100] ^= 255
    broken.write_bytes(whole)
    with closing(SQLiteStore(path)) as store:
        (finding,) = [each for each in store.check() if each.problem]
        assert finding.part == "snapshots"
        assert broken.name in finding.problem
        assert not [each for each in store.repair() if each.problem]
        by_words(store), by_vector(store, 1)
        store._indexes.renewals.wait()
        by_vector(store, 1)
        store._indexes.renewals.wait()
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        assert uses_snapshots(store)[0]


def test_what_is_no_snapshot_at_all_is_told_of(path: Path) -> None:
    filled(path)
    broken, _ = files(path)
    broken.write_bytes(b"tea")
    with closing(SQLiteStore(path)) as store:
        (finding,) = [each for each in store.check() if each.problem]
        assert finding.problem == f"not as it was written: {broken.name}"


def test_damage_is_not_carried_on(path: Path) -> None:
    filled(path)
    for broken in files(path):
        whole = bytearray(broken.read_bytes())
        whole[-70] ^= 255
        broken.write_bytes(whole)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(60, 90))
    with closing(SQLiteStore(path)) as store:
        assert not [each for each in store.check() if each.problem]
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]


def swapped(one: Path, other: Path) -> None:
    between = one.with_name("between")
    one.replace(between)
    other.replace(one)
    between.replace(other)


def test_a_file_in_the_place_of_another_counts_as_none(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(0, 60))
        store.write([{**each, "content": f"{each['content']} other"} for each in drafts(0, 60, namespace="other")])
    kinds: dict[frozenset[str], list[Path]] = {}
    for each in files(path):
        kinds.setdefault(frozenset(load(each).arrays), []).append(each)
    for pair in kinds.values():
        swapped(*pair)
    with closing(SQLiteStore(path)) as store:
        assert sum(each.name in str(store.check()) for each in files(path)) == 4
        assert by_words(store, "other") == []
        assert by_words(store, "word33 other", namespace="other")[0] == "33"
        assert by_vector(store, 33) == ["33"]
        assert uses_snapshots(store) == (False, False)


def damage(path: Path, byte: int) -> None:
    """Let all that arrays hold be one byte."""
    whole = path.read_bytes()
    end = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    start = -(-end // 64) * 64
    path.write_bytes(whole[:start] + bytes([byte]) * (len(whole) - start))


def test_arrays_without_axes_count_as_none(path: Path) -> None:
    filled(path)
    for each in files(path):
        found = load(each)
        each.unlink()
        save(each, dict.fromkeys(found.arrays, np.zeros(())), found.facts)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]


@pytest.mark.parametrize("byte", [0, 255])
def test_numbers_that_do_not_fit_together_are_seen_at_a_glance(path: Path, byte: int) -> None:
    filled(path)
    for each in files(path):
        damage(each, byte)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        assert uses_snapshots(store) == (False, False)


def scrambled(path: Path) -> None:
    """Let a file say that notes lie where there are none, and that vectors are as long as no number says."""
    found = load(path)
    arrays = {name: np.array(array) for name, array in found.arrays.items()}
    if "ends" in arrays:
        arrays["scales"][:] = np.nan
    else:
        arrays["rows"][:] = 10**6
    path.unlink()
    save(path, arrays, found.facts)
    whole = path.read_bytes()
    written = str(json.loads(whole.split(b"\n")[1])["check"])
    other = written[:-1] + str((int(written[-1]) + 1) % 10)
    path.write_bytes(whole.replace(written.encode(), other.encode(), 1))


@pytest.mark.parametrize("read_only", [False, True])
def test_damage_that_leads_a_search_astray_is_done_without_and_made_good(path: Path, *, read_only: bool) -> None:
    filled(path)
    for each in files(path):
        scrambled(each)
    with closing(SQLiteStore(path, read_only=read_only)) as store:
        for _ in range(2):
            assert by_words(store, "tea word33")[0] == "33"
            store._indexes.renewals.wait()
            assert by_vector(store, 33) == ["33"]
            store._indexes.renewals.wait()
        assert by_words(store, "tea word33")[0] == "33"
        assert by_vector(store, 33) == ["33"]
        assert uses_snapshots(store) == (not read_only, not read_only)
        assert [each for each in store.check() if each.problem] == [] or read_only


def test_text_scores_of_a_damaged_snapshot_come_from_the_word_index(path: Path) -> None:
    filled(path)
    query = parse("tea word33")
    with closing(SQLiteStore(path, read_only=True)) as store:
        ids = [note.id for note in store.notes()]
        expected = store.text_scores(query, ids, namespace="default")
        assert expected
    for each in files(path):
        scrambled(each)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert store.text_scores(query, ids, namespace="default") == expected
        assert uses_snapshots(store)[0] is False


def test_what_is_no_fault_of_a_snapshot_is_raised(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)

    def fails(*_: Any) -> None:
        raise IndexError("a fault of ours")

    with closing(SQLiteStore(path)) as store:
        for name, search in (
            ("search_postings", by_words),
            ("search_vectors", lambda store: by_vector(store, 1)),
            ("postings_scores", lambda store: store.text_scores(parse("tea"), ["1"], namespace="default")),
        ):
            search(store)
            monkeypatch.setattr(searching, name, fails)
            with pytest.raises(IndexError, match="a fault of ours"):
                search(store)


@pytest.mark.parametrize("wrong", [10**6 - np.arange(30), np.full(30, 4)])
def test_a_snapshot_that_says_what_cannot_be_is_done_without(path: Path, wrong: NDArray[np.int64]) -> None:
    filled(path)
    with closing(SQLiteStore(path)) as store:
        by_vector(store, 1)
        (held,) = store._indexes._vectors.values()
        keys = held._held.keys.copy()
        keys[:30] = wrong
        held._held._keys = Growing(keys)
        for n in (3, 33):
            assert by_vector(store, n) == [f"{n}"]
        assert len(by_vector(store, 3, 99)) == 60


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_files_may_be_read_by_who_may_read_the_memory(path: Path, mode: int) -> None:
    filled(path, 1)
    path.chmod(mode)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(1, 60))
    assert [each.stat().st_mode & 0o777 for each in files(path)] == [mode, mode]


def test_a_file_of_another_kind_counts_as_none(path: Path) -> None:
    filled(path)
    for each in files(path):
        each.unlink()
        save(each, {"other": ROWS}, {"token": each.name[-16:]})
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word33") == ["33"]
        assert by_vector(store, 33) == ["33"]
        store.write(drafts(60, 61))
    with closing(SQLiteStore(path)) as store:
        assert by_words(store, "word60") == ["60"]
        assert by_vector(store, 60) == ["60"]
        assert uses_snapshots(store) == (True, True)


def test_what_cannot_be_deleted_while_it_is_open_is_deleted_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    unlink = Path.unlink

    def refused(self: Path, **given: Any) -> None:
        if store._connections._idle:
            raise PermissionError
        unlink(self, **given)

    store = SQLiteStore(path)
    by_words(store)
    store.delete(["3"], namespace="default")
    monkeypatch.setattr(Path, "unlink", refused)
    store.close()
    assert len(files(path)) == 2
