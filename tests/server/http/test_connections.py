"""Who connects and asks for nothing, or for nothing that can be understood, costs nobody else anything."""

from __future__ import annotations

import json
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from recollect import ArgumentError, Memory
from recollect.server.http.settings import Settings
from tests.server.http.running import Running, process, running, until

HASTY = Settings(seconds=0.3, body_bytes=1000)
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def hasty(memory: Memory) -> Iterator[Running]:
    with running(memory, HASTY) as server:
        yield server


def connected(url: str) -> socket.socket:
    where = httpx.URL(url)
    return socket.create_connection((where.host, where.port or 80), timeout=20)


def rest(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    got = b""
    try:
        while more := connection.recv(4000):
            got += more
    except ConnectionResetError:
        pass
    return got


def refused(got: bytes, status: int, kind: str) -> str:
    """Return what the one answer says, once it is a problem of this kind."""
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    told: dict[str, Any] = json.loads(body)
    assert first.startswith(f"HTTP/1.1 {status} ")
    assert (headers["content-type"], headers["connection"]) == ("application/problem+json", "close")
    assert (told["type"], told["status"]) == (f"urn:recollect:{kind}", status)
    assert told["request_id"] == headers["x-request-id"]
    return str(told["detail"])


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_end_is_not_waited_for(hasty: Running, sent: bytes) -> None:
    with connected(hasty.url) as connection:
        connection.sendall(sent)
        detail = refused(rest(connection), 408, "too-slow")
    assert detail == "the headers took longer than 0.3 seconds to arrive"


def test_nor_is_that_of_a_second_request(hasty: Running) -> None:
    with connected(hasty.url) as connection:
        for _ in range(2):
            connection.sendall(HEALTH)
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):
                answer += connection.recv(4000)
        connection.sendall(b"GET")
        refused(rest(connection), 408, "too-slow")


def test_more_bytes_of_a_head_put_nothing_off(hasty: Running) -> None:
    got = b""
    with connected(hasty.url) as connection:
        connection.settimeout(0.05)
        connection.sendall(b"GET /health HTTP/1.1\r\nX-Long: ")
        while not got:
            connection.sendall(b"x")
            try:
                got = connection.recv(4000)
            except TimeoutError:
                continue
    assert b" 408 " in got


def test_a_body_that_nobody_wants_is_not_waited_for_either(hasty: Running) -> None:
    with connected(hasty.url) as connection:
        connection.sendall(b"POST /v1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(4000)
        assert b" 413 " in answer
        connection.sendall(b"x")
        assert rest(connection) == b""


def test_too_many_connections_are_refused_at_once(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    with running(memory, Settings(connections=2), warm=False) as server, ExitStack() as stack:
        first, _ = (stack.enter_context(connected(server.url)) for _ in range(2))
        with connected(server.url) as third:
            assert refused(rest(third), 503, "overloaded") == "too many connections are open"
        first.close()
        until(lambda: healthy(server.url))
    assert "more than 2 connections; new ones are refused" in caplog.messages


def healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:  # refused before it was read
        return False


def test_a_flood_of_half_open_connections_leaves_files_for_the_memory(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            server = stack.enter_context(process(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        flood = [stack.enter_context(closing(connected(server.url))) for _ in range(300)]
        refused(rest(flood[-1]), 503, "overloaded")  # they are taken up in turn: so were all before it
        for connection in flood[:10]:
            connection.close()
        until(lambda: healthy(server.url))
        assert httpx.post(f"{server.url}/v1/notes", json={"content": "tea"}).status_code == 201
        server.log.seek(0)
        told = [json.loads(line) for line in server.log]
    libraries = [line for line in told if line["event"] == "library"]
    assert {line.get("message") for line in libraries} == {"more than 128 connections; new ones are refused"}
    assert len(libraries) < 10


def test_the_limit_is_a_setting() -> None:
    assert 1 <= Settings().connections <= 1000
    with pytest.raises(ArgumentError, match="connections"):
        Settings(connections=0)


@pytest.mark.parametrize(
    "sent",
    [
        b"xyzzy\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"POST /v1/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_what_is_no_request_is_told_as_a_problem(hasty: Running, sent: bytes) -> None:
    with connected(hasty.url) as connection:
        connection.sendall(sent)
        assert refused(rest(connection), 400, "malformed") == "what came is not HTTP as RFC 9112 has it"


def test_headers_without_end_are_a_problem_of_their_own(hasty: Running) -> None:
    with connected(hasty.url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 40_000)
        assert b"urn:recollect:headers-too-large" in rest(connection)


def test_another_protocol_may_be_offered(hasty: Running, caplog: pytest.LogCaptureFixture) -> None:
    offered = {"Connection": "Upgrade", "Upgrade": "websocket"}
    with caplog.at_level(logging.WARNING):
        assert hasty.client.get("/health", headers=offered).status_code == 200
    assert not caplog.messages
