"""MCP over standard input and output: a real process and the SDK's client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

import recollect
from recollect.memory import Memory
from recollect.server.auth import Caller, Grant
from recollect.server.mcp.server import serve_stdio
from tests.server.mcp.conftest import MODES

COMMAND = [sys.executable, "-m", "recollect", "mcp", "--db", "memory.db", "--embedder", "none"]
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path), "RECOLLECT_DEBUG": "1"}

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server in a temporary folder; it is killed after the test."""
    with subprocess.Popen(
        COMMAND,
        cwd=tmp_path,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def initialize(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    process.stdin.flush()
    response: dict[str, Any] = json.loads(process.stdout.readline())
    return response


@pytest.mark.parametrize("mode", MODES)
def test_client_session_over_stdio(tmp_path: Path, mode: str) -> None:
    async def run_session() -> None:
        server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=ENVIRONMENT, cwd=tmp_path)
        async with Client(server, mode=mode) as client:
            assert client.server_info
            assert (client.server_info.name, client.server_info.version) == ("recollect", recollect.__version__)
            assert client.instructions
            stored = await client.call_tool("remember", {"content": "Prefers sencha.", "path": "tea.md"})
            assert not stored.is_error
            results = await client.call_tool("recall", {"query": "which sencha?"})
            assert [hit["path"] for hit in results.structured_content["hits"]] == ["tea.md"]
            (content,) = (await client.read_resource("note://default/tea.md")).contents
            assert content.text == "Prefers sencha."  # type: ignore[union-attr]
            assert (await client.get_prompt("use_memory")).messages
            wrong = await client.call_tool("recall", {})
            assert (wrong.is_error, wrong.content[0].text) == (True, "query: Field required")  # type: ignore[union-attr]

    asyncio.run(run_session())
    with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
        assert memory.has("tea.md")


def test_read_only_client_of_one_namespace(tmp_path: Path) -> None:
    async def run_session() -> None:
        more = ["--namespace", "tea", "--read-only"]
        server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *more], env=ENVIRONMENT, cwd=tmp_path)
        async with Client(server) as client:
            assert "remember" not in {tool.name for tool in (await client.list_tools()).tools}
            assert (await client.call_tool("stats", {})).structured_content["namespace"] == "tea"
            rejected = await client.call_tool("stats", {"namespace": "work"})
            line = "this client may not read in namespace 'work'; use a key that may"
            assert rejected.content[0].text == line  # type: ignore[union-attr]

    asyncio.run(run_session())


class TestShutdown:
    def test_stops_at_the_end_of_stdin(self, process: subprocess.Popen[bytes]) -> None:
        assert initialize(process)["result"]["serverInfo"]["name"] == "recollect"
        assert process.communicate(timeout=30) == (b"", b"")
        assert process.returncode == 0

    def test_stops_at_sigterm(self, process: subprocess.Popen[bytes]) -> None:
        initialize(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.communicate() == (b"", b"")

    def test_stops_at_ctrl_c(self, process: subprocess.Popen[bytes]) -> None:
        initialize(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.communicate() == (b"", b"error: interrupted\n")

    def test_stored_notes_survive(self, process: subprocess.Popen[bytes], tmp_path: Path) -> None:
        initialize(process)
        assert process.stdin
        assert process.stdout
        arguments = {"name": "remember", "arguments": {"content": "Prefers sencha.", "path": "tea.md"}}
        for message in (
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["isError"] is False
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        process.communicate()
        with recollect.open(tmp_path / "memory.db", embedder=None) as memory:
            assert memory.has("tea.md")


def test_invalid_json_line_is_skipped(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.write(b"hello?\n\xff\xfe\n")
    assert initialize(process)["id"] == 0
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"")
    assert b"Traceback" not in err


class TestInThisProcess:
    def test_lines_across_chunks(self, memory: Memory, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        reading, writing = os.pipe()
        text = json.dumps(HELLO).encode()
        os.write(writing, text[:20])

        def end() -> None:
            os.write(writing, text[20:])
            os.close(writing)

        Timer(0.05, end).start()
        serve_stdio(memory, descriptor=reading)
        os.close(reading)
        (line,) = capsysbinary.readouterr().out.splitlines()
        assert json.loads(line)["result"]["serverInfo"]["name"] == "recollect"

    def test_sigterm_handler_is_restored(self, memory: Memory) -> None:
        reading, writing = os.pipe()
        before = signal.getsignal(signal.SIGTERM)
        Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        serve_stdio(memory, Caller("tea", Grant.of(["tea"], "read")), descriptor=reading)
        assert signal.getsignal(signal.SIGTERM) is before
        os.write(writing, b"{}\n")  # a line after the end is ignored
        os.close(writing)

    def test_read_error_ends_the_session(self, memory: Memory, tmp_path: Path) -> None:
        folder = os.open(tmp_path, os.O_RDONLY)
        serve_stdio(memory, descriptor=folder)
        os.close(folder)
