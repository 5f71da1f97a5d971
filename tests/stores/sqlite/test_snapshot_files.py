"""Corrupt, orphaned, swapped and foreign snapshot files: searches do without them, and no user file is deleted."""

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
from recollect.stores.sqlite.posting_index import PostingsView
from recollect.stores.sqlite.search import NamespaceSearch
from recollect.stores.sqlite.snapshots import load_arrays, save_arrays
from recollect.stores.sqlite.store import SQLiteStore
from tests.stores.sqlite.snapshot_helpers import (
    ROWS,
    drafts,
    fill,
    lower_snapshot_thresholds,
    nearest_paths,
    search_paths,
    snapshot_files,
    uses_snapshots,
)


@pytest.fixture(autouse=True)
def _low_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_snapshot_thresholds(monkeypatch)


def test_orphaned_files_are_deleted(path: Path) -> None:
    fill(path, 19)
    old, empty, young = (path.with_name(f"memory.db-snapshot-{digit * 16}") for digit in "0e2")
    for snapshot in (old, young):
        save_arrays(snapshot, {"some": ROWS}, {})
    empty.touch()
    for snapshot in (old, empty):
        os.utime(snapshot, (1, 1))
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(19, 60))
    assert [snapshot.exists() for snapshot in (old, empty, young)] == [False, False, True]


@pytest.mark.parametrize("name", ["2026-11-01", "before-cleanup.db", "0123456789abcdef"])
def test_other_files_are_not_deleted(path: Path, name: str) -> None:
    fill(path)
    user_file = path.with_name(f"memory.db-snapshot-{name}")
    user_file.write_bytes(path.read_bytes())
    os.utime(user_file, (1, 1))
    with closing(SQLiteStore(path)) as store:
        store.delete(["1"], namespace="default")
    with closing(SQLiteStore(path)) as store:
        assert not [finding for finding in store.repair() if finding.problem]
    assert user_file.exists()


def test_check_reports_and_repair_deletes_orphans(path: Path) -> None:
    fill(path)
    old, young = (path.with_name(f"memory.db-snapshot-{digit * 16}") for digit in "01")
    for snapshot in (old, young):
        save_arrays(snapshot, {"some": ROWS}, {})
    os.utime(old, (1, 1))
    with closing(SQLiteStore(path)) as store:
        (finding,) = [finding for finding in store.check() if finding.problem]
        assert finding.problem == f"left behind by another process: {old.name}"
        assert not [finding for finding in store.repair() if finding.problem]
    assert not old.exists()
    assert not young.exists()


def test_check_ignores_a_vanished_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    missing = path.with_name(f"memory.db-snapshot-{'0' * 16}")
    with closing(SQLiteStore(path)) as store:
        monkeypatch.setattr(store._indexes.snapshots, "files", lambda: {"0" * 16: missing})
        assert not [finding for finding in store.check() if finding.problem]


def test_stats_ignore_a_replaced_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, 1)
    with closing(SQLiteStore(path)) as store:
        before = store.stats().bytes
        monkeypatch.setattr(
            store._indexes.snapshots, "files", lambda: {"gone": path.with_name("memory.db-snapshot-gone")}
        )
        assert store.stats().bytes == before


def test_unreadable_folder_has_no_snapshots(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)

    def refused(_: Path) -> Iterator[Path]:
        raise PermissionError

    with closing(SQLiteStore(path)) as store:
        monkeypatch.setattr(Path, "iterdir", refused)
        assert store._indexes.snapshots.files() == {}
        monkeypatch.undo()


def test_repair_rebuilds_a_corrupt_snapshot(path: Path) -> None:
    fill(path)
    (broken, _) = snapshot_files(path)
    content = bytearray(broken.read_bytes())
    content[-100] ^= 255
    broken.write_bytes(content)
    with closing(SQLiteStore(path)) as store:
        (finding,) = [finding for finding in store.check() if finding.problem]
        assert finding.part == "snapshots"
        assert broken.name in finding.problem
        assert not [finding for finding in store.repair() if finding.problem]
        search_paths(store), nearest_paths(store, 1)
        store._indexes.worker.wait()
        nearest_paths(store, 1)
        store._indexes.worker.wait()
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        assert uses_snapshots(store)[0]


def test_check_reports_an_invalid_snapshot(path: Path) -> None:
    fill(path)
    broken, _ = snapshot_files(path)
    broken.write_bytes(b"tea")
    with closing(SQLiteStore(path)) as store:
        (finding,) = [finding for finding in store.check() if finding.problem]
        assert finding.problem == f"corrupt: {broken.name}"


def test_new_snapshot_is_not_built_from_a_corrupt_one(path: Path) -> None:
    fill(path)
    for broken in snapshot_files(path):
        content = bytearray(broken.read_bytes())
        content[-70] ^= 255
        broken.write_bytes(content)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(60, 90))
    with closing(SQLiteStore(path)) as store:
        assert not [finding for finding in store.check() if finding.problem]
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]


def swap(first: Path, second: Path) -> None:
    temporary = first.with_name("between")
    first.replace(temporary)
    second.replace(first)
    temporary.replace(second)


def test_swapped_files_are_not_used(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(0, 60))
        store.write([{**draft, "content": f"{draft['content']} other"} for draft in drafts(0, 60, namespace="other")])
    kinds: dict[frozenset[str], list[Path]] = {}
    for snapshot in snapshot_files(path):
        kinds.setdefault(frozenset(load_arrays(snapshot).arrays), []).append(snapshot)
    for pair in kinds.values():
        swap(*pair)
    with closing(SQLiteStore(path)) as store:
        assert sum(snapshot.name in str(store.check()) for snapshot in snapshot_files(path)) == 4
        assert search_paths(store, "other") == []
        assert search_paths(store, "word33 other", namespace="other")[0] == "33"
        assert nearest_paths(store, 33) == ["33"]
        assert uses_snapshots(store) == (False, False)


