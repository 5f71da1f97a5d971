"""A server that embeds, and that can be told to misbehave."""

from __future__ import annotations

from typing import Any

from tests.serving import Answer, JsonServer, Question, as_json


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def embeddings(question: Question) -> list[dict[str, Any]]:
    return [{"index": index, "embedding": vector_of(text)} for index, text in enumerate(question["input"])]


def data(items: Any) -> Answer:
    return as_json({"object": "list", "data": items})


class EmbeddingServer(JsonServer):
    """Embeds what it is asked for."""

    def __init__(self) -> None:
        super().__init__(lambda question: data(embeddings(question)))
