from __future__ import annotations

import pytest

from recollect.stores.addresses import is_address, without_secrets


@pytest.mark.parametrize(
    ("given", "shown"),
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
def test_an_address_is_shown_without_its_secrets(given: str, shown: str) -> None:
    assert without_secrets(given) == shown


@pytest.mark.parametrize(
    "target",
    ["memory.db", "C:/notes.db", "a b://c", "://x", "folder/x://y", "./postgres:notes.db", "hosts.db", "./user=u.db"],
)
def test_what_names_a_file(target: str) -> None:
    assert not is_address(target)
