"""AsyncClient with a real server, and its JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import pytest

import recollect
from recollect.client import AsyncClient
from recollect.client.conversion import (
    ERROR_TYPES,
    Document,
    document_to_json,
    filters_to_parameters,
    hit_from_json,
    note_from_json,
    note_to_json,
    result_from_json,
    to_json,
)
from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError
from recollect.integrations.langchain import RecollectRetriever as LangChainRetriever
from recollect.integrations.llamaindex import RecollectRetriever as LlamaIndexRetriever
from recollect.integrations.search import search, search_async
from recollect.model import Filters, Link, Note
from recollect.retrieval import presets
from recollect.server import KeyRing
from recollect.server.http.problems import PROBLEM_TYPES
from tests.server.http.running import running

T = TypeVar("T")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[recollect.Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="memory/tea.md", title="Tea", tags=["drink"], namespace="tea")
        memory.add("Drank coffee, then tea.", id="n2", path="memory/a b.md", session="s1", namespace="tea")
        memory.add("A kettle for work.", id="n3", namespace="work")
        yield memory


@pytest.fixture
def connect(memory: recollect.Memory, tmp_path: Path) -> Iterator[Callable[..., AsyncClient]]:
    """Serve the memory with keys; return a function that creates clients."""
    ring = KeyRing(tmp_path / "keys.json")
    keys = {right: ring.add(right, ["tea"], right)[1] for right in ("read", "write")}
    keys["root"] = ring.add("root", None, "admin")[1]
    with running(memory, ring=ring) as run:
        yield lambda key="write", **options: AsyncClient(run.url, keys[key], **options)


def run_client(client: AsyncClient, call: Callable[[AsyncClient], Awaitable[T]]) -> T:
    async def run() -> T:
        async with client:
            return await call(client)

    return asyncio.run(run())


Connect = Callable[..., AsyncClient]


def test_error_types_are_problem_types_of_the_server() -> None:
    assert set(ERROR_TYPES) <= set(PROBLEM_TYPES)


class TestNotes:
    def test_add_update_get_and_delete(self, connect: Connect, memory: recollect.Memory) -> None:
        async def use_client(client: AsyncClient) -> None:
            added = await client.add("Sencha.", path="memory/sencha.md", created_at="2026-04-18", tags=("drink",))
            assert added == memory.get("memory/sencha.md", namespace="tea")
            changed = await client.update("memory/sencha.md", title="Sencha", importance=0.9)
            assert (changed.id, changed.title, changed.content) == (added.id, "Sencha", "Sencha.")
            assert await client.get(added) == changed
            assert await client.get("memory/a b.md") == memory.get("n2", namespace="tea")
            assert await client.get("nothing.md") is None
            assert await client.delete(changed, "nothing.md", "n1") == 2
            assert await client.get("n1") is None

        run_client(connect(), use_client)

    def test_add_supersedes(self, connect: Connect, memory: recollect.Memory) -> None:
        old = memory.get("n1", namespace="tea")
        assert old is not None
        first = run_client(connect(), lambda client: client.add("Black tea now.", supersedes=old))
        second = run_client(
            connect(), lambda client: client.add("White tea now.", supersedes=[first.id, "memory/a b.md"])
        )
        assert [link.target for link in first.links] == ["n1"]
        assert [link.target for link in second.links] == [first.id, "n2"]

    def test_keys_of_dots(self, connect: Connect, memory: recollect.Memory) -> None:
        for key in (".", "..", "..."):
            assert run_client(connect(), lambda client, key=key: client.get(key)) is None  # type: ignore[misc]
            memory.add("Dots.", path=key, namespace="tea")
            note = run_client(connect(), lambda client, key=key: client.get(key))  # type: ignore[misc]
            assert note is not None
            assert note.path == key
            assert run_client(connect(), lambda client, key=key: client.delete(key)) == 1  # type: ignore[misc]

    def test_values_that_json_does_not_have(self, connect: Connect) -> None:
        with pytest.raises(ArgumentError, match="note: cannot contain nan, which JSON does not have"):
            run_client(connect(), lambda client: client.add("x", metadata={"a": float("nan")}))
        note = run_client(connect(), lambda client: client.add("a\ud800", title="b\ud800"))
        assert (note.content, note.title) == ("a\ufffd", "b\ufffd")

    def test_add_many(self, connect: Connect, memory: recollect.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.client.client.BATCH_SIZE", 2)
        notes: list[Note | str | dict[str, Any]] = ["one", {"content": "two", "id": "b2"}, Note(content="three")]
        ids = run_client(connect(), lambda client: client.add_many(notes))
        assert [memory.get(item, namespace="tea").content for item in ids] == ["one", "two", "three"]  # type: ignore[union-attr]

    def test_notes_are_paginated(self, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.client.client.PAGE_SIZE", 1)

        async def note_ids(client: AsyncClient, filters: Any) -> list[str]:
            return [note.id async for note in client.notes(filters=filters)]

        assert run_client(connect(), lambda client: note_ids(client, None)) == ["n1", "n2"]
        assert run_client(
            connect(), lambda client: note_ids(client, {"tags": ["drink"], "path_prefix": "memory/"})
        ) == ["n1"]
        assert run_client(connect(), lambda client: note_ids(client, {"session": "s1"})) == ["n2"]
        assert run_client(connect("root", namespace="work"), lambda client: note_ids(client, {})) == ["n3"]

    def test_links_and_neighbours(self, connect: Connect, memory: recollect.Memory) -> None:
        async def use_client(client: AsyncClient) -> None:
            note = await client.get("n1")
            assert note
            assert await client.link(note, "memory/a b.md", kind="part of") is True
            assert await client.link("n1", "memory/a b.md", kind="part of") is False
            (neighbour,) = await client.neighbours(note)
            assert (neighbour.note.id, neighbour.kind, neighbour.direction) == ("n2", "part of", "out")
            assert await client.unlink("n1", "memory/a b.md", kind="part of") is True
            assert await client.neighbours("n1") == memory.neighbours("n1", namespace="tea") == []

        run_client(connect(), use_client)

    def test_note_without_text_is_rejected(self, connect: Connect) -> None:
        with pytest.raises(
            ArgumentError, match="must not be blank or only punctuation in a note without title and summary"
        ):
            run_client(connect(), lambda client: client.add(""))

    def test_ingest(self, connect: Connect, memory: recollect.Memory) -> None:
        documents: list[Document] = [
            ("vault/oolong.md", "# Oolong\n\nFrom Taiwan."),
            {"path": "vault/mate.md", "content": "Mate."},
        ]
        report = run_client(connect(), lambda client: client.ingest(documents, prefix="in/"))
        assert (report.files_read, report.notes_added, report.problems) == (2, 2, ())
        again = run_client(connect(), lambda client: client.ingest(documents, prefix="in/"))
        assert (again.files_read, again.files_unchanged) == (0, 2)
        assert memory.search("Taiwan", namespace="tea")[0].path.startswith("in/")


class TestSearching:
    def test_search_returns_the_hits_of_the_memory(self, connect: Connect, memory: recollect.Memory) -> None:
        options: dict[str, Any] = {"top_k": 1, "preset": "memini", "now": "2026-04-18", "filters": {"tags": ["drink"]}}
        remote = run_client(connect(), lambda client: client.search("green tea", **options))
        local = memory.search("green tea", namespace="tea", **options)
        assert remote.query == "green tea"
        assert [hit.id for hit in remote] == [hit.id for hit in local] == ["n1"]
        assert remote[0].score == local[0].score
        assert remote[0].created_at == local[0].created_at
        assert remote[0].candidate.steps == local[0].candidate.steps
        assert (remote.trace, remote.explanation) == ({}, "")

    def test_search_with_trace_and_explain(self, connect: Connect) -> None:
        traced = run_client(connect(), lambda client: client.search("tea", trace=True))
        assert traced.trace["originalQuery"] == "tea"
        explained = run_client(connect(), lambda client: client.explain("tea", top_k=1))
        assert explained.trace["preset"] == "default"
        assert explained.explanation.startswith("query")

    def test_compare(self, connect: Connect) -> None:
        compared = run_client(connect(), lambda client: client.compare("tea", ["default", "memini"], top_k=1))
        assert [(name, len(result)) for name, result in compared.items()] == [("default", 1), ("memini", 1)]
        all_presets = run_client(connect(), lambda client: client.compare("tea"))
        data = run_client(connect(), lambda client: client.presets())
        assert set(all_presets) == {preset["name"] for preset in data["presets"]}


class TestHealth:
    def test_stats_and_health(self, connect: Connect) -> None:
        assert run_client(connect(), lambda client: client.stats())["notes"] == {"tea": 2}
        assert run_client(connect("root"), lambda client: client.stats(namespace="work"))["notes"] == {"work": 1}
        assert run_client(connect(), lambda client: client.health()) is True


class TestErrors:
    def test_errors_are_those_of_a_memory(self, connect: Connect) -> None:
        with pytest.raises(NoteNotFoundError, match="there is no note 'n9' in namespace 'tea'"):
            run_client(connect(), lambda client: client.update("n9", title="x"))
        with pytest.raises(ForbiddenError, match="write may not read in namespace 'work'"):
            run_client(connect(), lambda client: client.search("tea", namespace="work"))
        with pytest.raises(ForbiddenError, match="read may not write to namespace 'tea'"):
            run_client(connect("read"), lambda client: client.add("tea"))
        with pytest.raises(ArgumentError) as raised:
            run_client(connect(), lambda client: client.search("tea", top_k=-1))
        assert raised.value.argument == "top_k"
        with pytest.raises(ArgumentError, match="preset"):
            run_client(connect(), lambda client: client.search("tea", preset="dream"))

    def test_requests_without_a_key_are_rejected(self, connect: Connect) -> None:
        client = connect()
        client._key = None
        with pytest.raises(ForbiddenError, match="send a key of this server"):
            run_client(client, lambda client: client.search("tea"))


class TestIntegrations:
    """The retrievers over a client: from a thread, from a loop, and from a thread that has a loop."""

    def test_integrations_search(self, connect: Connect) -> None:
        client = connect()
        assert [hit.id for hit in search(client, "green", {"top_k": 1})] == ["n1"]

        async def both() -> list[list[str]]:
            async with client:
                result = await search_async(client, "green", {"top_k": 1})
                return [[hit.id for hit in result], [hit.id for hit in search(client, "green", {"top_k": 1})]]

        assert asyncio.run(both()) == [["n1"], ["n1"]]

    def test_langchain(self, connect: Connect) -> None:
        client = connect()
        retriever = LangChainRetriever(memory=client, options={"filters": {"tags": ["drink"]}})
        (document,) = retriever.invoke("tea", top_k=3)
        assert (document.id, document.page_content, document.metadata["path"]) == (
            "n1",
            "Prefers green tea.",
            "memory/tea.md",
        )
        assert run_client(client, lambda _: retriever.ainvoke("tea")) == [document]

    def test_llamaindex(self, connect: Connect) -> None:
        client = connect()
        retriever = LlamaIndexRetriever(client, top_k=1, preset="memini")
        (node,) = retriever.retrieve("green")
        assert (node.node_id, node.metadata["title"]) == ("n1", "Tea")
        assert [item.node_id for item in run_client(client, lambda _: retriever.aretrieve("green"))] == ["n1"]


def test_hit_json_roundtrip(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.add("Prefers green tea.", id="n1", path="tea.md", importance=0.9, session="s", position=1)
        memory.update("n1", tags=["drinks"], metadata={"author": "Ines", "pages": [1, None]})
        memory.add("Green tea it was.", id="n2", links=[("supersedes", "n3")])
        memory.add("Coffee, no green tea.", id="n3")
        result = memory.search("green tea", preset="memini")
    assert len(result) == 3
    for hit in result:
        data, roundtrip = hit.to_dict(), hit_from_json(hit.to_dict()).to_dict()
        assert roundtrip.pop("relevance") == pytest.approx(data.pop("relevance"))
        assert roundtrip == data
        assert hit_from_json(hit.to_dict()).candidate.contributions == hit.candidate.contributions
        assert hit_from_json(hit.to_dict()).candidate.steps == hit.candidate.steps


def test_hit_without_contributions() -> None:
    data: dict[str, Any] = {"rank": 1, "id": "n1", "relevance": None}
    assert hit_from_json(data).relevance is None
    assert hit_from_json({**data, "relevance": 0.0}).relevance == 0.0
    assert hit_from_json({**data, "relevance": 0.75}).relevance == 0.75  # taken over from a note that it supersedes


def test_result_from_json() -> None:
    data = {
        "query": "tea",
        "hits": [{"rank": 1, "id": "n1"}, {"rank": 2, "id": "n2"}],
        "warnings": ["words alone"],
        "trace": {"mode": "bm25"},
        "explanation": "drawn",
        "answer_threshold": 0.5,
    }
    result = result_from_json(data)
    assert [hit.id for hit in result] == ["n1", "n2"]
    assert (len(result), result[1].id, [hit.id for hit in result[:1]]) == (2, "n2", ["n1"])
    assert (result.warnings, result.trace, result.explanation) == (("words alone",), {"mode": "bm25"}, "drawn")
    assert (result.answer_threshold, result.has_answer) == (0.5, False)
    answered = result_from_json({**data, "hits": [{"rank": 1, "id": "n1", "confidence": 0.5}]})
    assert (answered.best_confidence, answered.has_answer) == (0.5, True)


def test_repr_of_results_and_hits() -> None:
    hits = [{"rank": n, "id": f"n{n}", "path": f"tea/{n}.md", "content": "long " * 1000, "score": 0.25} for n in (1, 2)]
    hits += [{"rank": n, "id": f"n{n}", "content": "long " * 1000, "confidence": 0.98765} for n in (3, 4)]
    result = result_from_json({"query": "tea", "hits": hits, "answer_threshold": 0.5})
    names = "'tea/1.md', 'tea/2.md', 'n3', …"
    assert repr(result) == f"<RemoteResult 'tea': 4 hits, has_answer=True, [{names}]>"
    assert repr(result[0]) == "<Hit 1 'tea/1.md' score=0.25 confidence=None>"
    assert repr(result[3]) == "<Hit 4 'n4' score=0 confidence=0.988>"


def test_note_json_roundtrip() -> None:
    note = recollect.Note(content="tea", id="n1", created_at="2026-04-18", links=["n2"])  # type: ignore[arg-type]
    assert note_from_json({**note.to_dict(), "unknown": 1}) == note


def test_to_json() -> None:
    arguments: dict[str, Any] = {
        "now": datetime(2026, 4, 18, 12, tzinfo=UTC),
        "question_date": date(2026, 4, 18),
        "filters": Filters(tags=("tea",), created_after=datetime(2026, 1, 1, tzinfo=UTC)),
        "links": [Link("supersedes", "n2"), ("related", "n3")],
        "min_confidence": 0.3,
        "rerank": False,
        "nothing": None,
    }
    assert json.loads(json.dumps(to_json(arguments))) == {
        "now": "2026-04-18T12:00:00+00:00",
        "question_date": "2026-04-18",
        "filters": {"tags": ["tea"], "created_after": "2026-01-01T00:00:00+00:00"},
        "links": [["supersedes", "n2"], ["related", "n3"]],
        "min_confidence": 0.3,
        "rerank": False,
        "nothing": None,
    }


def test_preset_must_be_a_name() -> None:
    with pytest.raises(ArgumentError, match="preset: must be the name of a preset of the server"):
        to_json({"preset": presets()["default"]})


def test_note_to_json_omits_namespace_and_empty_fields() -> None:
    note = Note(content="", path="tea.md", created_at="2026-04-18", links=["n2"], namespace="tea")  # type: ignore[arg-type]
    assert note_to_json(note) == {
        "content": "",
        "path": "tea.md",
        "tags": [],
        "created_at": "2026-04-18T00:00:00Z",
        "importance": 0.5,
        "links": [{"kind": "related", "target": "n2"}],
        "metadata": {},
    }
    assert to_json([note]) == [note_to_json(note)]


def test_mapping_to_json() -> None:
    assert note_to_json({"content": None, "title": "", "tags": ("a",), "path": None}) == {
        "title": "",
        "tags": ["a"],
    }
    with pytest.raises(ArgumentError, match="note: must be a Note, a mapping or a string, got int"):
        note_to_json(7)  # type: ignore[arg-type]


def test_filters_to_parameters() -> None:
    assert filters_to_parameters(None) == []
    assert filters_to_parameters(Filters(tags=("a", "b"), session="")) == [("tag", "a"), ("tag", "b"), ("session", "")]


def test_document_to_json() -> None:
    assert document_to_json({"path": "a.md", "content": "x"}) == {"path": "a.md", "content": "x"}
    assert document_to_json((PurePosixPath("a/b.md"), "x")) == {"path": "a/b.md", "content": "x"}
