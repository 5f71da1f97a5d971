"""A client for JSON APIs over HTTP: keys, retries, and errors that say what to do."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from recollect import arguments
from recollect.errors import ArgumentError, RecollectError
from recollect.inference.runtime import ErrorType, PerProcess, require_module

OPENAI_URL = "https://api.openai.com/v1"
BACKOFF = 0.5  # the maximum delay before the first retry, in seconds
_MAX_BACKOFF = 8.0  # the maximum delay before a later retry, in seconds
_MAX_RETRY_AFTER = 60.0  # the maximum delay that a server can set, in seconds

_ADVICE_BY_STATUS = {
    401: "check {key}",
    403: "check {key}",
    404: "check the address and the model's name",
    413: "{too_large}",
    429: "too many requests: wait, or check the quota",
}


class JsonApi:
    """Posts JSON to ``{base_url}{path}`` and returns the JSON of the response. Thread-safe.

    The API key is read from the environment variable ``key_variable`` for each request, and is never stored, shown or
    logged. A request is repeated up to ``retries`` times if the server is unreachable, busy or failing; see
    :func:`retry_delay`. Errors are of ``error_type``. In their messages, ``style`` names the expected API, and
    ``too_large_advice`` says what to do if a request is too large. ``self.server`` is the address without a password.
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        key_variable: str | None,
        error_type: ErrorType,
        style: str = "an OpenAI-style API",
        too_large_advice: str = "send less at once",
        timeout: float = 30.0,
        retries: int = 4,
    ) -> None:
        url = check_url(base_url)
        self.server = without_password(url)
        self._url, self._shown_url = url + path, self.server + path
        self._key_variable = None if key_variable is None else arguments.name("key_variable", key_variable)
        self._error_type = error_type
        self._style = style
        self._too_large_advice = too_large_advice
        self._timeout = arguments.number("timeout", timeout, at_least=0.001)
        self._retries = arguments.count("retries", retries)
        self._client = PerProcess(self._new_client)

    def post(self, body: Mapping[str, Any]) -> Any:
        """Send ``body``, with retries, and return the JSON of the response."""
        httpx = require_module("httpx", self._error_type)
        client = self._client.get()
        key = self._key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        attempt = 0
        while True:
            retry_after = None
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
                    except (ValueError, RecursionError):  # RecursionError: JSON nested too deep
                        raise self.unexpected_response("something that is not JSON") from None
                problem = self._response_problem(response, key)
                if response.status_code not in (408, 429) and response.status_code < 500:
                    raise self.error(problem)
                retry_after = response.headers.get("Retry-After")
            if attempt >= self._retries:
                raise self.error(f"{problem} (tried {attempt + 1} times)" if attempt else problem)
            time.sleep(retry_delay(attempt, retry_after, backoff=BACKOFF))
            attempt += 1

    def error(self, problem: str) -> RecollectError:
        """Return an error whose message is the address followed by ``problem``."""
        return self._error_type(f"{self._shown_url} {problem}")

    def unexpected_response(self, response: str) -> RecollectError:
        """Return an error for a response that the expected API does not send; ``response`` describes it."""
        return self.error(f"returned {response}: is this {self._style}?")

    def _response_problem(self, response: Any, key: str) -> str:
        """Return the status, what to do about it, and the first 200 characters of the body, with the key masked."""
        body = " ".join(response.text.split())
        body = (body.replace(key, "***") if key else body)[:200]
        advice = _ADVICE_BY_STATUS.get(response.status_code, "")
        advice = advice.format(key=self._key_source, too_large=self._too_large_advice)
        return "; ".join(filter(None, (f"returned {response.status_code} {response.reason_phrase}", advice, body)))

    @property
    def _key_source(self) -> str:
        variable = self._key_variable
        return f"the key in the environment variable {variable}" if variable else "key_variable: no key is sent"

    def _key(self) -> str:
        key = os.environ.get(self._key_variable or "", "").strip()
        if not key.isascii() or not key.isprintable():
            # The HTTP client would refuse such a header, with an error that shows the key.
            raise self._error_type(f"{self._key_source} has characters that are not allowed in an HTTP header")
        return key

    def _new_client(self) -> Any:
        """Return a client that reuses its connections; it is closed when this object is garbage-collected."""
        client = require_module("httpx", self._error_type).Client(timeout=self._timeout)
        weakref.finalize(self, client.close)
        return client


def retry_delay(attempt: int, retry_after: str | None, *, backoff: float) -> float:
    """Return how many seconds to wait after the failed ``attempt``, counted from 0.

    ``retry_after`` is the ``Retry-After`` header of the response; if it is a number of seconds, it is the delay, up to
    a minute. Otherwise the delay doubles with each attempt from ``backoff`` up to 8 seconds. A random part of it, up to
    half, is then subtracted, so that clients that were refused together do not return together.
    """
    from random import uniform  # noqa: PLC0415 (needed only for a retry)

    if retry_after is not None and retry_after.strip().isdecimal():
        return min(float(retry_after), _MAX_RETRY_AFTER)
    max_delay = min(backoff * 2.0 ** min(attempt, 64), _MAX_BACKOFF)  # 2.0 ** 1024 would overflow
    return uniform(max_delay / 2, max_delay)  # noqa: S311 (nothing here is a secret)


def split_model_url(text: str) -> tuple[str, str | None]:
    """Return (model, address or ``None``) for ``MODEL`` or ``MODEL@URL``; a model's name may contain ``@``."""
    model, separator, address = text.rpartition("@http")
    return (model, f"http{address}") if separator else (text, None)


def check_url(value: str) -> str:
    """Return ``value`` without trailing slashes if it is the address of an HTTP server, or raise ``ArgumentError``."""
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
