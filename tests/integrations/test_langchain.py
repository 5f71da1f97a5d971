"""The LangChain retriever, with the real LangChain."""

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
from recollect.integrations.langchain import RecollectRetriever


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea/green.md", tags=["own"], created_at="2026-04-18")
        memory.add("Black tea is for guests.", id="n2", path="tea/black.md")
        memory.add("Tea for the office.", id="n3", namespace="work")
        yield memory


def test_hit_becomes_a_document(memory: recollect.Memory) -> None:
    (document,) = RecollectRetriever(memory=memory, options={"top_k": 1}).invoke("green tea")
    assert (document.id, document.page_content) == ("n1", "Prefers green tea.")
    assert document.metadata["path"] == "tea/green.md"
    assert document.metadata["created_at"] == "2026-04-18T00:00:00Z"
    assert document.metadata["rank"] == 1
    assert 0 < document.metadata["confidence"] <= 1
    assert document.metadata["score"] == memory.search("green tea")[0].score


def test_ainvoke_returns_the_same_as_invoke(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory)
    assert asyncio.run(retriever.ainvoke("green tea")) == retriever.invoke("green tea")


def test_options_of_a_call_take_precedence(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory, options={"namespace": "work", "preset": "memini", "mode": "bm25"})
    assert [document.id for document in retriever.invoke("tea")] == ["n3"]
    assert [
        document.id for document in retriever.invoke("tea", namespace="default", top_k=1, filters={"tags": "own"})
    ] == ["n1"]
    assert [document.id for document in asyncio.run(retriever.ainvoke("tea", namespace="nowhere"))] == []
    with pytest.raises(recollect.ArgumentError, match="top_k"):
        retriever.invoke("tea", top_k=-1)


def test_options_can_be_passed_by_name(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory, top_k=1, options={"top_k": 2, "mode": "bm25"})
    assert retriever.options == {"top_k": 1, "mode": "bm25"}
    assert [document.id for document in retriever.invoke("tea")] == ["n1"]
    with pytest.raises(ValidationError, match=r"topk: is unknown; use one of .*memory.*options.*top_k, mode"):
        RecollectRetriever(memory=memory, topk=3)
    with pytest.raises(ValidationError, match="topk: is unknown"):
        RecollectRetriever(memory=memory, options={"topk": 3})
    with pytest.raises(ValidationError, match="options: must be a dict of search options, got int"):
        RecollectRetriever(memory=memory, options=3)  # type: ignore[arg-type]


def test_weak_documents_are_returned_on_demand(memory: recollect.Memory) -> None:
    retriever = RecollectRetriever(memory=memory, answer_threshold=1.0)
    assert retriever.invoke("green tea") == asyncio.run(retriever.ainvoke("green tea")) == []
    weak = retriever.invoke("green tea", include_weak=True)
    assert [(document.id, document.metadata["weak"]) for document in weak] == [("n1", True), ("n2", True)]
    always = RecollectRetriever(memory=memory, answer_threshold=1.0, include_weak=True)
    assert always.invoke("green tea") == asyncio.run(always.ainvoke("green tea")) == weak
    assert always.invoke("green tea", include_weak=False) == []
    assert "weak" not in always.invoke("green tea", answer_threshold=0.0)[0].metadata


def test_text_of_a_superseded_note_is_marked(memory: recollect.Memory) -> None:
    memory.add("Green tea no more: only mint.", id="n4", path="tea/mint.md", supersedes="n1")
    documents = {document.id: document for document in RecollectRetriever(memory=memory).invoke("green tea")}
    assert documents["n1"].page_content == "[Out of date: superseded by tea/mint.md]\nPrefers green tea."
    assert (documents["n1"].metadata["superseded_by"], documents["n4"].metadata["superseded_by"]) == (["n4"], [])
    assert documents["n4"].page_content == "Green tea no more: only mint."


def test_retriever_works_in_a_chain(memory: recollect.Memory) -> None:
    def ids(documents: list[Document]) -> list[str | None]:
        return [document.id for document in documents]

    chain = RecollectRetriever(memory=memory) | RunnableLambda(ids)
    assert chain.batch(["green", "guests"]) == [["n1"], ["n2"]]


def test_memory_of_another_type_is_rejected() -> None:
    with pytest.raises(ValidationError, match="must be a Memory"):
        RecollectRetriever(memory="memory.db")


def test_import_without_langchain_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)
    monkeypatch.delitem(sys.modules, "recollect.integrations.langchain")
    with pytest.raises(ImportError, match=r"^langchain-core cannot .* pip install 'recollectdb\[langchain\]'$"):
        importlib.import_module("recollect.integrations.langchain")
