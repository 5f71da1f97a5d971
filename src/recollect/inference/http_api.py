"""A client for JSON APIs over HTTP: keys, retries, and errors that say what to do."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from recollect import arguments
from recollect.errors import ArgumentError, ArgumentTypeError, RecollectError
from recollect.inference.runtime import ErrorType, PerProcess, require_module

OPENAI_URL = "https://api.openai.com/v1"

_MAX_BACKOFF = 8.0
_MAX_RETRY_AFTER = 60.0

_ADVICE = {
    401: "check {key}",
    403: "check {key}",
    404: "check the address and the model's name",
    413: "{smaller}",
    429: "too many requests: wait, or check the quota",
}


class ApiKey:
    """A key that was passed, or that an environment variable holds at the time of each request, or none.

    >>> ApiKey("COHERE_API_KEY", key="a secret")
    ApiKey('COHERE_API_KEY', key='***')
    >>> ApiKey("COHERE_API_KEY").source
    'the key in the environment variable COHERE_API_KEY'
    """

    def __init__(self, variable: str | None, key: str | None = None) -> None:
        """Check both; ``key`` wins over the variable, and without either no key is sent."""
        self._variable = None if variable is None else arguments.name("key_variable", variable)
        # By hand, in a closure: a dump of the object's attributes does not show the key.
        self._key = None if key is None else _sealed(key)

    @property
    def source(self) -> str:
        """Where the key comes from, for error messages."""
        if self._key is not None:
            return "the key that was passed"
        if self._variable:
            return f"the key in the environment variable {self._variable}"
        return "key_variable: no key is sent"

    def value(self, error_type: ErrorType) -> str | None:
        """Return the key, or ``None`` if there is none."""
        key = (os.environ.get(self._variable or "", "") if self._key is None else self._key()).strip()
        if not key.isascii() or not key.isprintable():
            # The HTTP client would refuse such a header with an error that shows the key.
            raise error_type(f"{self.source} has characters that are not allowed in a header")
        return key or None

    def __repr__(self) -> str:
        key = "" if self._key is None else ", key='***'"
        return f"ApiKey({self._variable!r}{key})"


def _sealed(key: str) -> Callable[[], str]:
    if not isinstance(key, str):
        raise ArgumentTypeError("key", f"must be a string, got {type(key).__name__}")  # never the value
    return lambda: key


class JsonApi:
    """Posts JSON to ``{base_url}{path}`` and returns the JSON of the response. Thread-safe.

    The key is read for each request and is never shown or logged. A request that finds no server, a busy or a failing
    one is repeated up to ``retries`` times, after the delay of the ``Retry-After`` header or one that doubles from
    ``backoff`` seconds. ``style`` names the expected API in errors, ``smaller`` is the advice for a request that is too
    large. ``server`` is the address without a password.

    >>> from recollect.errors import EmbedderError
    >>> api = JsonApi("http://me:word@localhost:11434/v1/", "/embeddings", key=ApiKey(None), error_type=EmbedderError)
    >>> api.error("is asleep")
    EmbedderError('http://localhost:11434/v1/embeddings is asleep')
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        key: ApiKey,
        error_type: ErrorType,
        style: str = "an OpenAI-style API",
        smaller: str = "send less at once",
        timeout: float = 30.0,
        retries: int = 4,
        backoff: float = 0.5,
    ) -> None:
        url = check_url(base_url)
        self.server = without_password(url)
        self._url, self._shown_url = url + path, self.server + path
        self._key = key
        self._error_type = error_type
        self._style = style
        self._advice_values: Mapping[str, str] = {"key": key.source, "smaller": smaller}
        self._timeout = arguments.number("timeout", timeout, at_least=0.001)
        self._retries = arguments.count("retries", retries)
        self._backoff = arguments.number("backoff", backoff, at_least=0)
        self._client = PerProcess(self._new_client)

    def post(self, body: Mapping[str, Any]) -> Any:
        """Send ``body`` until it is answered or the retries are used up; return the JSON of the response."""
        httpx = require_module("httpx", self._error_type)
        client = self._client.get()
        key = self._key.value(self._error_type)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        attempt = 0
        while True:
            response = None
            try:
                response = client.post(self._url, json=body, headers=headers)
            except httpx.InvalidURL as error:
                raise self.error(f"is not a valid address ({error}): check it") from None
            except httpx.RequestError as error:
                problem = f"does not respond ({type(error).__name__}: {error}): is the server running?"
            else:
                if response.status_code == 200:
                    try:
                        return response.json()
                    except (ValueError, RecursionError):  # the latter of a thousand brackets
                        raise self.unexpected("something that is not JSON") from None
                problem = self._problem(response, key)
                if response.status_code not in (408, 429) and response.status_code < 500:
                    raise self.error(problem)
            if attempt >= self._retries:
                raise self.error(f"{problem} (tried {attempt + 1} times)" if attempt else problem)
            retry_after = None if response is None else response.headers.get("Retry-After")
            time.sleep(retry_delay(attempt, retry_after, backoff=self._backoff))
            attempt += 1

    def error(self, problem: str) -> RecollectError:
        """Return an error that names the address."""
        return self._error_type(f"{self._shown_url} {problem}")

    def unexpected(self, problem: str) -> RecollectError:
        """Return an error about a response that is not of the expected style."""
        return self.error(f"returned {problem}: is this {self._style}?")

    def _problem(self, response: Any, key: str | None) -> str:
        """Return the status, what to do, and the first characters of the body without the key."""
        body = " ".join(response.text.split())
        body = (body.replace(key, "***") if key else body)[:200]
        advice = _ADVICE.get(response.status_code, "").format(**self._advice_values)
        return "; ".join(filter(None, (f"returned {response.status_code} {response.reason_phrase}", advice, body)))

    def _new_client(self) -> Any:
        """Return a client that reuses its connections and is closed with this object."""
        client = require_module("httpx", self._error_type).Client(timeout=self._timeout)
        weakref.finalize(self, client.close)
        return client


