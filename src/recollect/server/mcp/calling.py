"""A call of a tool: checked, allowed, done in a thread, and answered; what goes wrong is one line for the model."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from recollect.errors import RecollectError, SecretFoundError
from recollect.memory import Memory
from recollect.server.cursors import Cursors
from recollect.server.mcp.threads import Threads
from recollect.server.mcp.tool import Call, Tool
from recollect.server.rights import Caller

__all__ = ["FAULT", "call_tool", "line_of"]

FAULT = "a fault in Recollect; the server's log says where"

_SECRETS_HINT = "the server's operator can redact secrets with --secrets redact, or allow them with --secrets none"

_LOG = logging.getLogger(__name__)


async def call_tool(
    tool: Tool, arguments: Mapping[str, Any], memory: Memory, caller: Caller, cursors: Cursors, threads: Threads
) -> CallToolResult:
    """Return the answer of a tool, as data and as the same data in text for clients that read only that."""
    try:
        checked = tool.arguments.model_validate(dict(arguments))
        # Before anything is looked at: what is forbidden is so whether it exists or not, and takes as long.
        call = Call(memory, caller, caller.namespace(checked.namespace, tool.right), cursors)
        answer = await threads(lambda: tool.run(call, checked))
    except ValidationError as error:
        return _refusal(line_of(error))
    except SecretFoundError as error:
        return _refusal(f"{error}; {_SECRETS_HINT}")
    except RecollectError as error:
        return _refusal(str(error))
    except Exception:  # noqa: BLE001 (a model is not helped by a traceback; whoever runs the server is)
        _LOG.exception("the tool %s failed", tool.name)
        return _refusal(FAULT)
    told = answer.model_dump(mode="json", exclude_none=True)
    return CallToolResult(content=[_text(json.dumps(told, ensure_ascii=False))], structured_content=told)


def line_of(error: ValidationError) -> str:
    """Return what is wrong with arguments in one line.

    >>> from recollect.server.mcp.catalogue import TOOLS
    >>> try:
    ...     TOOLS["recall"].arguments.model_validate({"top_k": 500, "question": "which tea?"})
    ... except ValidationError as error:
    ...     print(line_of(error))
    query: Field required; top_k: Input should be less than or equal to 50; question: there is no such argument
    """
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: "
        + ("there is no such argument" if each["type"] == "extra_forbidden" else each["msg"])
        for each in error.errors(include_input=False, include_url=False, include_context=False)
    )


def _refusal(line: str) -> CallToolResult:
    return CallToolResult(content=[_text(" ".join(line.split()))], is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
