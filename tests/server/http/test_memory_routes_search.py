"""Endpoints of searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import recollect
from recollect import Memory
from tests.server.http.conftest import problem


def test_search_returns_the_hits_of_the_memory(client: httpx.Client, memory: Memory) -> None:
    expected = memory.search("green tea", now="2026-01-01").to_dict()
    response = client.post("/v1/search", json={"query": "green tea", "now": "2026-01-01", "trace": True}).json()
    assert response["hits"] == expected["hits"]
    assert response["query"] == "green tea"
    assert set(response["trace"]) == set(expected["trace"])
    assert [item["id"] for item in response["explanation_data"]["waterfalls"]] == [
        hit["id"] for hit in response["hits"]
    ]
    assert response["explanation_data"]["waterfalls"][0]["rows"][-1]["end"] == response["hits"][0]["score"]
    short = client.get("/v1/search", params={"q": "green tea", "top_k": 1, "mode": "bm25", "preset": "memini"}).json()
    assert [hit["id"] for hit in short["hits"]] == ["n1"]
    assert short.keys().isdisjoint({"trace", "explanation_data"})


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


def test_search_warnings(client: httpx.Client) -> None:
    response = client.post("/v1/search", json={"query": "tea", "mode": "semantic"}).json()
    assert response["warnings"] == ["there is no embedder, so only lexical search ran; choose an embedder"]


def test_search_has_answer_and_weak_hits(client: httpx.Client) -> None:
    requested = {"query": "tea", "trace": True}
    strong = client.post("/v1/search", json=requested).json()
    assert (strong["has_answer"], strong["answer_threshold"], strong["trace"]["answerThreshold"]) == (
        True,
        0.25,
        0.25,
    )
    weak = client.post("/v1/search", json={**requested, "answer_threshold": 1.0}).json()
    assert (weak["has_answer"], weak["answer_threshold"]) == (False, 1.0)
    assert weak["hits"] == [{**hit, "weak": True} for hit in strong["hits"]]
    results = client.post("/v1/compare", json={"query": "tea", "answer_threshold": 1.0}).json()["results"]
    assert {name: result["has_answer"] for name, result in results.items()} == dict.fromkeys(results, False)
    rejected = client.post("/v1/search", json={"query": "tea", "answer_threshold": 2})
    assert rejected.status_code == 422


def test_json_names_are_snake_case_outside_the_trace(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    names = {name for schema in schemas.values() for name in schema.get("properties", {})}
    assert {name for name in names if name != name.lower()} == set()
    response = client.post("/v1/explain", json={"query": "tea", "preset": "memini"}).json()
    trace = response.pop("trace")
    assert {name for name in _keys(response) if name != name.lower()} == set()
    (step, *_) = response["hits"][0]["steps"]
    (traced, *_) = trace["results"][0]["steps"]
    assert (step["score_before"], step["rank_after"]) == (traced["scoreBefore"], traced["rankAfter"])


def _keys(value: Any) -> Iterator[str]:
    """Yield the names of all fields in JSON."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _keys(item)


def test_search_options_are_applied(client: httpx.Client) -> None:
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
    response = client.post("/v1/search", json={"query": "tea", **options}).json()
    assert [hit["id"] for hit in response["hits"]] == ["n2"]
    assert (response["trace"]["preset"], response["trace"]["candidateK"]) == ("jeffs-brain", 5)
    assert (response["has_answer"], response["answer_threshold"]) == (True, 0.0)
    response = client.post("/v1/search", json={"query": "tea", "candidate_k": None, "trace": True}).json()
    assert response["trace"]["candidateK"] == 200


def test_preset_is_a_name_and_not_a_file(client: httpx.Client) -> None:
    for preset in ("/etc/passwd", "../mine.toml", "none"):
        detail = problem(client.post("/v1/search", json={"query": "tea", "preset": preset}), 422, "invalid")
        assert detail.startswith("body.preset: must be one of default, jeffs-brain")


def test_explain(client: httpx.Client) -> None:
    response = client.post("/v1/explain", json={"query": "green tea"}).json()
    assert "green" in response["explanation"]
    assert "\x1b" not in response["explanation"]
    assert response["trace"]["originalQuery"] == "green tea"


def test_compare_and_list_presets(client: httpx.Client) -> None:
    listing = client.get("/v1/presets").json()
    names = [preset["name"] for preset in listing["presets"]]
    assert (names, listing["default"]) == (list(recollect.presets()), "default")
    results = client.post("/v1/compare", json={"query": "tea", "presets": ["memini", "default", "memini"]}).json()
    assert list(results["results"]) == ["memini", "default"]
    every = client.post("/v1/compare", json={"query": "tea", "trace": True}).json()["results"]
    assert list(every) == names
    assert every["memini"]["trace"]["preset"] == "memini"


def test_query_length_is_limited(client: httpx.Client) -> None:
    assert client.post("/v1/search", json={"query": "x" * 4096}).status_code == 200
    problem(client.post("/v1/search", json={"query": "x" * 4097}), 422, "invalid")
    problem(client.get("/v1/search", params={"q": "x" * 4097}), 422, "invalid")


def test_search_returns_excluded_terms(client: httpx.Client) -> None:
    for query, excluded in (("tea NOT coffee", ["coffee"]), ("zebra NOT tea", ["tea"]), ("tea", [])):
        assert client.post("/v1/search", json={"query": query}).json()["excluded"] == excluded
        assert client.get("/v1/search", params={"q": query}).json()["excluded"] == excluded
        data = client.post("/v1/explain", json={"query": query}).json()
        assert (data["excluded"], "excluding" in data["explanation_data"]) == (excluded, False)


@pytest.mark.parametrize("requested", ["2026-13-40", "yesterday", "1.2.2026"])
def test_invalid_question_date_is_rejected(client: httpx.Client, requested: str) -> None:
    for path in ("/v1/search", "/v1/explain", "/v1/compare"):
        rejected = client.post(path, json={"query": "tea", "question_date": requested})
        assert rejected.status_code == 422
        assert "must be a date such as 2026-04-18" in rejected.text
    assert client.post("/v1/search", json={"query": "tea", "question_date": ""}).status_code == 200
