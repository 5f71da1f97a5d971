"""Every tool there is, in the order in which they are listed."""

from __future__ import annotations

from mcp.types import Tool as Description

from recollect.server.mcp.looking import LIST, STATS
from recollect.server.mcp.recalling import EXPLAIN, RECALL
from recollect.server.mcp.tool import Tool
from recollect.server.mcp.writing import FORGET, LINK, REMEMBER, UPDATE

__all__ = ["DESCRIPTIONS", "TOOLS"]

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (RECALL, REMEMBER, UPDATE, FORGET, LINK, LIST, EXPLAIN, STATS)}

DESCRIPTIONS: dict[str, Description] = {name: tool.describe() for name, tool in TOOLS.items()}
"""What is told of each; making the schemas takes longer than a search."""
