from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from recollect.errors import ArgumentError, RerankerError
from recollect.rerankers import ChatReranker
from tests.serving import Answer, JsonServer, Question, as_json

SECRET = "sk-very-secret-123"  # noqa: S105 (of nobody)
DOCUMENTS = ["black coffee", "tea", "green tea"]


def saying(content: Any) -> Answer:
    return as_json({"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]})


def passages_of(question: Question) -> list[str]:
    return [json.loads(line.partition(" ")[2]) for line in question["messages"][1]["content"].split("\n")[2:]]


def longest_first(question: Question) -> Answer:
    passages = passages_of(question)
    numbers = sorted(range(1, len(passages) + 1), key=lambda number: -len(passages[number - 1]))
    return saying(f"```json\n{numbers}\n```")


@pytest.fixture
def server() -> Iterator[JsonServer]:
    with JsonServer(longest_first) as running:
        yield running


def reranker_at(server: JsonServer, **options: Any) -> ChatReranker:
    return ChatReranker("toy", server.url, **{"backoff": 0.001, **options})


def test_a_chat_model_says_the_order(server: JsonServer) -> None:
    reranker = reranker_at(server)
    assert reranker.rerank("which tea?", DOCUMENTS) == [(0, 1.0), (2, 2 / 3), (1, 1 / 3)]
    assert server.paths == ["/v1/chat/completions"]
    (question,) = server.questions
    assert question.keys() == {"model", "temperature", "messages"}
    assert (question["model"], question["temperature"]) == ("toy", 0)
    assert question["messages"][1]["content"] == (
        'Query: "which tea?"\nPassages:\n[1] "black coffee"\n[2] "tea"\n[3] "green tea"'
    )
    assert (reranker.name, reranker.describe()) == ("openai:toy", f"openai:toy, {server.url}")
    assert ChatReranker("gpt", name="mine").describe() == "mine, https://api.openai.com/v1"


def test_documents_that_are_not_named_are_left_out(server: JsonServer) -> None:
    server.answers = [saying("[3] > [1] > [3] > [8]")]
    assert reranker_at(server).rerank("tea", [*DOCUMENTS, "mate"]) == [(2, 1.0), (0, 0.75)]


def test_all_documents_go_out_in_one_request_and_each_is_cut(server: JsonServer) -> None:
    found = reranker_at(server, document_characters=30).rerank("tea", ["x" * length for length in range(1, 51)])
    assert len(found) == 50
    assert len(server.questions) == 1
    assert max(map(len, passages_of(server.questions[0]))) == 30


def test_a_temperature_is_sent_unless_it_is_none(server: JsonServer) -> None:
    reranker_at(server, temperature=0.5).rerank("tea", ["tea"])
    reranker_at(server, temperature=None).rerank("tea", ["tea"])
    assert [question.get("temperature") for question in server.questions] == [0.5, None]
    assert "temperature" not in server.questions[1]


def test_no_documents_are_not_sent(server: JsonServer) -> None:
    assert reranker_at(server).rerank("tea", []) == []
    assert not server.questions


def test_a_key_goes_out_and_is_not_shown(server: JsonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the vendor")
    reranker_at(server).rerank("tea", ["tea"])
    reranker_at(server, key_variable="OPENAI_API_KEY").rerank("tea", ["tea"])
    monkeypatch.setenv("RECOLLECT_RERANKER_KEY", SECRET)
    reranker = reranker_at(server)
    reranker.rerank("tea", ["tea"])
    reranker_at(server, key="given").rerank("tea", ["tea"])
    assert server.keys == [None, "Bearer of the vendor", f"Bearer {SECRET}", "Bearer given"]
    server.answers = [Answer(403, SECRET.encode())]
    with pytest.raises(
        RerankerError, match=r"check the key in the environment variable RECOLLECT_.*; \*\*\*"
    ) as caught:
        reranker.rerank("tea", ["tea"])
    assert SECRET not in str(caught.value)


def test_trouble(server: JsonServer) -> None:
    server.answers = [Answer(429, headers={"Retry-After": "0"}), Answer(503)]
    assert reranker_at(server).rerank("tea", ["tea"]) == [(0, 1.0)]
    server.answers = [Answer(500)] * 2
    with pytest.raises(RerankerError, match=r"/chat/completions answered 500 .* \(tried 2 times\)$"):
        reranker_at(server, retries=1).rerank("tea", ["tea"])
    server.answers = [Answer(413)]
    with pytest.raises(RerankerError, match="413 .*; pass a smaller document_characters, or rerank fewer documents$"):
        reranker_at(server).rerank("tea", ["tea"])
    server.answers = [server.slow]
    with pytest.raises(RerankerError, match=r"does not answer \(ReadTimeout: "):
        reranker_at(server, timeout=0.2, retries=0).rerank("tea", ["tea"])


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(body=b"<html>"), "answered something that is not JSON: is this an OpenAI-style API"),
        (as_json([]), r"answered JSON without a text in choices\[0\].message.content: is this an OpenAI-style API"),
        (as_json({"choices": []}), "answered JSON without a text in choices"),
        (as_json({"choices": [{"text": "[1]"}]}), "answered JSON without a text in choices"),
        (saying(None), "answered JSON without a text in choices"),
        (saying(7), "answered JSON without a text in choices"),
        (saying("I cannot\nhelp with that."), r"answered 'I cannot\\nhelp with that.', which names no passage"),
        (saying("x" * 999), "answered 'x{60}', which names no passage"),
        (saying("[9]"), r"answered '\[9\]', which names no passage"),
    ],
)
def test_nonsense_is_refused_in_one_line(server: JsonServer, answer: Answer, problem: str) -> None:
    server.answers = [answer]
    with pytest.raises(RerankerError, match=problem) as caught:
        reranker_at(server).rerank("tea", DOCUMENTS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": ""}, "model: must not be empty"),
        ({"base_url": "localhost"}, "base_url: must be an address"),
        ({"temperature": -1}, "temperature: must be at least 0"),
        ({"document_characters": 0}, "document_characters: must be at least 1, got 0"),
        ({"retries": -1}, "retries: must not be negative"),
    ],
)
def test_options_are_checked(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        ChatReranker(**{"model": "toy", "base_url": "http://localhost/v1", **options})
