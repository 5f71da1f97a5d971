"""The protocol over streamable HTTP: an ASGI app that asks for the server's keys."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from recollect.memory import Memory
from recollect.server.keys import KeyRing
from recollect.server.mcp.server import CALLER, memory_server
from recollect.server.rights import EVERYONE, Caller

__all__ = ["LARGEST_BODY", "McpApp"]

LARGEST_BODY = 4 * 2**20
"""How many bytes a request may have."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_OWN_MACHINE = TransportSecuritySettings(
    allowed_hosts=[name + port for name in _LOOPBACK for port in ("", ":*")],
    allowed_origins=[f"http://{name}{port}" for name in _LOOPBACK for port in ("", ":*")],
)
"""Who needs no key must have asked for this machine by name, so that no web page can reach it under another."""
_ANY_HOST = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class McpApp:
    """An ASGI app that serves one address, wherever it is mounted; it works while its :meth:`lifespan` lasts.

    Every request stands for itself: none needs what a former one left behind, and a key that is revoked is refused from
    the next one on. With ``keys``, each must present one as ``Authorization: Bearer``; without, whoever reaches the
    server may do everything, so that it must listen on a loopback address only.
    """

    def __init__(self, memory: Memory, keys: KeyRing | None = None, *, largest_body: int = LARGEST_BODY) -> None:
        """Keep what is needed; nothing runs yet."""
        self._server = memory_server(memory, None)
        self._keys = keys
        self._largest_body = largest_body
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Serve until the block ends; it can be entered again afterwards."""
        self._sessions = StreamableHTTPSessionManager(
            self._server,
            stateless=True,
            json_response=True,
            max_request_body_size=self._largest_body,
            security_settings=_OWN_MACHINE if self._keys is None else _ANY_HOST,
        )
        try:
            async with self._sessions.run():
                yield
        finally:
            self._sessions = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        caller = self._caller(scope)
        if caller is None:
            await _refuse(send, 401, "a key is needed: Authorization: Bearer rk_...", (b"www-authenticate", b"Bearer"))
        elif scope["method"] != "POST":
            await _refuse(send, 405, "this address takes POST only", (b"allow", b"POST"))
        elif self._sessions is None:
            await _refuse(send, 503, "the server is not running", (b"retry-after", b"1"))
        else:
            await self._sessions.handle_request({**scope, CALLER: caller}, receive, send)

    def _caller(self, scope: Scope) -> Caller | None:
        if self._keys is None:
            return EVERYONE
        presented = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        kind, _, key = presented.decode("latin-1").partition(" ")
        return self._keys.caller(key.strip()) if kind.lower() == "bearer" else None


async def _refuse(send: Send, status: int, detail: str, header: tuple[bytes, bytes]) -> None:
    """Answer with a problem, before anything of the request's body is read."""
    title = {401: "Unauthorized", 405: "Method Not Allowed", 503: "Service Unavailable"}[status]
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body)), header]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
