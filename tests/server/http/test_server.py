"""Start, connections and shutdown of a server."""

from __future__ import annotations

import io
import json
import logging
import os
import resource
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

import recollect
from recollect import ArgumentError, EmbedderError, KeyFileError, Memory, RecollectError
from recollect.server import KeyRing
from recollect.server.http import Extension, Settings
from recollect.server.http.request_log import Log
from recollect.server.http.server import serve
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import Running, process, running, wait_until

ANY_PORT = Settings(port=0, shutdown_timeout=10)


@pytest.fixture
def addresses() -> list[str]:
    return []


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class TestInThisProcess:
    def test_serve_until_sigterm(self, memory: Memory, addresses: list[str]) -> None:
        responses: list[httpx.Response] = []

        def use(address: str) -> None:
            addresses.append(address)

            def send_request() -> None:
                responses.append(httpx.get(f"{address}/v1/notes/n1"))
                stop()

            Thread(target=send_request).start()

        stream = io.StringIO()
        serve(memory, ANY_PORT, log=Log(stream), on_ready=use)
        assert responses[0].json()["id"] == "n1"
        assert "server" not in responses[0].headers
        assert [json.loads(line)["route"] for line in stream.getvalue().splitlines()] == ["/v1/notes/{key}"]
        with pytest.raises(httpx.ConnectError):
            httpx.get(addresses[0])
        assert memory.count() == 3  # the caller's memory is still open

    def test_running_requests_finish_before_shutdown(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        started, responses = Event(), []
        add = memory.add

        def slow(*arguments: Any, **more: Any) -> Any:
            started.set()
            Event().wait(0.5)
            return add(*arguments, **more)

        monkeypatch.setattr(memory, "add", slow, raising=False)

        def use(address: str) -> None:
            def send_request() -> None:
                responses.append(httpx.post(f"{address}/v1/notes", json={"content": "late", "id": "late"}))

            def wait() -> None:
                started.wait(10)
                stop()

            Thread(target=send_request).start()
            Thread(target=wait).start()

        serve(memory, ANY_PORT, log=Log(io.StringIO()), on_ready=use)
        wait_until(lambda: responses)
        assert responses[0].status_code == 201
        assert memory.has("late")

    def test_ipv6_address(self, memory: Memory, addresses: list[str]) -> None:
        if not socket.has_ipv6:
            pytest.skip("this machine has no IPv6")

        def use(address: str) -> None:
            addresses.append(address)
            stop()

        try:
            serve(memory, Settings(host="::1", port=0), log=Log(io.StringIO()), on_ready=use)
        except RecollectError as error:
            pytest.skip(str(error))
        assert addresses[0].startswith("http://[::1]:")

    def test_model_that_cannot_be_loaded_stops_the_server(self, tmp_path: Path) -> None:
        def broken(_: list[str]) -> list[list[float]]:
            raise EmbedderError("the weights are gone")

        with (
            recollect.open(tmp_path / "memory.db", embedder=broken) as memory,
            pytest.raises(RecollectError, match="the server could not start: .*the weights are gone"),
        ):
            serve(memory, ANY_PORT, log=Log(io.StringIO()))

    def test_port_in_use(self, memory: Memory) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(RecollectError, match=f"port {port} of 127.0.0.1 is in use; .* another --port"):
                serve(memory, Settings(port=port), log=Log(io.StringIO()))

    def test_invalid_address(self, memory: Memory, ring: KeyRing) -> None:
        ring.add("x", None, "read")
        for host, data in (("nowhere.invalid", "is not an address"), ("192.0.2.1", "cannot be used")):
            with pytest.raises(RecollectError, match=data):
                serve(memory, Settings(host=host), log=Log(io.StringIO()), ring=ring)

    def test_public_address_requires_keys(self, memory: Memory, ring: KeyRing) -> None:
        with pytest.raises(ArgumentError, match=r"keys: are required, since other machines can reach 0.0.0.0"):
            serve(memory, Settings(host="0.0.0.0"), log=Log(io.StringIO()))  # noqa: S104 (it is refused)
        with pytest.raises(KeyFileError, match="the key file .* does not exist"):
            serve(memory, ANY_PORT, log=Log(io.StringIO()), ring=ring)
        key, _ = ring.add("x", None, "read")
        ring.revoke(key.id)
        with pytest.raises(KeyFileError, match="has no keys"):
            serve(memory, ANY_PORT, log=Log(io.StringIO()), ring=ring)

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o620])
    def test_readable_key_file_is_logged(self, memory: Memory, ring: KeyRing, mode: int) -> None:
        ring.add("x", None, "read")
        ring.path.chmod(mode)
        stream = io.StringIO()
        serve(memory, ANY_PORT, log=Log(stream), ring=ring, on_ready=lambda _: stop())
        data = [json.loads(line) for line in stream.getvalue().splitlines()]
        message = f"other users may open the key file (mode {mode:04o}); run chmod 600 {ring.path}"
        assert [(line["level"], line["event"], line["message"]) for line in data] == (
            [] if mode == 0o600 else [("warning", "keys", message)]
        )


