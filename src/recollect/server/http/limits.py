"""How large a request may be and how long it may take to arrive, also where it does not say so beforehand."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.server.http.problems import ProblemError, problem_response
from recollect.server.http.settings import MEGABYTE, Settings

__all__ = ["HEADER_BYTES", "Limits"]

HEADER_BYTES = 32_768
"""How long the address and the headers of a request may be together."""


class Limits:
    """Looks at the headers, and counts a body while it streams in."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Stand before ``app``."""
        self._app = app
        self._most = settings.body_bytes
        self._seconds = settings.seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through as long as it keeps within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        problem = self._foreseen(scope)
        if problem is not None:
            await problem_response(problem, scope["state"]["request_id"])(scope, receive, send)
            return
        deadline = asyncio.get_running_loop().time() + self._seconds
        read = 0
        more = True

        async def counted() -> Message:
            nonlocal read, more
            if not more:  # all of it is there: what is waited for now is that the client goes away
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise ProblemError("too-slow", f"it took longer than {self._seconds:g} seconds to arrive") from None
            read += len(message.get("body", b""))
            more = message.get("more_body", False)
            if read > self._most:
                raise self._too_large()
            return message

        await self._app(scope, counted, send)

    def _foreseen(self, scope: Scope) -> ProblemError | None:
        """Return what is wrong with a request already before its body comes."""
        length = len(scope["raw_path"]) + len(scope["query_string"])
        length += sum(len(name) + len(value) for name, value in scope["headers"])
        if length > HEADER_BYTES:
            return ProblemError("headers-too-large", f"they may have {HEADER_BYTES:,} bytes together")
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced) > self._most:
            return self._too_large()
        return None

    def _too_large(self) -> ProblemError:
        return ProblemError("too-large", f"a request may have {self._most / MEGABYTE:g} MB; split it")
