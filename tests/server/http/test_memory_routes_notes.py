"""Endpoints of notes, links and ingest."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import recollect
from recollect import Memory
from recollect.stores import open_store
from tests.server.http.conftest import problem
from tests.server.http.running import running
from tests.strategies import nested


def test_add_get_update_and_delete_note(client: httpx.Client, memory: Memory) -> None:
    sent = {
        "content": "Sencha.",
        "path": "a/b c.md",
        "tags": ["x"],
        "links": [{"target": "n1"}],
        "metadata": {"k": [1]},
    }
    created = client.post("/v1/notes", json=sent)
    assert created.status_code == 201
    note = created.json()
    assert note["links"] == [{"kind": "related", "target": "n1"}]
    assert {name: note[name] for name in ("content", "path", "tags", "metadata")} == {
        name: sent[name] for name in ("content", "path", "tags", "metadata")
    }
    assert created.headers["location"] == f"/v1/notes/{note['id']}"
    assert created.headers["cache-control"] == "no-store"
    for address in (created.headers["location"], "/v1/notes/a/b%20c.md", "/v1/notes/a%2Fb%20c.md"):
        assert client.get(address).json()["id"] == note["id"]
    changed = client.patch("/v1/notes/a/b%20c.md", json={"title": "S", "content": None}).json()
    assert (changed["title"], changed["content"]) == ("S", "Sencha.")
    again = client.post("/v1/notes", json={"path": "a/b c.md", "importance": 1})
    assert (again.status_code, again.json()["importance"]) == (200, 1.0)
    gone = client.delete("/v1/notes/a/b%20c.md")
    assert (gone.status_code, gone.content) == (204, b"")
    assert memory.count() == 3


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("key", ["nowhere", "a/b", "%00", "%FF", "..%2F..%2Fetc%2Fpasswd", ""])
def test_missing_note(client: httpx.Client, method: str, key: str) -> None:
    response = client.request(method, f"/v1/notes/{key}", json={} if method == "PATCH" else None)
    detail = problem(response, 404, "note-not-found")
    assert "in namespace 'default'" in detail


def test_note_without_text_is_rejected(client: httpx.Client, memory: Memory) -> None:
    before = memory.count()
    message = "must not be blank or only punctuation in a note without title and summary; give the note some text"
    assert message in problem(client.post("/v1/notes", json={"content": " ", "tags": ["x"]}), 422, "invalid")
    batch = {"notes": [{"content": "Tea."}, {"content": ""}]}
    assert f"notes[1].content: {message}" in problem(client.post("/v1/notes/batch", json=batch), 422, "invalid")
    assert message in problem(
        client.patch("/v1/notes/n1", json={"content": "", "title": "", "summary": ""}), 422, "invalid"
    )
    assert memory.count() == before


def test_expires_at_and_supersedes(client: httpx.Client) -> None:
    sent = {"content": "Black tea now.", "expires_at": "2999-01-01", "supersedes": ["n1"]}
    note = client.post("/v1/notes", json=sent).json()
    assert (note["expires_at"], note["links"]) == ("2999-01-01T00:00:00Z", [{"kind": "supersedes", "target": "n1"}])
    stored = client.patch(f"/v1/notes/{note['id']}", json={"expires_at": "never"}).json()
    assert stored["expires_at"] is None
    hits = client.post("/v1/search", json={"query": "tea"}).json()["hits"]
    assert {hit["id"]: hit["superseded_by"] for hit in hits}["n1"] == [note["id"]]
    assert "expires_at" in problem(client.post("/v1/notes", json={**sent, "expires_at": "2001-01-01"}), 422, "invalid")
    assert "nowhere" in problem(
        client.post("/v1/notes", json={**sent, "supersedes": ["nowhere"]}), 404, "note-not-found"
    )


def test_secret_is_rejected(tmp_path: Path) -> None:
    secret = "AKIA" + "Q7RTYUPLKJHGFDSX"
    with recollect.open(tmp_path / "m.db", embedder=None, secrets="refuse") as memory, running(memory) as served:
        detail = problem(served.client.post("/v1/notes", json={"content": f"key {secret}"}), 422, "invalid")
        assert "content: contains a secret" in detail
        assert secret not in detail
        requested = {"documents": [{"path": "a.md", "content": f"key {secret}"}, {"path": "b.md", "content": "Tea."}]}
        report = served.client.post("/v1/ingest", json=requested).json()
        assert [item["name"] for item in report["problems"]] == ["a.md"]
        assert [note.path for note in memory.notes()] == ["b.md"]


def test_new_note_requires_content(client: httpx.Client) -> None:
    assert "content" in problem(client.post("/v1/notes", json={"title": "x"}), 422, "invalid")


def test_id_cannot_be_changed(client: httpx.Client) -> None:
    response = client.patch("/v1/notes/n1", json={"id": "n9"})
    problem(response, 422, "invalid")
    assert response.json()["errors"][0]["field"] == "body.id"


def test_batch_is_atomic(client: httpx.Client, memory: Memory) -> None:
    created = client.post("/v1/notes/batch", json={"notes": [{"content": "a", "id": "x"}, {"content": "b"}]})
    assert created.status_code == 201
    assert created.json()["count"] == 2
    assert created.json()["ids"][0] == "x"
    rejected = client.post("/v1/notes/batch", json={"notes": [{"content": "c"}, {"title": "no text"}]})
    problem(rejected, 422, "invalid")
    assert memory.count() == 5
    problem(client.post("/v1/notes/batch", json={"notes": []}), 422, "invalid")
    problem(client.post("/v1/notes/batch", json={"notes": [{"content": "x"}] * 1001}), 422, "invalid")


def test_list_is_paginated(client: httpx.Client) -> None:
    ids = []
    cursor = None
    while True:
        page = client.get("/v1/notes", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        ids += [note["id"] for note in page["notes"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        client.delete(f"/v1/notes/{ids[-1]}")
    assert ids == ["n1", "n2", "n3"]


def test_list_filters(client: httpx.Client) -> None:
    def listing(**params: str | list[str]) -> list[str]:
        return [note["id"] for note in client.get("/v1/notes", params=params).json()["notes"]]

    assert listing(path_prefix="memory/") == ["n1", "n2"]
    assert listing(tag="drink") == ["n1"]
    assert listing(tag=["drink", "other"]) == []
    assert listing(session="s1") == ["n2", "n3"]
    assert listing(session="s1", path_prefix="memory/") == ["n2"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "cursor=x", "cursor=%E2%98%83", "cursor=" + "A" * 300]
)
def test_invalid_list_parameters(client: httpx.Client, query: str) -> None:
    problem(client.get(f"/v1/notes?{query}"), 422, "invalid")


def test_namespaces_are_isolated(client: httpx.Client, memory: Memory) -> None:
    client.post("/v1/notes?namespace=work", json={"content": "Elsewhere.", "id": "n1"})
    assert client.get("/v1/notes/n1?namespace=work").json()["content"] == "Elsewhere."
    assert client.get("/v1/notes/n1").json()["content"] == "Prefers green tea."
    assert memory.count(namespace="work") == 1
    problem(client.get("/v1/notes?namespace=%00"), 422, "invalid")
    problem(client.get("/v1/notes?namespace="), 422, "invalid")


def test_add_and_remove_links(client: httpx.Client) -> None:
    link = {"source": "n1", "target": "memory/coffee.md", "kind": "supersedes"}
    assert client.post("/v1/links", json=link).json() == {"created": True}
    assert client.post("/v1/links", json=link).json() == {"created": False}
    (results,) = client.get("/v1/neighbours/memory/tea.md").json()["neighbours"]
    assert (results["kind"], results["direction"], results["note"]["id"]) == ("supersedes", "out", "n2")
    assert client.delete("/v1/links", params=link).json() == {"removed": True}
    assert client.delete("/v1/links", params=link).json() == {"removed": False}
    assert client.get("/v1/neighbours/n1").json() == {"neighbours": []}
    problem(client.post("/v1/links", json={"source": "no", "target": "n1"}), 404, "note-not-found")
    problem(client.delete("/v1/links", params={"source": "no", "target": "n1"}), 404, "note-not-found")
    problem(client.get("/v1/neighbours/no"), 404, "note-not-found")


def test_ingest_texts(client: httpx.Client, memory: Memory) -> None:
    documents = [
        {"path": "people/ines.md", "content": "# Ines\n\nLikes sencha."},
        {"path": "chat.jsonl", "content": '{"content": "Hello."}\n{"content": "Goodbye."}'},
        {"path": "photo.png", "content": "?"},
    ]
    report = client.post("/v1/ingest", json={"documents": documents, "prefix": "vault/"}).json()
    assert report["files"] == {"read": 2, "unchanged": 0, "removed": 0, "failed": 1}
    assert report["notes"]["added"] == 3
    assert [(item["name"], item["skipped"]) for item in report["problems"]] == [("photo.png", True)]
    assert memory.has("vault/people/ines.md")
    again = client.post("/v1/ingest", json={"documents": documents[:2], "prefix": "vault/"}).json()
    assert again["files"] == {"read": 0, "unchanged": 2, "removed": 0, "failed": 0}
    twice = client.post("/v1/ingest", json={"documents": [documents[0]] * 2})
    assert problem(twice, 422, "invalid") == "documents: two documents have the same path; send each path once"


def test_ingest_reports_deep_nesting_by_line(client: httpx.Client) -> None:
    deep = '{"content": "x", "metadata": {"a": ' + "[" * 500 + "]" * 500 + "}}"
    documents = [{"path": "a.jsonl", "content": f'{{"content": "Hello."}}\n{deep}'}]
    report = client.post("/v1/ingest", json={"documents": documents}).json()
    assert report["notes"]["added"] == 1
    (data,) = report["problems"]
    assert (data["line"], data["message"]) == (2, "metadata: must not be nested deeper than 64 levels; make it flatter")


def test_deeply_nested_stored_note_is_returned(client: httpx.Client, memory: Memory) -> None:
    store = open_store(memory.stats().store.location)
    store.write([{"id": "deep", "content": "Tea.", "metadata": {"a": nested(900)}}])
    store.close()
    assert "[" * 900 in client.get("/v1/notes/deep").text
    assert client.patch("/v1/notes/deep", json={"title": "Deep"}).json()["title"] == "Deep"
    assert client.post("/v1/search", json={"query": "deep"}).status_code == 200
