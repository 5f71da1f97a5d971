"""Static files, security headers and caching."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

import recollect
from recollect import Memory
from recollect.server import KeyRing
from recollect.server.http import create_app
from recollect.server.http.request_log import RequestRecord
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running

STATIC = Path(recollect.__file__).parent / "server" / "web" / "static"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as opened:
        yield opened


@pytest.fixture
def client(memory: Memory) -> Iterator[httpx.Client]:
    with running(memory) as server:
        yield server.client


def get_raw_path(url: str, path: str) -> tuple[int, str]:
    """Send a path without normalising it, and return the problem."""
    with closing(HTTPConnection(httpx.URL(url).netloc.decode())) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())["type"]


def test_static_files_have_their_media_types(client: httpx.Client) -> None:
    first = client.get("/", headers={"Accept": "text/html"})
    assert (first.status_code, first.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert first.content == client.get("/web/index.html").content == (STATIC / "index.html").read_bytes()
    for name, media_type in {
        "app.js": "text/javascript; charset=utf-8",
        "style.css": "text/css; charset=utf-8",
        "icon.svg": "image/svg+xml",
    }.items():
        response = client.get(f"/web/{name}")
        assert (response.status_code, response.headers["content-type"]) == (200, media_type)
        assert response.content == (STATIC / name).read_bytes()
        assert f"/web/{name}" in first.text
    assert client.head("/").headers["content-length"] == str(len(first.content))


@pytest.mark.parametrize("path", ["/", "/web/app.js", "/web/style.css", "/web/icon.svg"])
def test_security_headers(client: httpx.Client, path: str) -> None:
    body = client.get(path).headers
    policy = dict(item.split(" ", 1) for item in body["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "recollect-report",
    }
    assert body["referrer-policy"] == "no-referrer"
    assert body["cross-origin-opener-policy"] == body["cross-origin-resource-policy"] == "same-origin"
    assert body["x-frame-options"] == "DENY"
    assert body["x-content-type-options"] == "nosniff"


def test_etag_gives_304(client: httpx.Client) -> None:
    first = client.get("/web/app.js")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for existing in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get("/web/app.js", headers={"If-None-Match": existing})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == "no-cache"
    for stale_tag in ('"other"', tag.strip('"'), client.get("/").headers["etag"]):
        assert client.get("/web/app.js", headers={"If-None-Match": stale_tag}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/web/",
        "/web/nowhere.js",
        "/web/../app.js",
        "/web/..%2floading.py",
        "/web/%2e%2e/loading.py",
        "/web/..",
        "/web/.",
        "/web/loading.py",
        "/web/app.js/",
        "/web/app.js%00",
        "/web//app.js",
        "/web/files/app.js",
        "/web/%2fetc%2fpasswd",
        "/web/APP.JS",
        "/web",
        "//",
        "/index.html",
        "/favicon.ico",
    ],
)
def test_other_files_are_not_served(client: httpx.Client, path: str) -> None:
    assert get_raw_path(str(client.base_url), path) == (404, "urn:recollect:not-found")


def test_web_ui_needs_no_key(memory: Memory, tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        for path in ("/", "/web/app.js"):
            for headers in ({}, bearer("rk_0_x"), {"Host": "memory.example"}):
                assert server.client.get(path, headers=headers).status_code == 200
        problem(server.client.get("/web/nowhere.js"), 404, "not-found")
        for path in ("/web", "/webs/app.js", "/v1/stats", "//v1/stats"):
            problem(server.client.get(path), 401, "unauthorised")
        assert get_raw_path(server.url, "/web/../v1/stats") == (404, "urn:recollect:not-found")


def test_other_host_names_are_rejected(client: httpx.Client) -> None:
    problem(client.get("/", headers={"Host": "evil.example"}), 421, "misdirected")


def test_log_has_route_templates(memory: Memory) -> None:
    records: list[RequestRecord] = []
    with running(memory, observers=[records.append]) as server:
        for path in ("/", "/web/app.js", "/web/xyzzy.js"):
            server.client.get(path)
        body = server.client.post("/")
        assert problem(body, 405, "method-not-allowed")
        assert body.headers["allow"] == "GET, HEAD"
        assert not any(path == "/" or path.startswith("/web") for path in server.app.openapi()["paths"])
    requested = [(item.route, item.status) for item in records if item.route != "/ready"]
    assert requested == [("/", 200), ("/web/{name}", 200), ("/web/{name}", 404), ("/", 405)]


def test_no_web_ui_without_the_api(memory: Memory) -> None:
    assert {getattr(route, "path", "") for route in create_app(memory, api=False).routes} == {"/openapi.json"}
