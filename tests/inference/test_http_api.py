from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from recollect.errors import ArgumentError, EmbedderError, RerankerError
from recollect.inference import http_api, runtime
from recollect.inference.http_api import JsonApi, retry_delay
from tests.serving import JsonServer, Response, as_json

SECRET = "sk-very-secret-123"  # noqa: S105 (of nobody)


@pytest.fixture(autouse=True)
def no_proxy_and_no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(http_api, "BACKOFF", 0.001)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonServer]:
    monkeypatch.delenv("TOY_KEY", raising=False)
    with JsonServer(lambda request: as_json({"request": request})) as running:
        yield running


def api_at(url: str, **options: Any) -> JsonApi:
    return JsonApi(url, "/toys", **{"key_variable": "TOY_KEY", "error_type": RerankerError, **options})


def test_post_returns_json(server: JsonServer) -> None:
    api = api_at(f"{server.url}/")
    assert api.post({"a": 1}) == {"request": {"a": 1}}
    assert server.paths == ["/v1/toys"]
    assert server.keys == [None]
    assert api.server == server.url


def test_key_is_read_for_each_request(server: JsonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_at(server.url)
    for key in ("first", f" {SECRET}\n"):
        monkeypatch.setenv("TOY_KEY", key)
        api.post({})
    monkeypatch.setenv("TOY_KEY", " ")
    api.post({})
    api_at(server.url, key_variable=None).post({})
    assert server.keys == ["Bearer first", f"Bearer {SECRET}", None, None]
    assert SECRET not in f"{api!r} {vars(api)}"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_transient_status_is_retried(server: JsonServer, status: int) -> None:
    server.responses = [Response(status, headers={"Retry-After": "0"}), Response(status)]
    assert api_at(server.url).post({}) == {"request": {}}
    assert len(server.requests) == 3


def test_permanent_error_says_what_to_do(server: JsonServer) -> None:
    server.responses = [Response(429, b'{"error": "slow\n   down"}')] * 3
    with pytest.raises(RerankerError) as caught:
        api_at(server.url, retries=2).post({})
    assert str(caught.value) == (
        f"{server.url}/toys returned 429 Too Many Requests; too many requests: wait, or check the quota; "
        '{"error": "slow down"} (tried 3 times)'
    )


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "401 Unauthorized; check the key in the environment variable TOY_KEY; wrong input"),
        (403, "403 Forbidden; check the key in the environment variable TOY_KEY; wrong input"),
        (404, "404 Not Found; check the address and the model's name"),
        (413, "413 [^;]*; send less at once; wrong input"),
        (400, "400 Bad Request; wrong input"),
        (301, "301 Moved Permanently"),
    ],
)
def test_permanent_status_is_not_retried(
    server: JsonServer, monkeypatch: pytest.MonkeyPatch, status: int, advice: str
) -> None:
    monkeypatch.setenv("TOY_KEY", SECRET)
    server.responses = [Response(status, f"wrong input with key {SECRET}".encode())]
    with pytest.raises(RerankerError, match=advice) as caught:
        api_at(server.url).post({})
    assert len(server.requests) == 1
    assert SECRET not in str(caught.value)
    assert "***" in str(caught.value)


def test_timeout_is_retried(server: JsonServer) -> None:
    server.responses = [server.slow]
    assert api_at(server.url, timeout=0.2).post({}) == {"request": {}}
    server.responses = [server.slow]
    with pytest.raises(RerankerError, match="does not respond .*Timeout.*: is the server running"):
        api_at(server.url, timeout=0.2, retries=0).post({})


def test_connection_error_is_reported() -> None:
    with socket.socket() as free:  # a bound port without a listener
        free.bind(("127.0.0.1", 0))
        api = api_at(f"http://me:{SECRET}@127.0.0.1:{free.getsockname()[1]}/v1/", retries=1)
        with pytest.raises(RerankerError, match=r"does not respond \(ConnectError: .*\(tried 2 times\)") as caught:
            api.post({})
    assert SECRET not in f"{caught.value} {api.server}"


def test_invalid_host_is_reported() -> None:
    with pytest.raises(RerankerError, match=r"is not a valid address \(Invalid .*\): check it"):
        api_at("http://xn--zzzzz-\u00fc/v1").post({})


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe\xff", b"[" * 100_000])
def test_invalid_json_response_is_refused(server: JsonServer, body: bytes) -> None:
    server.responses = [Response(body=body)]
    with pytest.raises(RerankerError, match="/v1/toys returned something that is not JSON: is this a toy API"):
        api_at(server.url, style="a toy API").post({})


def test_connections_are_closed_with_the_object(server: JsonServer) -> None:
    api = api_at(server.url)
    api.post({})
    client = api._client.get()
    del api
    gc.collect()
    assert client.is_closed


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"url": "localhost:11434"}, "base_url: must be an address such as http://localhost:11434/v1, got"),
        ({"url": "ftp://host/v1"}, "base_url: must be an address"),
        ({"url": "http://"}, "base_url: must be an address"),
        ({"url": "http://host:99999/v1"}, "base_url: must be an address"),
        ({"url": "http://host/v1?key=1"}, "base_url: must be an address"),
        ({"url": ""}, "base_url: must not be empty"),
        ({"timeout": 0}, "timeout: must be at least 0.001"),
        ({"retries": -1}, "retries: must not be negative"),
        ({"key_variable": ""}, "key_variable: must not be empty"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        api_at(**{"url": "http://localhost/v1", **options})


def test_url_error_hides_password() -> None:
    with pytest.raises(ArgumentError) as caught:
        api_at(f"http://me:{SECRET}@host/v1?x=1")
    assert SECRET not in str(caught.value)


def test_missing_httpx_is_reported(server: JsonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> Any:
        raise ModuleNotFoundError(f"No module named {module!r}")

    monkeypatch.setattr(runtime, "import_module", absent)
    with pytest.raises(RerankerError, match=r"httpx cannot be imported .*: pip install 'recollectdb\[http\]'"):
        api_at(server.url).post({})


@pytest.mark.parametrize("key", [f"{SECRET}\nX-Other: 1", f"{SECRET}é"])
def test_invalid_key_is_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", key)
    problem = "^the key in the environment variable TOY_KEY has characters that are not allowed in an HTTP header$"
    with pytest.raises(EmbedderError, match=problem) as caught:
        api_at("http://localhost", error_type=EmbedderError).post({})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("header", "seconds"), [("0", 0.0), (" 7 ", 7.0), ("3600", 60.0)])
def test_retry_after_counts_up_to_a_minute(header: str, seconds: float) -> None:
    assert retry_delay(5, header, backoff=0.5) == seconds


@pytest.mark.parametrize("header", [None, "soon", "", "-3", "²", "Sun, 01 Mar 2026 12:00:05 GMT"])
@pytest.mark.parametrize(("attempt", "max_delay"), [(0, 0.5), (1, 1.0), (4, 8.0), (20, 8.0), (2000, 8.0)])
def test_retry_delay_doubles_up_to_8_seconds(header: str | None, attempt: int, max_delay: float) -> None:
    delays = {retry_delay(attempt, header, backoff=0.5) for _ in range(50)}
    assert all(max_delay / 2 <= delay <= max_delay for delay in delays)
    assert len(delays) > 1
