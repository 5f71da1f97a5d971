"""Every fault of a file raises one clear error and does not damage the file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from recollect.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreVersionError,
)
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.sqlite import connections
from recollect.stores.sqlite.schema import SCHEMA_VERSION
from recollect.stores.sqlite.store import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "memory.db"
    store = SQLiteStore(file)
    store.write([{"content": f"note {number} about tea", "path": f"{number}.md"} for number in range(100)])
    store.close()
    return file


def count_notes(path: Path) -> int:
    store = SQLiteStore(path)
    assert not any(finding.problem for finding in store.check())
    notes = sum(1 for _ in store.notes())
    store.close()
    return notes


OPEN = """
import os, sys
from pathlib import Path
from recollect.errors import StoreError
from recollect.stores.sqlite.store import SQLiteStore
if os.getuid() == 0:  # no permission applies to root
    os.setgid(65534)
    os.setuid(65534)
try:
    store = SQLiteStore(Path(sys.argv[1]), read_only=len(sys.argv) > 2)
    print(sum(1 for _ in store.notes()))
except StoreError as error:
    print(type(error).__name__, error)
"""


def open_as_nobody(path: Path, *options: str) -> str:
    """Open a store in a process that is not root; return its number of notes or the error."""
    done = subprocess.run([sys.executable, "-c", OPEN, str(path), *options], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_reachable(path: Path) -> None:
    """Make the folders of a file accessible, so that only the permissions of the file apply."""
    for folder in [path.parent, *path.parent.parents]:
        if folder.owner() != "root" or folder.stat().st_mode & 0o077 == 0:
            folder.chmod(folder.stat().st_mode | 0o055)


def test_file_without_a_database(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Dear diary, " * 500)
    with pytest.raises(StoreDamagedError, match=r"notes\.txt is not an SQLite database; choose another file"):
        SQLiteStore(file)
    assert file.read_text() == "Dear diary, " * 500


def test_database_of_another_application(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = apsw.Connection(str(file))
    connection.execute("CREATE TABLE songs (title); INSERT INTO songs VALUES ('one')")
    connection.close()
    before = file.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreDamagedError, match="is an SQLite database, but not a Recollect store"):
            SQLiteStore(file, read_only=read_only)
    assert file.read_bytes() == before


def test_store_of_a_newer_version(path: Path) -> None:
    raw = apsw.Connection(str(path))
    raw.pragma("user_version", SCHEMA_VERSION + 1)
    raw.close()
    with pytest.raises(StoreVersionError, match=rf"\(its schema is {SCHEMA_VERSION + 1}, .*\); upgrade recollect"):
        SQLiteStore(path)
    raw = apsw.Connection(str(path))
    raw.pragma("user_version", SCHEMA_VERSION)
    raw.close()
    assert count_notes(path) == 100


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9])
def test_truncated_file(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(StoreDamagedError, match="damaged|not an SQLite database"):  # noqa: PT012 (whichever comes first)
        store = SQLiteStore(path)
        try:
            problems = [finding.problem for finding in store.check() if finding.problem]
            raise StoreDamagedError(f"damaged: {problems}") if problems else AssertionError("nothing was found")
        finally:
            store.close()
    path.write_bytes(data)
    assert count_notes(path) == 100


def test_directory_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory; give the path of a file"):
        SQLiteStore(tmp_path)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere does not exist; create it first"):
        SQLiteStore(tmp_path / "nowhere" / "memory.db")


def test_missing_file_read_only(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist; open it for writing to create it"):
        SQLiteStore(tmp_path / "memory.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_read_only_store_rejects_writes(path: Path) -> None:
    store = SQLiteStore(path, read_only=True)
    assert len(store.search_text(parse("tea"), 200, namespace="default", filters=Filters())) == 100
    assert not any(finding.problem for finding in store.check())
    with pytest.raises(StoreReadOnlyError, match="was opened read-only; open it for writing to change it"):
        store.write([{"content": "more"}])
    store.close()


def test_empty_file_read_only(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    file.touch()
    with pytest.raises(StoreError, match="is empty or has an older schema; open it for writing once"):
        SQLiteStore(file, read_only=True)
    SQLiteStore(file).close()
    SQLiteStore(file, read_only=True).close()


def test_file_without_write_permission(path: Path) -> None:
    make_reachable(path)
    path.chmod(0o444)
    assert "StoreReadOnlyError" in open_as_nobody(path)
    assert "make it and its folder writable, or use it read-only" in open_as_nobody(path)
    assert open_as_nobody(path, "read-only") == "100"
    path.chmod(0o644)
    assert count_notes(path) == 100


def test_file_without_read_permission(path: Path) -> None:
    make_reachable(path)
    path.chmod(0o000)
    for options in ((), ("read-only",)):
        output = open_as_nobody(path, *options)
        assert output.startswith("StoreError")
        assert "cannot be opened; check" in output
    path.chmod(0o644)
    assert count_notes(path) == 100


def test_folder_without_permission(path: Path) -> None:
    make_reachable(path)
    path.parent.chmod(0o555)
    assert "cannot be opened; check" in open_as_nobody(path.parent / "new.db")
    path.parent.chmod(0o755)
    assert count_notes(path) == 100


def test_simulated_full_disk(path: Path) -> None:
    """SQLite's page limit raises the same error as a full disk."""
    store = SQLiteStore(path)
    with store._connections.writing() as connection:
        connection.pragma("max_page_count", connection.pragma("page_count"))
    with pytest.raises(StoreFullError, match="has no space left on its disk; nothing was written"):
        store.write([{"content": f"{'much text ' * 300}{number}"} for number in range(100)])
    assert len(list(store.notes())) == 100
    with store._connections.writing() as connection:
        connection.pragma("max_page_count", 2**30)
    store.write([{"content": "there is room again"}])
    store.close()
    assert count_notes(path) == 101


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, to mount a small disk of its own")
def test_real_full_disk(tmp_path: Path) -> None:
    fill_disk = """
import sys
from pathlib import Path
from recollect.errors import StoreFullError
from recollect.stores.sqlite.store import SQLiteStore
store = SQLiteStore(Path(sys.argv[1]) / "memory.db")
written = 0
try:
    while True:
        store.write([{"content": f"note {written + number} " + "tea " * 200} for number in range(20)])
        written += 20
except StoreFullError as error:
    print(error)
notes = sum(1 for _ in store.notes())
problems = [finding for finding in store.check() if finding.problem]
store.close()
store = SQLiteStore(Path(sys.argv[1]) / "memory.db")
again = sum(1 for _ in store.notes())
print(written, notes, again, problems)
"""
    command = f"mount -t tmpfs -o size=3m tmpfs '{tmp_path}' && exec '{sys.executable}' -c \"$0\" '{tmp_path}'"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command, fill_disk],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"a disk of its own cannot be mounted here: {done.stderr.strip()}")
    message, counts = done.stdout.splitlines()
    assert "has no space left on its disk; nothing was written" in message
    written, notes, again, problems = counts.split(maxsplit=3)
    assert int(written) > 0
    assert written == notes == again
    assert problems == "[]"


def test_locked_store_raises_busy_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_TIMEOUT", 0.05)
    store = SQLiteStore(path)
    locker = apsw.Connection(str(path))
    locker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError, match="is locked by other writers; nothing was written"):
        store.write([{"content": "more"}])
    assert len(list(store.notes())) == 100
    locker.execute("ROLLBACK")
    store.write([{"content": "more"}])
    store.close()
    locker.close()


def test_error_rolls_back_the_transaction(path: Path) -> None:
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match="syntax error"), store._connections.writing() as connection:  # noqa: PT012 (the error is raised inside)
        connection.execute("DELETE FROM notes")
        connection.execute("SELECT FROM WHERE")
    assert len(list(store.notes())) == 100
    store.close()