def damage(path: Path, byte: int) -> None:
    """Overwrite all array data with one byte."""
    content = path.read_bytes()
    end = content.index(b"\n", content.index(b"\n") + 1) + 1
    start = -(-end // 64) * 64
    path.write_bytes(content[:start] + bytes([byte]) * (len(content) - start))


def test_arrays_without_dimensions_are_not_used(path: Path) -> None:
    fill(path)
    for file in snapshot_files(path):
        snapshot = load_arrays(file)
        file.unlink()
        save_arrays(file, dict.fromkeys(snapshot.arrays, np.zeros(())), snapshot.facts)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]


@pytest.mark.parametrize("byte", [0, 255])
def test_inconsistent_arrays_are_not_used(path: Path, byte: int) -> None:
    fill(path)
    for snapshot in snapshot_files(path):
        damage(snapshot, byte)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        assert uses_snapshots(store) == (False, False)


def corrupt(path: Path) -> None:
    """Rewrite a file with row numbers out of range or NaN scales, and a wrong checksum."""
    snapshot = load_arrays(path)
    arrays = {name: np.array(array) for name, array in snapshot.arrays.items()}
    if "ends" in arrays:
        arrays["scales"][:] = np.nan
    else:
        arrays["rows"][:] = 10**6
    path.unlink()
    save_arrays(path, arrays, snapshot.facts)
    content = path.read_bytes()
    written = str(json.loads(content.split(b"\n")[1])["check"])
    wrong = written[:-1] + str((int(written[-1]) + 1) % 10)
    path.write_bytes(content.replace(written.encode(), wrong.encode(), 1))


@pytest.mark.parametrize("read_only", [False, True])
def test_search_recovers_from_a_corrupt_snapshot(path: Path, *, read_only: bool) -> None:
    fill(path)
    for snapshot in snapshot_files(path):
        corrupt(snapshot)
    with closing(SQLiteStore(path, read_only=read_only)) as store:
        for _ in range(2):
            assert search_paths(store, "tea word33")[0] == "33"
            store._indexes.worker.wait()
            assert nearest_paths(store, 33) == ["33"]
            store._indexes.worker.wait()
        assert search_paths(store, "tea word33")[0] == "33"
        assert nearest_paths(store, 33) == ["33"]
        assert uses_snapshots(store) == (not read_only, not read_only)
        assert [finding for finding in store.check() if finding.problem] == [] or read_only


def test_text_scores_recover_from_a_corrupt_snapshot(path: Path) -> None:
    fill(path)
    query = parse("tea word33")
    with closing(SQLiteStore(path, read_only=True)) as store:
        ids = [note.id for note in store.notes()]
        expected = store.text_scores(query, ids, namespace="default")
        assert expected
    for snapshot in snapshot_files(path):
        corrupt(snapshot)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert store.text_scores(query, ids, namespace="default") == expected
        assert uses_snapshots(store)[0] is False


def test_other_errors_are_raised(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)

    def fails(*_: Any) -> None:
        raise IndexError("a fault of ours")

    with closing(SQLiteStore(path)) as store:
        for owner, name, run in (
            (NamespaceSearch, "_search_postings", search_paths),
            (NamespaceSearch, "_search_vectors", lambda store: nearest_paths(store, 1)),
            (PostingsView, "scores", lambda store: store.text_scores(parse("tea"), ["1"], namespace="default")),
        ):
            run(store)
            monkeypatch.setattr(owner, name, fails)
            with pytest.raises(IndexError, match="a fault of ours"):
                run(store)


@pytest.mark.parametrize("wrong", [10**6 - np.arange(30), np.full(30, 4)])
def test_search_recovers_from_wrong_keys(path: Path, wrong: NDArray[np.int64]) -> None:
    fill(path)
    with closing(SQLiteStore(path)) as store:
        nearest_paths(store, 1)
        (index,) = store._indexes._vectors.values()
        keys = index._loaded.keys.copy()
        keys[:30] = wrong
        index._loaded._keys = keys
        for n in (3, 33):
            assert nearest_paths(store, n) == [f"{n}"]
        assert len(nearest_paths(store, 3, 99)) == 60


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_snapshots_have_the_permissions_of_the_memory(path: Path, mode: int) -> None:
    fill(path, 1)
    path.chmod(mode)
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(1, 60))
    assert [snapshot.stat().st_mode & 0o777 for snapshot in snapshot_files(path)] == [mode, mode]


def test_file_of_another_schema_is_not_used(path: Path) -> None:
    fill(path)
    for snapshot in snapshot_files(path):
        snapshot.unlink()
        save_arrays(snapshot, {"other": ROWS}, {"token": snapshot.name[-16:]})
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word33") == ["33"]
        assert nearest_paths(store, 33) == ["33"]
        store.write(drafts(60, 61))
    with closing(SQLiteStore(path)) as store:
        assert search_paths(store, "word60") == ["60"]
        assert nearest_paths(store, 60) == ["60"]
        assert uses_snapshots(store) == (True, True)


def test_mapped_file_is_deleted_on_close(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    unlink = Path.unlink

    def refused(self: Path, **options: Any) -> None:
        if store._connections._idle:
            raise PermissionError
        unlink(self, **options)

    store = SQLiteStore(path)
    search_paths(store)
    store.delete(["3"], namespace="default")
    monkeypatch.setattr(Path, "unlink", refused)
    store.close()
    assert len(snapshot_files(path)) == 2
