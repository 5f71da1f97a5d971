from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from recollect.embedders import HttpEmbedder
from recollect.errors import ArgumentError, EmbedderError
from recollect.inference import runtime
from tests.embedders.server import EmbeddingServer, data, embeddings, vector_of
from tests.serving import Response

SECRET = "sk-very-secret-123"  # noqa: S105 (of nobody)


def embedder_at(server: EmbeddingServer, **options: Any) -> HttpEmbedder:
    return HttpEmbedder("toy", server.url, **options)


def unit(text: str) -> Any:
    vector = np.array(vector_of(text))
    return vector / np.linalg.norm(vector)


def test_embed_documents_over_http(server: EmbeddingServer) -> None:
    embedder = embedder_at(server)
    rows = embedder.embed_documents(["a", "four", "three"])
    assert rows == pytest.approx(np.stack([unit("a"), unit("four"), unit("three")]))
    assert server.paths == ["/v1/embeddings"]
    assert server.requests == [{"model": "toy", "encoding_format": "float", "input": ["three", "four", "a"]}]
    assert (embedder.name, embedder.dimension) == ("toy", 3)
    assert len(server.requests) == 1
    assert embedder.describe() == f"toy, 3 dimensions, {server.url}"


def test_embeddings_are_ordered_by_index(server: EmbeddingServer) -> None:
    server.responses = [lambda request: data(embeddings(request)[::-1])]
    assert embedder_at(server).embed_documents(["bb", "a"]) == pytest.approx(np.stack([unit("bb"), unit("a")]))


def test_embeddings_without_index_keep_order(server: EmbeddingServer) -> None:
    server.responses = [lambda request: data([{"embedding": vector_of(text)} for text in request["input"]])]
    assert embedder_at(server).embed_documents(["bb", "a"]) == pytest.approx(np.stack([unit("bb"), unit("a")]))


def test_batches_are_limited_by_texts_and_characters(server: EmbeddingServer) -> None:
    embedder_at(server, batch_size=2).embed_documents(["a", "b", "c"])
    embedder_at(server, batch_characters=5).embed_documents(["aaaa", "bb", "cc"])
    assert [request["input"] for request in server.requests] == [["a", "b"], ["c"], ["aaaa"], ["bb", "cc"]]


def test_query_cache_and_prefix(server: EmbeddingServer) -> None:
    embedder = embedder_at(server, query_prefix="query: ")
    assert (embedder.embed_query("tea") == embedder.embed_query("tea")).all()
    assert [request["input"] for request in server.requests] == [["query: tea"]]


def test_empty_text_is_sent_as_space(server: EmbeddingServer) -> None:
    assert embedder_at(server).embed_query("").shape == (3,)
    assert server.requests[0]["input"] == [" "]


def test_dimensions_are_requested(server: EmbeddingServer) -> None:
    embedder = embedder_at(server, dimensions=3)
    assert (embedder.name, embedder.dimension) == ("toy/3", 3)
    assert not server.requests
    embedder.embed_query("tea")
    assert server.requests[0]["dimensions"] == 3
    with pytest.raises(EmbedderError, match="toy/2 returned vectors of 3 dimensions instead of 2"):
        embedder_at(server, dimensions=2).embed_query("tea")


