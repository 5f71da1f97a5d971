"""Middleware that authenticates a request and checks its host, rate and size before its route runs."""

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

PUBLIC_PATHS = ("/health", "/ready", "/openapi.json")
"""Paths that need no key, besides the web UI (``/`` and ``/web/``): their responses contain nothing about notes."""
PROBES = ("/health", "/ready")  # paths without a rate limit: a flood of requests must not make the server look dead
MAX_HEADER_BYTES = 32_768  # limit for path, query string and headers of a request together
MAX_BUCKETS = 10_000  # if there are more, the least recently used bucket is dropped: it is nearly as full as a new one


class TokenBucket:
    """Allows each client ``rate`` requests a second, and up to twice as many at once; 0 allows any number."""

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._burst = max(1.0, 2 * rate)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By client: the tokens, and the time when they were counted. The least recently used client is first."""

    def take(self, client: str) -> float:
        """Take a token of the client and return 0, or return how many seconds to wait for a token."""
        if not self._rate:
            return 0.0
        now = self._clock()
        tokens, counted_at = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - counted_at) * self._rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - tokens) / self._rate


class AuthMiddleware:
    """Sets ``state.caller`` of a request, and limits its rate, its size and the time that its body takes to arrive."""

    def __init__(self, app: ASGIApp, settings: Settings, ring: KeyRing | None) -> None:
        self._app = app
        self._settings = settings
        self._ring = ring
        self._bucket = TokenBucket(settings.rate or 0.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            headers = Headers(scope=scope)
            scope["state"]["caller"] = self._authenticate(scope, headers)
            self._check_size(scope, headers)
        except (ProblemError, KeyFileError) as error:
            await problem_response(to_problem(error), scope["state"]["request_id"])(scope, receive, send)
        else:
            await self._app(scope, self._limit_body(receive), send)

    def _authenticate(self, scope: Scope, headers: Headers) -> Caller:
        """Return the caller; raise a problem if the host or the key is wrong, or if there are too many requests."""
        if self._ring is None:
            _check_host(headers.get("host", ""))
        if scope["path"] in PROBES:
            return EVERYONE
        caller: Caller | None = EVERYONE
        if self._ring is not None:
            scheme, _, key = headers.get("authorization", "").partition(" ")
            caller = self._ring.caller(key.strip()) if scheme.lower() == "bearer" else None
        address = scope["client"][0] if scope.get("client") else ""
        client = f"key {caller.id}" if caller and caller.id else f"address {address}"
        wait_seconds = self._bucket.take(client)  # before a wrong key is rejected, so that keys cannot be guessed fast
        if wait_seconds:
            raise ProblemError("too-many-requests", headers={"Retry-After": str(ceil(wait_seconds))})
        if caller is not None:
            return caller
        if scope["path"] in (*PUBLIC_PATHS, "/") or scope["path"].startswith("/web/"):
            return EVERYONE
        raise ProblemError(
            "unauthorised",
            "send a key of this server: Authorization: Bearer rk_…",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _check_size(self, scope: Scope, headers: Headers) -> None:
        length = len(scope["raw_path"]) + len(scope["query_string"])
        length += sum(len(name) + len(value) for name, value in scope["headers"])
        if length > MAX_HEADER_BYTES:
            raise ProblemError("headers-too-large", f"the limit is {MAX_HEADER_BYTES:,} bytes for both together")
        content_length = headers.get("content-length", "")
        self._check_body_size(int(content_length) if content_length.isdigit() else 0)

    def _check_body_size(self, length: int) -> None:
        limit = self._settings.max_body_bytes
        if length > limit:
            raise ProblemError("too-large", f"the limit is {limit / MEGABYTE:g} MB; split the request")

    def _limit_body(self, receive: Receive) -> Receive:
        """Return ``receive`` with a limit for the size of the body and for the time until all of it has arrived."""
        timeout = self._settings.timeout
        deadline = asyncio.get_running_loop().time() + timeout
        received = 0
        more_body = True

        async def limited_receive() -> Message:
            nonlocal received, more_body
            if not more_body:  # the body is complete; the next message is the disconnect of the client
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise ProblemError("too-slow", f"it took longer than {timeout:g} seconds to arrive") from None
            received += len(message.get("body", b""))
            more_body = message.get("more_body", False)
            self._check_body_size(received)
            return message

        return limited_receive


def _check_host(host: str) -> None:
    """Reject a host that is not this machine: with DNS rebinding, the name of another site resolves to this machine."""
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]  # no port
    if not is_loopback(name):
        raise ProblemError("misdirected", "a server without keys accepts the hosts localhost and 127.0.0.1 only")
