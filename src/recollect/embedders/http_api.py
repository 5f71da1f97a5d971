"""Embedding models behind an OpenAI-style HTTP API: OpenAI, Ollama, vLLM, Text Embeddings Inference."""

from __future__ import annotations

from typing import Any, Unpack

from recollect import arguments
from recollect.embedders.base import EmbedderOptions, ModelEmbedder
from recollect.errors import EmbedderError
from recollect.inference.http_api import OPENAI_URL, JsonApi


class HttpEmbedder(ModelEmbedder):
    """Sends texts to ``{base_url}/embeddings`` and reads the vectors from the response.

    The API key is read from the environment variable ``key_variable`` for each request, and is never stored, shown or
    logged; if the variable is empty, no key is sent. ``dimensions`` requests shorter vectors, if the model supports
    that. A request is repeated up to ``retries`` times if the server is unreachable, busy or failing. The server may
    set the delay; otherwise the delay is at most half a second at first, and doubles with each retry.

    >>> embedder = HttpEmbedder("nomic-embed-text", "http://localhost:11434/v1", query_prefix="search_query: ")
    >>> embedder.describe()
    'nomic-embed-text, http://localhost:11434/v1'
    """

    def __init__(
        self,
        model: str,
        base_url: str = OPENAI_URL,
        *,
        key_variable: str | None = "OPENAI_API_KEY",
        name: str | None = None,
        dimensions: int | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        batch_size: int = 128,
        batch_characters: int = 200_000,
        **options: Unpack[EmbedderOptions],
    ) -> None:
        self._api = JsonApi(
            base_url,
            "/embeddings",
            key_variable=key_variable,
            error_type=EmbedderError,
            too_large_advice="send smaller batches, or raise the limit of the server",
            timeout=timeout,
            retries=retries,
        )
        name_suffix = "" if dimensions is None else f"/{arguments.at_least_one('dimensions', dimensions)}"
        super().__init__(
            f"{arguments.name('model', model)}{name_suffix}" if name is None else name,
            self._api.server,
            dimension=dimensions,
            batch_size=batch_size,
            batch_characters=arguments.count("batch_characters", batch_characters),
            **options,
        )
        self._request: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._request["dimensions"] = self._dimension

    def _vectors(self, texts: list[str]) -> Any:
        # Some servers refuse an empty text; all accept a space.
        response = self._api.post({**self._request, "input": [text or " " for text in texts]})
        data = response.get("data") if isinstance(response, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) and "embedding" in item for item in data):
            raise self._api.unexpected_response("JSON without a list of embeddings in data")
        if len(data) != len(texts):
            raise self._api.error(f"returned {len(data)} embeddings for {len(texts)} texts")
        indexes = [item.get("index", index) for index, item in enumerate(data)]
        # Indexes are compared as text, because a server may send any JSON value.
        if sorted(map(str, indexes)) != sorted(map(str, range(len(texts)))):
            raise self._api.error(f"returned embeddings whose indexes do not match the {len(texts)} texts")
        vectors: list[Any] = [None] * len(texts)
        for index, item in zip(indexes, data, strict=True):
            vectors[int(index)] = item["embedding"]
        return vectors
