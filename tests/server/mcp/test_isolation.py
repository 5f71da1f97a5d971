"""A key of one namespace cannot read, guess or time anything of another.

Every tool, prompt and resource is tested; a new one fails here until it has an entry in a table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import recollect
from recollect.memory import Memory
from recollect.server.auth import EVERYONE, Caller, Grant, Right
from recollect.server.mcp.server import TOOLS, USE_MEMORY, memory_server
from tests.server.mcp.conftest import MODES, Keys, connected

SECRETS = ("marzipan", "s1", "safe/word.md")
"""A word, an id and a path of the other namespace."""

CALLS: dict[str, list[dict[str, Any]]] = {
    "recall": [{"query": "marzipan"}, {"query": "safe word"}, {"query": "tea", "path_prefix": "safe/"}],
    "explain": [{"query": "marzipan"}, {"query": "which tea?", "top_k": 50}],
    "remember": [
        {"content": "A guess.", "path": "safe/word.md"},
        {"content": "A guess.", "supersedes": "s1"},
        {"content": "A guess.", "supersedes": "safe/word.md"},
    ],
    "update": [{"key": "s1", "content": "A guess."}, {"key": "safe/word.md", "title": "A guess."}],
    "forget": [{"keys": ["s1", "safe/word.md"]}],
    "link": [{"source": "s1", "target": "t1"}, {"source": "t1", "target": "safe/word.md"}],
    "list": [{}, {"keys": ["s1", "safe/word.md"]}, {"path_prefix": "safe/"}, {"limit": 200}],
    "stats": [{}],
}
"""Attempts by tool; every call is made in the caller's namespace and in the other one."""

RESOURCES = {"note://{namespace}/{+key}": ["note://safe/s1", "note://safe/safe/word.md", "note://%73afe/s1"]}
"""Attempts by resource template."""

PROMPTED = {"use_memory": [{}, {"about": "marzipan"}]}


class TestTablesAreComplete:
    def test_every_tool_is_tested(self) -> None:
        assert set(CALLS) == set(TOOLS)

    def test_every_prompt_is_tested(self) -> None:
        assert set(PROMPTED) == {USE_MEMORY.name}

    def test_every_resource_is_tested(self, memory: Memory) -> None:
        async def templates() -> set[str]:
            async with Client(memory_server(memory)) as client:
                return {item.uri_template for item in (await client.list_resource_templates()).resource_templates}

        assert asyncio.run(templates()) == set(RESOURCES)

    def test_no_other_capabilities(self, memory: Memory) -> None:
        """Any other capability of the protocol would need its own table."""
        capabilities = memory_server(memory).get_capabilities()
        assert {name for name, stored in capabilities if stored} == {"tools", "resources", "prompts"}


@pytest.mark.parametrize("mode", MODES)
class TestOverHttp:
    def test_tools_return_nothing_of_other_namespaces(self, served: str, keys: Keys, mode: str) -> None:
        async def data() -> list[str]:
            async with connected(served, keys.tea, mode) as client:
                return [
                    without(arguments, (await client.call_tool(name, arguments)).model_dump_json())
                    for name, tried in CALLS.items()
                    for arguments in tried
                ]

        for text in asyncio.run(data()):
            assert not any(secret in text.lower() for secret in SECRETS), text

    def test_forbidden_namespace_looks_like_a_missing_one(self, served: str, keys: Keys, mode: str) -> None:
        """The response is identical except for the requested name, and the store is not read."""

        async def data(namespace: str) -> list[str]:
            async with connected(served, keys.tea, mode) as client:
                responses = [
                    await client.call_tool(name, {**arguments, "namespace": namespace})
                    for name, tried in CALLS.items()
                    for arguments in tried
                ]
                assert all(response.is_error and response.structured_content is None for response in responses)
                return [response.content[0].text.replace(namespace, "NAME") for response in responses]  # type: ignore[union-attr]

        existing, missing = asyncio.run(data("safe")), asyncio.run(data("void"))
        assert existing == missing
        assert {line.partition(" namespace ")[2] for line in existing} == {"'NAME'; use a key that may"}

    def test_resources_of_other_namespaces_are_forbidden(self, served: str, keys: Keys, mode: str) -> None:
        async def error_of(client: Client, uri: str) -> tuple[int, str]:
            with pytest.raises(MCPError) as raised:
                await client.read_resource(uri)
            return raised.value.error.code, raised.value.error.message

        async def run_session() -> None:
            async with connected(served, keys.tea, mode) as client:
                for uri in [uri for tried in RESOURCES.values() for uri in tried]:
                    expected = (-32602, "tea may not read in namespace 'safe'; use a key that may")
                    assert await error_of(client, uri) == await error_of(client, f"{uri}-not-there") == expected
                listing = (await client.list_resources()).resources
                assert {resource.uri for resource in listing} == {"note://tea/tea/green.md", "note://tea/tea/black.md"}

        asyncio.run(run_session())

    def test_prompts_return_nothing_of_other_namespaces(self, served: str, keys: Keys, mode: str) -> None:
        async def run_session() -> None:
            async with connected(served, keys.tea, mode) as client:
                for name, tried in PROMPTED.items():
                    for arguments in tried:
                        data = (await client.get_prompt(name, arguments)).model_dump_json()
                        assert not any(secret in without(arguments, data) for secret in SECRETS)

        asyncio.run(run_session())

    def test_other_namespaces_are_not_changed(self, served: str, keys: Keys, memory: Memory, mode: str) -> None:
        before = list(memory.export(namespace="safe"))

        async def run_session() -> None:
            async with connected(served, keys.tea, mode) as client:
                for name, tried in CALLS.items():
                    for arguments in tried:
                        await client.call_tool(name, arguments)
                        await client.call_tool(name, {**arguments, "namespace": "safe"})

        asyncio.run(run_session())
        assert list(memory.export(namespace="safe")) == before

    def test_read_caller_cannot_write(self, served: str, keys: Keys, memory: Memory, mode: str) -> None:
        before = list(memory.export())
        writing = {name for name, tool in TOOLS.items() if tool.right > Right.READ}

        async def run_session() -> None:
            async with connected(served, keys.reader, mode) as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == set(TOOLS) - writing
                for name in writing:
                    for arguments in CALLS[name]:
                        response = await client.call_tool(name, arguments)
                        assert response.is_error
                        line = "reader may not write to namespace 'tea'; use a key that may"
                        assert response.content[0].text == line  # type: ignore[union-attr]

        asyncio.run(run_session())
        assert list(memory.export()) == before


