from __future__ import annotations

import gc
import json
import socket
from typing import Any

import numpy as np
import pytest

from recollect.embedders import HttpEmbedder, parts
from recollect.errors import ArgumentError, EmbedderError
from tests.embedders.server import Answer, EmbeddingServer, data, embeddings, vector_of

SECRET = "sk-very-secret-123"  # noqa: S105 (of nobody)


def embedder_at(server: EmbeddingServer, **options: Any) -> HttpEmbedder:
    return HttpEmbedder("toy", server.url, **{"backoff": 0.001, **options})


def unit(text: str) -> Any:
    vector = np.array(vector_of(text))
    return vector / np.linalg.norm(vector)


def test_texts_are_sent_and_vectors_read(server: EmbeddingServer) -> None:
    embedder = embedder_at(server)
    rows = embedder.embed_documents(["a", "four", "three"])
    assert rows == pytest.approx(np.stack([unit("a"), unit("four"), unit("three")]))
    assert server.paths == ["/v1/embeddings"]
    assert server.questions == [{"model": "toy", "encoding_format": "float", "input": ["three", "four", "a"]}]
    assert (embedder.name, embedder.dimension) == ("toy", 3)
    assert len(server.questions) == 1
    assert embedder.describe() == f"toy, 3 dimensions, {server.url}"


def test_answers_are_put_in_order_by_their_index(server: EmbeddingServer) -> None:
    server.answers = [lambda question: data(embeddings(question)[::-1])]
    assert embedder_at(server).embed_documents(["bb", "a"]) == pytest.approx(np.stack([unit("bb"), unit("a")]))


def test_answers_without_an_index_are_in_order(server: EmbeddingServer) -> None:
    server.answers = [lambda question: data([{"embedding": vector_of(text)} for text in question["input"]])]
    assert embedder_at(server).embed_documents(["bb", "a"]) == pytest.approx(np.stack([unit("bb"), unit("a")]))


def test_batches_end_at_a_number_of_texts_or_characters(server: EmbeddingServer) -> None:
    embedder_at(server, batch_size=2).embed_documents(["a", "b", "c"])
    embedder_at(server, batch_characters=5).embed_documents(["aaaa", "bb", "cc"])
    assert [question["input"] for question in server.questions] == [["a", "b"], ["c"], ["aaaa"], ["bb", "cc"]]


def test_queries_are_remembered_and_prefixed(server: EmbeddingServer) -> None:
    embedder = embedder_at(server, query_prefix="query: ")
    assert (embedder.embed_query("tea") == embedder.embed_query("tea")).all()
    assert [question["input"] for question in server.questions] == [["query: tea"]]


def test_an_empty_text_is_sent_as_a_space(server: EmbeddingServer) -> None:
    assert embedder_at(server).embed_query("").shape == (3,)
    assert server.questions[0]["input"] == [" "]


def test_fewer_dimensions_are_asked_for_and_known(server: EmbeddingServer) -> None:
    embedder = embedder_at(server, dimensions=3)
    assert (embedder.name, embedder.dimension) == ("toy/3", 3)
    assert not server.questions
    embedder.embed_query("tea")
    assert server.questions[0]["dimensions"] == 3
    with pytest.raises(EmbedderError, match="toy/2 returned vectors of 3 dimensions instead of 2"):
        embedder_at(server, dimensions=2).embed_query("tea")


