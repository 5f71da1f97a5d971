"""The protocol over HTTP: a real server, the SDK's own client, and requests that no client would send."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

import recollect
from recollect.server.mcp.over_http import McpApp
from recollect.server.mcp.standing_alone import refuse_strangers, standing_alone
from tests.server.mcp.conftest import MODES, Keys, connected, running

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("mode", MODES)
def test_a_client_remembers_and_recalls(served: str, keys: Keys, mode: str) -> None:
    async def talk() -> None:
        async with connected(served, keys.tea, mode) as client:
            stored = await client.call_tool("remember", {"content": "Sencha is brewed cool.", "path": "tea/sencha.md"})
            assert stored.structured_content["namespace"] == "tea"
            found = await client.call_tool("recall", {"query": "sencha"})
            assert [hit["path"] for hit in found.structured_content["hits"]] == ["tea/sencha.md"]
            assert (await client.list_tools()).tools
            (content,) = (await client.read_resource("note://tea/tea/sencha.md")).contents
            assert content.text == "Sencha is brewed cool."  # type: ignore[union-attr]
            assert (await client.get_prompt("use_memory")).messages

    asyncio.run(talk())


def test_without_keys_this_machine_may_do_everything(memory: recollect.Memory) -> None:
    async def talk(url: str) -> None:
        async with connected(url) as client:
            found = await client.call_tool("recall", {"query": "marzipan", "namespace": "safe"})
            assert [hit["id"] for hit in found.structured_content["hits"]] == ["s1"]

    app = McpApp(memory)
    for _ in range(2):  # an app can be started again
        with running(standing_alone(app)) as root:
            asyncio.run(talk(f"{root}/mcp"))


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer rk_000000000000_nothing", "Basic cms6cms=", "Bearer \xff"])
def test_who_presents_no_key_learns_nothing(served: str, header: str) -> None:
    given = {**HEADERS, **({"Authorization": header} if header else {})}
    sent = [(name.encode(), value.encode("latin-1")) for name, value in given.items()]
    answer = httpx.post(served, json=LIST, headers=sent)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "a key is needed: Authorization: Bearer rk_..."


def test_a_revoked_key_is_refused_from_the_next_request_on(served: str, keys: Keys) -> None:
    headers = {**HEADERS, "Authorization": f"bearer {keys.tea}"}
    assert httpx.post(served, json=LIST, headers=headers).status_code == 200
    keys.ring.revoke(keys.tea.split("_")[1])
    assert httpx.post(served, json=LIST, headers=headers).status_code == 401


def test_only_post_is_taken(served: str, keys: Keys) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = httpx.request(method, served, headers={**HEADERS, "Authorization": f"Bearer {keys.tea}"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_body_that_is_too_large_is_refused(memory: recollect.Memory) -> None:
    with running(standing_alone(McpApp(memory, largest_body=100))) as root:
        answer = httpx.post(f"{root}/mcp", json={**LIST, "params": {"cursor": "x" * 100}}, headers=HEADERS)
    assert answer.status_code == 413


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
def test_without_keys_no_web_page_reaches_it(memory: recollect.Memory, protocol: str) -> None:
    headers = {**HEADERS, "MCP-Protocol-Version": protocol}
    with running(standing_alone(McpApp(memory))) as root:
        assert httpx.post(f"{root}/mcp", json=LIST, headers={**headers, "Host": "evil.example"}).status_code == 421
        foreign = {**headers, "Origin": "https://evil.example"}
        assert httpx.post(f"{root}/mcp", json=LIST, headers=foreign).status_code == 403
        as_text = {**headers, "Content-Type": "text/plain"}
        assert httpx.post(f"{root}/mcp", content=json.dumps(LIST), headers=as_text).status_code in (400, 415)


def test_before_it_runs_it_asks_to_wait(memory: recollect.Memory) -> None:
    sent: list[Any] = []

    async def ask() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        await McpApp(memory)({"type": "http", "method": "POST", "headers": []}, None, send)  # type: ignore[arg-type]

    asyncio.run(ask())
    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]


def test_without_keys_only_this_machine_is_served() -> None:
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        refuse_strangers(host, has_keys=False)
    refuse_strangers("0.0.0.0", has_keys=True)  # noqa: S104 (that is the question)
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):  # noqa: S104
        with pytest.raises(recollect.ArgumentError, match=f"--host: others could reach {host} and do everything there"):
            refuse_strangers(host, has_keys=False)