def test_key_is_read_from_environment(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = embedder_at(server, query_cache=0)
    embedder.embed_query("tea")
    monkeypatch.setenv("OPENAI_API_KEY", f" {SECRET}\n")
    embedder.embed_query("tea")
    embedder_at(server, key_variable=None).embed_query("tea")
    monkeypatch.setenv("OTHER_KEY", "other")
    embedder_at(server, key_variable="OTHER_KEY").embed_query("tea")
    assert server.keys == [None, f"Bearer {SECRET}", None, "Bearer other"]
    assert SECRET not in f"{embedder!r} {vars(embedder)} {embedder.describe()}"


def test_transient_status_is_retried(server: EmbeddingServer) -> None:
    server.responses = [Response(503)]
    assert embedder_at(server).embed_query("tea") == pytest.approx(unit("tea"))
    assert len(server.requests) == 2


def test_status_413_suggests_smaller_batches(server: EmbeddingServer) -> None:
    server.responses = [Response(413)]
    with pytest.raises(EmbedderError, match="413 .*; send smaller batches, or raise the limit of the server$"):
        embedder_at(server).embed_query("tea")


def test_permanent_error_says_what_to_do(server: EmbeddingServer) -> None:
    server.responses = [Response(429, b'{"error": "slow\n   down"}')] * 3
    with pytest.raises(EmbedderError) as caught:
        embedder_at(server, retries=2).embed_query("tea")
    assert str(caught.value) == (
        f"{server.url}/embeddings returned 429 Too Many Requests; too many requests: wait, or check the quota; "
        '{"error": "slow down"} (tried 3 times)'
    )


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (Response(body=b"<html>"), "returned something that is not JSON"),
        (Response(body=b"[1, 2]"), "returned JSON without a list of embeddings in data"),
        (Response(body=b'{"data": {"embedding": 1}}'), "returned JSON without a list of embeddings in data"),
        (data([{"index": 0}]), "returned JSON without a list of embeddings in data"),
        (data([]), "returned 0 embeddings for 1 texts"),
        (data([{"index": 1, "embedding": [1.0]}]), "whose indexes do not match the 1 texts"),
        (data([{"index": [], "embedding": [1.0]}]), "whose indexes do not match the 1 texts"),
        (data([{"index": 0, "embedding": "AAAA"}]), "toy returned something that is not one list of numbers"),
        (data([{"index": 0, "embedding": [float("nan")]}]), "toy returned numbers that are not finite"),
    ],
)
def test_invalid_response_is_refused(server: EmbeddingServer, response: Response, problem: str) -> None:
    server.responses = [response]
    with pytest.raises(EmbedderError, match=problem):
        embedder_at(server).embed_query("tea")


def test_wrong_count_or_index_is_refused(server: EmbeddingServer) -> None:
    embedder = embedder_at(server)
    server.responses = [lambda request: data(embeddings(request)[:2])]
    with pytest.raises(EmbedderError, match="returned 2 embeddings for 3 texts"):
        embedder.embed_documents(["a", "b", "c"])
    server.responses = [lambda request: data([{**item, "index": 0} for item in embeddings(request)])]
    with pytest.raises(EmbedderError, match="whose indexes do not match the 3 texts"):
        embedder.embed_documents(["a", "b", "c"])


def test_no_texts_give_no_rows(server: EmbeddingServer) -> None:
    assert embedder_at(server).embed_documents([]).shape == (0, 3)
    assert embedder_at(server, dimensions=5).embed_documents([]).shape == (0, 5)
    assert len(server.requests) == 1  # a request is sent only if the dimension is unknown


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"base_url": "localhost:11434"}, "base_url: must be an address such as http://localhost:11434/v1, got"),
        ({"model": ""}, "model: must not be empty"),
        ({"dimensions": 0}, "dimensions: must be at least 1, got 0"),
        ({"timeout": 0}, "timeout: must be at least 0.001"),
        ({"retries": -1}, "retries: must not be negative"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        HttpEmbedder(**{"model": "toy", "base_url": "http://localhost/v1", **options})


def test_missing_httpx_is_reported(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> Any:
        raise ModuleNotFoundError(f"No module named {module!r}")

    monkeypatch.setattr(runtime, "import_module", absent)
    with pytest.raises(EmbedderError, match=r"httpx cannot be imported .*: pip install 'recollectdb\[http\]'"):
        embedder_at(server).embed_query("tea")


def test_request_is_well_formed_json(server: EmbeddingServer) -> None:
    embedder_at(server).embed_query('quotes " and \ud800 halves')
    assert json.loads(json.dumps(server.requests[0]["input"])) == ['quotes " and \ufffd halves']
