"""A server of embeddings, which can return errors."""

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
    """Returns an embedding for each text of a request."""

    def __init__(self) -> None:
        super().__init__(lambda question: data(embeddings(question)))
