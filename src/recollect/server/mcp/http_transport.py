"""MCP over streamable HTTP, as an extension of the HTTP server, which authenticates the requests."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError, RecollectError, ServerError
from recollect.memory import Memory
from recollect.server.http.problems import ProblemError, problem_response, to_problem
from recollect.server.http.service import BoundedThreadPool
from recollect.server.http.settings import Settings
from recollect.server.mcp.server import memory_server

_LOG = logging.getLogger(__name__)

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LOOPBACK_ONLY = TransportSecuritySettings(
    allowed_hosts=[name + port for name in _LOOPBACK for port in ("", ":*")],
    allowed_origins=[f"http://{name}{port}" for name in _LOOPBACK for port in ("", ":*")],
)
"""A server without keys rejects requests from pages of other sites."""
_ANY_ORIGIN = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # for a server with keys


class McpApp:
    """An ASGI application that needs an open :meth:`lifespan`.

    It is stateless: each request is authenticated, so that a revoked key is rejected at once.
    """

    def __init__(self, memory: Memory, settings: Settings) -> None:
        self._memory = memory
        self._settings = settings
        self._sessions: StreamableHTTPSessionManager

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Return a context in which requests are handled; when it is closed, another can be opened."""
        settings = self._settings
        pool = BoundedThreadPool("mcp", settings.read_threads, settings)

        async def run_in_thread(task: Callable[[], Any]) -> Any:
            try:
                return await pool.run(task)
            except (ArgumentError, ForbiddenError, NoteNotFoundError):
                raise
            except (RecollectError, ProblemError) as error:
                problem = to_problem(error)
                if problem.kind == "internal":
                    _LOG.error("a call failed", exc_info=error)
                raise ServerError(problem.detail) from None  # the error's own message may name files

        self._sessions = StreamableHTTPSessionManager(
            memory_server(self._memory, None, run_in_thread=run_in_thread),
            stateless=True,
            json_response=True,
            max_request_body_size=settings.max_body_bytes,
            security_settings=_ANY_ORIGIN if settings.require_keys else _LOOPBACK_ONLY,
        )
        try:
            async with self._sessions.run():
                yield
        finally:
            pool.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a POST request to the MCP SDK; reject other methods."""
        if scope["method"] == "POST":
            await self._sessions.handle_request(scope, receive, send)
        else:
            problem = ProblemError("method-not-allowed", "this address supports POST only", headers={"Allow": "POST"})
            await problem_response(problem, scope["state"]["request_id"])(scope, receive, send)
