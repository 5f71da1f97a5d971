"""A memory for language models: tools, resources and a prompt over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.server.mcp.server import memory_server
from recollect.server.mcp.stdio_transport import serve_stdio

if TYPE_CHECKING:
    from recollect.server.mcp.http_transport import mcp_extension

__all__ = ["mcp_extension", "memory_server", "serve_stdio"]


def __getattr__(name: str) -> Any:
    """Import the HTTP transport on demand; stdio does not need the HTTP server."""
    if name == "mcp_extension":
        from recollect.server.mcp.http_transport import mcp_extension  # noqa: PLC0415 (an extra)

        return mcp_extension
    raise AttributeError(f"module 'recollect.server.mcp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