def test_the_key_comes_from_the_environment(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = embedder_at(server, query_cache=0)
    embedder.embed_query("tea")
    monkeypatch.setenv("OPENAI_API_KEY", f" {SECRET}\n")
    embedder.embed_query("tea")
    embedder_at(server, key_variable=None).embed_query("tea")
    monkeypatch.setenv("OTHER_KEY", "other")
    embedder_at(server, key_variable="OTHER_KEY").embed_query("tea")
    assert server.keys == [None, f"Bearer {SECRET}", None, "Bearer other"]
    assert SECRET not in f"{embedder!r} {vars(embedder)} {embedder.describe()}"


def test_a_key_that_no_header_can_hold_is_not_shown(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in (f"{SECRET}\nX-Other: 1", f"{SECRET}é"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(EmbedderError, match="OPENAI_API_KEY holds characters that no key has") as caught:
            embedder_at(server).embed_query("tea")
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_trouble_is_waited_out(server: EmbeddingServer, status: int) -> None:
    server.answers = [Answer(status, headers={"Retry-After": "0"}), Answer(status)]
    assert embedder_at(server).embed_query("tea") == pytest.approx(unit("tea"))
    assert len(server.questions) == 3


def test_a_trouble_that_stays_is_told_with_what_to_do(server: EmbeddingServer) -> None:
    server.answers = [Answer(429, b'{"error": "slow\n   down"}')] * 3
    with pytest.raises(EmbedderError) as caught:
        embedder_at(server, retries=2).embed_query("tea")
    assert str(caught.value) == (
        f"{server.url}/embeddings answered 429 Too Many Requests; too many requests: wait, or check the quota; "
        '{"error": "slow down"} (tried 3 times)'
    )


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "401 Unauthorized; check the key in the environment variable OPENAI_API_KEY"),
        (404, "404 Not Found; check the address and the model's name"),
        (400, "400 Bad Request; wrong input"),
        (301, "301 Moved Permanently"),
    ],
)
def test_other_refusals_are_not_repeated(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, status: int, advice: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.answers = [Answer(status, f"wrong input with key {SECRET}".encode())]
    with pytest.raises(EmbedderError, match=advice) as caught:
        embedder_at(server).embed_query("tea")
    assert len(server.questions) == 1
    assert SECRET not in str(caught.value)
    assert "***" in str(caught.value)


def test_a_server_that_is_too_slow_is_asked_again(server: EmbeddingServer) -> None:
    server.answers = [server.slow]
    assert embedder_at(server, timeout=0.2).embed_query("tea") == pytest.approx(unit("tea"))
    server.answers = [server.slow]
    with pytest.raises(EmbedderError, match="does not answer .*Timeout.*: is the server running"):
        embedder_at(server, timeout=0.2, retries=0).embed_query("tea")


def test_no_server_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as free:  # a port that is taken, but where nobody listens
        free.bind(("127.0.0.1", 0))
        url = f"http://me:{SECRET}@127.0.0.1:{free.getsockname()[1]}/v1/"
        embedder = HttpEmbedder("toy", url, retries=1, backoff=0)
        with pytest.raises(EmbedderError, match=r"does not answer \(ConnectError: .*\(tried 2 times\)") as caught:
            embedder.embed_query("tea")
    assert SECRET not in f"{caught.value} {embedder.describe()}"


def test_an_address_that_only_looks_like_one() -> None:
    with pytest.raises(EmbedderError, match=r"cannot be asked \(Invalid .*\): check the address"):
        HttpEmbedder("toy", "http://xn--zzzzz-\u00fc/v1").embed_query("tea")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(body=b"<html>"), "answered something that is not JSON"),
        (Answer(body=b"\xff\xfe\xff"), "answered something that is not JSON"),
        (Answer(body=b"[1, 2]"), "answered JSON without a list of embeddings in data"),
        (Answer(body=b'{"data": {"embedding": 1}}'), "answered JSON without a list of embeddings in data"),
        (data([{"index": 0}]), "answered JSON without a list of embeddings in data"),
        (data([]), "answered 0 embeddings for 1 texts"),
        (data([{"index": 1, "embedding": [1.0]}]), "whose index does not count the 1 texts"),
        (data([{"index": [], "embedding": [1.0]}]), "whose index does not count the 1 texts"),
        (data([{"index": 0, "embedding": "AAAA"}]), "toy returned something that is not one list of numbers"),
        (data([{"index": 0, "embedding": [float("nan")]}]), "toy returned numbers that are not finite"),
    ],
)
def test_nonsense_is_refused(server: EmbeddingServer, answer: Answer, problem: str) -> None:
    server.answers = [answer]
    with pytest.raises(EmbedderError, match=problem):
        embedder_at(server).embed_query("tea")


def test_a_wrong_count_or_index_of_many_is_refused(server: EmbeddingServer) -> None:
    embedder = embedder_at(server)
    server.answers = [lambda question: data(embeddings(question)[:2])]
    with pytest.raises(EmbedderError, match="answered 2 embeddings for 3 texts"):
        embedder.embed_documents(["a", "b", "c"])
    server.answers = [lambda question: data([{**item, "index": 0} for item in embeddings(question)])]
    with pytest.raises(EmbedderError, match="whose index does not count the 3 texts"):
        embedder.embed_documents(["a", "b", "c"])


def test_no_texts_give_no_rows(server: EmbeddingServer) -> None:
    assert embedder_at(server).embed_documents([]).shape == (0, 3)
    assert embedder_at(server, dimensions=5).embed_documents([]).shape == (0, 5)
    assert len(server.questions) == 1  # only who does not know the dimension asks


def test_connections_are_closed_with_the_embedder(server: EmbeddingServer) -> None:
    embedder = embedder_at(server)
    embedder.embed_query("tea")
    client = embedder._client.get()
    del embedder
    gc.collect()
    assert client.is_closed


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"base_url": "localhost:11434"}, "base_url: must be an address such as http://localhost:11434/v1, got"),
        ({"base_url": "ftp://host/v1"}, "base_url: must be an address"),
        ({"base_url": "http://"}, "base_url: must be an address"),
        ({"base_url": "http://host:99999/v1"}, "base_url: must be an address"),
        ({"base_url": "http://host/v1?key=1"}, "base_url: must be an address"),
        ({"base_url": ""}, "base_url: must not be empty"),
        ({"model": ""}, "model: must not be empty"),
        ({"dimensions": 0}, "dimensions: must be at least 1, got 0"),
        ({"timeout": 0}, "timeout: must be at least 0.001"),
        ({"retries": -1}, "retries: must not be negative"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        HttpEmbedder(**{"model": "toy", "base_url": "http://localhost/v1", **options})


def test_a_password_is_not_shown_in_an_error_about_the_address() -> None:
    with pytest.raises(ArgumentError) as caught:
        HttpEmbedder("toy", f"http://me:{SECRET}@host/v1?x=1")
    assert SECRET not in str(caught.value)


def test_without_httpx_it_says_what_to_install(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(module: str) -> Any:
        raise ModuleNotFoundError(f"No module named {module!r}")

    monkeypatch.setattr(parts, "import_module", absent)
    with pytest.raises(EmbedderError, match=r"httpx cannot be imported .*: pip install 'recollect\[http\]'"):
        embedder_at(server).embed_query("tea")


def test_the_question_is_well_formed_json(server: EmbeddingServer) -> None:
    embedder_at(server).embed_query('quotes " and \ud800 halves')
    assert json.loads(json.dumps(server.questions[0]["input"])) == ['quotes " and \ufffd halves']
