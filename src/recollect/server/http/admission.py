"""Who comes in: the right host, a known key, not too often."""

from __future__ import annotations

from math import ceil

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import KeyFileError
from recollect.server.http.problems import ProblemError, problem_of, problem_response
from recollect.server.http.rates import Rates
from recollect.server.http.settings import Settings, is_loopback
from recollect.server.keys import KeyRing
from recollect.server.page import is_page
from recollect.server.rights import EVERYONE, Caller

__all__ = ["OPEN", "Admission"]

OPEN = ("/health", "/ready", "/openapi.json")
"""What says nothing about anybody's notes, and needs no key; neither does the page."""
PROBES = ("/health", "/ready")
"""What is asked to see whether the server lives, and is not counted: whoever floods it must not make it look dead."""


class Admission:
    """Finds out who asks and leaves it in the request's state, or answers in the application's place."""

    def __init__(self, app: ASGIApp, settings: Settings, ring: KeyRing | None) -> None:
        """Stand before ``app``."""
        self._app = app
        self._ring = ring
        self._rates = Rates(rate=settings.rate or 0.0, burst=settings.burst or 1.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        if scope["type"] == "http":
            try:
                scope["state"]["caller"] = self._admitted(scope)
            except ProblemError as problem:
                await problem_response(problem, scope["state"]["request_id"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> Caller:
        headers = Headers(scope=scope)
        if self._ring is None:
            _check_host(headers.get("host", ""))
        if scope["path"] in PROBES:
            return EVERYONE
        if self._ring is None:
            caller: Caller | None = EVERYONE
        else:
            caller = self._known(self._ring, headers.get("authorization", ""))
        address = scope["client"][0] if scope.get("client") else ""
        wait = self._rates.wait(f"key {caller.id}" if caller and caller.id else f"address {address}")
        if wait:
            raise ProblemError("too-many-requests", headers={"Retry-After": str(ceil(wait))})
        if caller is None:
            if not (scope["path"] in OPEN or is_page(scope["path"])):
                raise ProblemError(
                    "unauthorised",
                    "send a key of this server: Authorization: Bearer rk_…",
                    headers={"WWW-Authenticate": "Bearer"},
                )
            return EVERYONE
        return caller

    @staticmethod
    def _known(ring: KeyRing, authorization: str) -> Caller | None:
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            return ring.caller(key.strip())
        except KeyFileError as error:
            raise problem_of(error) from None


def _check_host(host: str) -> None:
    """Raise unless a request names this machine by a name that no other can take.

    A page of another site can let its own name lead here; the browser then sends that name.
    """
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if not is_loopback(name):
        raise ProblemError("misdirected", "without keys, this server answers to localhost and 127.0.0.1 alone")
