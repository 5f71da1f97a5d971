"""Notes as resources."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from recollect.errors import NoteNotFoundError, StoreBusyError
from recollect.memory import Memory
from recollect.server.auth import EVERYONE, Caller, Cursors, Grant
from recollect.server.mcp.server import PAGE_SIZE, list_note_resources, memory_server, note_uri, read_note_resource
from tests.server.mcp.conftest import MODES

TEA = Caller("tea", Grant.of(["tea"], "read"))


def test_list_resources_is_paginated(memory: Memory) -> None:
    memory.add_many([f"Note {index}." for index in range(PAGE_SIZE)], namespace="tea")
    cursors = Cursors()
    first = list_note_resources(memory, TEA, cursors, None)
    assert len(first.resources) == PAGE_SIZE
    green, black = first.resources[:2]
    assert (green.uri, green.name, green.title) == ("note://tea/tea/green.md", "tea/green.md", "Green")
    assert (black.description, black.size, black.mime_type) == ("Guests.", 24, "text/markdown")
    second_page = list_note_resources(memory, TEA, cursors, first.next_cursor)
    assert len(second_page.resources) == 2
    assert second_page.next_cursor is None
    assert second_page.resources[1].uri == f"note://tea/{second_page.resources[1].name}"


def test_listed_resources_can_be_read(memory: Memory) -> None:
    memory.add("With a fragment.", path="a b/c%20d#e?f.md", namespace="tea")

    async def run_session() -> list[str]:
        async with Client(memory_server(memory, TEA)) as client:
            listing = (await client.list_resources()).resources
            read = [await client.read_resource(item.uri) for item in listing]
            return [item.contents[0].text for item in read]  # type: ignore[union-attr]

    assert asyncio.run(run_session()) == ["Prefers green tea.", "Black tea is for guests.", "With a fragment."]


@settings(max_examples=50)
@given(
    namespace=st.text("abÄ%/ #?", min_size=1).filter(str.strip),
    key=st.text("abÄ%/ #?.", min_size=1).filter(str.strip),
)
def test_note_uri_roundtrip(namespace: str, key: str) -> None:
    requested: list[tuple[str, str]] = []

    class Listening:
        def get(self, key: str, *, namespace: str) -> None:
            requested.append((namespace, key))

    with pytest.raises(NoteNotFoundError):
        read_note_resource(Listening(), EVERYONE, note_uri(namespace, key))  # type: ignore[arg-type]
    assert requested == [(namespace, key)]


@pytest.mark.parametrize("uri", ["note://tea", "file:///etc/passwd", "tea/t1", ""])
def test_invalid_note_uri(memory: Memory, uri: str) -> None:
    with pytest.raises(NoteNotFoundError, match="the URI of a note is note://namespace/key"):
        read_note_resource(memory, TEA, uri)


def test_resource_errors(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise StoreBusyError("others keep it busy")

    async def code_of(uri: str) -> tuple[int, str]:
        async with Client(memory_server(memory, TEA)) as client:
            with pytest.raises(MCPError) as raised:
                await client.read_resource(uri)
            return raised.value.error.code, raised.value.error.message

    assert asyncio.run(code_of("note://tea/t9")) == (-32602, "there is no note 't9' in namespace 'tea'")
    monkeypatch.setattr(memory, "get", busy)
    assert asyncio.run(code_of("note://tea/t1")) == (-32603, "others keep it busy")


@pytest.mark.parametrize("mode", MODES)
def test_unexpected_error_is_logged_only(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    def fault(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret detail")

    async def run_session() -> None:
        async with Client(memory_server(memory, TEA), mode=mode) as client:
            with pytest.raises(MCPError, match="^Recollect failed; see the server's log$"):
                await client.read_resource("note://tea/t1")

    monkeypatch.setattr(memory, "get", fault)
    asyncio.run(run_session())
    assert "secret detail" in caplog.text
