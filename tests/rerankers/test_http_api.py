from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recollect.errors import ArgumentError, RerankerError
from recollect.rerankers import HttpReranker
from recollect.rerankers.http_api import key_variable_for
from tests.serving import JsonServer, RequestBody, Response, as_json

SECRET = "co-very-secret-123"  # noqa: S105 (of nobody)
DOCUMENTS = ["black coffee", "tea", "green tea"]
EXPECTED = [(0, 12 / 100), (2, 9 / 100), (1, 3 / 100)]
"""The server scores documents by their length."""


def scored(texts: list[str], name: str) -> list[dict[str, Any]]:
    """Return results in an order that is not that of the documents, as servers do that sort by score."""
    return [{"index": index, name: len(text) / 100} for index, text in enumerate(texts)][::-1]


def respond(request: RequestBody) -> Response:
    """Respond in the dialect of the request."""
    if "texts" in request:
        return as_json(scored(request["texts"], "score"))
    field = "data" if "top_k" in request else "results"
    return as_json({"id": "x", field: scored(request["documents"], "relevance_score"), "usage": {"total_tokens": 9}})


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with JsonServer(respond) as running:
        yield running


def reranker_at(server: JsonServer, dialect: str = "cohere", **options: Any) -> HttpReranker:
    model = None if dialect == "tei" else "toy"
    return HttpReranker(dialect, model, options.pop("base_url", server.root), **options)


def test_cohere_request_and_response(server: JsonServer) -> None:
    reranker = reranker_at(server, "cohere")
    assert reranker.rerank("which tea?", DOCUMENTS) == EXPECTED
    assert server.paths == ["/v2/rerank"]
    assert server.requests == [{"model": "toy", "query": "which tea?", "documents": DOCUMENTS, "top_n": 3}]
    assert (reranker.name, reranker.describe()) == ("cohere:toy", f"cohere:toy, {server.root}")


def test_voyage_request_and_response(server: JsonServer) -> None:
    reranker = reranker_at(server, "voyage", base_url=server.url)
    assert reranker.rerank("which tea?", DOCUMENTS) == EXPECTED
    assert server.paths == ["/v1/rerank"]
    assert server.requests == [{"model": "toy", "query": "which tea?", "documents": DOCUMENTS, "top_k": 3}]
    assert reranker.name == "voyage:toy"


def test_tei_request_and_response(server: JsonServer) -> None:
    reranker = reranker_at(server, "tei")
    assert reranker.rerank("which tea?", DOCUMENTS) == EXPECTED
    assert server.paths == ["/rerank"]
    assert server.requests == [
        {"query": "which tea?", "texts": DOCUMENTS, "raw_scores": False, "truncate": True},
    ]
    assert (reranker.name, reranker.describe()) == ("tei", f"tei, {server.root}")
    assert HttpReranker("tei", "bge", server.root, name="mine").name == "mine"


def test_vendor_addresses() -> None:
    assert HttpReranker("cohere", "m").describe() == "cohere:m, https://api.cohere.com"
    assert HttpReranker("voyage", "m").describe() == "voyage:m, https://api.voyageai.com/v1"
    with pytest.raises(ArgumentError, match="base_url: is required for tei, such as http://localhost:8080"):
        HttpReranker("tei")


@pytest.mark.parametrize(
    ("address", "expected_path"),
    [
        ("", "/v2/rerank"),
        ("/", "/v2/rerank"),
        ("/v1/rerank", "/v1/rerank"),
        ("/rerank/", "/rerank"),
    ],
)
def test_rerank_path_of_servers(server: JsonServer, address: str, expected_path: str) -> None:
    reranker_at(server, base_url=server.root + address).rerank("tea", ["tea"])
    assert server.paths == [expected_path]


def test_documents_may_be_missing(server: JsonServer) -> None:
    server.responses = [as_json({"results": [{"index": 2, "relevance_score": 1, "document": {"text": "green tea"}}]})]
    assert reranker_at(server).rerank("tea", DOCUMENTS) == [(2, 1.0)]


