"""Every tool there is, in the order in which they are listed."""

from __future__ import annotations

from recollect.server.mcp.looking import LIST, STATS
from recollect.server.mcp.recalling import EXPLAIN, RECALL
from recollect.server.mcp.tool import Tool
from recollect.server.mcp.writing import FORGET, LINK, REMEMBER, UPDATE

__all__ = ["TOOLS"]

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (RECALL, REMEMBER, UPDATE, FORGET, LINK, LIST, EXPLAIN, STATS)}
