"""Beginning and ending: one clear line for each, and nothing lost in between."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

import recollect
from recollect import ArgumentError, EmbedderError, KeyFileError, Memory, RecollectError
from recollect.server import KeyRing
from recollect.server.http import Extension, Settings
from recollect.server.http.logs import Log
from recollect.server.http.serving import serve
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import process, running, until

ANY_PORT = Settings(port=0, shutdown_seconds=10)


@pytest.fixture
def addresses() -> list[str]:
    return []


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class TestInThisProcess:
    def test_it_serves_until_it_is_told_to_stop(self, memory: Memory, addresses: list[str]) -> None:
        answers: list[httpx.Response] = []

        def use(address: str) -> None:
            addresses.append(address)

            def ask() -> None:
                answers.append(httpx.get(f"{address}/v1/notes/n1"))
                stop()

            Thread(target=ask).start()

        stream = io.StringIO()
        serve(memory, ANY_PORT, log=Log(stream), listening=use)
        assert answers[0].json()["id"] == "n1"
        assert "server" not in answers[0].headers
        assert [json.loads(line)["route"] for line in stream.getvalue().splitlines()] == ["/v1/notes/{key}"]
        with pytest.raises(httpx.ConnectError):
            httpx.get(addresses[0])
        assert memory.count() == 3  # it is still whose it was

    def test_what_is_under_way_is_finished_first(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        begun, answers = Event(), []
        add = memory.add

        def slow(*given: Any, **more: Any) -> Any:
            begun.set()
            Event().wait(0.5)
            return add(*given, **more)

        monkeypatch.setattr(memory, "add", slow, raising=False)

        def use(address: str) -> None:
            def ask() -> None:
                answers.append(httpx.post(f"{address}/v1/notes", json={"content": "late", "id": "late"}))

            def wait() -> None:
                begun.wait(10)
                stop()

            Thread(target=ask).start()
            Thread(target=wait).start()

        serve(memory, ANY_PORT, log=Log(io.StringIO()), listening=use)
        until(lambda: answers)
        assert answers[0].status_code == 201
        assert memory.has("late")

    def test_an_ipv6_address(self, memory: Memory, addresses: list[str]) -> None:
        if not socket.has_ipv6:
            pytest.skip("there is no IPv6 here")

        def use(address: str) -> None:
            addresses.append(address)
            stop()

        try:
            serve(memory, Settings(host="::1", port=0), log=Log(io.StringIO()), listening=use)
        except RecollectError as error:
            pytest.skip(str(error))
        assert addresses[0].startswith("http://[::1]:")

    def test_a_model_that_cannot_be_loaded_ends_it(self, tmp_path: Path) -> None:
        def broken(_: list[str]) -> list[list[float]]:
            raise EmbedderError("the weights are gone")

        with (
            recollect.open(tmp_path / "memory.db", embedder=broken) as memory,
            pytest.raises(RecollectError, match="the server could not be made ready: .*the weights are gone"),
        ):
            serve(memory, ANY_PORT, log=Log(io.StringIO()))

    def test_a_port_that_is_in_use(self, memory: Memory) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(RecollectError, match=f"port {port} of 127.0.0.1 is in use; .* another with --port"):
                serve(memory, Settings(port=port), log=Log(io.StringIO()))

    def test_an_address_that_is_none(self, memory: Memory, ring: KeyRing) -> None:
        ring.add("x", None, "read")
        for host, told in (("nowhere.invalid", "is no address"), ("192.0.2.1", "cannot be used")):
            with pytest.raises(RecollectError, match=told):
                serve(memory, Settings(host=host), log=Log(io.StringIO()), ring=ring)

    def test_others_need_keys(self, memory: Memory, ring: KeyRing) -> None:
        with pytest.raises(ArgumentError, match=r"keys: 0.0.0.0 can be reached by others, so keys are needed"):
            serve(memory, Settings(host="0.0.0.0"), log=Log(io.StringIO()))  # noqa: S104 (it is refused)
        with pytest.raises(KeyFileError, match="there is no file of keys"):
            serve(memory, ANY_PORT, log=Log(io.StringIO()), ring=ring)
        key, _ = ring.add("x", None, "read")
        ring.revoke(key.id)
        with pytest.raises(KeyFileError, match="there is no key in"):
            serve(memory, ANY_PORT, log=Log(io.StringIO()), ring=ring)

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o620])
    def test_keys_that_others_may_read_are_worth_a_line(self, memory: Memory, ring: KeyRing, mode: int) -> None:
        ring.add("x", None, "read")
        ring.path.chmod(mode)
        stream = io.StringIO()
        serve(memory, ANY_PORT, log=Log(stream), ring=ring, listening=lambda _: stop())
        told = [json.loads(line) for line in stream.getvalue().splitlines()]
        message = f"others than its owner may open it (mode {mode:04o}); chmod 600 {ring.path}"
        assert [(line["level"], line["event"], line["message"]) for line in told] == (
            [] if mode == 0o600 else [("warning", "keys", message)]
        )


class TestExtensions:
    def test_another_application_has_the_same_door(self, memory: Memory, ring: KeyRing) -> None:
        _, key = ring.add("kettle", ["tea"], "read")
        life: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            if scope["path"].endswith("broken"):
                raise RuntimeError("broken")
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if scope["path"].endswith("half"):
                raise RuntimeError("half")
            await send({"type": "http.response.body", "body": scope["state"]["caller"].name.encode()})

        @asynccontextmanager
        async def living() -> Any:
            life.append("begun")
            yield
            life.append("ended")

        with running(memory, ring=ring, extensions=[Extension("/mcp", app, living)]) as server:
            assert life == ["begun"]
            assert server.client.get("/mcp", headers=bearer(key)).text == "kettle"
            problem(server.client.get("/mcp"), 401, "unauthorised")
            problem(server.client.get("/mcp/broken", headers=bearer(key)), 500, "internal")
            with pytest.raises(httpx.RemoteProtocolError):
                server.client.get("/mcp/half", headers=bearer(key))
            assert "/mcp" not in server.app.openapi()["paths"]
        assert life == ["begun", "ended"]


class TestAsAProcess:
    def test_a_line_at_the_start_and_a_clean_end(self, tmp_path: Path) -> None:
        with process(tmp_path) as server:
            assert server.line == f"serving recollect.db at {server.url}, open to this machine; ready, Ctrl-C stops\n"
            httpx.get(f"{server.url}/health")
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(20) == 0
            server.log.seek(0)
            events = [json.loads(line)["event"] for line in server.log]
        assert events == ["ready", "request", "stopped"]

    def test_stopping_under_load_loses_nothing(self, tmp_path: Path) -> None:
        acknowledged: list[str] = []

        def write(writer: int) -> None:
            with httpx.Client(base_url=server.url) as client:
                for number in range(10_000):
                    try:
                        answer = client.post("/v1/notes", json={"content": "x", "id": f"{writer}-{number}"})
                    except httpx.TransportError:
                        return
                    assert answer.status_code == 201
                    acknowledged.append(f"{writer}-{number}")

        with process(tmp_path) as server, ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(write, writer) for writer in range(4)]
            until(lambda: len(acknowledged) > 50)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(30) == 0
            for each in writing:
                each.result()
        assert {path.name for path in tmp_path.iterdir()} == {"recollect.db"}  # closed, and tidied up
        with recollect.open(tmp_path / "recollect.db", embedder=None) as memory:
            assert {note.id for note in memory.notes()} >= set(acknowledged)

    def test_headers_without_end_are_refused(self, tmp_path: Path) -> None:
        with process(tmp_path) as server:
            answer = httpx.get(f"{server.url}/health", headers={"X-Long": "x" * 33_000})
            problem(answer, 431, "headers-too-large")
            with pytest.raises(httpx.HTTPError):  # so many that they are not even waited for
                httpx.get(f"{server.url}/health", headers={"X-Long": "x" * 5_000_000}).raise_for_status()


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    """Leave the loggers of libraries as they were."""

    kept = {
        name: (logging.getLogger(name).handlers, logging.getLogger(name).propagate)
        for name in ("uvicorn.error", "asyncio")
    }
    yield
    for name, (handlers, propagate) in kept.items():
        logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, propagate