def test_no_documents_send_no_request(server: JsonServer) -> None:
    assert reranker_at(server).rerank("tea", []) == []
    assert not server.requests


def test_empty_texts_are_sent_as_space(server: JsonServer) -> None:
    reranker_at(server).rerank("", ["", "tea"])
    assert (server.requests[0]["query"], server.requests[0]["documents"]) == (" ", [" ", "tea"])


def test_batches_are_limited_by_documents_and_characters(server: JsonServer) -> None:
    documents = ["a", "bbbb", "cc", "ddd"]
    expected = [(1, 0.04), (3, 0.03), (2, 0.02), (0, 0.01)]
    assert reranker_at(server, batch_size=3).rerank("tea", documents) == expected
    assert reranker_at(server, batch_characters=6).rerank("tea", documents) == expected
    assert [request["documents"] for request in server.requests] == [
        ["bbbb", "cc", "ddd"],
        ["a"],
        ["bbbb"],
        ["a", "cc", "ddd"],
    ]
    assert [request["top_n"] for request in server.requests] == [3, 1, 1, 3]


def test_tei_batches_have_32_documents(server: JsonServer) -> None:
    assert len(reranker_at(server, "tei").rerank("tea", ["tea"] * 70)) == 70
    assert [len(request["texts"]) for request in server.requests] == [32, 32, 6]


def test_key_is_sent_and_not_shown(server: JsonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "of the vendor")
    reranker_at(server).rerank("tea", ["tea"])
    monkeypatch.setenv("RECOLLECT_RERANKER_KEY", "of another")
    reranker_at(server).rerank("tea", ["tea"])
    reranker_at(server, key_variable="COHERE_API_KEY").rerank("tea", ["tea"])
    reranker_at(server, key_variable=None).rerank("tea", ["tea"])
    monkeypatch.setenv("OWN_KEY", SECRET)
    reranker = reranker_at(server, key_variable="OWN_KEY")
    reranker.rerank("tea", ["tea"])
    assert server.keys == [None, "Bearer of another", "Bearer of the vendor", None, f"Bearer {SECRET}"]
    server.responses = [Response(401, f"wrong key {SECRET}".encode())]
    with pytest.raises(
        RerankerError, match=r"401 Unauthorized; check the key in the environment variable OWN_KEY; wrong key \*\*\*$"
    ) as caught:
        reranker.rerank("tea", ["tea"])
    assert SECRET not in f"{caught.value} {reranker!r} {reranker.describe()} {vars(reranker)} {vars(reranker._api)}"


def test_threads_share_a_reranker(server: JsonServer) -> None:
    reranker = reranker_at(server)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda length: reranker.rerank("tea", ["x" * length]), range(1, 33)))
    assert results == [[(0, length / 100)] for length in range(1, 33)]


@pytest.mark.parametrize("dialect", ["cohere", "voyage", "tei"])
def test_http_errors(server: JsonServer, dialect: str) -> None:
    server.responses = [Response(429, headers={"Retry-After": "0"}), Response(500)]
    assert reranker_at(server, dialect).rerank("tea", DOCUMENTS) == EXPECTED
    server.responses = [Response(500)] * 3
    with pytest.raises(RerankerError, match=r"/rerank returned 500 Internal Server Error \(tried 3 times\)$"):
        reranker_at(server, dialect).rerank("tea", DOCUMENTS)
    server.responses = [Response(401)]
    with pytest.raises(RerankerError, match="401 .*; check the key in the environment variable RECOLLECT_RERANKER_KEY"):
        reranker_at(server, dialect).rerank("tea", DOCUMENTS)
    server.responses = [Response(413)]
    with pytest.raises(RerankerError, match="413 .*; send smaller batches, or raise the limit of the server$"):
        reranker_at(server, dialect).rerank("tea", DOCUMENTS)
    server.responses = [server.slow]
    with pytest.raises(RerankerError, match=r"/rerank does not respond \(ReadTimeout: "):
        reranker_at(server, dialect, timeout=0.2, retries=0).rerank("tea", DOCUMENTS)