class TestExtensions:
    def test_extension_is_authenticated(self, memory: Memory, ring: KeyRing) -> None:
        _, key = ring.add("kettle", ["tea"], "read")
        events: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            if scope["path"].endswith("broken"):
                raise RuntimeError("broken")
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if scope["path"].endswith("half"):
                raise RuntimeError("half")
            await send({"type": "http.response.body", "body": scope["state"]["caller"].name.encode()})

        @asynccontextmanager
        async def lifespan() -> Any:
            events.append("started")
            yield
            events.append("stopped")

        with running(memory, ring=ring, extensions=[Extension("/mcp", app, lifespan)]) as server:
            assert events == ["started"]
            assert server.client.get("/mcp", headers=bearer(key)).text == "kettle"
            problem(server.client.get("/mcp"), 401, "unauthorised")
            problem(server.client.get("/mcp/broken", headers=bearer(key)), 500, "internal")
            with pytest.raises(httpx.RemoteProtocolError):
                server.client.get("/mcp/half", headers=bearer(key))
            assert "/mcp" not in server.app.openapi()["paths"]
        assert events == ["started", "stopped"]


class TestProcess:
    def test_serve_prints_a_line_and_exits_cleanly(self, tmp_path: Path) -> None:
        with process(tmp_path) as server:
            assert server.line == f"serving recollect.db at {server.url}, open to this machine; ready, Ctrl-C stops\n"
            httpx.get(f"{server.url}/health")
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(20) == 0
            server.log.seek(0)
            events = [json.loads(line)["event"] for line in server.log]
        assert events == ["ready", "request", "stopped"]

    def test_shutdown_under_load_loses_nothing(self, tmp_path: Path) -> None:
        acknowledged: list[str] = []

        def write(writer: int) -> None:
            with httpx.Client(base_url=server.url) as client:
                for number in range(10_000):
                    try:
                        response = client.post("/v1/notes", json={"content": "x", "id": f"{writer}-{number}"})
                    except httpx.TransportError:
                        return
                    assert response.status_code == 201
                    acknowledged.append(f"{writer}-{number}")

        with process(tmp_path) as server, ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(write, writer) for writer in range(4)]
            wait_until(lambda: len(acknowledged) > 50)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(30) == 0
            for item in writing:
                item.result()
        assert {path.name for path in tmp_path.iterdir()} == {"recollect.db"}  # closed and cleaned up
        with recollect.open(tmp_path / "recollect.db", embedder=None) as memory:
            assert {note.id for note in memory.notes()} >= set(acknowledged)

    def test_endless_headers_are_rejected_by_the_process(self, tmp_path: Path) -> None:
        with process(tmp_path) as server:
            response = httpx.get(f"{server.url}/health", headers={"X-Long": "x" * 33_000})
            problem(response, 431, "headers-too-large")
            with pytest.raises(httpx.HTTPError):  # the connection is closed before all are read
                httpx.get(f"{server.url}/health", headers={"X-Long": "x" * 5_000_000}).raise_for_status()


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    """Restore the loggers of libraries."""

    stored = {
        name: (logging.getLogger(name).handlers, logging.getLogger(name).propagate)
        for name in ("uvicorn.error", "asyncio")
    }
    yield
    for name, (handlers, propagate) in stored.items():
        logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, propagate


SHORT_TIMEOUTS = Settings(timeout=0.3, max_body_bytes=1000)
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def short_timeout_server(memory: Memory) -> Iterator[Running]:
    with running(memory, SHORT_TIMEOUTS) as server:
        yield server


def connect(url: str) -> socket.socket:
    where = httpx.URL(url)
    return socket.create_connection((where.host, where.port or 80), timeout=20)


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    response_bytes = b""
    try:
        while more := connection.recv(4000):
            response_bytes += more
    except ConnectionResetError:
        pass
    return response_bytes


