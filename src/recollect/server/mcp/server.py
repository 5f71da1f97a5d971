"""The server: what the protocol asks for, answered from a memory for whoever asks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from recollect import __version__
from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError, RecollectError
from recollect.memory import Memory
from recollect.server.cursors import Cursors
from recollect.server.mcp.calling import FAULT, call_tool
from recollect.server.mcp.catalogue import DESCRIPTIONS, TOOLS
from recollect.server.mcp.prompts import INSTRUCTIONS, PROMPTS, get_prompt
from recollect.server.mcp.resources import TEMPLATE, list_notes, read_note
from recollect.server.mcp.threads import Threads, in_thread
from recollect.server.rights import EVERYONE, Caller

__all__ = ["memory_server"]

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]


def memory_server(memory: Memory, caller: Caller | None = EVERYONE, *, threads: Threads = in_thread) -> Server[Any]:
    """Return a server over ``memory``; ``caller`` is who asks where it is not a request over HTTP that says so.

    A request over HTTP says it in its state, where whoever let it in left it; what says nothing is not answered.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     memory_server(memory).name
    'recollect'
    """
    cursors = Cursors()

    def who(context: Context) -> Caller:
        request = context.request
        asks: Caller | None = caller if request is None else request.scope.get("state", {}).get("caller")
        if asks is None:
            raise MCPError(INVALID_PARAMS, "nobody is known to ask")
        return asks

    async def list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        right = who(context).grant.right
        return ListToolsResult(tools=[DESCRIPTIONS[name] for name, tool in TOOLS.items() if tool.right <= right])

    async def call(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(asked.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {asked.name!r}; there are {', '.join(TOOLS)}")
        return await call_tool(tool, asked.arguments or {}, memory, who(context), cursors, threads)

    async def list_resources(context: Context, asked: PaginatedRequestParams | None) -> ListResourcesResult:
        caller, cursor = who(context), asked.cursor if asked else None
        return await _told(threads(lambda: list_notes(memory, caller, cursors, cursor)))

    async def list_templates(context: Context, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        who(context)
        return ListResourceTemplatesResult(resource_templates=[TEMPLATE])

    async def read_resource(context: Context, asked: ReadResourceRequestParams) -> ReadResourceResult:
        caller = who(context)
        return await _told(threads(lambda: read_note(memory, caller, asked.uri)))

    async def list_prompts(context: Context, _: PaginatedRequestParams | None) -> ListPromptsResult:
        who(context)
        return ListPromptsResult(prompts=[advice.prompt for advice in PROMPTS.values()])

    async def prompt(context: Context, asked: GetPromptRequestParams) -> GetPromptResult:
        who(context)
        return await _told(threads(lambda: get_prompt(asked.name, asked.arguments or {})))

    return Server(
        "recollect",
        title="Recollect",
        version=__version__,
        description="A long-term memory of notes, searched by words and by meaning.",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: DESCRIPTIONS[name].input_schema if name in DESCRIPTIONS else None,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=prompt,
    )


async def _told(work: Awaitable[T]) -> T:
    """Await ``work``; what goes wrong becomes an error of the protocol, in one line."""
    try:
        return await work
    except (ArgumentError, ForbiddenError, NoteNotFoundError) as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except RecollectError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from None
    except Exception:  # noqa: BLE001 (the SDK would tell its words to whoever asked)
        _LOG.exception("a request failed")
        raise MCPError(INTERNAL_ERROR, FAULT) from None
