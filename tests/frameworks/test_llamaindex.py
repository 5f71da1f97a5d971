"""The retriever of LlamaIndex, with the real LlamaIndex."""

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
from recollect.frameworks.llamaindex import RecollectRetriever


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea/green.md", title="Green", created_at="2026-04-18")
        memory.add("Black tea is for guests.", id="n2", path="tea/black.md", tags=["guests"])
        memory.add("Tea for the office.", id="n3", namespace="work")
        yield memory


def test_a_hit_is_a_node_with_its_text_its_score_and_how_it_was_found(memory: recollect.Memory) -> None:
    (found,) = RecollectRetriever(memory, top_k=1).retrieve("green tea")
    assert (found.node.node_id, found.text) == ("n1", "Prefers green tea.")
    assert found.score == memory.search("green tea")[0].score
    assert found.metadata["path"] == "tea/green.md"
    assert 0 < found.metadata["confidence"] <= 1


def test_a_model_reads_the_name_and_the_date_and_no_numbers(memory: recollect.Memory) -> None:
    (found,) = RecollectRetriever(memory, top_k=1).retrieve("green tea")
    assert found.node.get_content(MetadataMode.LLM) == (
        "path: tea/green.md\ntitle: Green\ncreated_at: 2026-04-18T00:00:00Z\n\nPrefers green tea."
    )
    assert found.node.get_content(MetadataMode.EMBED) == "Prefers green tea."


def test_the_loop_gets_the_same(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory, callback_manager=CallbackManager())
    there = asyncio.run(retriever.aretrieve(QueryBundle("green tea")))
    assert [found.to_dict() for found in there] == [found.to_dict() for found in retriever.retrieve("green tea")]


def test_options_are_those_of_search(memory: recollect.Memory) -> None:
    options: dict[str, Any] = {"filters": {"tags": ["guests"]}, "preset": "memini", "mode": "bm25"}
    assert [found.node_id for found in RecollectRetriever(memory, **options).retrieve("tea")] == ["n2"]
    assert [found.node_id for found in RecollectRetriever(memory, namespace="work").retrieve("tea")] == ["n3"]


def test_unknown_options_are_refused(memory: recollect.Memory) -> None:
    with pytest.raises(recollect.ArgumentError, match="topk: is not known here; there are memory, include_weak"):
        RecollectRetriever(memory, topk=3)


def test_weak_nodes_come_only_on_demand_and_are_marked(memory: recollect.Memory) -> None:
    assert RecollectRetriever(memory, answer_threshold=1.0).retrieve("green tea") == []
    weak = RecollectRetriever(memory, answer_threshold=1.0, include_weak=True).retrieve("green tea")
    assert [found.node_id for found in weak] == ["n1", "n2"]
    assert "weak: True" in weak[0].node.get_content(MetadataMode.LLM)
    assert weak[0].node.get_content(MetadataMode.EMBED) == "Prefers green tea."


def test_the_text_of_a_superseded_note_says_so(memory: recollect.Memory) -> None:
    memory.add("Green tea no more: only mint.", id="n4", supersedes="n1")
    found = {each.node_id: each for each in RecollectRetriever(memory).retrieve("green tea")}
    assert found["n1"].text == "[Out of date: superseded by n4]\nPrefers green tea."
    assert (found["n1"].metadata["superseded_by"], found["n4"].text) == (["n4"], "Green tea no more: only mint.")


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(recollect.ArgumentError, match="must be a Memory"):
        RecollectRetriever("memory.db")  # type: ignore[arg-type]


def test_without_llamaindex_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_index.core.callbacks", None)
    monkeypatch.delitem(sys.modules, "recollect.frameworks.llamaindex")
    with pytest.raises(ImportError, match=r"^llama-index-core cannot .* pip install 'recollect\[llamaindex\]'$"):
        importlib.import_module("recollect.frameworks.llamaindex")