def check_problem(response_bytes: bytes, status: int, kind: str) -> str:
    """Check that a response is a problem of this kind, and return its detail."""
    head, _, body = response_bytes.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    data: dict[str, Any] = json.loads(body)
    assert first.startswith(f"HTTP/1.1 {status} ")
    assert (headers["content-type"], headers["connection"]) == ("application/problem+json", "close")
    assert (data["type"], data["status"]) == (f"urn:recollect:{kind}", status)
    assert data["request_id"] == headers["x-request-id"]
    return str(data["detail"])


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: local"])
def test_incomplete_headers_time_out(short_timeout_server: Running, sent: bytes) -> None:
    with connect(short_timeout_server.url) as connection:
        connection.sendall(sent)
        detail = check_problem(read_all(connection), 408, "too-slow")
    assert detail == "the headers took longer than 0.3 seconds to arrive"


def test_incomplete_headers_of_a_second_request_time_out(short_timeout_server: Running) -> None:
    with connect(short_timeout_server.url) as connection:
        for _ in range(2):
            connection.sendall(HEALTH)
            response = b""
            while not response.endswith(b'{"status":"ok"}'):
                response += connection.recv(4000)
        connection.sendall(b"GET")
        check_problem(read_all(connection), 408, "too-slow")


def test_slow_headers_do_not_extend_the_timeout(short_timeout_server: Running) -> None:
    response_bytes = b""
    with connect(short_timeout_server.url) as connection:
        connection.settimeout(0.05)
        connection.sendall(b"GET /health HTTP/1.1\r\nX-Long: ")
        while not response_bytes:
            connection.sendall(b"x")
            try:
                response_bytes = connection.recv(4000)
            except TimeoutError:
                continue
    assert b" 408 " in response_bytes


def test_rejected_body_is_not_awaited(short_timeout_server: Running) -> None:
    with connect(short_timeout_server.url) as connection:
        connection.sendall(b"POST /v1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n")
        response = b""
        while not response.endswith(b"}"):
            response += connection.recv(4000)
        assert b" 413 " in response
        connection.sendall(b"x")
        assert read_all(connection) == b""


def test_too_many_connections_are_rejected(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    with running(memory, Settings(max_connections=2), warm=False) as server, ExitStack() as stack:
        first, _ = (stack.enter_context(connect(server.url)) for _ in range(2))
        with connect(server.url) as third:
            assert check_problem(read_all(third), 503, "overloaded") == "too many connections are open"
        first.close()
        wait_until(lambda: is_healthy(server.url))
    assert "more than 2 connections; new ones are rejected" in caplog.messages


def is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:  # refused before it was read
        return False


def test_connection_flood_leaves_open_files_for_the_memory(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            server = stack.enter_context(process(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        flood = [stack.enter_context(closing(connect(server.url))) for _ in range(300)]
        check_problem(read_all(flood[-1]), 503, "overloaded")  # connections are accepted in order
        for connection in flood[:10]:
            connection.close()
        wait_until(lambda: is_healthy(server.url))
        assert httpx.post(f"{server.url}/v1/notes", json={"content": "tea"}).status_code == 201
        server.log.seek(0)
        data = [
            json.loads(line) for line in server.log if line.endswith("\n")
        ]  # the server may be writing the last line
    libraries = [line for line in data if line["event"] == "library"]
    assert {line.get("message") for line in libraries} == {"more than 128 connections; new ones are rejected"}


def test_max_connections_setting() -> None:
    assert 1 <= Settings().max_connections <= 1000
    with pytest.raises(ArgumentError, match="connections"):
        Settings(max_connections=0)


@pytest.mark.parametrize(
    "sent",
    [
        b"xyzzy\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"POST /v1/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_malformed_http_is_a_problem(short_timeout_server: Running, sent: bytes) -> None:
    with connect(short_timeout_server.url) as connection:
        connection.sendall(sent)
        assert check_problem(read_all(connection), 400, "malformed") == "the request is not HTTP/1.1 (RFC 9112)"


def test_endless_headers_are_rejected(short_timeout_server: Running) -> None:
    with connect(short_timeout_server.url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 40_000)
        assert b"urn:recollect:headers-too-large" in read_all(connection)


def test_upgrade_offer_is_ignored(short_timeout_server: Running, caplog: pytest.LogCaptureFixture) -> None:
    offered = {"Connection": "Upgrade", "Upgrade": "websocket"}
    with caplog.at_level(logging.WARNING):
        assert short_timeout_server.client.get("/health", headers=offered).status_code == 200
    assert not caplog.messages
