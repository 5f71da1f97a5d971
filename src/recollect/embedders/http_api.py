"""Models behind an HTTP API of OpenAI's kind, as Ollama, vLLM and Text Embeddings Inference have it too."""

from __future__ import annotations

import os
import time
import weakref
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from recollect import arguments
from recollect.embedders.model import QUERY_CACHE, ModelEmbedder, at_least_one
from recollect.embedders.once import OncePerProcess
from recollect.embedders.parts import part
from recollect.embedders.retries import is_passing, seconds_to_wait
from recollect.errors import ArgumentError, EmbedderError

__all__ = ["OPENAI_URL", "HttpEmbedder"]

OPENAI_URL = "https://api.openai.com/v1"

_ADVICE = {
    401: "check the key in the environment variable {variable}",
    403: "check the key in the environment variable {variable}",
    404: "check the address and the model's name",
    413: "pass a smaller batch_size or batch_characters",
    429: "too many requests: wait, or check the quota",
}


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
        self._url = _read_url(base_url)
        self._shown_url = _without_password(self._url)
        variant = "" if dimensions is None else f"/{at_least_one('dimensions', dimensions)}"
        super().__init__(
            f"{arguments.name('model', model)}{variant}" if name is None else name,
            self._shown_url,
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
        self._key_variable = None if key_variable is None else arguments.name("key_variable", key_variable)
        self._timeout = arguments.number("timeout", timeout, at_least=0.001)
        self._retries = arguments.count("retries", retries)
        self._backoff = arguments.number("backoff", backoff, at_least=0)
        self._client = OncePerProcess(self._new_client)

    def _vectors(self, texts: list[str]) -> Any:
        """Ask the server for the vectors of one batch."""
        # Some servers refuse an empty text, and none of them makes anything of a space.
        answer = self._ask({**self._question, "input": [text or " " for text in texts]})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(item, dict) and "embedding" in item for item in data):
            raise self._error("answered JSON without a list of embeddings in data: is this an OpenAI-style API?")
        if len(data) != len(texts):
            raise self._error(f"answered {len(data)} embeddings for {len(texts)} texts")
        places = [item.get("index", place) for place, item in enumerate(data)]
        if sorted(map(str, places)) != sorted(map(str, range(len(texts)))):
            raise self._error(f"answered embeddings whose index does not count the {len(texts)} texts")
        vectors: list[Any] = [None] * len(texts)
        for place, item in zip(places, data, strict=True):
            vectors[int(place)] = item["embedding"]
        return vectors

    def _ask(self, question: dict[str, Any]) -> Any:
        """Send a question until it is answered, or until it has been sent often enough."""
        httpx = part("httpx")
        client = self._client.get()
        key = self._key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        attempt = 0
        while True:
            response = None
            try:
                response = client.post(f"{self._url}/embeddings", json=question, headers=headers)
            except httpx.InvalidURL as error:
                raise self._error(f"cannot be asked ({error}): check the address") from None
            except httpx.RequestError as error:
                problem = f"does not answer ({type(error).__name__}: {error}): is the server running?"
            else:
                if response.status_code == 200:
                    return self._read(response)
                problem = self._refusal(response, key)
                if not is_passing(response.status_code):
                    raise self._error(problem)
            if attempt >= self._retries:
                raise self._error(f"{problem} (tried {attempt + 1} times)" if attempt else problem)
            asked = None if response is None else response.headers.get("Retry-After")
            time.sleep(seconds_to_wait(attempt, asked, backoff=self._backoff))
            attempt += 1

    def _read(self, response: Any) -> Any:
        """Return the JSON of an answer."""
        try:
            return response.json()
        except ValueError:
            raise self._error("answered something that is not JSON: is this an OpenAI-style API?") from None

    def _refusal(self, response: Any, key: str | None) -> str:
        """Return what a refusal says: the status, what to do, and the beginning of the text, without the key."""
        said = " ".join(response.text.split())
        said = (said.replace(key, "***") if key else said)[:200]
        advice = _ADVICE.get(response.status_code, "").format(variable=self._key_variable)
        return "; ".join(filter(None, (f"answered {response.status_code} {response.reason_phrase}", advice, said)))

    def _key(self) -> str | None:
        """Return the key, or ``None`` if there is none."""
        key = os.environ.get(self._key_variable, "").strip() if self._key_variable else ""
        if not key.isascii() or not key.isprintable():
            # Such a header would be refused with an error that shows the key.
            raise EmbedderError(f"the environment variable {self._key_variable} holds characters that no key has")
        return key or None

    def _new_client(self) -> Any:
        """Return a client that keeps its connections, and is closed when this embedder is gone."""
        client = part("httpx").Client(timeout=self._timeout)
        weakref.finalize(self, client.close)
        return client

    def _error(self, problem: str) -> EmbedderError:
        """Return an error that says which server it is about."""
        return EmbedderError(f"{self._shown_url}/embeddings {problem}")


def _read_url(value: str) -> str:
    """Return ``value`` without a slash at its end if it is the address of an HTTP server."""
    text = arguments.name("base_url", value).strip().rstrip("/")
    wanted = "must be an address such as http://localhost:11434/v1"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ArgumentError("base_url", wanted) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise ArgumentError("base_url", f"{wanted}, got {_without_password(text)!r}")
    return text


def _without_password(url: str) -> str:
    """Return ``url`` without the name and password that can stand before its host."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
