"""Links, ingest, searches, and how the server is doing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event
from typing import Any

import httpx
import pytest

import recollect
from recollect import Memory, __version__
from recollect.server import KeyRing
from recollect.server.http.readiness import Readiness
from recollect.stores import open_store
from tests.server.http.conftest import bearer, problem
from tests.server.http.running import running, until
from tests.strategies import nested


def test_links_are_made_seen_and_taken_away(client: httpx.Client) -> None:
    link = {"source": "n1", "target": "memory/coffee.md", "kind": "supersedes"}
    assert client.post("/v1/links", json=link).json() == {"created": True}
    assert client.post("/v1/links", json=link).json() == {"created": False}
    (found,) = client.get("/v1/neighbours/memory/tea.md").json()["neighbours"]
    assert (found["kind"], found["direction"], found["note"]["id"]) == ("supersedes", "out", "n2")
    assert client.delete("/v1/links", params=link).json() == {"removed": True}
    assert client.delete("/v1/links", params=link).json() == {"removed": False}
    assert client.get("/v1/neighbours/n1").json() == {"neighbours": []}
    problem(client.post("/v1/links", json={"source": "no", "target": "n1"}), 404, "note-not-found")
    problem(client.delete("/v1/links", params={"source": "no", "target": "n1"}), 404, "note-not-found")
    problem(client.get("/v1/neighbours/no"), 404, "note-not-found")


def test_texts_become_notes(client: httpx.Client, memory: Memory) -> None:
    documents = [
        {"path": "people/ines.md", "content": "# Ines\n\nLikes sencha."},
        {"path": "chat.jsonl", "content": '{"content": "Hello."}\n{"content": "Goodbye."}'},
        {"path": "photo.png", "content": "?"},
    ]
    report = client.post("/v1/ingest", json={"documents": documents, "prefix": "vault/"}).json()
    assert report["files"] == {"read": 2, "unchanged": 0, "removed": 0, "failed": 1}
    assert report["notes"]["added"] == 3
    assert [(each["name"], each["skipped"]) for each in report["problems"]] == [("photo.png", True)]
    assert memory.has("vault/people/ines.md")
    again = client.post("/v1/ingest", json={"documents": documents[:2], "prefix": "vault/"}).json()
    assert again["files"] == {"read": 0, "unchanged": 2, "removed": 0, "failed": 0}
    twice = client.post("/v1/ingest", json={"documents": [documents[0]] * 2})
    assert problem(twice, 422, "invalid") == "documents: two of them have the same path"


def test_what_is_nested_too_deep_is_a_problem_of_its_line(client: httpx.Client) -> None:
    deep = '{"content": "x", "metadata": {"a": ' + "[" * 500 + "]" * 500 + "}}"
    documents = [{"path": "a.jsonl", "content": f'{{"content": "Hello."}}\n{deep}'}]
    report = client.post("/v1/ingest", json={"documents": documents}).json()
    assert report["notes"]["added"] == 1
    (told,) = report["problems"]
    assert (told["line"], told["message"]) == (2, "metadata: must not be nested deeper than 64 levels; make it flatter")


def test_a_note_from_before_there_was_a_limit_is_answered(client: httpx.Client, memory: Memory) -> None:
    store = open_store(memory.stats().store.location)
    store.write([{"id": "deep", "content": "Tea.", "metadata": {"a": nested(900)}}])
    store.close()
    assert "[" * 900 in client.get("/v1/notes/deep").text
    assert client.patch("/v1/notes/deep", json={"title": "Deep"}).json()["title"] == "Deep"
    assert client.post("/v1/search", json={"query": "deep"}).status_code == 200


def test_a_search_is_the_librarys(client: httpx.Client, memory: Memory) -> None:
    expected = memory.search("green tea", now="2026-01-01").to_dict()
    answer = client.post("/v1/search", json={"query": "green tea", "now": "2026-01-01", "trace": True}).json()
    assert answer["hits"] == expected["hits"]
    assert answer["query"] == "green tea"
    assert set(answer["trace"]) == set(expected["trace"])
    assert [each["id"] for each in answer["account"]["waterfalls"]] == [hit["id"] for hit in answer["hits"]]
    assert answer["account"]["waterfalls"][0]["rows"][-1]["end"] == answer["hits"][0]["score"]
    short = client.get("/v1/search", params={"q": "green tea", "top_k": 1, "mode": "bm25", "preset": "memini"}).json()
    assert [hit["id"] for hit in short["hits"]] == ["n1"]
    assert short.keys().isdisjoint({"trace", "account"})


def test_hits_have_tags_and_metadata(client: httpx.Client) -> None:
    note = {
        "id": "tagged",
        "content": "Gyokuro.",
        "tags": ["drinks"],
        "metadata": {"author": "Ines", "pages": [1, None]},
    }
    assert client.post("/v1/notes", json=note).status_code == 201
    (hit,) = client.post("/v1/search", json={"query": "gyokuro", "mode": "bm25"}).json()["hits"]
    assert (hit["tags"], hit["metadata"]) == (["drinks"], {"author": "Ines", "pages": [1, None]})


def test_a_search_says_what_it_went_without(client: httpx.Client) -> None:
    answer = client.post("/v1/search", json={"query": "tea", "mode": "semantic"}).json()
    assert answer["warnings"] == ["there is no embedder, so the search was by words alone; open the memory with one"]


def test_a_search_says_whether_it_has_an_answer_and_returns_weak_hits_all_the_same(client: httpx.Client) -> None:
    asked = {"query": "tea", "trace": True}
    sure = client.post("/v1/search", json=asked).json()
    assert (sure["has_answer"], sure["answer_threshold"], sure["trace"]["answerThreshold"]) == (True, 0.25, 0.25)
    weak = client.post("/v1/search", json={**asked, "answer_threshold": 1.0}).json()
    assert (weak["has_answer"], weak["answer_threshold"]) == (False, 1.0)
    assert weak["hits"] == [{**hit, "weak": True} for hit in sure["hits"]]
    both = client.post("/v1/compare", json={"query": "tea", "answer_threshold": 1.0}).json()["results"]
    assert {name: result["has_answer"] for name, result in both.items()} == dict.fromkeys(both, False)
    refused = client.post("/v1/search", json={"query": "tea", "answer_threshold": 2})
    assert refused.status_code == 422


def test_names_are_in_snake_case_but_for_the_trace(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    names = {name for schema in schemas.values() for name in schema.get("properties", {})}
    assert {name for name in names if name != name.lower()} == set()
    answer = client.post("/v1/explain", json={"query": "tea", "preset": "memini"}).json()
    trace = answer.pop("trace")
    assert {name for name in _keys(answer) if name != name.lower()} == set()
    (step, *_) = answer["hits"][0]["steps"]
    (traced, *_) = trace["results"][0]["steps"]
    assert (step["score_before"], step["rank_after"]) == (traced["scoreBefore"], traced["rankAfter"])


def _keys(value: Any) -> Iterator[str]:
    """Yield the names of all fields in JSON."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from _keys(each)


