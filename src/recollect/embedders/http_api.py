"""Models behind an HTTP API of OpenAI's kind, as Ollama, vLLM and Text Embeddings Inference have it too."""

from __future__ import annotations

from typing import Any

from recollect import arguments
from recollect.embedders.model import QUERY_CACHE, ModelEmbedder
from recollect.errors import EmbedderError
from recollect.inference.json_api import OPENAI_URL, JsonApi
from recollect.inference.keys import ApiKey

__all__ = ["HttpEmbedder"]


class HttpEmbedder(ModelEmbedder):
    """Sends texts to ``{base_url}/embeddings`` and reads the vectors from the answer.

    The key is read from the environment variable ``key_variable`` for each request, and is never kept, shown or
    logged; without one none is sent, which suits servers of one's own. ``dimensions`` asks the server for shorter
    vectors, where the model can do that. A request that meets no server, a busy or a failing one is repeated up to
    ``retries`` times, after waits that double from ``backoff`` seconds or that the server asks for.

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
        backoff: float = 0.5,
        batch_size: int = 128,
        batch_characters: int = 200_000,
        query_prefix: str = "",
        document_prefix: str = "",
        query_cache: int = QUERY_CACHE,
    ) -> None:
        """Check the arguments; nothing is sent yet."""
        self._api = JsonApi(
            base_url,
            "/embeddings",
            key=ApiKey(key_variable),
            failure=EmbedderError,
            smaller="pass a smaller batch_size or batch_characters",
            timeout=timeout,
            retries=retries,
            backoff=backoff,
        )
        variant = "" if dimensions is None else f"/{arguments.at_least_one('dimensions', dimensions)}"
        super().__init__(
            f"{arguments.name('model', model)}{variant}" if name is None else name,
            self._api.server,
            dimension=dimensions,
            batch_size=batch_size,
            batch_characters=arguments.count("batch_characters", batch_characters),
            query_prefix=query_prefix,
            document_prefix=document_prefix,
            query_cache=query_cache,
        )
        self._question: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimensions is not None:
            self._question["dimensions"] = self._dimension

    def _vectors(self, texts: list[str]) -> Any:
        """Ask the server for the vectors of one batch."""
        # Some servers refuse an empty text, and none of them makes anything of a space.
        answer = self._api.ask({**self._question, "input": [text or " " for text in texts]})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) and "embedding" in item for item in data):
            raise self._api.misread("JSON without a list of embeddings in data")
        if len(data) != len(texts):
            raise self._api.error(f"answered {len(data)} embeddings for {len(texts)} texts")
        places = [item.get("index", place) for place, item in enumerate(data)]
        if sorted(map(str, places)) != sorted(map(str, range(len(texts)))):
            raise self._api.error(f"answered embeddings whose index does not count the {len(texts)} texts")
        vectors: list[Any] = [None] * len(texts)
        for place, item in zip(places, data, strict=True):
            vectors[int(place)] = item["embedding"]
        return vectors
