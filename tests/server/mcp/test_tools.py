"""Every tool, called by the SDK's client, which validates responses against their schemas."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

import recollect
from recollect.errors import StoreBusyError
from recollect.memory import Memory
from recollect.retrieval import presets
from recollect.server.auth import Caller, Grant, Right
from recollect.server.mcp.note_tools import LISTED_TEXT_LENGTH
from recollect.server.mcp.search_tools import MAX_METADATA_LENGTH, MAX_TEXT_LENGTH
from recollect.server.mcp.server import TOOLS, memory_server

STRICT = replace(presets()["default"], name="strict", min_confidence=1.0)
TEA = Caller("tea", Grant.of(["tea"], "write"))


def call_tool(memory: Memory, name: str, caller: Caller = TEA, **arguments: Any) -> CallToolResult:
    async def run_session() -> CallToolResult:
        async with Client(memory_server(memory, caller)) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(run_session())


def response(memory: Memory, name: str, **arguments: Any) -> dict[str, Any]:
    result = call_tool(memory, name, **arguments)
    assert not result.is_error, result.content
    data: dict[str, Any] = result.structured_content
    (block,) = result.content  # for clients that read text alone
    assert json.loads(block.text) == data  # type: ignore[union-attr]
    return data


def error(memory: Memory, name: str, **arguments: Any) -> str:
    result = call_tool(memory, name, **arguments)
    assert result.is_error
    assert result.structured_content is None
    line: str = result.content[0].text  # type: ignore[union-attr]
    assert "\n" not in line
    assert "Traceback" not in line
    return line


class TestRecall:
    def test_recall_returns_compact_hits(self, memory: Memory) -> None:
        memory.update("t1", created_at="2026-04-18", namespace="tea")
        data = response(memory, "recall", query="green tea", top_k=1)
        (hit,) = memory.search("green tea", top_k=1, namespace="tea")
        assert hit.confidence
        assert data == {
            "answer": "1 note, the best first.",
            "has_answer": True,
            "answer_threshold": 0.25,
            "hits": [
                {
                    "id": "t1",
                    "path": "tea/green.md",
                    "title": "Green",
                    "text": "Prefers green tea.",
                    "score": round(hit.score, 4),
                    "confidence": round(hit.confidence, 3),
                    "created_at": "2026-04-18T00:00:00Z",
                    "tags": ["own"],
                }
            ],
            "namespace": "tea",
        }

    def test_recall_returns_excluded_terms(self, memory: Memory) -> None:
        data = response(memory, "recall", query='tea NOT green NOT "black cat"')
        assert data["excluded"] == ["green", '"black cat"']
        assert "t1" not in [hit["id"] for hit in data["hits"]]

    def test_recall_not_inside_a_question_excludes_nothing(self, memory: Memory) -> None:
        data = response(memory, "recall", query="why do we NOT prefer green tea?")
        assert "excluded" not in data
        assert data["warnings"][0].startswith("NOT was read as a word")
        assert data["hits"][0]["id"] == "t1"

    def test_recall_returns_tags_and_short_metadata(self, memory: Memory) -> None:
        def results(metadata: dict[str, Any]) -> dict[str, Any]:
            memory.update("t1", tags=["drinks", "green"], metadata=metadata, namespace="tea")
            (hit,) = response(memory, "recall", query="green tea", top_k=1)["hits"]
            assert hit["tags"] == ["drinks", "green"]
            return dict(hit)

        assert results({"author": "Ines", "pages": [1, 2]})["metadata"] == {"author": "Ines", "pages": [1, 2]}
        assert "metadata" not in results({})
        exact = MAX_METADATA_LENGTH - len('{"a": ""}')
        assert "metadata" in results({"a": "x" * exact})
        assert "metadata" not in results({"a": "x" * (exact + 1)})

    def test_recall_without_hits(self, memory: Memory) -> None:
        data = response(memory, "recall", query="zebra")
        assert data["answer"].startswith("The memory has no answer: nothing was found.")
        assert (data["has_answer"], data["hits"]) == (False, [])

    def test_recall_mentions_exclusion_and_min_confidence(self, memory: Memory) -> None:
        data = response(memory, "recall", query="guests NOT black")
        assert (data["hits"], data["excluded"]) == ([], ["black"])
        assert data["answer"].endswith(" Notes with black were excluded by NOT.")
        with recollect.open(memory.stats().store.location, embedder=None, preset=STRICT) as strict:
            data = response(strict, "recall", query="green tea")
        assert re.match(r"The memory has no answer: \d candidates? found, all below min_confidence\.", data["answer"])

    def test_recall_omits_hits_far_below_the_answer(self, memory: Memory) -> None:
        memory.add("The glass chapel in Soglio opens at nine.", id="g1", title="Glass chapel", namespace="tea")
        for index in range(3):
            memory.add(f"Wine number {index} was served in a tall glass.", id=f"w{index}", namespace="tea")
        query = "when does the glass chapel in Soglio open"
        data = response(memory, "recall", query=query)
        assert data["answer"] == "1 note, the best first. 3 weak candidates not shown; include_weak returns them."
        assert ([hit["id"] for hit in data["hits"]], data["weak_hidden"]) == (["g1"], 3)
        every = response(memory, "recall", query=query, include_weak=True)
        assert every["answer"] == "4 notes, the best first."
        assert [hit.get("weak") for hit in every["hits"]] == [None, True, True, True]
        assert "weak_hidden" not in every

    @pytest.mark.parametrize("tool", ["recall", "explain"])
    def test_recall_returns_weak_candidates_on_demand(self, memory: Memory, tool: str) -> None:
        query = "guests OR " + " OR ".join(f"zebra{index}" for index in range(12))
        memory.add("Guests in May.", id="t3", namespace="tea")  # two equally good notes: neither stands out
        data = response(memory, tool, query=query)
        results, _ = memory.search(query, namespace="tea")
        assert results.confidence
        why = (
            f"The memory has no answer: the best confidence is {results.confidence:.3g}, below the answer threshold of"
        )
        assert data["answer"].startswith(why)
        assert "include_weak returns the weak candidates" in data["answer"]
        assert (data["has_answer"], data["hits"]) == (False, [])
        weak = response(memory, tool, query=query, include_weak=True)
        assert (weak["has_answer"], sorted((hit["id"], hit["weak"]) for hit in weak["hits"])) == (
            False,
            [("t2", True), ("t3", True)],
        )
        assert weak["answer"].endswith("The hits are weak candidates: do not present them as the answer.")

    def test_recall_truncates_long_notes(self, memory: Memory) -> None:
        memory.add("Rain. " * 1000 + "The kettle squeaks. " + "Sun. " * 1000, path="long.md", namespace="tea")
        (hit,) = response(memory, "recall", query="kettle")["hits"]
        assert hit["truncated"] is True
        assert "The kettle squeaks." in hit["text"]
        assert len(hit["text"]) <= MAX_TEXT_LENGTH + 2

    def test_recall_filters(self, memory: Memory) -> None:
        assert [hit["id"] for hit in response(memory, "recall", query="tea", tags="own")["hits"]] == ["t1"]
        assert [hit["id"] for hit in response(memory, "recall", query="tea", tags='["own"]')["hits"]] == ["t1"]
        assert [hit["id"] for hit in response(memory, "recall", query="tea", path_prefix="tea/b")["hits"]] == ["t2"]
        assert response(memory, "recall", query="tea", session="s")["hits"] == []
        assert response(memory, "recall", query="tea", created_before="2020-01-01")["hits"] == []
        assert len(response(memory, "recall", query="tea", created_after="2020-01-01")["hits"]) == 2

    def test_recall_marks_superseded_notes(self, memory: Memory) -> None:
        new = response(memory, "remember", content="Green tea is over: it is black now.", supersedes="t1")
        hits = {hit["id"]: hit for hit in response(memory, "recall", query="green tea")["hits"]}
        assert hits["t1"]["superseded_by"] == [new["id"]]
        assert hits["t1"]["text"] == f"[Out of date: superseded by {new['id']}]\nPrefers green tea."
        assert "superseded_by" not in hits[new["id"]]

    def test_remember_rejects_secrets_with_a_hint(self, memory: Memory) -> None:
        key = "AKIA" + "Z7QW2MNB4KXC3TRE"
        line = error(memory.with_secrets("refuse"), "remember", content=f"The key is {key}.")
        assert line.startswith("content: contains a secret (")
        assert line.endswith("can redact secrets with --secrets redact, or allow them with --secrets none")
        assert key not in line
        assert response(memory, "remember", content=f"The key is {key}.")["id"]

    def test_remember_with_expiry(self, memory: Memory) -> None:
        new = response(memory, "remember", content="The kettle is at the mender's.", expires_at="2999-01-01")
        assert new["expires_at"] == "2999-01-01T00:00:00Z"
        assert "expires_at" not in response(memory, "update", key=new["id"], expires_at="never")
        line = error(memory, "update", key=new["id"], expires_at="2001-01-01")
        assert line.startswith("expires_at: must lie in the future")

    def test_recall_warnings(self, tmp_path: Any) -> None:
        def once(texts: Any) -> Any:
            if "tea" in texts:
                raise RuntimeError("no power")
            return [[1.0, 0.0] for _ in texts]

        embedder = recollect.embedders.FunctionEmbedder(once, name="tired")
        with recollect.open(tmp_path / "tired.db", embedder=embedder) as memory:
            memory.add("Prefers green tea.", namespace="tea")
            assert "no power" in response(memory, "recall", query="tea")["warnings"][0]

    def test_explain_returns_an_explanation(self, memory: Memory) -> None:
        data = response(memory, "explain", query="green tea", top_k=1)
        assert "searched" in data["explanation"]
        assert [hit["id"] for hit in data["hits"]] == ["t1"]


class TestWriting:
    def test_remember_stores_all_fields(self, memory: Memory) -> None:
        fields = {
            "content": '{"not": "read as JSON"}',
            "path": "people/ines.md",
            "title": "null",
            "summary": "[1]",
            "importance": 0.9,
            "created_at": "2026-01-02T03:04:05Z",
            "session": "s",
            "position": 3,
        }
        data = response(memory, "remember", **fields, tags='["a", "b"]', metadata='{"age": 7}')
        note = memory.get("people/ines.md", namespace="tea")
        assert note is not None
        assert data == {
            "id": note.id,
            "path": "people/ines.md",
            "namespace": "tea",
            "created_at": "2026-01-02T03:04:05Z",
            "updated_at": note.to_dict()["updated_at"],
        }
        stored = note.to_dict()
        assert {name: stored[name] for name in fields} == fields
        assert (note.tags, note.metadata) == (("a", "b"), {"age": 7})

    def test_remember_rejects_a_note_without_text(self, memory: Memory) -> None:
        data = error(memory, "remember", content=" ")
        assert (
            "content: must not be blank or only punctuation in a note without title and summary; give the note" in data
        )

    def test_remember_rejects_an_existing_path(self, memory: Memory) -> None:
        line = error(memory, "remember", content="Another.", path="tea/green.md")
        assert line == "path: the note 'tea/green.md' exists; change it with update, or choose another path"
        line = error(memory, "remember", content="Another.", supersedes="nothing.md")
        assert line == "there is no note 'nothing.md' in namespace 'tea' to supersede"
        assert memory.count(namespace="tea") == 2

    def test_update_changes_given_fields(self, memory: Memory) -> None:
        data = response(memory, "update", key="tea/green.md", content="Prefers sencha.", tags=[])
        note = memory.get("t1", namespace="tea")
        assert note is not None
        assert (data["id"], note.content, note.title, note.tags) == ("t1", "Prefers sencha.", "Green", ())
        assert error(memory, "update", key="t1").startswith("key: nothing to change in 't1'")
        assert error(memory, "update", key="t9", title="x") == "there is no note 't9' in namespace 'tea'"

    def test_forget_returns_missing_keys(self, memory: Memory) -> None:
        assert response(memory, "forget", keys=["t1", "tea/black.md", "t9"]) == {"forgotten": 2, "missing": ["t9"]}
        assert response(memory, "forget", keys="t1") == {"forgotten": 0, "missing": ["t1"]}
        assert error(memory, "forget", keys=[]).startswith("keys: Value should have at least 1 item")

    def test_link_returns_whether_it_is_new(self, memory: Memory) -> None:
        assert response(memory, "link", source="t1", target="tea/black.md", kind="part_of") == {"created": True}
        assert response(memory, "link", source="t1", target="tea/black.md", kind="part_of") == {"created": False}
        assert [neighbour.note.id for neighbour in memory.neighbours("t1", namespace="tea")] == ["t2"]


class TestList:
    def test_list_is_paginated(self, memory: Memory) -> None:
        memory.add("x" * (LISTED_TEXT_LENGTH + 1), id="t3", namespace="tea")

        async def run_session() -> list[dict[str, Any]]:
            async with Client(memory_server(memory, TEA)) as client:
                first = (await client.call_tool("list", {"limit": 2})).structured_content
                arguments = {"limit": 2, "cursor": first["next_cursor"]}
                return [first, (await client.call_tool("list", arguments)).structured_content]

        first, second = asyncio.run(run_session())
        assert [note["id"] for note in first["notes"]] == ["t1", "t2"]
        assert {"tags": ["own"], "title": "Green", "path": "tea/green.md"}.items() <= first["notes"][0].items()
        (note,) = second["notes"]
        assert (note["id"], note["truncated"], len(note["text"])) == ("t3", True, LISTED_TEXT_LENGTH)
        assert "next_cursor" not in second

    @pytest.mark.parametrize("cursor", ["", "x", "-1", "²", "9" * 30])
    def test_list_rejects_a_forged_cursor(self, memory: Memory, cursor: str) -> None:
        line = error(memory, "list", cursor=cursor)
        assert line == "cursor: was not issued by this server for this namespace; start without a cursor"

    def test_list_filters(self, memory: Memory) -> None:
        assert [note["id"] for note in response(memory, "list", tags=["own"])["notes"]] == ["t1"]
        assert [note["id"] for note in response(memory, "list", path_prefix="tea/b")["notes"]] == ["t2"]
        assert response(memory, "list", session="s")["notes"] == []

    def test_list_returns_whole_notes_by_key(self, memory: Memory) -> None:
        memory.add("x" * 5000, id="t3", namespace="tea")
        data = response(memory, "list", keys=["t3", "t9"])
        assert [(note["id"], len(note["text"])) for note in data["notes"]] == [("t3", 5000)]
        assert data["missing"] == ["t9"]
        assert "missing" not in response(memory, "list", keys="t3")

    def test_stats_counts_the_namespace(self, memory: Memory) -> None:
        assert response(memory, "stats") == {
            "notes": 2,
            "namespace": "tea",
            "namespaces": ["tea"],
            "embedder": "no embedder: none requested",
        }

    def test_stats_names_the_embedder(self, tmp_path: Any) -> None:
        embedder = recollect.embedders.FunctionEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], name="flat")
        with recollect.open(tmp_path / "flat.db", embedder=embedder) as memory:
            assert response(memory, "stats")["embedder"].startswith("flat")


class TestErrors:
    def test_invalid_arguments_are_reported_in_one_line(self, memory: Memory) -> None:
        assert error(memory, "recall", query="") == "query: String should have at least 1 character"
        assert error(memory, "recall", query="x" * 4097) == "query: String should have at most 4096 characters"
        assert error(memory, "recall", query="tea", tags="own", colour="red") == "colour: there is no such argument"
        assert error(memory, "remember", content="x", metadata="none").startswith("metadata: Input should be a valid")
        assert error(memory, "remember", content="x", metadata="[]").startswith("metadata: Input should be a valid")
        line = error(memory, "recall", query="tea", created_after="soon")
        assert line.startswith("filters.created_after: must be an ISO-8601 date or time, got 'soon'")

    def test_unknown_tool(self, memory: Memory) -> None:
        async def run_session() -> None:
            async with Client(memory_server(memory)) as client:
                with pytest.raises(MCPError, match=r"there is no tool 'dream'; use recall, remember, update"):
                    await client.call_tool("dream")

        asyncio.run(run_session())

    def test_store_errors_are_one_line(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        def busy(*_: Any, **__: Any) -> Any:
            raise StoreBusyError("others keep it\nbusy")

        monkeypatch.setattr(memory, "search", busy)
        assert error(memory, "recall", query="tea") == "others keep it busy"

    def test_unexpected_error_is_logged_not_returned(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fault(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("secret detail")

        monkeypatch.setattr(memory, "search", fault)
        assert error(memory, "recall", query="tea") == "Recollect failed; see the server's log"
        assert "secret detail" in caplog.text


class TestDescriptions:
    def tools(self, memory: Memory) -> dict[str, Any]:
        async def run_session() -> dict[str, Any]:
            async with Client(memory_server(memory)) as client:
                return {tool.name: tool for tool in (await client.list_tools()).tools}

        return asyncio.run(run_session())

    def test_tool_names(self, memory: Memory) -> None:
        named = {"remember", "recall", "explain", "forget", "update", "link", "list", "stats"}
        assert set(self.tools(memory)) == set(TOOLS) == named

    def test_tools_have_titles_descriptions_and_schemas(self, memory: Memory) -> None:
        for tool in self.tools(memory).values():
            assert tool.title
            assert 40 < len(tool.description) < 420
            assert tool.input_schema["additionalProperties"] is False
            assert tool.output_schema["type"] == "object"
            assert None not in tool.annotations.model_dump().values()
            for schema in (tool.input_schema, tool.output_schema):
                assert "$defs" in schema or schema["properties"] is not None
            for name, data in tool.input_schema["properties"].items():
                assert data.get("description"), f"{tool.name}.{name} is not described"

    def test_tool_annotations(self, memory: Memory) -> None:
        hints = {name: tool.annotations for name, tool in self.tools(memory).items()}
        assert {name for name, hint in hints.items() if hint.read_only_hint} == {"recall", "explain", "list", "stats"}
        assert {name for name, hint in hints.items() if hint.destructive_hint} == {"update", "forget"}
        assert {name for name, hint in hints.items() if not hint.idempotent_hint} == {"remember"}
        assert not any(hint.open_world_hint for hint in hints.values())

    def test_read_caller_sees_read_only_tools(self, memory: Memory) -> None:
        async def run_session() -> set[str]:
            async with Client(memory_server(memory, Caller("reader", Grant(None, Right.READ)))) as client:
                return {tool.name for tool in (await client.list_tools()).tools}

        assert asyncio.run(run_session()) == {"recall", "explain", "list", "stats"}