@pytest.mark.parametrize(
    ("dialect", "response", "problem"),
    [
        ("cohere", Response(body=b"<html>"), "something that is not JSON: is this a cohere-style rerank API"),
        ("cohere", as_json([1]), "JSON without a list of index and relevance_score in results"),
        ("cohere", as_json({"data": []}), "JSON without a list of index and relevance_score in results"),
        ("cohere", as_json({"results": [7]}), "JSON without a list of index and relevance_score in results"),
        ("cohere", as_json({"results": [{"index": 0, "score": 1}]}), "JSON without a list of index and relevance_sc"),
        ("voyage", as_json({"results": []}), "JSON without a list of index and relevance_score in data: is this"),
        ("tei", as_json({"results": []}), "JSON without a list of index and score: is this a tei-style rerank API"),
        ("tei", as_json([{"index": 0}]), "JSON without a list of index and score: is this"),
        (
            "tei",
            as_json([{"index": "0", "score": 1}]),
            r"tei returned \('0', 1\) instead of a pair of an index and a score",
        ),
        ("tei", as_json([{"index": 0.0, "score": 1}]), "instead of a pair of an index and a score"),
        ("tei", as_json([{"index": 0, "score": None}]), "instead of a pair of an index and a score"),
        ("tei", as_json([{"index": 3, "score": 1}]), "tei returned the index 3 for 3 documents"),
        ("tei", as_json([{"index": 0, "score": float("nan")}]), "tei returned the score nan, which is not finite"),
        ("tei", Response(body=b'[{"index": 0, "score": 1e999}]'), "tei returned the score inf, which is not finite"),
    ],
)
def test_invalid_response_is_refused(
    server: JsonServer, monkeypatch: pytest.MonkeyPatch, dialect: str, response: Response, problem: str
) -> None:
    monkeypatch.setenv("RECOLLECT_RERANKER_KEY", SECRET)
    server.responses = [response]
    with pytest.raises(RerankerError, match=problem) as caught:
        reranker_at(server, dialect).rerank("tea", DOCUMENTS)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"dialect": "jina"}, "dialect: must be one of cohere, voyage, tei, got 'jina'"),
        ({"model": None}, "model: is required for cohere"),
        ({"model": ""}, "model: must not be empty"),
        ({"base_url": "localhost"}, "base_url: must be an address"),
        ({"batch_size": 0}, "batch_size: must be at least 1, got 0"),
        ({"batch_characters": -1}, "batch_characters: must not be negative"),
        ({"timeout": 0}, "timeout: must be at least 0.001"),
        ({"key_variable": ""}, "key_variable: must not be empty"),
        ({"name": ""}, "name: must not be empty"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        HttpReranker(**{"dialect": "cohere", "model": "toy", "base_url": "http://localhost", **options})


COHERE = {"vendor_url": "https://api.cohere.com", "vendor_variable": "COHERE_API_KEY"}


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.cohere.com", "COHERE_API_KEY"),
        ("https://API.cohere.com/v1/rerank", "COHERE_API_KEY"),
        ("http://api.cohere.com", "RECOLLECT_RERANKER_KEY"),  # keys are not sent without TLS
        ("https://api.cohere.com.example.org", "RECOLLECT_RERANKER_KEY"),
        ("https://api.cohere.com@example.org", "RECOLLECT_RERANKER_KEY"),
        ("http://localhost:8000", "RECOLLECT_RERANKER_KEY"),
    ],
)
def test_vendor_key_is_sent_to_vendor_only(url: str, variable: str) -> None:
    assert key_variable_for(url, "auto", **COHERE) == variable


def test_explicit_key_variable_is_used() -> None:
    assert key_variable_for("http://localhost", "MINE", **COHERE) == "MINE"
    assert key_variable_for("http://localhost", None, **COHERE) is None
    assert (
        key_variable_for("http://localhost", "auto", vendor_url=None, vendor_variable=None) == "RECOLLECT_RERANKER_KEY"
    )
