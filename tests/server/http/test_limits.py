from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, active_count
from typing import Any

import httpx
import pytest

from recollect import Memory
from recollect.server.http.limits import Limits
from recollect.server.http.settings import Settings
from tests.server.http.conftest import problem
from tests.server.http.running import Running, running, until

SMALL = Settings(body_bytes=1000, seconds=0.3, searches=1, writes=1, waiting=1)


@pytest.fixture
def small(memory: Memory) -> Iterator[Running]:
    with running(memory, SMALL) as server:
        yield server


def test_a_request_that_is_too_large(small: Running) -> None:
    body = b'{"content": "' + b"x" * 1000 + b'"}'
    headers = {"Content-Type": "application/json"}
    detail = problem(small.client.post("/v1/notes", content=body, headers=headers), 413, "too-large")
    assert detail == "a request may have 0.000953674 MB; split it"

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), 100):
            yield body[start : start + 100]

    problem(small.client.post("/v1/notes", content=pieces(), headers=headers), 413, "too-large")
    assert small.client.post("/v1/notes", json={"content": "x" * 900}).status_code == 201


def test_headers_that_are_too_long(small: Running) -> None:
    detail = problem(small.client.get("/health", headers={"X-Long": "x" * 33_000}), 431, "headers-too-large")
    assert detail == "they may have 32,768 bytes together"
    assert small.client.get("/health", headers={"X-Long": "x" * 30_000}).status_code == 200


def test_a_request_that_takes_its_time(small: Running) -> None:
    url = httpx.URL(small.url)
    with socket.create_connection((url.host, url.port or 80)) as connection:
        connection.sendall(
            b"POST /v1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        connection.settimeout(10)
        answer = connection.recv(4000)
    assert b" 408 " in answer
    assert b"urn:recollect:too-slow" in answer


def test_work_that_takes_too_long_is_told_and_no_thread_is_lost(
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
    # The one thread is taken; what waited in vain was never begun.
    assert small.app.state.service.readers.busy == 1
    done.set()
    until(lambda: small.app.state.service.readers.busy == 0)


def test_more_than_can_wait_are_sent_away(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Event()
    settings = Settings(seconds=30, searches=1, waiting=1)
    with running(memory, settings) as server:
        search = memory.search

        def slow(*given: Any, **more: Any) -> Any:
            done.wait(30)
            return search(*given, **more)

        monkeypatch.setattr(memory, "search", slow, raising=False)
        with ThreadPoolExecutor() as pool:
            waiting = [pool.submit(server.client.get, "/v1/search?q=tea") for _ in range(2)]
            until(lambda: server.app.state.service.readers.busy == 2)
            answer = server.client.get("/v1/search?q=tea")
            problem(answer, 503, "overloaded")
            assert answer.headers["retry-after"] == "1"
            done.set()
            assert [each.result().status_code for each in waiting] == [200, 200]


def test_who_waits_for_the_client_to_go_waits_as_long_as_it_takes() -> None:
    seen: list[str] = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        seen.append((await receive())["type"])
        seen.append((await receive())["type"])

    async def ask() -> None:
        messages = iter([{"type": "http.request", "body": b""}, {"type": "http.disconnect"}])

        async def receive() -> Any:
            if seen:
                await asyncio.sleep(2 * SMALL.seconds)
            return next(messages)

        async def send(_: Any) -> None:
            """Send nothing."""

        scope = {"type": "http", "headers": [], "raw_path": b"/", "query_string": b"", "state": {}}
        await Limits(app, SMALL)(scope, receive, send)

    asyncio.run(ask())
    assert seen == ["http.request", "http.disconnect"]
