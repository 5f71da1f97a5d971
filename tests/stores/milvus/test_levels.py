from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ArgumentError
from recollect.model import Filters
from recollect.query import parse
from recollect.stores.milvus import consistency
from recollect.stores.milvus.levels import current_level
from recollect.stores.milvus.store import MilvusStore
from tests.stores.milvus.looking import client_of


def test_a_level_holds_for_its_block_alone() -> None:
    with consistency("eventually"):
        with consistency("strong"):
            assert current_level("Session") == "Strong"
        assert current_level("Session") == "Eventually"
        others: list[str] = []
        thread = threading.Thread(target=lambda: others.append(current_level("Session")))
        thread.start()
        thread.join()
        assert others == ["Session"]
    with pytest.raises(ZeroDivisionError), consistency("bounded"):
        raise ZeroDivisionError
    assert current_level("Session") == "Session"
    with pytest.raises(ArgumentError, match="^level: must be strong, session, bounded or eventually, got 'Strong'"):
        consistency("Strong").__enter__()


def test_searches_pass_it_on_and_writes_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MilvusStore(f"milvus://{tmp_path}/memory.db?consistency=bounded")
    store.write([{"content": "tea", "path": "tea.md", "vector": [1, 0]}])
    milvus, asked = client_of(store)._milvus, list[str]()
    for name in ("query", "search", "get"):
        original = getattr(milvus, name)

        def call(*given: Any, original: Any = original, **options: Any) -> Any:
            asked.append(options["consistency_level"])
            return original(*given, **options)

        monkeypatch.setattr(milvus, name, call)
    search = parse("tea")
    assert store.search_text(search, 5, namespace="default", filters=Filters())
    assert set(asked) == {"Bounded"}
    asked.clear()
    with consistency("eventually"):
        assert store.search_text(search, 5, namespace="default", filters=Filters())
        assert set(asked) == {"Eventually"}
        asked.clear()
        store.write([{"content": "milk", "path": "tea.md"}])
    assert set(asked) == {"Strong"}
    store.close()