class UncallableMemory:
    """A memory that must not be called."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the memory was called: {name}")


@pytest.mark.parametrize("name", TOOLS)
def test_forbidden_calls_do_not_reach_the_memory(name: str) -> None:
    """A forbidden call is refused before the store is called, so its time tells nothing."""
    caller = Caller("tea", Grant.of(["tea"], "admin"))

    async def run_session() -> None:
        async with Client(memory_server(UncallableMemory(), caller)) as client:  # type: ignore[arg-type]
            for arguments in CALLS[name]:
                response = await client.call_tool(name, {**arguments, "namespace": "safe"})
                assert "may not" in response.content[0].text  # type: ignore[union-attr]
            for uri in [uri for tried in RESOURCES.values() for uri in tried]:
                with pytest.raises(MCPError, match="may not read in namespace"):
                    await client.read_resource(uri)

    asyncio.run(run_session())


def test_caller_of_several_namespaces_must_name_one(memory: Memory) -> None:
    caller = Caller("both", Grant.of(["tea", "safe"], "read"))

    async def run_session() -> None:
        async with Client(memory_server(memory, caller)) as client:
            assert (await client.call_tool("stats", {})).is_error
            counted = (await client.call_tool("stats", {"namespace": "safe"})).structured_content
            assert counted == {
                "notes": 1,
                "namespace": "safe",
                "namespaces": ["safe", "tea"],
                "embedder": "no embedder: none requested",
            }
            with pytest.raises(MCPError, match="both may not read in namespace 'default'"):
                await client.list_resources()

    asyncio.run(run_session())


@pytest.mark.parametrize(
    "send",
    [
        lambda client: client.list_tools(),
        lambda client: client.call_tool("stats", {}),
        lambda client: client.list_resources(),
        lambda client: client.list_resource_templates(),
        lambda client: client.read_resource("note://tea/t1"),
        lambda client: client.list_prompts(),
        lambda client: client.get_prompt("use_memory"),
    ],
)
def test_request_without_caller_is_rejected(memory: Memory, send: Callable[[Client], Any]) -> None:
    async def run_session() -> None:
        async with Client(memory_server(memory, None)) as client:
            with pytest.raises(MCPError, match="the caller is unknown"):
                await send(client)

    asyncio.run(run_session())


def test_everyone_may_use_every_namespace(memory: recollect.Memory) -> None:
    async def run_session() -> None:
        async with Client(memory_server(memory, EVERYONE)) as client:
            results = await client.call_tool("recall", {"query": "marzipan", "namespace": "safe"})
            assert [hit["id"] for hit in results.structured_content["hits"]] == ["s1"]

    asyncio.run(run_session())


def without(arguments: dict[str, Any], data: str) -> str:
    """Return the response without the values of the request."""
    for value in arguments.values():
        for item in value if isinstance(value, list) else [value]:
            for word in [str(item), *str(item).split()]:
                data = data.replace(word, "")
    return data
