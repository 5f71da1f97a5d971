from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import recollect
from recollect import Memory
from tests.server.http.conftest import problem
from tests.server.http.running import running


def test_a_note_is_stored_got_changed_and_deleted(client: httpx.Client, memory: Memory) -> None:
    sent = {
        "content": "Sencha.",
        "path": "a/b c.md",
        "tags": ["x"],
        "links": [{"target": "n1"}],
        "metadata": {"k": [1]},
    }
    made = client.post("/v1/notes", json=sent)
    assert made.status_code == 201
    note = made.json()
    assert note["links"] == [{"kind": "related", "target": "n1"}]
    assert {name: note[name] for name in ("content", "path", "tags", "metadata")} == {
        name: sent[name] for name in ("content", "path", "tags", "metadata")
    }
    assert made.headers["location"] == f"/v1/notes/{note['id']}"
    assert made.headers["cache-control"] == "no-store"
    for address in (made.headers["location"], "/v1/notes/a/b%20c.md", "/v1/notes/a%2Fb%20c.md"):
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
def test_a_note_that_is_not_there(client: httpx.Client, method: str, key: str) -> None:
    answer = client.request(method, f"/v1/notes/{key}", json={} if method == "PATCH" else None)
    detail = problem(answer, 404, "note-not-found")
    assert "in namespace 'default'" in detail


def test_a_note_without_text_is_refused(client: httpx.Client, memory: Memory) -> None:
    before = memory.count()
    said = "must not be blank or only punctuation in a note without title and summary; give the note some text"
    assert said in problem(client.post("/v1/notes", json={"content": " ", "tags": ["x"]}), 422, "invalid")
    batch = {"notes": [{"content": "Tea."}, {"content": ""}]}
    assert f"notes[1].content: {said}" in problem(client.post("/v1/notes/batch", json=batch), 422, "invalid")
    assert said in problem(
        client.patch("/v1/notes/n1", json={"content": "", "title": "", "summary": ""}), 422, "invalid"
    )
    assert memory.count() == before


def test_a_note_may_expire_and_may_replace_others(client: httpx.Client) -> None:
    sent = {"content": "Black tea now.", "expires_at": "2999-01-01", "supersedes": ["n1"]}
    note = client.post("/v1/notes", json=sent).json()
    assert (note["expires_at"], note["links"]) == ("2999-01-01T00:00:00Z", [{"kind": "supersedes", "target": "n1"}])
    kept = client.patch(f"/v1/notes/{note['id']}", json={"expires_at": "never"}).json()
    assert kept["expires_at"] is None
    hits = client.post("/v1/search", json={"query": "tea"}).json()["hits"]
    assert {hit["id"]: hit["superseded_by"] for hit in hits}["n1"] == [note["id"]]
    assert "expires_at" in problem(client.post("/v1/notes", json={**sent, "expires_at": "2001-01-01"}), 422, "invalid")
    assert "nowhere" in problem(
        client.post("/v1/notes", json={**sent, "supersedes": ["nowhere"]}), 404, "note-not-found"
    )


def test_secrets_are_refused_where_the_memory_refuses_them(tmp_path: Path) -> None:
    secret = "AKIA" + "Q7RTYUPLKJHGFDSX"
    with recollect.open(tmp_path / "m.db", embedder=None, secrets="refuse") as memory, running(memory) as served:
        detail = problem(served.client.post("/v1/notes", json={"content": f"key {secret}"}), 422, "invalid")
        assert "content: contains a secret" in detail
        assert secret not in detail
        asked = {"documents": [{"path": "a.md", "content": f"key {secret}"}, {"path": "b.md", "content": "Tea."}]}
        report = served.client.post("/v1/ingest", json=asked).json()
        assert [each["name"] for each in report["problems"]] == ["a.md"]
        assert [note.path for note in memory.notes()] == ["b.md"]


def test_a_new_note_needs_a_text(client: httpx.Client) -> None:
    assert "content" in problem(client.post("/v1/notes", json={"title": "x"}), 422, "invalid")


def test_the_id_of_a_note_cannot_be_changed(client: httpx.Client) -> None:
    answer = client.patch("/v1/notes/n1", json={"id": "n9"})
    problem(answer, 422, "invalid")
    assert answer.json()["errors"][0]["field"] == "body.id"


def test_a_batch_is_stored_as_a_whole_or_not_at_all(client: httpx.Client, memory: Memory) -> None:
    made = client.post("/v1/notes/batch", json={"notes": [{"content": "a", "id": "x"}, {"content": "b"}]})
    assert made.status_code == 201
    assert made.json()["count"] == 2
    assert made.json()["ids"][0] == "x"
    refused = client.post("/v1/notes/batch", json={"notes": [{"content": "c"}, {"title": "no text"}]})
    problem(refused, 422, "invalid")
    assert memory.count() == 5
    problem(client.post("/v1/notes/batch", json={"notes": []}), 422, "invalid")
    problem(client.post("/v1/notes/batch", json={"notes": [{"content": "x"}] * 1001}), 422, "invalid")


def test_a_list_comes_page_by_page(client: httpx.Client) -> None:
    seen = []
    cursor = None
    while True:
        page = client.get("/v1/notes", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        seen += [note["id"] for note in page["notes"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        client.delete(f"/v1/notes/{seen[-1]}")
    assert seen == ["n1", "n2", "n3"]


def test_a_list_can_be_filtered(client: httpx.Client) -> None:
    def listed(**params: str | list[str]) -> list[str]:
        return [note["id"] for note in client.get("/v1/notes", params=params).json()["notes"]]

    assert listed(path_prefix="memory/") == ["n1", "n2"]
    assert listed(tag="drink") == ["n1"]
    assert listed(tag=["drink", "other"]) == []
    assert listed(session="s1") == ["n2", "n3"]
    assert listed(session="s1", path_prefix="memory/") == ["n2"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "cursor=x", "cursor=%E2%98%83", "cursor=" + "A" * 300]
)
def test_a_page_that_cannot_be(client: httpx.Client, query: str) -> None:
    problem(client.get(f"/v1/notes?{query}"), 422, "invalid")


def test_namespaces_are_apart(client: httpx.Client, memory: Memory) -> None:
    client.post("/v1/notes?namespace=work", json={"content": "Elsewhere.", "id": "n1"})
    assert client.get("/v1/notes/n1?namespace=work").json()["content"] == "Elsewhere."
    assert client.get("/v1/notes/n1").json()["content"] == "Prefers green tea."
    assert memory.count(namespace="work") == 1
    problem(client.get("/v1/notes?namespace=%00"), 422, "invalid")
    problem(client.get("/v1/notes?namespace="), 422, "invalid")
