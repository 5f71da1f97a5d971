"""An address of an HTTP API: a question goes out as JSON, and its answer comes back as JSON."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from recollect import arguments
from recollect.errors import ArgumentError, RecollectError
from recollect.inference.failure import Failure
from recollect.inference.keys import ApiKey
from recollect.inference.once import OncePerProcess
from recollect.inference.parts import part
from recollect.inference.retries import is_passing, seconds_to_wait

__all__ = ["OPENAI_URL", "JsonApi", "read_url", "without_password"]

OPENAI_URL = "https://api.openai.com/v1"

_ADVICE = {
    401: "check {key}",
    403: "check {key}",
    404: "check the address and the model's name",
    413: "{smaller}",
    429: "too many requests: wait, or check the quota",
}


class JsonApi:
    """Posts questions to ``{base_url}{path}`` and returns the answers. May be used from several threads.

    The key is asked for at each request, and is never shown or logged. A request that meets no server, a busy or a
    failing one is repeated up to ``retries`` times, after waits that double from ``backoff`` seconds or that the server
    asks for. ``style`` says in errors what was expected, and ``smaller`` what to do if a question is too large.
    ``server`` is the address as it may be shown, without a password.

    >>> from recollect.errors import EmbedderError
    >>> api = JsonApi("http://me:word@localhost:11434/v1/", "/embeddings", key=ApiKey(None), failure=EmbedderError)
    >>> api.error("is asleep")
    EmbedderError('http://localhost:11434/v1/embeddings is asleep')
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        key: ApiKey,
        failure: Failure,
        style: str = "an OpenAI-style API",
        smaller: str = "send less at once",
        timeout: float = 30.0,
        retries: int = 4,
        backoff: float = 0.5,
    ) -> None:
        """Check the arguments; nothing is sent yet."""
        url = read_url(base_url)
        self.server = without_password(url)
        self._url, self._shown_url = url + path, self.server + path
        self._key = key
        self._failure = failure
        self._style = style
        self._words: Mapping[str, str] = {"key": key.source, "smaller": smaller}
        self._timeout = arguments.number("timeout", timeout, at_least=0.001)
        self._retries = arguments.count("retries", retries)
        self._backoff = arguments.number("backoff", backoff, at_least=0)
        self._client = OncePerProcess(self._new_client)

    def ask(self, question: Mapping[str, Any]) -> Any:
        """Send a question until it is answered, or until it has been sent often enough; return the answer's JSON."""
        httpx = part("httpx", self._failure)
        client = self._client.get()
        key = self._key.value(self._failure)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        attempt = 0
        while True:
            response = None
            try:
                response = client.post(self._url, json=question, headers=headers)
            except httpx.InvalidURL as error:
                raise self.error(f"cannot be asked ({error}): check the address") from None
            except httpx.RequestError as error:
                problem = f"does not answer ({type(error).__name__}: {error}): is the server running?"
            else:
                if response.status_code == 200:
                    return self._read(response)
                problem = self._refusal(response, key)
                if not is_passing(response.status_code):
                    raise self.error(problem)
            if attempt >= self._retries:
                raise self.error(f"{problem} (tried {attempt + 1} times)" if attempt else problem)
            asked = None if response is None else response.headers.get("Retry-After")
            time.sleep(seconds_to_wait(attempt, asked, backoff=self._backoff))
            attempt += 1

    def error(self, problem: str) -> RecollectError:
        """Return an error that says which address it is about."""
        return self._failure(f"{self._shown_url} {problem}")

    def misread(self, problem: str) -> RecollectError:
        """Return an error about an answer that is not of the expected style."""
        return self.error(f"answered {problem}: is this {self._style}?")

    def _read(self, response: Any) -> Any:
        """Return the JSON of an answer."""
        try:
            return response.json()
        except (ValueError, RecursionError):  # the latter of a thousand brackets
            raise self.misread("something that is not JSON") from None

    def _refusal(self, response: Any, key: str | None) -> str:
        """Return what a refusal says: the status, what to do, and the beginning of the text, without the key."""
        said = " ".join(response.text.split())
        said = (said.replace(key, "***") if key else said)[:200]
        advice = _ADVICE.get(response.status_code, "").format(**self._words)
        return "; ".join(filter(None, (f"answered {response.status_code} {response.reason_phrase}", advice, said)))

    def _new_client(self) -> Any:
        """Return a client that keeps its connections, and is closed when this object is gone."""
        client = part("httpx", self._failure).Client(timeout=self._timeout)
        weakref.finalize(self, client.close)
        return client


def read_url(value: str) -> str:
    """Return ``value`` without a slash at its end if it is the address of an HTTP server.

    >>> read_url("http://localhost:11434/v1/")
    'http://localhost:11434/v1'
    """
    text = arguments.name("base_url", value).strip().rstrip("/")
    wanted = "must be an address such as http://localhost:11434/v1"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ArgumentError("base_url", wanted) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise ArgumentError("base_url", f"{wanted}, got {without_password(text)!r}")
    return text


def without_password(url: str) -> str:
    """Return ``url`` without the name and password that can stand before its host."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
