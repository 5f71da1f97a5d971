"""MCP over HTTP: a real server, the SDK's client, and malformed requests."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

import recollect
from recollect.errors import NoteNotFoundError, StoreBusyError, StoreError
from recollect.server.http import Settings, create_app
from recollect.server.mcp import mcp_extension
from tests.server.http.running import process
from tests.server.http.running import running as serve
from tests.server.mcp.conftest import MODES, Keys, connected, running

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("mode", MODES)
def test_client_session_over_http(served: str, keys: Keys, mode: str) -> None:
    async def run_session() -> None:
        async with connected(served, keys.tea, mode) as client:
            stored = await client.call_tool("remember", {"content": "Sencha is brewed cool.", "path": "tea/sencha.md"})
            assert stored.structured_content["namespace"] == "tea"
            results = await client.call_tool("recall", {"query": "sencha"})
            assert [hit["path"] for hit in results.structured_content["hits"]] == ["tea/sencha.md"]
            assert (await client.list_tools()).tools
            (content,) = (await client.read_resource("note://tea/tea/sencha.md")).contents
            assert content.text == "Sencha is brewed cool."  # type: ignore[union-attr]
            assert (await client.get_prompt("use_memory")).messages

    asyncio.run(run_session())


def test_server_without_keys(memory: recollect.Memory) -> None:
    async def run_session(url: str) -> None:
        async with connected(url) as client:
            results = await client.call_tool("recall", {"query": "marzipan", "namespace": "safe"})
            assert [hit["id"] for hit in results.structured_content["hits"]] == ["s1"]

    mcp = mcp_extension(memory)
    for _ in range(2):  # it can be started again
        with serve(memory, extensions=[mcp]) as server:
            asyncio.run(run_session(f"{server.url}/mcp"))


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer rk_000000000000_nothing", "Basic cms6cms=", "Bearer \xff"])
def test_requests_without_a_key_are_rejected(served: str, header: str) -> None:
    arguments = {**HEADERS, **({"Authorization": header} if header else {})}
    sent = [(name.encode(), value.encode("latin-1")) for name, value in arguments.items()]
    response = httpx.post(served, json=LIST, headers=sent)
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "urn:recollect:unauthorised"


def test_revoked_key_is_rejected_at_once(served: str, keys: Keys) -> None:
    headers = {**HEADERS, "Authorization": f"bearer {keys.tea}"}
    assert httpx.post(served, json=LIST, headers=headers).status_code == 200
    keys.ring.revoke(keys.tea.split("_")[1])
    assert httpx.post(served, json=LIST, headers=headers).status_code == 401


def test_only_post_is_supported(served: str, keys: Keys) -> None:
    for method in ("GET", "DELETE", "PUT"):
        response = httpx.request(method, served, headers={**HEADERS, "Authorization": f"Bearer {keys.tea}"})
        assert (response.status_code, response.headers["allow"]) == (405, "POST")


def test_large_body_is_rejected(memory: recollect.Memory) -> None:
    with running(memory, max_body_bytes=100) as url:
        response = httpx.post(url, json={**LIST, "params": {"cursor": "x" * 100}}, headers=HEADERS)
    assert response.status_code == 413


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
def test_cross_origin_requests_are_rejected(memory: recollect.Memory, protocol: str) -> None:
    headers = {**HEADERS, "MCP-Protocol-Version": protocol}
    with running(memory) as url:
        assert httpx.post(url, json=LIST, headers={**headers, "Host": "evil.example"}).status_code == 421
        foreign = {**headers, "Origin": "https://evil.example"}
        assert httpx.post(url, json=LIST, headers=foreign).status_code == 403
        as_text = {**headers, "Content-Type": "text/plain"}
        assert httpx.post(url, content=json.dumps(LIST), headers=as_text).status_code in (400, 415)


def test_slow_call_times_out(memory: recollect.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Event()
    monkeypatch.setattr(memory, "count", lambda **_: done.wait(30))

    async def run_session(url: str) -> None:
        async with connected(url) as client:
            response = await client.call_tool("stats", {})
            done.set()
            assert response.is_error
            assert response.content[0].text == "it took longer than 0.2 seconds"  # type: ignore[union-attr]

    with serve(
        memory, settings := Settings(timeout=0.2), extensions=[mcp_extension(memory, settings)], warm=False
    ) as run:
        asyncio.run(run_session(f"{run.url}/mcp"))


@pytest.mark.parametrize(
    ("error", "message", "logged"),
    [
        (StoreError("/home/ines/memory.db is odd"), "The server failed", True),
        (StoreBusyError("/home/ines/memory.db is busy"), "The memory is busy", False),
        (NoteNotFoundError("there is no note 'x'"), "there is no note 'x'", False),
    ],
)
def test_internal_errors_are_logged_only(
    memory: recollect.Memory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    message: str,
    logged: bool,
) -> None:
    def fails(**_: Any) -> int:
        raise error

    async def run_session(url: str) -> None:
        async with connected(url) as client:
            response = await client.call_tool("stats", {})
            assert (response.is_error, response.content[0].text) == (True, message)  # type: ignore[union-attr]

    with running(memory) as url:
        monkeypatch.setattr(memory, "count", fails)
        asyncio.run(run_session(url))
    assert ("a call failed" in caplog.text) is logged


def test_mcp_with_and_without_the_api(memory: recollect.Memory) -> None:
    app = create_app(memory, extensions=[mcp_extension(memory)], api=False)
    paths = {getattr(route, "path", "") for route in app.routes}
    assert {path for path in paths if not path.startswith("/mcp")} == {"/openapi.json"}
    with running(memory) as url:
        assert httpx.get(url.replace("/mcp", "/v1/notes/t1?namespace=tea")).json()["id"] == "t1"
        assert "/mcp" not in httpx.get(url.replace("/mcp", "/openapi.json")).json()["paths"]


def test_recollect_serve_includes_mcp(tmp_path: Path, keys: Keys) -> None:
    async def run_session(url: str) -> None:
        async with connected(url, keys.tea) as client:
            stored = await client.call_tool("remember", {"content": "Sencha is brewed cool.", "path": "sencha.md"})
            assert stored.structured_content["namespace"] == "tea"

    with process(tmp_path, "--db", "served.db", "--keys", str(keys.ring.path)) as server:
        asyncio.run(run_session(f"{server.url}/mcp"))
        existing = {"Authorization": f"Bearer {keys.reader}"}
        note = httpx.get(f"{server.url}/v1/notes/sencha.md", headers=existing).json()
    assert note["content"] == "Sencha is brewed cool."
