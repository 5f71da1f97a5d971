"""The query parameters of a PostgreSQL URL, and how it opens a store."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest
from click.testing import CliRunner

import recollect
from recollect.cli import recollect as commands
from recollect.errors import ArgumentError, StoreError
from recollect.stores import open_store
from recollect.stores.postgres.connections import split_options
from recollect.stores.postgres.store import PostgresStore


@pytest.mark.parametrize(
    ("address", "libpq_address", "options"),
    [
        ("postgresql://db/notes", "postgresql://db/notes", {}),
        ("postgresql://db/notes?", "postgresql://db/notes", {}),
        ("postgres://db/x?a=%26b&pool_size=3&c=d", "postgres://db/x?a=%26b&c=d", {"pool_size": 3}),
        (
            "postgresql:///x?pool_timeout=0.5&statement_timeout=0",
            "postgresql:///x",
            {"pool_timeout": 0.5, "statement_timeout": 0.0},
        ),
    ],
)
def test_pool_options_are_split_off(address: str, libpq_address: str, options: dict[str, float]) -> None:
    assert split_options(address) == (libpq_address, options)


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("pool_size=0", "give a whole number from 1 on"),
        ("pool_size=-1", "give a whole number from 1 on"),
        ("pool_size=²", "give a whole number from 1 on"),
        ("pool_size=many", "give a whole number from 1 on"),
        ("pool_timeout=", "give seconds, from 0 to 86400"),
        ("pool_timeout=nan", "give seconds, from 0 to 86400"),
        ("statement_timeout=-1", "give seconds, from 0 to 86400"),
        ("statement_timeout=inf", "give seconds, from 0 to 86400"),
    ],
)
def test_invalid_pool_options(option: str, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f"^target: has {option}; {problem}$"):
        open_store(f"postgresql://db/notes?{option}")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_address_opens_a_store(database: str, scheme: str) -> None:
    address = f"{scheme}{database.removeprefix('postgresql')}&pool_size=2&pool_timeout=3&statement_timeout=7"
    with closing(open_store(address)) as store:
        assert isinstance(store, PostgresStore)
        assert store.stats().engine.startswith("PostgreSQL 1")
        assert store.stats().location == database


def test_memory_on_postgres(database: str) -> None:
    with recollect.open(database, embedder=None) as memory:
        memory.add("Prefers green tea.", path="tea.md")
        assert [hit.path for hit in memory.search("which tea?")] == ["tea.md"]


def test_missing_extra_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "recollect.stores.postgres.store", None)
    with pytest.raises(StoreError, match=r"^psycopg cannot be imported \(.*\): pip install 'recollectdb\[postgres\]'$"):
        open_store("postgresql://db/notes")


def test_the_demo_shows_no_password(database: str) -> None:
    address = database.replace("recollect@", "recollect:hush@")
    result = CliRunner().invoke(commands, ["demo", "--db", address, "--embedder", "none", "ERR_4021"])
    assert f"recollect serve --db '{database}'" in result.stdout
    assert "hush" not in result.output
    with recollect.open(database, embedder=None) as memory:
        memory.delete(*(note.id for note in memory.notes()))
        memory.add("Prefers green tea.")
    result = CliRunner().invoke(commands, ["demo", "--db", address, "--embedder", "none", "ERR_4021"])
    assert f"{database} contains other notes" in result.output
    assert "hush" not in result.output


def test_read_only_leaves_an_empty_database_alone(database: str) -> None:
    for _ in range(2):
        result = CliRunner().invoke(commands, ["search", "--db", database, "--embedder", "none", "tea"])
        assert result.exit_code == 1
        assert result.stderr == (
            f"error: there is no memory at {database}; add a note to create one, or choose another database\n"
        )
