"""A memory for language models: tools, resources and a prompt over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.server.mcp.over_stdio import serve_stdio
from recollect.server.mcp.server import memory_server

if TYPE_CHECKING:
    from recollect.server.mcp.over_http import mcp_extension

__all__ = ["mcp_extension", "memory_server", "serve_stdio"]


def __getattr__(name: str) -> Any:
    """Load what needs the HTTP server only when it is asked for."""
    if name == "mcp_extension":
        from recollect.server.mcp.over_http import mcp_extension  # noqa: PLC0415 (an extra)

        return mcp_extension
    raise AttributeError(f"module 'recollect.server.mcp' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
