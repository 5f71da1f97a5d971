"""Requests, retries and errors of the client, with a real server that misbehaves."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from recollect.client import AsyncClient
from recollect.errors import (
    ArgumentError,
    ForbiddenError,
    NoteNotFoundError,
    RecollectError,
    ServerError,
    StoreBusyError,
    StoreReadOnlyError,
)
from tests.client.scripted_server import BREAK, SILENCE, Reply, ScriptedServer

T = TypeVar("T")
NOTE = {"id": "n1", "content": "Prefers sencha."}
NO_HITS = {"query": "tea", "hits": []}
BUSY = Reply({"type": "urn:recollect:overloaded", "detail": "wait"}, 503, {"Retry-After": "0"})


def run_client(server: ScriptedServer, call: Callable[[AsyncClient], Awaitable[T]], **options: Any) -> T:
    async def run() -> T:
        async with AsyncClient(server.url, **{"backoff": 0, **options}) as client:
            return await call(client)

    return asyncio.run(run())


def client_error(
    server: ScriptedServer, call: Callable[[AsyncClient], Awaitable[Any]], **options: Any
) -> RecollectError:
    with pytest.raises(RecollectError) as raised:
        run_client(server, call, **options)
    return raised.value


class TestRequests:
    def test_key_and_namespace_are_sent(self) -> None:
        with ScriptedServer(Reply(NOTE), Reply(NOTE)) as server:
            run_client(server, lambda client: client.get("a/b c.md"), key="rk_1_2", namespace="tea")
            run_client(server, lambda client: client.get("n1", namespace="work"), namespace="tea")
        first, second = server.requests
        assert first.key == "Bearer rk_1_2"
        assert (first.method, first.path, first.parameters) == ("GET", "/v1/notes/a%2Fb%20c.md", [("namespace", "tea")])
        assert (second.key, second.parameters) == (None, [("namespace", "work")])

    def test_repr_does_not_show_the_key(self) -> None:
        client = AsyncClient("http://me:word@localhost:7700/", key="rk_1_2")
        assert repr(client) == "AsyncClient('http://localhost:7700', namespace=None)"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"url": "localhost"}, "url: must be an address such as http://localhost:7700"),
            ({"url": "http://localhost", "key": " "}, "key: must not be empty"),
            ({"url": "http://localhost", "namespace": ""}, "namespace: must not be empty"),
            ({"url": "http://localhost", "timeout": 0}, "timeout: must be at least 0.001"),
            ({"url": "http://localhost", "retries": -1}, "retries: must not be negative"),
        ],
    )
    def test_invalid_arguments(self, arguments: Any, message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            AsyncClient(**arguments)

    def test_copy(self) -> None:
        client = AsyncClient("http://localhost:7700", "rk_1_2", "tea", 5, retries=1, backoff=2)
        assert vars(client) == vars(client.copy())


class TestRetries:
    def test_busy_server_is_retried(self) -> None:
        limited = Reply({"type": "urn:recollect:too-many-requests"}, 429, {"Retry-After": "0"})
        with ScriptedServer(BUSY, limited, Reply(NOTE, 201)) as server:
            assert run_client(server, lambda client: client.add("Prefers sencha.")).id == "n1"
        assert [request.body for request in server.requests] == [{"content": "Prefers sencha."}] * 3

    def test_retries_are_limited(self) -> None:
        with ScriptedServer(BUSY, BUSY, BUSY) as server:
            error = client_error(server, lambda client: client.search("tea"), retries=2)
        assert (type(error), str(error)) == (ServerError, f"{server.url}: wait")
        assert server.replies == []

    def test_503_without_retry_after_is_not_retried(self) -> None:
        not_ready = Reply({"type": "urn:recollect:store-busy", "detail": "busy"}, 503)
        with ScriptedServer(not_ready) as server:
            assert isinstance(client_error(server, lambda client: client.search("tea")), StoreBusyError)

    @pytest.mark.parametrize(
        ("call", "reply"),
        [
            (lambda client: client.search("tea"), NO_HITS),
            (lambda client: client.get("n1"), NOTE),
            (lambda client: client.update("n1", title="Tea"), NOTE),
            (lambda client: client.add("Prefers sencha.", path="tea.md"), NOTE),
            (lambda client: client.add_many([{"content": "tea", "id": "n1"}]), {"ids": ["n1"], "count": 1}),
            (lambda client: client.delete("n1"), None),
        ],
    )
    def test_broken_connection_is_retried_if_idempotent(self, call: Any, reply: Any) -> None:
        with ScriptedServer(BREAK, Reply(reply)) as server:
            run_client(server, call)
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        "call",
        [lambda client: client.add("Prefers sencha."), lambda client: client.add_many(["tea", {"content": "x"}])],
    )
    def test_broken_connection_is_not_retried_if_not_idempotent(self, call: Any) -> None:
        with ScriptedServer(BREAK) as server:
            error = client_error(server, call)
        assert isinstance(error, ServerError)
        assert str(error).startswith(f"{server.url} cannot be reached (")
        assert len(server.requests) == 1

    def test_unreachable_server_is_retried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        delays: list[float] = []

        async def sleep(seconds: float) -> None:
            delays.append(seconds)

        monkeypatch.setattr("recollect.client.client.asyncio.sleep", sleep)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            client = AsyncClient(f"http://127.0.0.1:{free.getsockname()[1]}", retries=3, backoff=1)
        with pytest.raises(ServerError, match="cannot be reached .* is recollect serve running"):
            asyncio.run(client.add("Prefers sencha."))
        assert [0.5 * 2**attempt <= delay <= 2**attempt for attempt, delay in enumerate(delays)] == [True] * 3

    def test_timeout_is_not_retried(self) -> None:
        with ScriptedServer(SILENCE) as server:
            error = client_error(server, lambda client: client.search("tea"), timeout=0.1)
        assert str(error) == f"{server.url} did not answer within 0.1 seconds; request less, or raise timeout"
        assert len(server.requests) == 1


class TestErrors:
    @pytest.mark.parametrize(
        ("reply", "kind", "message"),
        [
            (Reply({"type": "urn:recollect:forbidden", "detail": "no"}, 403), ForbiddenError, "no"),
            (Reply({"type": "urn:recollect:unauthorised", "detail": "a key"}, 401), ForbiddenError, "a key"),
            (Reply({"type": "urn:recollect:read-only", "detail": "read"}, 409), StoreReadOnlyError, "read"),
            (Reply({"type": "urn:recollect:note-not-found", "detail": "none"}, 404), NoteNotFoundError, "none"),
            (Reply({"type": "urn:recollect:too-large", "detail": "large"}, 413), ArgumentError, "request: large"),
        ],
    )
    def test_errors_are_those_of_a_memory(self, reply: Reply, kind: type[Exception], message: str) -> None:
        with ScriptedServer(reply) as server:
            error = client_error(server, lambda client: client.search("tea"))
        assert (type(error), str(error)) == (kind, message)

    def test_argument_error_names_the_argument(self) -> None:
        errors = [{"field": "body.filters.tags", "detail": "must be a list"}, {"field": "top_k", "detail": "odd"}]
        data = Reply({"type": "urn:recollect:invalid", "detail": "filters", "errors": errors}, 422)
        with ScriptedServer(data, data._replace(body={**data.body, "errors": errors[1:]})) as server:
            first = client_error(server, lambda client: client.search("tea"))
            second = client_error(server, lambda client: client.search("tea"))
        assert (str(first), str(second)) == ("filters.tags: must be a list", "top_k: odd")

    @pytest.mark.parametrize("body", [b"<html>", [1], None, {"title": "Bad gateway"}])
    def test_error_of_another_server(self, body: Any) -> None:
        with ScriptedServer(Reply(body, 502)) as server:
            error = client_error(server, lambda client: client.search("tea"))
        assert (type(error), str(error)) == (ServerError, f"{server.url} responded with status 502")

    def test_response_that_is_not_json(self) -> None:
        with ScriptedServer(Reply(b"<html>")) as server:
            error = client_error(server, lambda client: client.search("tea"))
        assert str(error) == f"{server.url} is not a Recollect server: it sent no JSON; check the URL"

    def test_missing_httpx_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "httpx", None)
        with pytest.raises(ServerError, match=r"pip install 'recollectdb\[http\]'"):
            asyncio.run(AsyncClient("http://localhost:7700").search("tea"))


def test_unused_client_can_be_closed() -> None:
    asyncio.run(AsyncClient("http://localhost:7700").close())


def test_health_returns_readiness() -> None:
    with ScriptedServer(Reply({"status": "ready"}), Reply({"detail": "not yet"}, 503, {"Retry-After": "1"})) as server:
        assert run_client(server, lambda client: client.health()) is True
        assert run_client(server, lambda client: client.health()) is False
    assert [request.path for request in server.requests] == ["/ready", "/ready"]