def retry_delay(attempt: int, retry_after: str | None, *, backoff: float, now: datetime | None = None) -> float:
    """Return how many seconds to wait after the failed ``attempt``, counted from 0.

    A ``Retry-After`` header, in seconds or a date, counts up to a minute. Otherwise the delay doubles from ``backoff``
    up to 8 seconds, less a random half, so that clients that were refused together do not return together.

    >>> retry_delay(0, "2", backoff=0.5)
    2.0
    >>> 2.0 <= retry_delay(3, None, backoff=0.5) <= 4.0
    True
    """
    from random import uniform  # noqa: PLC0415 (imported only to wait)

    seconds = None if retry_after is None else _retry_after_seconds(retry_after, now or datetime.now(UTC))
    if seconds is not None:
        return min(max(seconds, 0.0), _MAX_RETRY_AFTER)
    longest = min(backoff * 2.0 ** min(attempt, 64), _MAX_BACKOFF)
    return uniform(longest / 2, longest)  # noqa: S311 (nothing here is a secret)


def _retry_after_seconds(value: str, now: datetime) -> float | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (imported only to wait)

    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()


def split_model_url(text: str) -> tuple[str, str | None]:
    """Split ``MODEL@URL``; a model's own name may contain ``@``, because an address begins with ``http``.

    >>> split_model_url("nomic@v2@http://localhost:11434/v1"), split_model_url("nomic@v2")
    (('nomic@v2', 'http://localhost:11434/v1'), ('nomic@v2', None))
    """
    model, at, address = text.rpartition("@http")
    return (model, f"http{address}") if at else (text, None)


def check_url(value: str) -> str:
    """Return ``value`` without a trailing slash if it is the address of an HTTP server.

    >>> check_url("http://localhost:11434/v1/")
    'http://localhost:11434/v1'
    """
    text = arguments.name("base_url", value).strip().rstrip("/")
    expected = "must be an address such as http://localhost:11434/v1"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ArgumentError("base_url", expected) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
        raise ArgumentError("base_url", f"{expected}, got {without_password(text)!r}")
    return text


def without_password(url: str) -> str:
    """Return ``url`` without the user name and password before its host."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
