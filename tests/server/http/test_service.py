"""Malformed JSON, invalid values, media types, parameters and methods."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from recollect.server.http.problems import ProblemError
from recollect.server.http.service import parse_json
from tests.server.http.conftest import problem

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b'{"content": "a', "Unterminated string"),
        (b"{'content': 1}", "Expecting property name"),
        (b'{"content": "\xff"}', "not UTF-8"),
        (b'{"importance": NaN}', "NaN is not a number in JSON"),
        (b'{"importance": -Infinity}', "-Infinity is not a number"),
        (b'{"position": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"content": "a\\uD800"}', "lone surrogate"),
        (b'{"content": "a", "metadata": {"\\udfff": 1}}', "lone surrogate"),
        (b"[" * 200_000, "nested too deep"),
        (b'{"metadata": {"a": ' + b"[" * 80 + b"]" * 80 + b"}}", "nested deeper than 64 levels"),
        (b'{"metadata": {"a": ' + b'{"a":' * 80 + b"1" + b"}" * 80 + b"}}", "nested deeper than 64 levels"),
    ],
)
def test_malformed_json(client: httpx.Client, body: bytes, data: str) -> None:
    assert data in problem(client.post("/v1/notes", content=body, headers=JSON), 400, "malformed")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": 3}, "body.content"),
        ({"content": "a", "importance": 1.5}, "body.importance"),
        ({"content": "a", "importance": 1e400}, "body.importance"),
        ({"content": "a", "position": 10**30}, "body.position"),
        ({"content": "a", "position": True}, "body.position"),
        ({"content": "a", "path": "a\0b"}, "body.path"),
        ({"content": "a", "tags": [" "]}, "body.tags.0"),
        ({"content": "a", "tags": "x"}, "body.tags"),
        ({"content": "a", "created_at": "soon"}, "created_at"),
        ({"content": "a", "nonsense": 1}, "body.nonsense"),
        ([], "body"),
        (None, "body"),
    ],
)
def test_invalid_note(client: httpx.Client, body: object, field: str) -> None:
    written = json.dumps(body).replace("Infinity", "1e400").encode()
    response = client.post("/v1/notes", content=written, headers=JSON)
    problem(response, 422, "invalid")
    assert response.json()["errors"][0]["field"].startswith(field)
    assert "input" not in response.json()["errors"][0]


def test_nul_character_in_text(client: httpx.Client) -> None:
    created = client.post(
        "/v1/notes",
        content=rb'{"content": "a\u0000b", "metadata": {"n": 1000000000000000000000000000000, "s": "\ud83c\udf75"}}',
        headers=JSON,
    ).json()
    assert created["content"] == "a\0b"
    assert created["metadata"] == {"n": 10**30, "s": "🍵"}
    assert client.post("/v1/search", json={"query": "a\0b"}).status_code == 200


def test_long_body_is_parsed_in_a_thread(client: httpx.Client) -> None:
    assert client.post("/v1/notes", json={"content": "tea " * 50_000}).status_code == 201
    nested = {"notes": [{"content": "x", "metadata": {"a": [[1]]}, "tags": ["t"]}] * 100}
    assert client.post("/v1/notes/batch", json=nested).status_code == 201


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
def test_content_type_must_be_json(client: httpx.Client, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    problem(client.post("/v1/notes", content=b'{"content": "a"}', headers=headers), 415, "unsupported-media-type")
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert client.post("/v1/notes", content=b'{"content": "a"}', headers=headers).status_code == 201


def test_missing_body(client: httpx.Client) -> None:
    problem(client.post("/v1/notes", headers=JSON), 422, "invalid")
    problem(client.post("/v1/notes"), 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("accept", "status"), [("text/html", 406), ("*/*", 200), ("text/html, application/*;q=0.1", 200)]
)
def test_accept_header(client: httpx.Client, accept: str, status: int) -> None:
    assert client.get("/v1/notes", headers={"Accept": accept}).status_code == status


@pytest.mark.parametrize(
    ("query", "data"),
    [
        ("namepace=work", "namepace: is not a parameter of this endpoint; it has: cursor, limit"),
        ("limit=1&limit=2", "limit: may not be repeated"),
        ("namespace=a&namespace=b", "namespace: may not be repeated"),
    ],
)
def test_unknown_and_repeated_parameters(client: httpx.Client, query: str, data: str) -> None:
    """A misspelt namespace parameter must not select the default namespace."""
    assert problem(client.get(f"/v1/notes?{query}"), 422, "invalid").startswith(data)
    assert "it has: none" in problem(client.get("/health?x=1"), 422, "invalid")


def test_unknown_methods_and_paths(client: httpx.Client) -> None:
    response = client.put("/v1/notes", json={})
    problem(response, 405, "method-not-allowed")
    assert response.headers["allow"]
    problem(client.options("/v1/search"), 405, "method-not-allowed")
    problem(client.get("/v2/notes"), 404, "not-found")
    problem(client.get("/v1/stats/"), 404, "not-found")


def test_head(client: httpx.Client) -> None:
    got, headed = client.get("/v1/notes/n1"), client.head("/v1/notes/n1")
    assert (headed.status_code, headed.content) == (200, b"")
    assert headed.headers["content-length"] == got.headers["content-length"]
    assert client.head("/v1/notes/nowhere").status_code == 404


def test_request_that_is_not_http(client: httpx.Client) -> None:
    host, port = client.base_url.host, client.base_url.port
    with socket.create_connection((host, port or 80)) as connection:
        connection.sendall(b"GET / tea\r\n\r\n")
        assert b" 400 " in connection.recv(1000)


def test_parse_json() -> None:
    assert parse_json(b'{"a": [' + b"[]," * 100 + b"[]]}")
    with pytest.raises(ProblemError):
        parse_json(b"")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/notes", "GET, HEAD, POST"),
        ("/v1/notes/n1", "DELETE, GET, HEAD, PATCH"),
        ("/v1/notes/batch", "DELETE, GET, HEAD, PATCH, POST"),
        ("/v1/links", "DELETE, POST"),
        ("/v1/compare", "POST"),
        ("/openapi.json", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("method", ["OPTIONS", "PUT"])
def test_allow_header(client: httpx.Client, method: str, path: str, allowed: str) -> None:
    response = client.request(method, path)
    problem(response, 405, "method-not-allowed")
    assert response.headers["allow"] == allowed
