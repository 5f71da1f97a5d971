from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import ArgumentError
from recollect.model import Document, draft_of
from recollect.stores.milvus.store import MilvusStore


def test_a_document_whose_name_no_field_holds_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    store = MilvusStore(f"milvus://{tmp_path}/memory.db")
    with pytest.raises(ArgumentError, match="document: root, name and fingerprint have 70,0.. bytes together"):
        store.write_documents([Document("r", "n" * 70_000, "f", [draft_of("tea")])], namespace="default")
    assert list(store.notes()) == []
    assert store.documents("r", namespace="default") == {}
    store.close()
