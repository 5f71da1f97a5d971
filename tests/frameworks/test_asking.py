"""One question, whoever holds the notes and whoever asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.asynchronous import AsyncMemory
from recollect.errors import ArgumentError
from recollect.frameworks.asking import METADATA, ask, ask_async, metadata_of, source


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea.md", created_at="2026-04-18")
        memory.add("Black tea is for guests.", id="n2", path="guests.md")
        memory.add("Tea for the office.", id="n3", namespace="work")
        yield memory


def test_a_memory_is_asked_from_a_thread_and_from_a_loop(memory: recollect.Memory) -> None:
    for held in (memory, AsyncMemory(memory)):
        options = {"top_k": 1, "namespace": "work"}
        assert [hit.id for hit in ask(held, "tea", options)] == ["n3"]
        assert [hit.id for hit in asyncio.run(ask_async(held, "tea", options))] == ["n3"]


def test_what_is_told_of_a_hit_is_json(memory: recollect.Memory) -> None:
    (hit,) = memory.search("green", top_k=1)
    told = metadata_of(hit)
    assert json.loads(json.dumps(told)) == told
    assert tuple(told) == METADATA
    assert (told["id"], told["path"], told["created_at"]) == ("n1", "tea.md", "2026-04-18T00:00:00Z")
    assert told["score"] == hit.score
    assert told["confidence"] == hit.confidence


def test_tags_and_metadata_of_the_note_are_returned(memory: recollect.Memory) -> None:
    memory.update("n1", tags=["drinks"], metadata={"author": "Ines", "pages": [1, None]})
    (hit,) = memory.search("green", top_k=1)
    told = metadata_of(hit)
    assert (told["tags"], told["metadata"]) == (["drinks"], {"author": "Ines", "pages": [1, None]})
    assert json.loads(json.dumps(told)) == told


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ArgumentError, match="memory: must be a Memory, an AsyncMemory or an AsyncClient, got NoneType"):
        source(None)
