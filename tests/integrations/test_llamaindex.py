"""The LlamaIndex retriever, with the real LlamaIndex."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import MetadataMode, QueryBundle

import recollect
from recollect.integrations.llamaindex import RecollectRetriever


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea/green.md", title="Green", created_at="2026-04-18")
        memory.add("Black tea is for guests.", id="n2", path="tea/black.md", tags=["guests"])
        memory.add("Tea for the office.", id="n3", namespace="work")
        yield memory


def test_hit_becomes_a_node(memory: recollect.Memory) -> None:
    (scored,) = RecollectRetriever(memory, top_k=1).retrieve("green tea")
    assert (scored.node.node_id, scored.text) == ("n1", "Prefers green tea.")
    assert scored.score == memory.search("green tea")[0].score
    assert scored.metadata["path"] == "tea/green.md"
    assert 0 < scored.metadata["confidence"] <= 1


def test_model_reads_path_title_and_date_only(memory: recollect.Memory) -> None:
    (scored,) = RecollectRetriever(memory, top_k=1).retrieve("green tea")
    assert scored.node.get_content(MetadataMode.LLM) == (
        "path: tea/green.md\ntitle: Green\ncreated_at: 2026-04-18T00:00:00Z\n\nPrefers green tea."
    )
    assert scored.node.get_content(MetadataMode.EMBED) == "Prefers green tea."


def test_aretrieve_returns_the_same_as_retrieve(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory, callback_manager=CallbackManager())
    nodes = asyncio.run(retriever.aretrieve(QueryBundle("green tea")))
    assert [node.to_dict() for node in nodes] == [node.to_dict() for node in retriever.retrieve("green tea")]


def test_search_options_are_applied(memory: recollect.Memory) -> None:
    options: dict[str, Any] = {"filters": {"tags": ["guests"]}, "preset": "memini", "mode": "bm25"}
    assert [node.node_id for node in RecollectRetriever(memory, **options).retrieve("tea")] == ["n2"]
    assert [node.node_id for node in RecollectRetriever(memory, namespace="work").retrieve("tea")] == ["n3"]


def test_unknown_options_are_rejected(memory: recollect.Memory) -> None:
    with pytest.raises(recollect.ArgumentError, match="topk: is unknown; use one of memory, include_weak"):
        RecollectRetriever(memory, topk=3)


def test_weak_nodes_are_returned_on_demand(memory: recollect.Memory) -> None:
    assert RecollectRetriever(memory, answer_threshold=1.0).retrieve("green tea") == []
    weak = RecollectRetriever(memory, answer_threshold=1.0, include_weak=True).retrieve("green tea")
    assert [node.node_id for node in weak] == ["n1", "n2"]
    assert "weak: True" in weak[0].node.get_content(MetadataMode.LLM)
    assert weak[0].node.get_content(MetadataMode.EMBED) == "Prefers green tea."


def test_text_of_a_superseded_note_is_marked(memory: recollect.Memory) -> None:
    memory.add("Green tea no more: only mint.", id="n4", supersedes="n1")
    nodes = {node.node_id: node for node in RecollectRetriever(memory).retrieve("green tea")}
    assert nodes["n1"].text == "[Out of date: superseded by n4]\nPrefers green tea."
    assert (nodes["n1"].metadata["superseded_by"], nodes["n4"].text) == (["n4"], "Green tea no more: only mint.")


def test_memory_of_another_type_is_rejected() -> None:
    with pytest.raises(recollect.ArgumentError, match="must be a Memory"):
        RecollectRetriever("memory.db")  # type: ignore[arg-type]


def test_import_without_llamaindex_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_index.core.callbacks", None)
    monkeypatch.delitem(sys.modules, "recollect.integrations.llamaindex")
    with pytest.raises(ImportError, match=r"^llama-index-core cannot .* pip install 'recollectdb\[llamaindex\]'$"):
        importlib.import_module("recollect.integrations.llamaindex")
