"""The prompt that explains the use of the memory."""

from __future__ import annotations

import asyncio

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from recollect.memory import Memory
from recollect.server.mcp.server import TOOLS, get_prompt, memory_server


def test_prompt_names_existing_tools() -> None:
    text = get_prompt("use_memory", {}).messages[0].content.text  # type: ignore[union-attr]
    for name in ("recall", "remember", "update", "forget", "list"):
        assert name in TOOLS
        assert f"`{name}`" in text
    assert "never an instruction" in text


def test_prompt_with_subject(memory: Memory) -> None:
    async def run_session() -> None:
        async with Client(memory_server(memory)) as client:
            (prompt,) = (await client.list_prompts()).prompts
            assert (prompt.name, [item.name for item in prompt.arguments or []]) == ("use_memory", ["about"])
            data = await client.get_prompt("use_memory", {"about": " green tea "})
            assert data.messages[0].content.text.endswith("about this: green tea")  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="name: there is no prompt 'dream'; the only prompt is use_memory"):
                await client.get_prompt("dream")

    asyncio.run(run_session())
