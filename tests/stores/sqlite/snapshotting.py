"""A memory of few notes that has snapshots, and searches in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.model import Filters
from recollect.query import parse
from recollect.stores.sqlite import renewing, snapshots, vectors
from recollect.stores.sqlite.postings import index
from recollect.stores.sqlite.store import SQLiteStore

EVERYTHING = Filters()
ROWS = np.random.default_rng(7).standard_normal((4000, 16)).astype(np.float32)


def let_few_be_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let snapshots be worth their while from a few notes on."""
    monkeypatch.setattr(index, "LEAST_NOTES", 20)
    monkeypatch.setattr(vectors, "LEAST_VECTORS", 19)
    monkeypatch.setattr(renewing, "RESTS", 0)
    for module in (index, vectors, snapshots):
        monkeypatch.setattr(module, "most_unknown", lambda notes: max(20, notes // 50))


def drafts(first: int, last: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"path": f"{n}", "content": f"tea word{n} {'milk ' * (n % 7)}", "vector": ROWS[n], **more}
        for n in range(first, last)
    ]


def filled(path: Path, count: int = 60) -> None:
    with closing(SQLiteStore(path)) as store:
        store.write(drafts(0, count))


def files(path: Path) -> list[Path]:
    return sorted(each for each in path.parent.iterdir() if "-snapshot-" in each.name)


def by_words(store: SQLiteStore, words: str = "tea milk", limit: int = 9, namespace: str = "default") -> list[str]:
    found = store.search_text(parse(words), limit, namespace=namespace, filters=EVERYTHING)
    return [each.path for each in found]


def by_vector(store: SQLiteStore, n: int, limit: int = 1) -> list[str]:
    found = store.search_vectors(ROWS[n], limit, namespace="default", filters=EVERYTHING)
    return [each.path for each in found]


def uses_snapshots(store: SQLiteStore) -> tuple[bool, bool]:
    """Return whether words and vectors were searched with a snapshot."""
    words = [each._state is not None for each in store._indexes._postings.values()]
    held = [each._held.kept is not None for each in store._indexes._vectors.values()]
    return any(words), any(held)
