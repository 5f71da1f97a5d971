"""A small memory with snapshots, and searches in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.model import Filters
from recollect.query import parse
from recollect.stores.sqlite import posting_index, snapshots, vector_index
from recollect.stores.sqlite.store import SQLiteStore

EVERYTHING = Filters()
ROWS = np.random.default_rng(7).standard_normal((4000, 16)).astype(np.float32)


def lower_snapshot_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write snapshots from twenty notes on, without a pause between them."""
    monkeypatch.setattr(posting_index.PostingsIndex, "min_rows", 20)
    monkeypatch.setattr(vector_index.VectorIndex, "min_rows", 20)
    monkeypatch.setattr(snapshots, "PAUSE_FACTOR", 0)
    monkeypatch.setattr(snapshots.SnapshotIndex, "max_delta", lambda _, rows: max(20, rows // 50))


def drafts(first: int, last: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"path": f"{n}", "content": f"tea word{n} {'milk ' * (n % 7)}", "vector": ROWS[n], **more}
        for n in range(first, last)
    ]


def fill(path: Path, count: int = 60) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(0, count))


def snapshot_files(path: Path) -> list[Path]:
    return sorted(file for file in path.parent.iterdir() if "-snapshot-" in file.name)


def search_paths(store: SQLiteStore, words: str = "tea milk", limit: int = 9, namespace: str = "default") -> list[str]:
    results = store.search_text(parse(words), limit, namespace=namespace, filters=EVERYTHING)
    return [candidate.path for candidate in results]


def nearest_paths(store: SQLiteStore, n: int, limit: int = 1) -> list[str]:
    results = store.search_vectors(ROWS[n], limit, namespace="default", filters=EVERYTHING)
    return [candidate.path for candidate in results]


def uses_snapshots(store: SQLiteStore) -> tuple[bool, bool]:
    """Return whether the lexical and the vector search used a snapshot."""
    postings = [index._view is not None for index in store._indexes._postings.values()]
    vectors = [index._loaded.ref is not None for index in store._indexes._vectors.values()]
    return any(postings), any(vectors)
