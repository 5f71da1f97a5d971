"""The MCP server: requests of the protocol, answered from a memory with the caller's rights."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

import mcp.types as mcp_types
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from recollect import __version__
from recollect.errors import ArgumentError, ForbiddenError, NoteNotFoundError, RecollectError, SecretFoundError
from recollect.memory import Memory
from recollect.server.auth import EVERYONE, Caller
from recollect.server.cursors import Cursors
from recollect.server.mcp.note_tools import forget, link, list_, remember, stats, update
from recollect.server.mcp.resources import (
    INSTRUCTIONS,
    NOTE_TEMPLATE,
    USE_MEMORY,
    get_prompt,
    list_note_resources,
    read_note_resource,
)
from recollect.server.mcp.search_tools import explain, recall
from recollect.server.mcp.tools import Tool, ToolCall

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (recall, remember, update, forget, link, list_, explain, stats)}
"""All tools, in the order in which they are listed."""

DESCRIPTIONS = {name: tool.describe() for name, tool in TOOLS.items()}
"""Made once: generating the schemas takes longer than a search."""

INTERNAL_MESSAGE = "Recollect failed; see the server's log"

_SECRETS_HINT = "the server's operator can redact secrets with --secrets redact, or allow them with --secrets none"

_LOG = logging.getLogger(__name__)

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]


class RunInThread(Protocol):
    """Runs a task in a thread, so that it does not block other requests."""

    def __call__(self, task: Callable[[], T], /) -> Awaitable[T]:
        """Return what ``task`` returns."""
        ...


async def _run_in_thread(task: Callable[[], T], /) -> T:
    return await to_thread.run_sync(task)


def memory_server(
    memory: Memory, caller: Caller | None = EVERYONE, *, run_in_thread: RunInThread = _run_in_thread
) -> Server[Any]:
    """Return an MCP server over ``memory``.

    ``caller`` sends all requests that do not come over HTTP. A request over HTTP has its caller in
    ``scope["state"]["caller"]``; without one, it is rejected.

    >>> from tempfile import TemporaryDirectory
    >>> import recollect
    >>> with TemporaryDirectory() as folder, recollect.open(f"{folder}/memory.db", embedder=None) as memory:
    ...     memory_server(memory).name
    'recollect'
    """
    cursors = Cursors()

    def caller_of(context: Context) -> Caller:
        request = context.request
        sender: Caller | None = caller if request is None else request.scope.get("state", {}).get("caller")
        if sender is None:
            raise MCPError(mcp_types.INVALID_PARAMS, "the caller is unknown")
        return sender

    async def list_tools(context: Context, _: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        right = caller_of(context).grant.right
        return mcp_types.ListToolsResult(
            tools=[DESCRIPTIONS[name] for name, tool in TOOLS.items() if tool.right <= right]
        )

    async def run_tool(context: Context, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"there is no tool {params.name!r}; there are {', '.join(TOOLS)}")
        return await call_tool(tool, params.arguments or {}, memory, caller_of(context), cursors, run_in_thread)

    async def list_resources(
        context: Context, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        caller, cursor = caller_of(context), params.cursor if params else None
        return await _with_mcp_errors(run_in_thread(lambda: list_note_resources(memory, caller, cursors, cursor)))

    async def list_templates(
        context: Context, _: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        caller_of(context)
        return mcp_types.ListResourceTemplatesResult(resource_templates=[NOTE_TEMPLATE])

    async def read_resource(
        context: Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        caller = caller_of(context)
        return await _with_mcp_errors(run_in_thread(lambda: read_note_resource(memory, caller, params.uri)))

    async def list_prompts(context: Context, _: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListPromptsResult:
        caller_of(context)
        return mcp_types.ListPromptsResult(prompts=[USE_MEMORY])

    async def prompt(context: Context, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        caller_of(context)
        return await _with_mcp_errors(run_in_thread(lambda: get_prompt(params.name, params.arguments or {})))

    return Server(
        "recollect",
        title="Recollect",
        version=__version__,
        description="A long-term memory of notes with lexical and vector search.",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: DESCRIPTIONS[name].input_schema if name in DESCRIPTIONS else None,
        on_list_tools=list_tools,
        on_call_tool=run_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=prompt,
    )


async def call_tool(
    tool: Tool,
    arguments: Mapping[str, Any],
    memory: Memory,
    caller: Caller,
    cursors: Cursors,
    run_in_thread: RunInThread,
) -> mcp_types.CallToolResult:
    """Validate, authorise and run a call; the result is structured data, and the same data as text."""
    try:
        request = tool.request.model_validate(dict(arguments))
        # The right comes first: a forbidden call takes equally long whether the note exists or not.
        call = ToolCall(memory, caller, caller.namespace(request.namespace, tool.right), cursors)
        response = await run_in_thread(lambda: tool.run(call, request))
    except ValidationError as error:
        return _error_result(validation_message(error))
    except SecretFoundError as error:
        return _error_result(f"{error}; {_SECRETS_HINT}")
    except RecollectError as error:
        return _error_result(str(error))
    except Exception:  # noqa: BLE001 (a traceback does not help a model; it helps the operator)
        _LOG.exception("the tool %s failed", tool.name)
        return _error_result(INTERNAL_MESSAGE)
    data = response.model_dump(mode="json", exclude_none=True)
    return mcp_types.CallToolResult(content=[_text(json.dumps(data, ensure_ascii=False))], structured_content=data)


def validation_message(error: ValidationError) -> str:
    """Return what is wrong with the arguments in one line.

    >>> try:
    ...     TOOLS["recall"].request.model_validate({"top_k": 500, "question": "which tea?"})
    ... except ValidationError as error:
    ...     print(validation_message(error))
    query: Field required; top_k: Input should be less than or equal to 50; question: there is no such argument
    """
    return "; ".join(
        f"{'.'.join(map(str, item['loc']))}: "
        + ("there is no such argument" if item["type"] == "extra_forbidden" else item["msg"])
        for item in error.errors(include_input=False, include_url=False, include_context=False)
    )


def _error_result(message: str) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[_text(" ".join(message.split()))], is_error=True)


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


async def _with_mcp_errors(task: Awaitable[T]) -> T:
    """Await ``task``; raise its errors as errors of the protocol."""
    try:
        return await task
    except (ArgumentError, ForbiddenError, NoteNotFoundError) as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from None
    except RecollectError as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from None
    except Exception:  # noqa: BLE001 (the SDK would send its message to the client)
        _LOG.exception("a request failed")
        raise MCPError(mcp_types.INTERNAL_ERROR, INTERNAL_MESSAGE) from None
