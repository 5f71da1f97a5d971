"""Hosts, keys, rates and sizes: what is rejected before a route runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, active_count
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.server import KeyRing
from recollect.server.http import middleware
from recollect.server.http.middleware import AuthMiddleware, TokenBucket
from recollect.server.http.settings import Settings
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import Running, running, wait_until


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:7700", "127.0.0.1:1", "127.1.2.3", "[::1]", "[::1]:7700"])
def test_server_without_keys_accepts_loopback_hosts(client: httpx.Client, host: str) -> None:
    assert client.get("/v1/stats", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7700", "127.0.0.1.evil.example", "192.168.1.1", "[::2]", ""]
)
def test_server_without_keys_rejects_other_hosts(client: httpx.Client, host: str) -> None:
    """DNS rebinding: the name of another site may resolve to this machine."""
    problem(client.get("/v1/stats", headers={"Host": host}), 421, "misdirected")
    problem(client.get("/health", headers={"Host": host}), 421, "misdirected")


def test_server_with_keys_accepts_any_host(memory: Memory, ring: KeyRing) -> None:
    _, key = ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        response = server.client.get("/v1/stats", headers={**bearer(key), "Host": "memory.example"})
        assert response.status_code == 200


@pytest.mark.parametrize(
    "header", ["Bearer KEY", "bearer KEY", "BEARER  KEY ", "Basic KEY", "KEY", "Bearer", "Bearer KEYx"]
)
def test_authorization_header(memory: Memory, ring: KeyRing, header: str) -> None:
    _, key = ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        response = server.client.get("/v1/stats", headers={"Authorization": header.replace("KEY", key).strip()})
    right = header.lower().startswith("bearer ") and "KEYx" not in header
    assert response.status_code == (200 if right else 401)


def test_revoked_key_is_rejected_at_once(memory: Memory, ring: KeyRing) -> None:
    key, text = ring.add("x", None, "read")
    ring.add("y", None, "read")
    with running(memory, ring=ring) as server:
        assert server.client.get("/v1/stats", headers=bearer(text)).status_code == 200
        KeyRing(ring.path).revoke(key.id)
        assert server.client.get("/v1/stats", headers=bearer(text)).status_code == 401


def test_unreadable_key_file_admits_no_request(memory: Memory, ring: KeyRing) -> None:
    _, text = ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        ring.path.write_text("tea")
        detail = problem(server.client.get("/v1/stats", headers=bearer(text)), 503, "keys-unreadable")
        assert str(ring.path) not in detail
        assert problem(server.client.get("/ready"), 503, "not-ready") == "the keys cannot be read"
        assert server.client.get("/health").status_code == 200


def test_public_paths_need_no_key(memory: Memory, ring: KeyRing) -> None:
    ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        for path in ("/health", "/ready", "/openapi.json"):
            assert server.client.get(path).status_code == 200


def test_rate_limit(memory: Memory, ring: KeyRing) -> None:
    (_, first_key), (_, second_key) = ring.add("one", None, "read"), ring.add("other", None, "read")
    slow = Settings(require_keys=True, rate=0.01)
    with running(memory, slow, ring=ring, warm=False) as server:
        responses: list[httpx.Response] = []
        for key in (first_key, second_key):
            responses = [server.client.get("/v1/presets", headers=bearer(key)) for _ in range(2)]
            assert [response.status_code for response in responses] == [200, 429]
        problem(responses[-1], 429, "too-many-requests")
        assert 90 <= int(responses[-1].headers["retry-after"]) <= 100
        # Guessing keys is limited by address.
        guesses = [server.client.get("/v1/presets", headers=bearer(f"rk_{number}_x")) for number in range(2)]
        assert [response.status_code for response in guesses] == [401, 429]
        # Health and readiness stay available.
        assert {server.client.get("/health", headers=headers).status_code for headers in ({}, bearer("rk_0_x"))} == {
            200
        }
        assert problem(server.client.get("/openapi.json"), 429, "too-many-requests")
        wait_until(lambda: server.client.get("/ready").status_code == 200)


SMALL = Settings(max_body_bytes=1000, timeout=0.3, read_threads=1, write_threads=1, max_queued=1)


@pytest.fixture
def small(memory: Memory) -> Iterator[Running]:
    with running(memory, SMALL) as server:
        yield server


def test_large_body_is_rejected(small: Running) -> None:
    body = b'{"content": "' + b"x" * 1000 + b'"}'
    headers = {"Content-Type": "application/json"}
    detail = problem(small.client.post("/v1/notes", content=body, headers=headers), 413, "too-large")
    assert detail == "the limit is 0.000953674 MB; split the request"

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), 100):
            yield body[start : start + 100]

    problem(small.client.post("/v1/notes", content=pieces(), headers=headers), 413, "too-large")
    assert small.client.post("/v1/notes", json={"content": "x" * 900}).status_code == 201


def test_long_headers_are_rejected(small: Running) -> None:
    detail = problem(small.client.get("/health", headers={"X-Long": "x" * 33_000}), 431, "headers-too-large")
    assert detail == "the limit is 32,768 bytes for both together"
    assert small.client.get("/health", headers={"X-Long": "x" * 30_000}).status_code == 200


def test_slow_body_times_out(small: Running) -> None:
    url = httpx.URL(small.url)
    with socket.create_connection((url.host, url.port or 80)) as connection:
        connection.sendall(
            b"POST /v1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        connection.settimeout(10)
        response = b""
        while not response.endswith(b"}"):  # the head may come before the body
            response += connection.recv(4000)
    assert b" 408 " in response
    assert b"urn:recollect:too-slow" in response


def test_slow_task_times_out_without_losing_threads(
    small: Running, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Event()
    before = active_count()

    def slow(*_: Any, **__: Any) -> None:
        done.wait(30)
        raise RuntimeError("too late")

    monkeypatch.setattr(memory, "search", slow, raising=False)
    for _ in range(3):
        problem(small.client.get("/v1/search?q=tea"), 504, "timed-out")
    assert active_count() <= before + 1
    # The only thread is busy; queued tasks whose clients are gone never start.
    assert small.app.state.service.readers.active == 1
    done.set()
    wait_until(lambda: small.app.state.service.readers.active == 0)


def test_full_queue_rejects_requests(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Event()
    settings = Settings(timeout=30, read_threads=1, max_queued=1)
    with running(memory, settings) as server:
        search = memory.search

        def slow(*args: Any, **more: Any) -> Any:
            done.wait(30)
            return search(*args, **more)

        monkeypatch.setattr(memory, "search", slow, raising=False)
        with ThreadPoolExecutor() as pool:
            waiting = [pool.submit(server.client.get, "/v1/search?q=tea") for _ in range(2)]
            wait_until(lambda: server.app.state.service.readers.active == 2)
            response = server.client.get("/v1/search?q=tea")
            problem(response, 503, "overloaded")
            assert response.headers["retry-after"] == "1"
            done.set()
            assert [item.result().status_code for item in waiting] == [200, 200]


def test_waiting_for_disconnect_has_no_timeout() -> None:
    message_types: list[str] = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        message_types.append((await receive())["type"])
        message_types.append((await receive())["type"])

    async def run() -> None:
        messages = iter([{"type": "http.request", "body": b""}, {"type": "http.disconnect"}])

        async def receive() -> Any:
            if message_types:
                await asyncio.sleep(2 * SMALL.timeout)
            return next(messages)

        async def send(_: Any) -> None:
            """Send nothing."""

        scope = {
            "type": "http",
            "headers": [(b"host", b"localhost")],
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "state": {},
        }
        await AuthMiddleware(app, SMALL, None)(scope, receive, send)

    asyncio.run(run())
    assert message_types == ["http.request", "http.disconnect"]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestTokenBucket:
    def test_bucket_refills(self) -> None:
        clock = Clock()
        bucket = TokenBucket(1.5, clock)
        assert [bucket.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(2 / 3)]
        clock.now = 1
        assert [bucket.take("a"), bucket.take("a")] == [0, pytest.approx(1 / 3)]
        clock.now = 100
        assert [bucket.take("a") for _ in range(4)] == [0, 0, 0, pytest.approx(2 / 3)]  # and does not overflow

    def test_rate_of_zero_is_unlimited(self) -> None:
        bucket = TokenBucket(0)
        assert not any(bucket.take("a") for _ in range(1000))

    def test_number_of_buckets_is_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(middleware, "MAX_BUCKETS", 2)
        bucket = TokenBucket(0.5, Clock())
        assert [bucket.take(name) for name in "abcb"] == [0, 0, 0, 2]
        assert bucket.take("a") == 0  # evicted

    @given(st.lists(st.floats(0, 2), max_size=50), st.floats(0.1, 10))
    def test_bucket_never_exceeds_its_rate(self, pauses: list[float], rate: float) -> None:
        clock = Clock()
        bucket = TokenBucket(rate, clock)
        allowed = 0
        for pause in pauses:
            clock.now += pause
            allowed += bucket.take("a") == 0
        assert allowed <= max(1, 2 * rate) + clock.now * rate + 1e-6
