"""Serve a memory to language models over the Model Context Protocol: tools, resources and a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.memory import Memory
from recollect.server.mcp.server import memory_server, serve_stdio

if TYPE_CHECKING:
    from recollect.server.http import Extension, Settings

__all__ = ["mcp_extension", "memory_server", "serve_stdio"]


def mcp_extension(memory: Memory, settings: Settings | None = None) -> Extension:
    """Return an extension for :func:`recollect.server.http.create_app` that serves MCP at ``/mcp``.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     mcp_extension(memory).path
    '/mcp'
    """
    from recollect.server.http import Extension, Settings  # noqa: PLC0415 (stdio does not need the HTTP server)
    from recollect.server.mcp.http_transport import McpApp  # noqa: PLC0415 (as above)

    app = McpApp(memory, settings or Settings())
    return Extension("/mcp", app, app.lifespan)