def test_every_option_of_a_search_is_passed_on(client: httpx.Client) -> None:
    options = {
        "top_k": 2,
        "candidate_k": 5,
        "rerank": False,
        "rerank_top_n": 3,
        "skip_retry_ladder": True,
        "question_date": "2026-04-18",
        "preset": "jeffs-brain",
        "filters": {"session": "s1", "tags": [], "created_after": "2020-01-01", "metadata": {}},
        "min_confidence": 0.0,
        "trace": True,
    }
    answer = client.post("/v1/search", json={"query": "tea", **options}).json()
    assert [hit["id"] for hit in answer["hits"]] == ["n2"]
    assert (answer["trace"]["preset"], answer["trace"]["candidateK"]) == ("jeffs-brain", 5)
    assert (answer["has_answer"], answer["answer_threshold"]) == (True, 0.0)
    own = client.post("/v1/search", json={"query": "tea", "candidate_k": None, "trace": True}).json()
    assert own["trace"]["candidateK"] == 200


def test_a_preset_is_a_name_and_never_a_file(client: httpx.Client) -> None:
    for preset in ("/etc/passwd", "../mine.toml", "none"):
        detail = problem(client.post("/v1/search", json={"query": "tea", "preset": preset}), 422, "invalid")
        assert detail.startswith("body.preset: must be one of default, jeffs-brain")


def test_an_explanation_is_for_a_person(client: httpx.Client) -> None:
    answer = client.post("/v1/explain", json={"query": "green tea"}).json()
    assert "green" in answer["explanation"]
    assert "\x1b" not in answer["explanation"]
    assert answer["trace"]["originalQuery"] == "green tea"


def test_presets_are_compared_and_listed(client: httpx.Client) -> None:
    listed = client.get("/v1/presets").json()
    names = [preset["name"] for preset in listed["presets"]]
    assert (names, listed["default"]) == (list(recollect.presets()), "default")
    both = client.post("/v1/compare", json={"query": "tea", "presets": ["memini", "default", "memini"]}).json()
    assert list(both["results"]) == ["memini", "default"]
    every = client.post("/v1/compare", json={"query": "tea", "trace": True}).json()["results"]
    assert list(every) == names
    assert every["memini"]["trace"]["preset"] == "memini"


