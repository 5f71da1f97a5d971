from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import ArgumentError, StoreError
from recollect.model import Document, Link
from recollect.stores.milvus.store import MilvusStore
from recollect.stores.sqlite.store import SQLiteStore


def test_a_backup_holds_all_in_an_sqlite_file(lite: MilvusStore, tmp_path: Path) -> None:
    lite.write(
        [
            {"content": "tea", "path": "a", "vector": [[3, 4], [1, 0]], "links": (Link("related", "b"),)},
            {"content": "milk", "namespace": "work", "metadata": {"n": 1}},
            {"content": "rum", "vector": [0, 1]},
        ]
    )
    lite.write_documents([Document("/vault", "d.md", "1", [{"content": "page", "path": "d"}])], namespace="work")
    lite.backup(tmp_path / "copy.db")
    copy = SQLiteStore(tmp_path / "copy.db")
    assert list(copy.shelves()) == list(lite.shelves())
    notes = list(lite.notes())
    assert list(copy.notes()) == notes
    model, vectors = copy.vectors_of(notes)
    assert model == lite.model
    for one, other in zip(vectors, lite.vectors_of(notes)[1], strict=True):
        assert np.array_equal(one, other) if one is not None and other is not None else one is other
    copy.close()
    lite.backup(tmp_path / "copy.db", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "memory.db"]


def test_what_is_there_or_in_use_is_left_alone(lite: MilvusStore, tmp_path: Path) -> None:
    (tmp_path / "copy.db-wal").touch()
    with pytest.raises(ArgumentError, match="^target: .*copy.db is in use, or was not closed; choose another name"):
        lite.backup(tmp_path / "copy.db")
    with pytest.raises(ArgumentError, match="^target: .*memory.db exists; choose another name"):
        lite.backup(tmp_path / "memory.db")
    with pytest.raises(StoreError, match="memory.db' cannot be written: "):
        lite.backup(tmp_path / "memory.db", overwrite=True)
    with pytest.raises(StoreError, match="nowhere does not exist; create it first"):
        lite.backup(tmp_path / "nowhere" / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db-wal", "memory.db"]
