"""Searching a memory for an integration, and the metadata of its hits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.asynchronous import AsyncMemory
from recollect.errors import ArgumentError
from recollect.integrations.search import HIT_METADATA, check_source, hit_metadata, search, search_async


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea.md", created_at="2026-04-18")
        memory.add("Black tea is for guests.", id="n2", path="guests.md")
        memory.add("Tea for the office.", id="n3", namespace="work")
        yield memory


def test_search_works_from_a_thread_and_from_an_event_loop(memory: recollect.Memory) -> None:
    for source in (memory, AsyncMemory(memory)):
        options = {"top_k": 1, "namespace": "work"}
        assert [hit.id for hit in search(source, "tea", options)] == ["n3"]
        assert [hit.id for hit in asyncio.run(search_async(source, "tea", options))] == ["n3"]


def test_hit_metadata_is_json(memory: recollect.Memory) -> None:
    (hit,) = memory.search("green", top_k=1)
    data = hit_metadata(hit)
    assert json.loads(json.dumps(data)) == data
    assert tuple(data) == HIT_METADATA
    assert (data["id"], data["path"], data["created_at"]) == ("n1", "tea.md", "2026-04-18T00:00:00Z")
    assert data["score"] == hit.score
    assert data["confidence"] == hit.confidence


def test_hit_metadata_has_tags_and_metadata_of_the_note(memory: recollect.Memory) -> None:
    memory.update("n1", tags=["drinks"], metadata={"author": "Ines", "pages": [1, None]})
    (hit,) = memory.search("green", top_k=1)
    data = hit_metadata(hit)
    assert (data["tags"], data["metadata"]) == (["drinks"], {"author": "Ines", "pages": [1, None]})
    assert json.loads(json.dumps(data)) == data


def test_check_source_rejects_other_types() -> None:
    with pytest.raises(ArgumentError, match="memory: must be a Memory, an AsyncMemory or an AsyncClient, got NoneType"):
        check_source(None)
