"""The command line builds the vector index and reports failures."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from recollect import RecollectWarning
from recollect.cli import recollect as commands
from recollect.stores.postgres import vector_index
from recollect.stores.postgres.store import PostgresStore
from recollect.stores.postgres.vector_index import VectorIndexes
from recollect.stores.sqlite.store import SQLiteStore

NOTES = 30
DRAFTS = [
    {"path": f"{n}.md", "content": f"tea {n}", "vector": np.eye(NOTES, dtype=np.float32)[n]} for n in range(NOTES)
]

RunSql = Callable[[str], list[tuple[Any, ...]]]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, prog_name="recollect")


@pytest.fixture(autouse=True)
def _low_index_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Need an index from thirty notes on, and build it slowly, so that commands must wait for it."""
    monkeypatch.setattr(vector_index, "MAX_EXACT_NOTES", 20)
    ensure = VectorIndexes.ensure

    def slow_ensure(indexes: VectorIndexes) -> None:
        time.sleep(0.3)
        ensure(indexes)

    monkeypatch.setattr(VectorIndexes, "ensure", slow_ensure)


def index_comments(run_sql: RunSql) -> list[str]:
    """Return the comments of the indexes, which record their recall trials."""
    rows = run_sql("SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relname LIKE 'vectors_near_%'")
    return [comment for (comment,) in rows]


def fill(address: str, *, embedded: bool = True) -> None:
    with closing(PostgresStore(address)) as store:
        store.write(DRAFTS if embedded else [{**draft, "vector": None} for draft in DRAFTS])


COMMENTS_OF_BUILT_INDEX = ["breadth 200 for 30 notes"]


def test_reindex_waits_for_the_index(database: str, run_sql: RunSql) -> None:
    fill(database, embedded=False)
    assert index_comments(run_sql) == []
    result = run("reindex", "--db", database, "--embedder", "static")
    assert (result.exit_code, result.stdout) == (0, "embedded 30 notes\n")
    assert index_comments(run_sql) == COMMENTS_OF_BUILT_INDEX


def test_repair_waits_for_the_index(database: str, run_sql: RunSql) -> None:
    fill(database)
    assert run("doctor", "--repair", "--db", database, "--embedder", "none", "-q").exit_code == 0
    assert index_comments(run_sql) == COMMENTS_OF_BUILT_INDEX


def test_copy_waits_for_the_index(database: str, run_sql: RunSql, tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "memory.db")) as source:
        source.write(DRAFTS)
        source.write([{"content": "a note without a vector"}])
    result = run("copy", str(tmp_path / "memory.db"), database, "--no-verify", "-q")
    assert (result.exit_code, result.output) == (0, "")
    assert index_comments(run_sql) == ["breadth 200 for 31 notes"]


def test_finish_warns_of_every_failed_build(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(database)
    with closing(PostgresStore(database)) as store:
        monkeypatch.setattr(vector_index, "_PLAN", "SELECT %s, %s, 1 / 0")
        for _ in range(2):
            with pytest.warns(RecollectWarning, match="searched without an index, which takes longer"):
                store.finish_indexes()


def test_finish_builds_after_a_running_build(database: str, run_sql: RunSql, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(database)
    ensure = VectorIndexes.ensure
    with closing(PostgresStore(database)) as store:
        indexes = store._vector_indexes

        def too_early(_: VectorIndexes) -> None:
            monkeypatch.setattr(VectorIndexes, "ensure", ensure)

        monkeypatch.setattr(VectorIndexes, "ensure", too_early)
        indexes.start()
        store.finish_indexes()
    assert index_comments(run_sql) == COMMENTS_OF_BUILT_INDEX


def test_read_only_database_is_searched(database: str, run_sql: RunSql) -> None:
    fill(database)
    name = database.rpartition("?")[0].rpartition("/")[2]
    run_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    result = run("add", "a cup of coffee", "--db", database, "--embedder", "none")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "cannot be written to: it is a replica, or set to be read only" in result.stderr
    assert "1 lexical" in run("search", '"tea 7"', "--db", database, "--embedder", "none").stdout
    assert run_sql("SELECT count(*) FROM recollect.notes") == [(NOTES,)]
