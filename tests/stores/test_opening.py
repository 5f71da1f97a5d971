"""A target leads to the engine that its beginning names."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from recollect.errors import ArgumentError
from recollect.stores import open_store


def test_every_kind_of_target_opens_its_store(tmp_path: Path, database: str) -> None:
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
def test_a_mistyped_address_is_no_file(
    target: str, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        open_store(target)
    assert str(caught.value) == (
        f"target: an address begins with {scheme}://; for a file of this name, write ./ before it"
    )
    assert not list(tmp_path.iterdir())
    open_store(f"./{target.replace('/', ' ')}").close()
    assert len(list(tmp_path.iterdir())) == 1
