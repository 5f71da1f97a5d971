"""A key of one namespace cannot read, guess or infer anything of another.

Every endpoint of the application is tested; a new one fails here until it has an entry in REQUESTS.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from fastapi.routing import APIRoute

import recollect
from recollect import Memory
from recollect.server import KeyRing
from recollect.server.http.middleware import PUBLIC_PATHS
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import Running, running

SECRET = "xyzzy"  # noqa: S105 (no password)
"""A word in every text and name of the other namespace."""


class EndpointRequest(NamedTuple):
    path: str
    body: Any = None
    status: int = 200
    """The status in the caller's namespace."""


KNOWN = f"{SECRET}-1"
REQUESTS = {
    "POST /v1/notes": EndpointRequest("/v1/notes", {"content": "mine", "id": KNOWN}, 201),
    "GET /v1/notes": EndpointRequest("/v1/notes"),
    "POST /v1/notes/batch": EndpointRequest(
        "/v1/notes/batch", {"notes": [{"content": "mine", "id": f"{SECRET}-2"}]}, 201
    ),
    "GET /v1/notes/{key}": EndpointRequest(f"/v1/notes/{KNOWN}", status=404),
    "PATCH /v1/notes/{key}": EndpointRequest(f"/v1/notes/{KNOWN}", {"title": "x"}, 404),
    "DELETE /v1/notes/{key}": EndpointRequest(f"/v1/notes/{KNOWN}", status=404),
    "POST /v1/links": EndpointRequest("/v1/links", {"source": KNOWN, "target": "b"}, 404),
    "DELETE /v1/links": EndpointRequest(f"/v1/links?source={KNOWN}&target=b", status=404),
    "GET /v1/neighbours/{key}": EndpointRequest(f"/v1/neighbours/{KNOWN}", status=404),
    "POST /v1/ingest": EndpointRequest("/v1/ingest", {"documents": [{"path": f"{SECRET}.md", "content": "mine"}]}),
    "POST /v1/search": EndpointRequest("/v1/search", {"query": SECRET, "trace": True}),
    "GET /v1/search": EndpointRequest(f"/v1/search?q={SECRET}"),
    "POST /v1/explain": EndpointRequest("/v1/explain", {"query": SECRET}),
    "POST /v1/compare": EndpointRequest("/v1/compare", {"query": SECRET, "trace": True}),
    "GET /v1/presets": EndpointRequest("/v1/presets"),
    "GET /v1/reports": EndpointRequest("/v1/reports", status=403),
    "GET /v1/reports/{name}": EndpointRequest(f"/v1/reports/{SECRET}.html", status=403),
    "GET /v1/stats": EndpointRequest("/v1/stats"),
    "GET /metrics": EndpointRequest("/metrics", status=403),
}
"""The request to each endpoint."""

WITHOUT_NAMESPACE = ("GET /metrics",)
READING = [
    name
    for name in REQUESTS
    if name.startswith("GET ") or name in ("POST /v1/search", "POST /v1/explain", "POST /v1/compare")
]


def endpoints(app: Any) -> set[str]:
    """Return every endpoint that an application serves; every other route must be listed here."""
    results = set()
    for route in app.routes:
        if route.path not in ("/openapi.json", "/", "/web/{name}"):
            assert isinstance(route, APIRoute), f"{route} is new: check that it cannot access other namespaces"
            results |= {f"{method} {route.path_format}" for method in route.methods or ()}
    return results


class Keys(NamedTuple):
    tea: str
    reader: str
    admin: str
    both: str


@pytest.fixture(scope="module")
def isolated_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Keys, Memory]]:
    folder: Path = tmp_path_factory.mktemp("walled")
    ring = KeyRing(folder / "keys.json")
    keys = Keys(
        ring.add("tea", ["tea"], "write")[1],
        ring.add("reader", ["tea"], "read")[1],
        ring.add("admin", ["tea"], "admin")[1],
        ring.add("both", ["tea", "coffee"], "write")[1],
    )
    with recollect.open(folder / "memory.db", embedder=lambda texts: [[len(text), 1.0] for text in texts]) as memory:
        memory.add("What tea is about.", namespace="tea", id="t1")
        for number in range(3):
            memory.add(
                f"The {SECRET} number {number}.",
                namespace="work",
                id=f"{SECRET}-{number}",
                path=f"{SECRET}/{number}.md",
                title=SECRET,
                tags=[SECRET],
                session=SECRET,
                position=number,
                links=[f"{SECRET}-0"],
                metadata={SECRET: SECRET, "entities": [SECRET]},
            )
        with running(memory, ring=ring) as server:
            yield server, keys, memory


def send(server: Running, name: str, key: str, **query: str) -> httpx.Response:
    requested = REQUESTS[name]
    return server.client.request(
        name.partition(" ")[0],
        httpx.URL(requested.path).copy_merge_params(query),
        headers=bearer(key) if key else {},
        json=requested.body,
    )


