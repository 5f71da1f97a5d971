"""The client against the real server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import recollect
from recollect.client import AsyncClient
from recollect.client.failures import BY_KIND
from recollect.client.questions import Document
from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError
from recollect.integrations.langchain import RecollectRetriever as LangChainRetriever
from recollect.integrations.llamaindex import RecollectRetriever as LlamaIndexRetriever
from recollect.integrations.search import search, search_async
from recollect.model import Note
from recollect.server import KeyRing
from recollect.server.http.problems import KINDS
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
def server(memory: recollect.Memory, tmp_path: Path) -> Iterator[Callable[..., AsyncClient]]:
    """Serve the memory with keys; what is returned makes clients of it."""
    ring = KeyRing(tmp_path / "keys.json")
    keys = {right: ring.add(right, ["tea"], right)[1] for right in ("read", "write")}
    keys["root"] = ring.add("root", None, "admin")[1]
    with running(memory, ring=ring) as run:
        yield lambda key="write", **options: AsyncClient(run.url, keys[key], **options)


def done(client: AsyncClient, do: Callable[[AsyncClient], Awaitable[T]]) -> T:
    async def run() -> T:
        async with client:
            return await do(client)

    return asyncio.run(run())


Server = Callable[..., AsyncClient]


def test_every_kind_of_problem_that_is_known_is_one_of_the_servers() -> None:
    assert set(BY_KIND) <= set(KINDS)


class TestNotes:
    def test_add_update_get_and_delete(self, server: Server, memory: recollect.Memory) -> None:
        async def do(client: AsyncClient) -> None:
            added = await client.add("Sencha.", path="memory/sencha.md", created_at="2026-04-18", tags=("drink",))
            assert added == memory.get("memory/sencha.md", namespace="tea")
            changed = await client.update("memory/sencha.md", title="Sencha", importance=0.9)
            assert (changed.id, changed.title, changed.content) == (added.id, "Sencha", "Sencha.")
            assert await client.get(added) == changed
            assert await client.get("memory/a b.md") == memory.get("n2", namespace="tea")
            assert await client.get("nothing.md") is None
            assert await client.delete(changed, "nothing.md", "n1") == 2
            assert await client.get("n1") is None

        done(server(), do)

    def test_a_note_that_replaces_others(self, server: Server, memory: recollect.Memory) -> None:
        old = memory.get("n1", namespace="tea")
        assert old is not None
        one = done(server(), lambda client: client.add("Black tea now.", supersedes=old))
        two = done(server(), lambda client: client.add("White tea now.", supersedes=[one.id, "memory/a b.md"]))
        assert [link.target for link in one.links] == ["n1"]
        assert [link.target for link in two.links] == [one.id, "n2"]

    def test_keys_of_dots(self, server: Server, memory: recollect.Memory) -> None:
        for key in (".", "..", "..."):
            assert done(server(), lambda client, key=key: client.get(key)) is None  # type: ignore[misc]
            memory.add("Dots.", path=key, namespace="tea")
            found = done(server(), lambda client, key=key: client.get(key))  # type: ignore[misc]
            assert found is not None
            assert found.path == key
            assert done(server(), lambda client, key=key: client.delete(key)) == 1  # type: ignore[misc]

    def test_what_json_cannot_say(self, server: Server) -> None:
        with pytest.raises(ArgumentError, match="note: cannot hold nan, for which JSON has no word"):
            done(server(), lambda client: client.add("x", metadata={"a": float("nan")}))
        note = done(server(), lambda client: client.add("a\ud800", title="b\ud800"))
        assert (note.content, note.title) == ("a\ufffd", "b\ufffd")

    def test_many(self, server: Server, memory: recollect.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.client.client.BATCH_NOTES", 2)
        notes: list[Note | str | dict[str, Any]] = ["one", {"content": "two", "id": "b2"}, Note(content="three")]
        ids = done(server(), lambda client: client.add_many(notes))
        assert [memory.get(each, namespace="tea").content for each in ids] == ["one", "two", "three"]  # type: ignore[union-attr]

    def test_a_walk_goes_page_by_page(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recollect.client.client.PAGE_NOTES", 1)

        async def walk(client: AsyncClient, filters: Any) -> list[str]:
            return [note.id async for note in client.notes(filters=filters)]

        assert done(server(), lambda client: walk(client, None)) == ["n1", "n2"]
        assert done(server(), lambda client: walk(client, {"tags": ["drink"], "path_prefix": "memory/"})) == ["n1"]
        assert done(server(), lambda client: walk(client, {"session": "s1"})) == ["n2"]
        assert done(server("root", namespace="work"), lambda client: walk(client, {})) == ["n3"]

    def test_links_and_neighbours(self, server: Server, memory: recollect.Memory) -> None:
        async def do(client: AsyncClient) -> None:
            note = await client.get("n1")
            assert note
            assert await client.link(note, "memory/a b.md", kind="part of") is True
            assert await client.link("n1", "memory/a b.md", kind="part of") is False
            (beside,) = await client.neighbours(note)
            assert (beside.note.id, beside.kind, beside.direction) == ("n2", "part of", "out")
            assert await client.unlink("n1", "memory/a b.md", kind="part of") is True
            assert await client.neighbours("n1") == memory.neighbours("n1", namespace="tea") == []

        done(server(), do)

    def test_a_note_without_text_is_refused(self, server: Server) -> None:
        with pytest.raises(
            ArgumentError, match="must not be blank or only punctuation in a note without title and summary"
        ):
            done(server(), lambda client: client.add(""))

    def test_texts_of_files(self, server: Server, memory: recollect.Memory) -> None:
        documents: list[Document] = [
            ("vault/oolong.md", "# Oolong\n\nFrom Taiwan."),
            {"path": "vault/mate.md", "content": "Mate."},
        ]
        report = done(server(), lambda client: client.ingest(documents, prefix="in/"))
        assert (report.files_read, report.notes_added, report.problems) == (2, 2, ())
        again = done(server(), lambda client: client.ingest(documents, prefix="in/"))
        assert (again.files_read, again.files_unchanged) == (0, 2)
        assert memory.search("Taiwan", namespace="tea")[0].path.startswith("in/")


class TestSearching:
    def test_hits_are_those_of_the_memory(self, server: Server, memory: recollect.Memory) -> None:
        options: dict[str, Any] = {"top_k": 1, "preset": "memini", "now": "2026-04-18", "filters": {"tags": ["drink"]}}
        found = done(server(), lambda client: client.search("green tea", **options))
        there = memory.search("green tea", namespace="tea", **options)
        assert found.query == "green tea"
        assert [hit.id for hit in found] == [hit.id for hit in there] == ["n1"]
        assert found[0].score == there[0].score
        assert found[0].created_at == there[0].created_at
        assert found[0].candidate.steps == there[0].candidate.steps
        assert (found.trace, found.explanation) == ({}, "")

    def test_with_its_trace_and_the_drawing(self, server: Server) -> None:
        traced = done(server(), lambda client: client.search("tea", trace=True))
        assert traced.trace["originalQuery"] == "tea"
        explained = done(server(), lambda client: client.explain("tea", top_k=1))
        assert explained.trace["preset"] == "default"
        assert explained.explanation.startswith("query")

    def test_presets_side_by_side(self, server: Server) -> None:
        both = done(server(), lambda client: client.compare("tea", ["default", "memini"], top_k=1))
        assert [(name, len(result)) for name, result in both.items()] == [("default", 1), ("memini", 1)]
        every = done(server(), lambda client: client.compare("tea"))
        told = done(server(), lambda client: client.presets())
        assert set(every) == {preset["name"] for preset in told["presets"]}


class TestUpkeep:
    def test_stats_and_health(self, server: Server) -> None:
        assert done(server(), lambda client: client.stats())["notes"] == {"tea": 2}
        assert done(server("root"), lambda client: client.stats(namespace="work"))["notes"] == {"work": 1}
        assert done(server(), lambda client: client.health()) is True


class TestErrors:
    def test_they_are_those_of_a_memory(self, server: Server) -> None:
        with pytest.raises(NoteNotFoundError, match="there is no note 'n9' in namespace 'tea'"):
            done(server(), lambda client: client.update("n9", title="x"))
        with pytest.raises(ForbiddenError, match="write may not read in namespace 'work'"):
            done(server(), lambda client: client.search("tea", namespace="work"))
        with pytest.raises(ForbiddenError, match="read may not write to namespace 'tea'"):
            done(server("read"), lambda client: client.add("tea"))
        with pytest.raises(ArgumentError) as raised:
            done(server(), lambda client: client.search("tea", top_k=-1))
        assert raised.value.argument == "top_k"
        with pytest.raises(ArgumentError, match="preset"):
            done(server(), lambda client: client.search("tea", preset="dream"))

    def test_without_a_key_nothing_is_told(self, server: Server) -> None:
        client = server()
        client._connection.key = None
        with pytest.raises(ForbiddenError, match="send a key of this server"):
            done(client, lambda client: client.search("tea"))


class TestFrameworks:
    """The retrievers over a client: from a thread, from a loop, and from a thread that has a loop."""

    def test_ask(self, server: Server) -> None:
        client = server()
        assert [hit.id for hit in search(client, "green", {"top_k": 1})] == ["n1"]

        async def both() -> list[list[str]]:
            async with client:
                there = await search_async(client, "green", {"top_k": 1})
                return [[hit.id for hit in there], [hit.id for hit in search(client, "green", {"top_k": 1})]]

        assert asyncio.run(both()) == [["n1"], ["n1"]]

    def test_langchain(self, server: Server) -> None:
        client = server()
        retriever = LangChainRetriever(memory=client, options={"filters": {"tags": ["drink"]}})
        (found,) = retriever.invoke("tea", top_k=3)
        assert (found.id, found.page_content, found.metadata["path"]) == ("n1", "Prefers green tea.", "memory/tea.md")
        assert done(client, lambda _: retriever.ainvoke("tea")) == [found]

    def test_llamaindex(self, server: Server) -> None:
        client = server()
        retriever = LlamaIndexRetriever(client, top_k=1, preset="memini")
        (found,) = retriever.retrieve("green")
        assert (found.node_id, found.metadata["title"]) == ("n1", "Tea")
        assert [each.node_id for each in done(client, lambda _: retriever.aretrieve("green"))] == ["n1"]
