"""Files of older versions: those of 0.1.0 open as they are, and a migration first writes a backup."""

from __future__ import annotations

import json
import tarfile
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.embedders import FunctionEmbedder
from recollect.errors import StoreError, StoreVersionError
from recollect.stores.sqlite import schema
from recollect.stores.sqlite.connections import Connections
from recollect.stores.sqlite.store import SQLiteStore
from tests.stores.sqlite.old_schema import copy_to_schema_1
from tests.stores.sqlite.snapshot_helpers import uses_snapshots
from tests.stores.sqlite.v010.search import embed, search_everything

FIXTURE = Path(__file__).parent / "v010"


@pytest.fixture
def v010(tmp_path: Path) -> Path:
    """Return a memory that version 0.1.0 wrote, with its snapshots; ``v010/make.py`` made it."""
    with tarfile.open(FIXTURE / "memory.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "memory.db"


@pytest.fixture
def schema_1(tmp_path: Path) -> Path:
    """Return a file of schema 1."""
    with closing(SQLiteStore(tmp_path / "new.db")) as store:
        store.write([{"id": "tea", "title": "Green tea", "content": "Prefers green tea."}])
    copy_to_schema_1(tmp_path / "new.db", tmp_path / "memory.db")
    return tmp_path / "memory.db"


def read_version(path: Path) -> int:
    connection = apsw.Connection(str(path))
    version: int = connection.pragma("user_version")
    connection.close()
    return version


def file_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith("memory.db")}


@pytest.mark.parametrize("read_only", [False, True])
def test_memory_of_v010_gives_the_same_results(v010: Path, *, read_only: bool) -> None:
    expected = json.loads((FIXTURE / "results.json").read_text(encoding="utf-8"))
    with recollect.open(v010, embedder=None, read_only=read_only) as memory:
        assert search_everything(memory) == expected
        store = memory._store
        assert isinstance(store, SQLiteStore)
        assert uses_snapshots(store) == (True, True)
        assert not [finding for finding in store.check() if finding.problem]


def test_memory_of_v010_ranks_like_a_new_one(v010: Path, tmp_path: Path) -> None:
    embedder = FunctionEmbedder(embed, name="letters", dimension=16)
    with recollect.open(v010, embedder=embedder) as old, recollect.open(tmp_path / "new.db", embedder=embedder) as new:
        new.add_many([note.to_dict() for note in old._store.notes()])
        for query in ("tea", "green kettle in the kitchen", "who has sugar?"):
            results = [[(hit.id, hit.score) for hit in memory.search(query)] for memory in (old, new)]
            assert results[0] == results[1] != []


def test_memory_of_v010_needs_no_migration(v010: Path) -> None:
    """The schema has not changed since 0.1.0: it opens the files of this version, and they need no backup."""
    before = file_names(v010.parent)
    with closing(SQLiteStore(v010)) as store:
        store.write([{"content": "written by this version"}])
    assert read_version(v010) == schema.SCHEMA_VERSION == 6
    assert {name for name in file_names(v010.parent) - before if name.endswith(".bak")} == set()


def test_migration_writes_a_backup(schema_1: Path) -> None:
    schema_1.chmod(0o640)
    with closing(SQLiteStore(schema_1)) as store:
        assert [note.content for note in store.notes()] == ["Prefers green tea."]
    backup = schema_1.with_name("memory.db.schema-1.bak")
    assert read_version(schema_1) == schema.SCHEMA_VERSION
    assert read_version(backup) == 1
    assert backup.stat().st_mode & 0o777 == 0o640
    assert file_names(schema_1.parent) == {"memory.db", "memory.db.schema-1.bak"}
    restored = apsw.Connection(str(backup))
    assert restored.execute("SELECT content FROM notes").get == "Prefers green tea."
    restored.close()


def test_backup_opens_as_a_memory(schema_1: Path) -> None:
    SQLiteStore(schema_1).close()
    with closing(SQLiteStore(schema_1.with_name("memory.db.schema-1.bak"))) as store:
        assert [note.content for note in store.notes()] == ["Prefers green tea."]


def test_failed_migration_leaves_the_file_and_its_backup(schema_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS[:2], "SELECT * FROM nowhere"))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            SQLiteStore(schema_1)
    assert read_version(schema_1) == read_version(schema_1.with_name("memory.db.schema-1.bak")) == 1


def test_no_backup_if_another_process_migrates(schema_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    back_up = Connections._back_up

    def back_up_after_migration(self: Connections, connection: apsw.Connection) -> None:
        monkeypatch.setattr(Connections, "_back_up", back_up)
        outdated = _OutdatedConnection(connection)
        SQLiteStore(schema_1).close()
        schema_1.with_name("memory.db.schema-1.bak").unlink()
        back_up(self, outdated)  # type: ignore[arg-type]

    monkeypatch.setattr(Connections, "_back_up", back_up_after_migration)
    SQLiteStore(schema_1).close()
    assert file_names(schema_1.parent) == {"memory.db"}


class _OutdatedConnection:
    """A connection that read the version before another process migrated the file."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.execute = connection.execute

    def pragma(self, _: str) -> int:
        return 1


def test_file_of_a_newer_schema_is_refused(v010: Path) -> None:
    """Version 0.1.0 has the same check and the same message, for a schema that it does not know."""
    connection = apsw.Connection(str(v010))
    connection.pragma("user_version", 7)
    connection.close()
    before = v010.read_bytes()
    with pytest.raises(
        StoreVersionError,
        match=r"was written by a newer Recollect \(its schema is 7, this one knows 6\); upgrade recollect to open it",
    ):
        SQLiteStore(v010)
    assert v010.read_bytes() == before
