"""A server of embeddings, which can return errors."""

from __future__ import annotations

from typing import Any

from tests.serving import JsonServer, RequestBody, Response, as_json


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def embeddings(request: RequestBody) -> list[dict[str, Any]]:
    return [{"index": index, "embedding": vector_of(text)} for index, text in enumerate(request["input"])]


def data(items: Any) -> Response:
    return as_json({"object": "list", "data": items})


class EmbeddingServer(JsonServer):
    """Returns an embedding for each text of a request."""

    def __init__(self) -> None:
        super().__init__(lambda request: data(embeddings(request)))
