"""A chat model as a reranker: it is shown all passages at once and says their order."""

from __future__ import annotations

from typing import Any

from recollect import arguments
from recollect.errors import RerankerError
from recollect.inference.json_api import OPENAI_URL, JsonApi, read_url
from recollect.rerankers.api_keys import AUTOMATIC, api_key
from recollect.rerankers.listwise import listwise_messages, read_order
from recollect.rerankers.model import ModelReranker

__all__ = ["ChatReranker"]


class ChatReranker(ModelReranker):
    """Asks the chat model at ``{base_url}/chat/completions`` for an order of the documents.

    All documents go out in one request, numbered and each cut after ``document_characters``. The score says the place
    alone: of n documents the best has 1, the next (n − 1) / n, and so on; those that the model does not name are left
    out. ``temperature=None`` leaves that field out, for models that refuse it.

    The key is ``key``, or what the environment variable ``key_variable`` holds at the time of each request; it is never
    shown or logged. By default that is ``OPENAI_API_KEY`` at OpenAI and ``RECOLLECT_RERANKER_KEY`` at any other
    address; ``None`` sends none. ``timeout``, ``retries`` and ``backoff`` are as in :class:`HttpReranker`.

    >>> ChatReranker("qwen3", "http://localhost:11434/v1").describe()
    'openai:qwen3, http://localhost:11434/v1'
    """

    def __init__(
        self,
        model: str,
        base_url: str = OPENAI_URL,
        *,
        key: str | None = None,
        key_variable: str | None = AUTOMATIC,
        name: str | None = None,
        temperature: float | None = 0.0,
        document_characters: int = 2000,
        timeout: float = 30.0,
        retries: int = 2,
        backoff: float = 0.5,
    ) -> None:
        """Check the arguments; nothing is sent yet."""
        url = read_url(base_url)
        self._api = JsonApi(
            url,
            "/chat/completions",
            key=api_key(url, key, key_variable, home=OPENAI_URL, home_variable="OPENAI_API_KEY"),
            failure=RerankerError,
            smaller="pass a smaller document_characters, or rerank fewer documents",
            timeout=timeout,
            retries=retries,
            backoff=backoff,
        )
        own = f"openai:{arguments.name('model', model)}"
        super().__init__(own if name is None else name, self._api.server)
        self._question: dict[str, Any] = {"model": model}
        if temperature is not None:
            self._question["temperature"] = arguments.number("temperature", temperature, at_least=0)
        self._document_characters = arguments.at_least_one("document_characters", document_characters)

    def _verdict(self, query: str, documents: list[str]) -> Any:
        """Ask for an order, and give each document that is in it a score by its place."""
        passages = [document[: self._document_characters] for document in documents]
        said = self._read(self._api.ask({**self._question, "messages": listwise_messages(query, passages)}))
        order = read_order(said, len(documents))
        if not order:
            raise self._api.error(f"answered {said[:60]!a}, which names no passage")
        return [(place, (len(documents) - rank) / len(documents)) for rank, place in enumerate(order)]

    def _read(self, answer: Any) -> str:
        """Return what the model said."""
        try:
            said = answer["choices"][0]["message"]["content"]
        except (TypeError, LookupError):
            said = None
        if not isinstance(said, str):
            raise self._api.misread("JSON without a text in choices[0].message.content")
        return said
