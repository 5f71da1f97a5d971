"""The protocol over streamable HTTP: an application below a path of the server, which has let in who asks."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError, RecollectError, ServerError
from recollect.memory import Memory
from recollect.server.http.app import Extension
from recollect.server.http.crew import Crew
from recollect.server.http.problems import ProblemError, problem_of, problem_response
from recollect.server.http.settings import Settings
from recollect.server.mcp.server import memory_server

__all__ = ["ADDRESS", "McpApp", "mcp_extension"]

ADDRESS = "/mcp"
"""Where clients find it."""

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_OWN_MACHINE = TransportSecuritySettings(
    allowed_hosts=[name + port for name in _LOOPBACK for port in ("", ":*")],
    allowed_origins=[f"http://{name}{port}" for name in _LOOPBACK for port in ("", ":*")],
)
"""Where no key is asked for, no page of another site may ask."""
_ANY_ORIGIN = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def mcp_extension(memory: Memory, settings: Settings | None = None) -> Extension:
    """Return what :func:`recollect.server.http.create_app` needs to serve a memory to language models at ``/mcp``.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     mcp_extension(memory).path
    '/mcp'
    """
    app = McpApp(memory, settings or Settings())
    return Extension(ADDRESS, app, app.running)


class McpApp:
    """An ASGI application that finds in a request's state who asks; it works while :meth:`running` lasts.

    Every request stands for itself: none needs what a former one left behind, and a key that is revoked is refused from
    the next one on.
    """

    def __init__(self, memory: Memory, settings: Settings) -> None:
        """Keep what is needed; nothing runs yet."""
        self._memory = memory
        self._settings = settings
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the block ends; it can be entered again afterwards."""
        settings = self._settings
        crew = Crew("mcp", threads=settings.searches, waiting=settings.waiting, seconds=settings.seconds)

        async def threads(work: Callable[[], T], /) -> T:
            try:
                return await crew.run(work)
            except (ArgumentError, ForbiddenError, NoteNotFoundError):
                raise
            except (RecollectError, ProblemError) as error:
                raise _for_others(error) from None

        self._sessions = StreamableHTTPSessionManager(
            memory_server(self._memory, None, threads=threads),
            stateless=True,
            json_response=True,
            max_request_body_size=settings.body_bytes,
            security_settings=_ANY_ORIGIN if settings.keyed else _OWN_MACHINE,
        )
        try:
            async with self._sessions.run():
                yield
        finally:
            self._sessions = None
            crew.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            problem = ProblemError("method-not-allowed", "this address takes POST alone", headers={"Allow": "POST"})
        elif self._sessions is None:
            problem = ProblemError("not-ready", headers={"Retry-After": "1"})
        else:
            await self._sessions.handle_request(scope, receive, send)
            return
        await problem_response(problem, scope["state"]["request_id"])(scope, receive, send)


def _for_others(error: RecollectError | ProblemError) -> ServerError:
    """Return what the outside may know of an error; the rest, such as where a file lies, is for the log."""
    problem = problem_of(error)
    if problem.kind == "internal":
        _LOG.error("a call failed", exc_info=error)
    return ServerError(problem.detail)