def test_a_query_has_its_length(client: httpx.Client) -> None:
    assert client.post("/v1/search", json={"query": "x" * 4096}).status_code == 200
    problem(client.post("/v1/search", json={"query": "x" * 4097}), 422, "invalid")
    problem(client.get("/v1/search", params={"q": "x" * 4097}), 422, "invalid")


def test_what_the_memory_holds(client: httpx.Client, memory: Memory) -> None:
    memory.add("Elsewhere.", namespace="work")
    told = client.get("/v1/stats").json()
    assert told["notes"] == {"default": 3, "work": 1}
    assert told["version"] == __version__
    assert told["right"] == "admin"
    assert told["store"]["location"].endswith("memory.db")
    assert client.get("/v1/stats?namespace=work").json()["notes"] == {"work": 1}


@pytest.mark.parametrize(
    ("namespaces", "right", "notes", "store", "location"),
    [
        (["tea"], "admin", {"tea": 0}, False, False),
        (["work", "default"], "read", {"default": 3, "work": 1}, False, False),
        (["work"], "write", {"work": 1}, False, False),
        (None, "read", {"default": 3, "work": 1}, True, False),
        (None, "admin", {"default": 3, "work": 1}, True, True),
    ],
)
def test_who_may_know_what_the_memory_holds(
    memory: Memory,
    ring: KeyRing,
    namespaces: list[str] | None,
    right: str,
    notes: dict[str, int],
    store: bool,
    location: bool,
) -> None:
    memory.add("Elsewhere.", namespace="work")
    _, key = ring.add("someone", namespaces, right)
    with running(memory, ring=ring) as server:
        told = server.client.get("/v1/stats", headers=bearer(key)).json()
        metrics = server.client.get("/metrics", headers=bearer(key)).status_code
    assert (told["notes"], told["right"]) == (notes, right)
    assert ("store" in told, "location" in told.get("store", {})) == (store, location)
    assert metrics == (200 if location else 403)


def test_alive_and_ready(memory: Memory) -> None:
    with running(memory) as server:
        assert server.client.get("/health").json() == {"status": "ok"}
        assert server.client.get("/ready").json() == {"status": "ok"}
        memory.close()
        answer = server.client.get("/ready")
        assert problem(answer, 503, "not-ready") == "the memory does not answer"
        assert answer.headers["retry-after"] == "1"
        assert server.client.get("/health").status_code == 200


def test_not_ready_while_models_are_loaded(memory: Memory) -> None:
    with running(memory, warm=False) as server:
        service = server.app.state.service
        until(lambda: server.client.get("/ready").status_code == 200)
        service.readiness._warm = False
        assert problem(server.client.get("/ready"), 503, "not-ready") == "the models are being loaded"


def test_many_who_ask_at_once_whether_it_is_ready_are_one_question(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, asked = Event(), []

    def count() -> int:
        asked.append(1)
        go_on.wait(30)
        return 3

    async def ask() -> list[str]:
        readiness = Readiness(memory)
        await readiness.warm()
        monkeypatch.setattr(memory, "count", count, raising=False)
        asking = [asyncio.create_task(readiness.problem()) for _ in range(100)]
        await asyncio.sleep(0)  # each has begun
        go_on.set()
        told = [*await asyncio.gather(*asking), await readiness.problem()]
        readiness.close()
        return told

    assert asyncio.run(ask()) == [""] * 101
    assert len(asked) == 2


def test_excluded_terms_are_in_every_answer(client: httpx.Client) -> None:
    for query, excluded in (("tea NOT coffee", ["coffee"]), ("zebra NOT tea", ["tea"]), ("tea", [])):
        assert client.post("/v1/search", json={"query": query}).json()["excluded"] == excluded
        assert client.get("/v1/search", params={"q": query}).json()["excluded"] == excluded
        told = client.post("/v1/explain", json={"query": query}).json()
        assert (told["excluded"], "excluding" in told["account"]) == (excluded, False)


@pytest.mark.parametrize("asked", ["2026-13-40", "yesterday", "1.2.2026"])
def test_a_question_date_that_is_no_date_is_refused(client: httpx.Client, asked: str) -> None:
    for path in ("/v1/search", "/v1/explain", "/v1/compare"):
        refused = client.post(path, json={"query": "tea", "question_date": asked})
        assert refused.status_code == 422
        assert "must be a date such as 2026-04-18" in refused.text
    assert client.post("/v1/search", json={"query": "tea", "question_date": ""}).status_code == 200
