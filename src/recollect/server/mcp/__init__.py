"""A memory for language models: tools, resources and a prompt over the Model Context Protocol."""

from __future__ import annotations

from recollect.server.mcp.over_http import McpApp
from recollect.server.mcp.over_stdio import serve_stdio
from recollect.server.mcp.server import memory_server

__all__ = ["McpApp", "memory_server", "serve_stdio"]