def test_every_endpoint_is_tested(isolated_server: tuple[Running, Keys, Memory]) -> None:
    server, keys, _ = isolated_server
    unguarded = {f"GET {path}" for path in PUBLIC_PATHS if path != "/openapi.json"}
    assert endpoints(server.app) - set(REQUESTS) == unguarded, "the new endpoint needs an entry in REQUESTS"
    described = {f"{method.upper()} {path}" for path, item in server.app.openapi()["paths"].items() for method in item}
    assert endpoints(server.app) == described
    for path in ("/docs", "/redoc", "/web", "/v1", "/mcp", "/favicon.ico"):
        assert server.client.get(path, headers=bearer(keys.tea)).status_code == 404
        assert server.client.get(path).status_code == 401


@pytest.mark.parametrize("name", REQUESTS)
class TestEveryEndpoint:
    def test_every_endpoint_needs_a_key(self, name: str, isolated_server: tuple[Running, Keys, Memory]) -> None:
        server, keys, _ = isolated_server
        for wrong in ("", "rk_", "rk_a_b", keys.tea[:-1], keys.tea.replace("rk_", "rk_x")):
            response = send(server, name, wrong)
            problem(response, 401, "unauthorised")
            assert response.headers["www-authenticate"] == "Bearer"

    def test_other_namespaces_are_forbidden(self, name: str, isolated_server: tuple[Running, Keys, Memory]) -> None:
        server, keys, memory = isolated_server
        if name in WITHOUT_NAMESPACE:
            problem(send(server, name, keys.tea, namespace="work"), 422, "invalid")
            return
        before = snapshot(memory)
        for key in (keys.tea, keys.admin, keys.both):
            data = []
            for namespace in ("work", "nowhere", "wor\u212a", " work", "default"):
                response = send(server, name, key, namespace=namespace)
                problem(response, 403, "forbidden")
                data.append(_without_namespace(response, namespace))
            assert len(set(data)) == 1
        assert snapshot(memory) == before

    def test_responses_contain_nothing_of_other_namespaces(
        self, name: str, isolated_server: tuple[Running, Keys, Memory]
    ) -> None:
        server, keys, memory = isolated_server
        before = snapshot(memory)
        response = send(server, name, keys.tea)
        assert response.status_code == REQUESTS[name].status, response.text
        echoed = json.dumps(REQUESTS[name])
        if SECRET in response.text:  # it repeats only the request
            assert SECRET in echoed
            assert f"The {SECRET}" not in response.text
            assert f"{SECRET}/" not in response.text
        assert "work" not in response.text.replace("network", "")
        assert snapshot(memory) == before
        memory.delete(KNOWN, f"{SECRET}-2", f"{SECRET}.md", namespace="tea")

    def test_read_key_cannot_write(self, name: str, isolated_server: tuple[Running, Keys, Memory]) -> None:
        server, keys, memory = isolated_server
        response = send(server, name, keys.reader)
        if name in READING and name not in WITHOUT_NAMESPACE:
            assert response.status_code == REQUESTS[name].status
        else:
            problem(response, 403, "forbidden")
        assert memory.count(namespace="tea") == 1


def test_cursor_is_bound_to_its_namespace(isolated_server: tuple[Running, Keys, Memory]) -> None:
    server, keys, memory = isolated_server
    memory.add_many([{"content": str(number)} for number in range(3)], namespace="coffee")
    first = server.client.get("/v1/notes?namespace=coffee&limit=1", headers=bearer(keys.both)).json()
    cursor = first["next_cursor"]
    problem(server.client.get(f"/v1/notes?namespace=tea&cursor={cursor}", headers=bearer(keys.both)), 422, "invalid")
    again = server.client.get("/v1/notes?namespace=coffee&limit=1", headers=bearer(keys.both)).json()
    assert again["next_cursor"] != cursor  # cursors do not reveal how many notes are between them


def test_scores_do_not_depend_on_other_namespaces(isolated_server: tuple[Running, Keys, Memory]) -> None:
    server, keys, memory = isolated_server
    before = server.client.post("/v1/search", json={"query": "tea"}, headers=bearer(keys.tea)).json()
    memory.add_many([f"tea {number}" for number in range(50)], namespace="work")
    after = server.client.post("/v1/search", json={"query": "tea"}, headers=bearer(keys.tea)).json()
    assert [hit["score"] for hit in before["hits"]] == [hit["score"] for hit in after["hits"]]


def test_forbidden_requests_do_not_reach_the_store(tmp_path: Path) -> None:
    """The response time cannot tell whether a note exists if the store is never called."""
    ring = KeyRing(tmp_path / "keys.json")
    _, key = ring.add("tea", ["tea"], "admin")

    class UncallableMemory:
        embedder = None

        def search(self, *_: Any, **__: Any) -> None:
            """Do nothing: readiness needs it."""

        def count(self) -> int:
            return 0

    with running(UncallableMemory(), ring=ring) as server:  # type: ignore[arg-type]
        for name in REQUESTS:
            if name not in WITHOUT_NAMESPACE:
                problem(send(server, name, key, namespace="work"), 403, "forbidden")


def snapshot(memory: Memory) -> list[Any]:
    return [note.to_dict() for note in memory.notes(namespace="work")]


def _without_namespace(response: httpx.Response, namespace: str) -> str:
    data = response.json()
    del data["request_id"]
    return json.dumps(data).replace(json.dumps(repr(namespace))[1:-1], "NAMESPACE")
