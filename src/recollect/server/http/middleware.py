"""Middleware that rejects a request before its route runs: host, key, rate and size."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from math import ceil
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.errors import KeyFileError
from recollect.server.auth import EVERYONE, Caller, KeyRing
from recollect.server.http.problems import ProblemError, problem_response, to_problem
from recollect.server.http.settings import MEGABYTE, Settings, is_loopback
from recollect.server.web import is_web_path

PUBLIC_PATHS = ("/health", "/ready", "/openapi.json")
"""Paths that need no key, besides the web UI: they tell nothing about notes."""
PROBES = ("/health", "/ready")
"""Paths without a rate limit: a flood of requests must not make the server look dead."""
MAX_HEADER_BYTES = 32_768
"""Limit for the address and the headers of a request together."""
MAX_BUCKETS = 10_000
"""How many token buckets are kept; the least recently used one is full again soon anyway."""


class TokenBucket:
    """Allows each name ``rate`` requests a second and ``burst`` at once; a rate of 0 allows everything.

    >>> bucket = TokenBucket(rate=2, burst=1, clock=lambda: 0.0)
    >>> bucket.take("ines"), bucket.take("ines"), bucket.take("omar")
    (0.0, 0.5, 0.0)
    """

    def __init__(self, *, rate: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take a token and return 0, or return how many seconds to wait for one."""
        if not self._rate:
            return 0.0
        now = self._clock()
        tokens, updated = self._buckets.pop(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - updated) * self._rate)
        allowed = tokens >= 1
        self._buckets[name] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self._rate


class AuthMiddleware:
    """Sets ``state.caller`` of a request, or responds with a problem."""

    def __init__(self, app: ASGIApp, settings: Settings, ring: KeyRing | None) -> None:
        self._app = app
        self._ring = ring
        self._bucket = TokenBucket(rate=settings.rate or 0.0, burst=settings.burst or 1.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate a request."""
        if scope["type"] == "http":
            try:
                scope["state"]["caller"] = self._authenticate(scope)
            except ProblemError as problem:
                await problem_response(problem, scope["state"]["request_id"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _authenticate(self, scope: Scope) -> Caller:
        headers = Headers(scope=scope)
        if self._ring is None:
            _check_host(headers.get("host", ""))
        if scope["path"] in PROBES:
            return EVERYONE
        caller = EVERYONE if self._ring is None else _key_caller(self._ring, headers.get("authorization", ""))
        address = scope["client"][0] if scope.get("client") else ""
        wait = self._bucket.take(f"key {caller.id}" if caller and caller.id else f"address {address}")
        if wait:
            raise ProblemError("too-many-requests", headers={"Retry-After": str(ceil(wait))})
        if caller is not None:
            return caller
        if scope["path"] in PUBLIC_PATHS or is_web_path(scope["path"]):
            return EVERYONE
        raise ProblemError(
            "unauthorised",
            "send a key of this server: Authorization: Bearer rk_…",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _key_caller(ring: KeyRing, authorization: str) -> Caller | None:
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return None
    try:
        return ring.caller(key.strip())
    except KeyFileError as error:
        raise to_problem(error) from None


def _check_host(host: str) -> None:
    """Reject a host that is not this machine: DNS rebinding lets another site's name lead here."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if not is_loopback(name):
        raise ProblemError("misdirected", "a server without keys accepts the hosts localhost and 127.0.0.1 only")


class LimitMiddleware:
    """Limits the size of headers and body and the time that a body takes to arrive."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._max_body_bytes = settings.max_body_bytes
        self._timeout = settings.timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the headers and limit the body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        problem = self._check_headers(scope)
        if problem is not None:
            await problem_response(problem, scope["state"]["request_id"])(scope, receive, send)
            return
        deadline = asyncio.get_running_loop().time() + self._timeout
        received = 0
        more_body = True

        async def limited_receive() -> Message:
            nonlocal received, more_body
            if not more_body:  # the next message is that the client disconnects
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise ProblemError("too-slow", f"it took longer than {self._timeout:g} seconds to arrive") from None
            received += len(message.get("body", b""))
            more_body = message.get("more_body", False)
            if received > self._max_body_bytes:
                raise self._too_large()
            return message

        await self._app(scope, limited_receive, send)

    def _check_headers(self, scope: Scope) -> ProblemError | None:
        length = len(scope["raw_path"]) + len(scope["query_string"])
        length += sum(len(name) + len(value) for name, value in scope["headers"])
        if length > MAX_HEADER_BYTES:
            return ProblemError("headers-too-large", f"the limit is {MAX_HEADER_BYTES:,} bytes together")
        content_length = Headers(scope=scope).get("content-length", "0")
        if content_length.isdigit() and int(content_length) > self._max_body_bytes:
            return self._too_large()
        return None

    def _too_large(self) -> ProblemError:
        return ProblemError("too-large", f"the limit is {self._max_body_bytes / MEGABYTE:g} MB; split the request")
