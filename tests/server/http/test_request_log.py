"""The log and metrics, which contain no private text."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import httpx
import pytest

from recollect import Memory, RecollectError
from recollect.retrieval import Trace
from recollect.server import KeyRing
from recollect.server.http.request_log import LibraryLogHandler, Log, Metrics, RequestRecord, SearchTimes
from tests.frozen_clock import FrozenClock
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running, wait_until

WORDS = ("xyzzy", "plugh")


def send_requests(client: httpx.Client, headers: dict[str, str]) -> None:
    client.post("/v1/notes", json={"content": "xyzzy", "id": "plugh", "path": "xyzzy.md"}, headers=headers)
    client.get("/v1/notes/plugh", headers=headers)
    client.get("/v1/notes/xyzzy-nowhere", headers=headers)
    client.post("/v1/search", json={"query": "xyzzy", "trace": True}, headers=headers)
    client.get("/v1/search?q=xyzzy", headers=headers)
    client.post("/v1/compare", json={"query": "xyzzy"}, headers=headers)
    client.post("/v1/notes", content=b'{"xyzzy', headers={**headers, "Content-Type": "application/json"})
    client.post("/v1/notes", json={"xyzzy": "plugh"}, headers=headers)
    client.get("/xyzzy/plugh?xyzzy=plugh", headers=headers)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_log_has_templates_and_ids_only(memory: Memory, ring: KeyRing) -> None:
    key, text = ring.add("boss", None, "admin")
    stream = io.StringIO()
    with running(memory, ring=ring, observers=[Log(stream).record_request]) as server:
        server.client.get("/health", headers={"X-Request-Id": "mine-1"})
        send_requests(server.client, bearer(text))
        server.client.get("/v1/stats", headers=bearer(f"{text}x"))
    for word in (*WORDS, text, "boss"):
        assert word not in stream.getvalue()
    data = [line for line in lines(stream) if line["route"] != "/ready"]
    assert data[0] | {"time": "", "ms": 0} == {
        "time": "",
        "level": "info",
        "event": "request",
        "method": "GET",
        "route": "/health",
        "status": 200,
        "ms": 0,
        "request_id": "mine-1",
    }
    assert [(line["route"], line["status"], line.get("key")) for line in data[1:4]] == [
        ("/v1/notes", 201, key.id),
        ("/v1/notes/{key}", 200, key.id),
        ("/v1/notes/{key}", 404, key.id),
    ]
    assert (data[-2]["route"], data[-2]["status"]) == ("", 404)
    assert (data[-1]["status"], "key" in data[-1]) == (401, False)
    assert all(line["ms"] >= 0 for line in data)


@pytest.mark.parametrize("requested", ["a b", "x" * 65, "é", "", "a\tb", "rk_1f0c9a7be2d4_c2VjcmV0"])
def test_invalid_request_id_is_replaced(client: httpx.Client, requested: str) -> None:
    response = client.get("/health", headers={b"X-Request-Id": requested.encode()})
    assert len(response.headers["x-request-id"]) == 16


def timing(response: httpx.Response) -> dict[str, float]:
    """Return the Server-Timing of a response: milliseconds by name."""
    parts = [part.split(";dur=") for part in response.headers["server-timing"].split(", ")]
    return {name: float(took) for name, took in parts}


def test_server_timing_header(memory: Memory) -> None:
    records: list[RequestRecord] = []
    with running(memory, observers=[records.append]) as server:
        for path in ("/health", "/v1/notes", "/v1/notes/nowhere", "/nowhere"):
            assert timing(server.client.get(path)).keys() == {"total"}
        for path, body in {"/v1/search": {"query": "tea"}, "/v1/compare": {"query": "tea"}}.items():
            data = timing(server.client.post(path, json=body))
            assert list(data) == ["total", "search", "wait"]
            assert 0 <= data["search"] + data["wait"] <= data["total"] + 0.2  # each is rounded
            wait_until(lambda path=path: records[-1].route == path)  # type: ignore[misc]
            searches = records[-1].searches
            assert data["search"] == pytest.approx(sum(times.total for times in searches) * 1000, abs=0.051)
            assert data["wait"] == pytest.approx(sum(times.queued for times in searches) * 1000, abs=0.051)
            assert data["total"] <= records[-1].seconds * 1000 + 0.051
    assert len(records[-1].searches) > 1


def test_log_has_location_but_not_message_of_an_error(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("about xyzzy")

    stream = io.StringIO()
    with running(memory, observers=[Log(stream, quiet=True).record_request]) as server:
        monkeypatch.setattr(memory, "get", fail, raising=False)
        assert problem(server.client.get("/v1/notes/n1"), 500, "internal") == "The server failed"
        monkeypatch.setattr(memory, "get", lambda *_, **__: (_ for _ in ()).throw(RecollectError("/home/xyzzy")))
        problem(server.client.get("/v1/notes/n1"), 500, "internal")
        server.client.get("/health")
    assert "xyzzy" not in stream.getvalue()
    first, second = lines(stream)  # successes are not logged
    assert (first["level"], first["error"], first["status"]) == ("error", "RuntimeError", 500)
    assert first["at"][0].startswith("test_request_log.py:")
    assert second["error"] == "RecollectError"


@pytest.mark.parametrize(("status", "level"), [(200, "info"), (404, "info"), (500, "error"), (503, "warning")])
def test_log_level_by_status(status: int, level: str) -> None:
    stream = io.StringIO()
    Log(stream).record_request(request_record(status=status))
    assert lines(stream)[0]["level"] == level


def test_quiet_log_has_no_information() -> None:
    stream = io.StringIO()
    log = Log(stream, quiet=True)
    log.write("ready", address="http://127.0.0.1:7700")
    log.record_request(request_record(status=404))
    log.record_request(request_record(status=200, error=ValueError("after the response has started")))
    log.write("keys", level="warning")
    assert [(line["event"], line["level"]) for line in lines(stream)] == [("request", "error"), ("keys", "warning")]


def test_log_as_text_and_of_libraries(frozen_clock: FrozenClock) -> None:  # noqa: ARG001 (it is noon)
    stream = io.StringIO()
    log = Log(stream, as_json=False)
    log.record_request(request_record())
    logger = logging.Logger("uvicorn.error", logging.WARNING)
    logger.addHandler(LibraryLogHandler(log))
    logger.info("not worth it")
    logger.warning("Invalid HTTP request received.")
    try:
        raise ValueError("xyzzy")
    except ValueError:
        logger.exception("Exception in ASGI application")
    request_line, warning_line, error_line = stream.getvalue().splitlines()
    assert request_line == "12:00:00 info request method=POST route=/v1/search status=200 ms=100.0 request_id=r1 key=k1"
    assert warning_line == "12:00:00 warning library logger=uvicorn.error message=Invalid HTTP request received."
    assert error_line.startswith(
        "12:00:00 error library logger=uvicorn.error error=ValueError at=['test_request_log.py:"
    )


def request_record(**changes: Any) -> RequestRecord:
    trace = Trace(
        mode="hybrid",
        original_query="xyzzy",
        bm25_elapsed=10,
        vector_elapsed=30,
        context_elapsed=5,
        fusion_elapsed=4,
        graph_elapsed=3,
        rerank_elapsed=2,
        total_elapsed=50,
    )
    arguments: dict[str, Any] = {
        "method": "POST",
        "route": "/v1/search",
        "status": 200,
        "seconds": 0.1,
        "request_id": "r1",
        "key_id": "k1",
        "searches": [SearchTimes.from_trace(trace, 0.02)],
    }
    return RequestRecord(**(arguments | changes))


def test_search_seconds_by_part() -> None:
    metrics = Metrics()
    metrics.record_request(request_record())
    metrics.record_request(request_record(method="BREW", searches=[]))
    data = metrics.render().decode()
    for part, seconds in {"queued": 0.02, "legs": 0.03, "context": 0.005, "graph": 0.003, "ranking": 0.004}.items():
        assert f'recollect_search_seconds_total{{part="{part}"}} {seconds}\n' in data
    assert 'recollect_search_seconds_total{part="other"} 0.006\n' in data  # 50 - 30 - 5 - 4 - 3 - 2
    assert 'recollect_search_seconds_total{part="server"} 0.03' in data  # 100 - 20 - 50
    assert 'recollect_http_requests_total{method="other",route="/v1/search",status="200"} 1.0' in data
    assert "recollect_searches_total 1.0" in data


def test_metrics_contain_no_private_text(client: httpx.Client) -> None:
    send_requests(client, {})
    response = client.get("/metrics", headers={"Accept": "application/openmetrics-text, text/plain;q=0.5, */*;q=0.1"})
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert not any(word in response.text for word in WORDS)
    assert 'recollect_http_requests_total{method="GET",route="/v1/notes/{key}",status="404"} 1.0' in response.text
    assert 'recollect_active_tasks{pool="readers"} 0.0' in response.text
    assert "recollect_searches_total 7.0" in response.text  # two, and one for each preset
    assert "process_resident_memory_bytes" in response.text
