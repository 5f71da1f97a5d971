"""The page is served to a browser: its own files, which may do nothing but ask their own server."""

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
from recollect.server.http.finished import Finished
from recollect.server.page import page_files
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with recollect.open(tmp_path / "memory.db", embedder=None) as opened:
        yield opened


@pytest.fixture
def client(memory: Memory) -> Iterator[httpx.Client]:
    with running(memory) as server:
        yield server.client


def plainly(url: str, path: str) -> tuple[int, str]:
    """Ask for a path as it is written, which no client of the web's usual manners would, and return the problem."""
    with closing(HTTPConnection(httpx.URL(url).netloc.decode())) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())["type"]


def test_the_page_and_its_parts_are_served_as_what_they_are(client: httpx.Client) -> None:
    first = client.get("/", headers={"Accept": "text/html"})
    assert (first.status_code, first.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert first.content == client.get("/page/index.html").content == page_files()["index.html"].body
    for name, media_type in {
        "app.js": "text/javascript; charset=utf-8",
        "style.css": "text/css; charset=utf-8",
        "icon.svg": "image/svg+xml",
    }.items():
        answer = client.get(f"/page/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
        assert answer.content == page_files()[name].body
        assert f"/page/{name}" in first.text
    assert client.head("/").headers["content-length"] == str(len(first.content))


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/style.css", "/page/icon.svg"])
def test_a_browser_lets_it_do_little(client: httpx.Client, path: str) -> None:
    told = client.get(path).headers
    policy = dict(each.split(" ", 1) for each in told["content-security-policy"].split("; "))
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
    assert told["referrer-policy"] == "no-referrer"
    assert told["cross-origin-opener-policy"] == told["cross-origin-resource-policy"] == "same-origin"
    assert told["x-frame-options"] == "DENY"
    assert told["x-content-type-options"] == "nosniff"


def test_what_a_browser_has_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("/page/app.js")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get("/page/app.js", headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"] == "no-cache"
    for other in ('"other"', tag.strip('"'), client.get("/").headers["etag"]):
        assert client.get("/page/app.js", headers={"If-None-Match": other}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/nowhere.js",
        "/page/../app.js",
        "/page/..%2floading.py",
        "/page/%2e%2e/loading.py",
        "/page/..",
        "/page/.",
        "/page/loading.py",
        "/page/app.js/",
        "/page/app.js%00",
        "/page//app.js",
        "/page/files/app.js",
        "/page/%2fetc%2fpasswd",
        "/page/APP.JS",
        "/page",
        "//",
        "/index.html",
        "/favicon.ico",
    ],
)
def test_nothing_else_is_found(client: httpx.Client, path: str) -> None:
    assert plainly(str(client.base_url), path) == (404, "urn:recollect:not-found")


def test_it_needs_no_key_and_opens_nothing(memory: Memory, tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    ring.add("x", None, "read")
    with running(memory, ring=ring) as server:
        for path in ("/", "/page/app.js"):
            for headers in ({}, bearer("rk_0_x"), {"Host": "memory.example"}):
                assert server.client.get(path, headers=headers).status_code == 200
        problem(server.client.get("/page/nowhere.js"), 404, "not-found")
        for path in ("/page", "/pages/app.js", "/v1/stats", "//v1/stats"):
            problem(server.client.get(path), 401, "unauthorised")
        assert plainly(server.url, "/page/../v1/stats") == (404, "urn:recollect:not-found")


def test_a_page_of_another_name_does_not_get_it(client: httpx.Client) -> None:
    problem(client.get("/", headers={"Host": "evil.example"}), 421, "misdirected")


def test_the_log_has_templates(memory: Memory) -> None:
    seen: list[Finished] = []
    with running(memory, observers=[seen.append]) as server:
        for path in ("/", "/page/app.js", "/page/xyzzy.js"):
            server.client.get(path)
        told = server.client.post("/")
        assert problem(told, 405, "method-not-allowed")
        assert told.headers["allow"] == "GET, HEAD"
        assert not any(path == "/" or path.startswith("/page") for path in server.app.openapi()["paths"])
    asked = [(each.route, each.status) for each in seen if each.route != "/ready"]
    assert asked == [("/", 200), ("/page/{name}", 200), ("/page/{name}", 404), ("/", 405)]


def test_without_the_api_there_is_no_page(memory: Memory) -> None:
    assert {getattr(route, "path", "") for route in create_app(memory, api=False).routes} == {"/openapi.json"}
