"""Targets: which store opens them, and how messages show them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from recollect.errors import ArgumentError
from recollect.stores import STORES, is_url, open_store, redact_secrets


def test_open_store_selects_engine_by_scheme(tmp_path: Path, database: str) -> None:
    targets = {
        str(tmp_path / "memory.db"): "SQLite",
        database: "PostgreSQL",
        database.replace("postgresql://", "postgres://"): "PostgreSQL",
    }
    for target, engine in targets.items():
        with closing(open_store(target)) as store:
            assert store.stats().engine.startswith(engine)
        with closing(open_store(target, read_only=True)) as store:
            assert store.read_only


@pytest.mark.parametrize(
    ("target", "scheme"),
    [
        ("postgres:ines:hush@db/notes", "postgres"),
        ("postgresql:notes.db", "postgresql"),
        ("host=db user=ines password=hush", "postgresql"),
    ],
)
def test_open_store_refuses_mistyped_url(
    target: str, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        open_store(target)
    assert str(caught.value) == (f"target: a URL begins with {scheme}://; for a file of this name, write ./ before it")
    assert not list(tmp_path.iterdir())
    open_store(f"./{target.replace('/', ' ')}").close()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("memory.db", "memory.db"),
        ("odd:name@home.db", "odd:name@home.db"),
        ("postgresql://db/notes", "postgresql://db/notes"),
        ("postgresql://ines@db/notes", "postgresql://ines@db/notes"),
        ("postgresql://ines:secret@db/notes", "postgresql://ines@db/notes"),
        ("postgresql://:secret@db/notes", "postgresql://db/notes"),
        ("postgresql://ines:se/cr@et@db:5433/notes", "postgresql://ines@db:5433/notes"),
        ("postgresql:///notes?host=db&password=secret", "postgresql:///notes?host=db"),
        ("postgresql:///notes?PASSWORD=secret&host=db", "postgresql:///notes?host=db"),
        ("postgresql:///notes?sslpassword=secret&token=secret", "postgresql:///notes"),
        ("store://root:secret@db:19530/notes?token=secret&secure=true", "store://root@db:19530/notes?secure=true"),
        ("store:///home/me@work/notes.db", "store:///home/me@work/notes.db"),
        ("postgresql://ines@db/b?password=hush@hush", "postgresql://ines@db/b"),
        (
            "postgresql://ines@db:5433/b?password=hush@hush&sslmode=require",
            "postgresql://ines@db:5433/b?sslmode=require",
        ),
        ("postgresql://db:5433/b?password=hush@hush", "postgresql://db:5433/b"),
        ("postgresql://ines:hu?sh@db/b?sslmode=require", "postgresql://ines@db/b?sslmode=require"),
        ("postgresql://ines:hu?a=sh@db/b?sslmode=require", "postgresql://ines"),
        ("postgresql://[::1]:5433/b", "postgresql://[::1]:5433/b"),
        ("postgresql:ines:hush@db/b", "postgresql:ines@db/b"),
        ("postgres:notes.db", "postgres:notes.db"),
        ("host=h user=u password=hush dbname=x", "host=…"),
    ],
)
def test_redact_secrets(target: str, expected: str) -> None:
    assert redact_secrets(target) == expected


@pytest.mark.parametrize(
    "target",
    ["memory.db", "C:/notes.db", "a b://c", "://x", "folder/x://y", "./postgres:notes.db", "hosts.db", "./user=u.db"],
)
def test_paths_are_not_urls(target: str) -> None:
    assert not is_url(target)


def test_stores_registry_opens_new_schemes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = []

    def open_other(target: str, *, read_only: bool) -> object:
        opened.append((target, read_only))
        return STORES[""](str(tmp_path / "memory.db"), read_only=read_only)

    monkeypatch.setattr("recollect.stores.STORES", {**STORES, "other": open_other})
    open_store("other://host/notes").close()
    assert opened == [("other://host/notes", False)]
