"""A store with every kind of content, and one whose methods fail on request."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from recollect.errors import StoreError
from recollect.model import Document, Link, Note, draft_of
from recollect.stores.base import DocumentRecord, Model, Store

MODEL = Model("tiny", 3)


def fill(store: Store, *, plain: int = 20) -> None:
    """Write notes of every kind: in two namespaces, from documents, with forward links, some without vector."""
    drafts: list[dict[str, Any]] = [
        {
            "id": "full",
            "path": "memory/tea.md",
            "title": "Tea",
            "summary": "Green, early",
            "content": "Prefers green tea.\n\n🍵 \0 end",
            "tags": ("drinks", "two words"),
            "created_at": datetime(2026, 4, 18, 7, 30, 1, 123456, UTC),
            "updated_at": datetime(2026, 4, 19, tzinfo=UTC),
            "last_accessed_at": datetime(2026, 4, 20, tzinfo=UTC),
            "expires_at": datetime(2999, 12, 31, 23, 59, 59, 999999, UTC),
            "importance": 0.8,
            "session": "s",
            "position": 7,
            "links": (Link("supersedes", "later"), Link("related", "memory/coffee.md"), Link("about", "nowhere")),
            "metadata": {"n": [1, 2.5, None, {"ä": True}], "entities": ["Ines Weber"]},
            "vector": np.array([1, 0, 0], dtype=np.float32),
        },
        {"id": "pieces", "content": "long " * 300, "vector": np.eye(3, dtype=np.float32)},
        {"id": "later", "content": "Drank coffee.", "vector": np.array([0, 1, 0], dtype=np.float32)},
        {"id": "full", "namespace": "work", "content": "The same id.", "vector": np.array([0, 0, 1], dtype=np.float32)},
    ]
    store.write(drafts, model=MODEL)
    store.write([{"id": "pending", "content": "Not embedded yet.", "path": "memory/coffee.md"}])
    for number in range(plain):
        namespace = ("default", "work")[number % 2]
        vector = np.array([number, 1, 2], dtype=np.float32)
        note = {
            "id": f"plain{number}",
            "namespace": namespace,
            "content": f"Plain words number{number} of many.",
            "session": "t",
        }
        store.write([{**note, "vector": vector}], model=MODEL)
    chunks = [draft_of({"path": f"a.md#{index}", "content": f"chunk {index}"}) for index in range(3)]
    vault = [Document("/vault", "a.md", "1", chunks), Document("/vault", "empty.md", "2", [])]
    store.write_documents(vault, namespace="default")
    store.write_documents([Document("/else", "b.md", "3", [draft_of({"path": "b", "content": "b"})])], namespace="work")


def contents(store: Store) -> tuple[list[Note], list[DocumentRecord], Model | None, list[Any]]:
    """Return everything in a store in a comparable form."""
    notes = list(store.notes())
    model, vectors = store.vectors_of(notes)
    comparable = [vector if vector is None else (vector.shape, vector.tobytes()) for vector in vectors]
    return notes, sorted(store.document_records()), model, comparable


class FailingStore:
    """A store with a method that fails, or calls ``instead`` first, after ``after`` calls."""

    def __init__(self, store: Store, method: str, *, after: int = 0, instead: Callable[[], None] | None = None) -> None:
        self._store = store
        self._method = method
        self._left = after
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._store, name)
        return self._failing(value) if name == self._method else value

    def _failing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if self._left == 0:
                if self._instead is None:
                    raise StoreError("the server is gone")
                self._instead()
            self._left -= 1
            return method(*args, **options)

        return call
