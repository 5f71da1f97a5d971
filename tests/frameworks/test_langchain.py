"""The retriever of LangChain, with the real LangChain."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

import recollect
from recollect.frameworks.langchain import RecollectRetriever


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea/green.md", tags=["own"], created_at="2026-04-18")
        memory.add("Black tea is for guests.", id="n2", path="tea/black.md")
        memory.add("Tea for the office.", id="n3", namespace="work")
        yield memory


def test_a_hit_is_a_document_with_its_text_and_how_it_was_found(memory: recollect.Memory) -> None:
    (found,) = RecollectRetriever(memory=memory, options={"top_k": 1}).invoke("green tea")
    assert (found.id, found.page_content) == ("n1", "Prefers green tea.")
    assert found.metadata["path"] == "tea/green.md"
    assert found.metadata["created_at"] == "2026-04-18T00:00:00Z"
    assert found.metadata["rank"] == 1
    assert 0 < found.metadata["confidence"] <= 1
    assert found.metadata["score"] == memory.search("green tea")[0].score


def test_the_loop_gets_the_same(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory)
    assert asyncio.run(retriever.ainvoke("green tea")) == retriever.invoke("green tea")


def test_options_are_those_of_search_and_a_call_goes_before_them(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory, options={"namespace": "work", "preset": "memini", "mode": "bm25"})
    assert [found.id for found in retriever.invoke("tea")] == ["n3"]
    assert [found.id for found in retriever.invoke("tea", namespace="default", top_k=1, filters={"tags": "own"})] == [
        "n1"
    ]
    assert [found.id for found in asyncio.run(retriever.ainvoke("tea", namespace="nowhere"))] == []
    with pytest.raises(recollect.ArgumentError, match="top_k"):
        retriever.invoke("tea", top_k=-1)


def test_options_can_be_given_by_name(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory, top_k=1, options={"top_k": 2, "mode": "bm25"})
    assert retriever.options == {"top_k": 1, "mode": "bm25"}
    assert [found.id for found in retriever.invoke("tea")] == ["n1"]
    with pytest.raises(ValidationError, match=r"topk: is not known here; there are .*memory.*options.*top_k, mode"):
        RecollectRetriever(memory=memory, topk=3)
    with pytest.raises(ValidationError, match="topk: is not known here"):
        RecollectRetriever(memory=memory, options={"topk": 3})
    with pytest.raises(ValidationError, match="options: must be a dict of search options, got int"):
        RecollectRetriever(memory=memory, options=3)  # type: ignore[arg-type]


def test_weak_documents_come_only_on_demand_and_are_marked(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory, answer_threshold=1.0)
    assert retriever.invoke("green tea") == asyncio.run(retriever.ainvoke("green tea")) == []
    weak = retriever.invoke("green tea", include_weak=True)
    assert [(found.id, found.metadata["weak"]) for found in weak] == [("n1", True), ("n2", True)]
    always = RecollectRetriever(memory=memory, answer_threshold=1.0, include_weak=True)
    assert always.invoke("green tea") == asyncio.run(always.ainvoke("green tea")) == weak
    assert always.invoke("green tea", include_weak=False) == []
    assert "weak" not in always.invoke("green tea", answer_threshold=0.0)[0].metadata


def test_the_text_of_a_superseded_note_says_so(memory: recollect.Memory) -> None:
    memory.add("Green tea no more: only mint.", id="n4", path="tea/mint.md", supersedes="n1")
    found = {each.id: each for each in RecollectRetriever(memory=memory).invoke("green tea")}
    assert found["n1"].page_content == "[Out of date: superseded by tea/mint.md]\nPrefers green tea."
    assert (found["n1"].metadata["superseded_by"], found["n4"].metadata["superseded_by"]) == (["n4"], [])
    assert found["n4"].page_content == "Green tea no more: only mint."


def test_it_is_a_part_of_a_chain(memory: recollect.Memory) -> None:
    def ids(found: list[Document]) -> list[str | None]:
        return [each.id for each in found]

    chain = RecollectRetriever(memory=memory) | RunnableLambda(ids)
    assert chain.batch(["green", "guests"]) == [["n1"], ["n2"]]


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be a Memory"):
        RecollectRetriever(memory="memory.db")


def test_without_langchain_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)
    monkeypatch.delitem(sys.modules, "recollect.frameworks.langchain")
    with pytest.raises(ImportError, match=r"^langchain-core cannot .* pip install 'recollect\[langchain\]'$"):
        importlib.import_module("recollect.frameworks.langchain")
