"""What a tool is, and the types of its arguments, lenient where language models are imprecise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from mcp.types import Tool as ToolDescription
from mcp.types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from recollect.memory import Memory
from recollect.server.auth import Caller, Right
from recollect.server.cursors import Cursors


def _parse_list(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    parsed = _parse_json(value, list)
    return [value] if parsed is None else parsed


def _parse_object(value: Any) -> Any:
    parsed = _parse_json(value, dict) if isinstance(value, str) else None
    return value if parsed is None else parsed


def _parse_json(text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


StringList = Annotated[list[str], BeforeValidator(_parse_list)]
"""A list of strings; some clients send JSON in a string, or a single string."""
JsonObject = Annotated[dict[str, Any], BeforeValidator(_parse_object)]
"""A JSON object; some clients send it in a string."""


class RequestModel(BaseModel):
    """The arguments of a tool; unknown ones are rejected."""

    model_config = ConfigDict(extra="forbid")

    namespace: str | None = Field(
        default=None, description="The namespace. Omit it for your own; namespaces are isolated from each other."
    )

    def arguments(self, *excluded: str) -> dict[str, Any]:
        """Return the arguments that are set, without the namespace and ``excluded``."""
        return {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name not in ("namespace", *excluded) and getattr(self, name) is not None
        }


class FilterRequest(RequestModel):
    """Arguments of a tool that filters notes."""

    tags: StringList | None = Field(default=None, description="Only notes with all of these tags.")
    path_prefix: str | None = Field(
        default=None, description="Only notes whose path begins with it, such as 'projects/'."
    )
    session: str | None = Field(default=None, description="Only notes of this conversation or document.")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The context of a call; the caller's right in ``namespace`` has been checked."""

    memory: Memory
    caller: Caller
    namespace: str
    cursors: Cursors


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. A language model decides by its description when to call it."""

    name: str
    title: str
    description: str
    right: Right
    """The right that a caller needs; it is checked before ``run``, so that no tool can forget it."""
    request: type[RequestModel]
    response: type[BaseModel]
    run: Callable[[ToolCall, Any], BaseModel]
    """Runs in a thread: takes the call and the validated arguments, returns the response."""
    destructive: bool = False
    """Whether it can lose data."""
    idempotent: bool = True
    """Whether calling it twice has the same effect as once."""

    def describe(self) -> ToolDescription:
        """Return the tool as the protocol describes it."""
        return ToolDescription(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.request.model_json_schema(),
            output_schema=self.response.model_json_schema(),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.right is Right.READ,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,  # it accesses notes only
            ),
        )


def tool(title: str, right: Right, **hints: bool) -> Callable[[Callable[[ToolCall, Any], BaseModel]], Tool]:
    """Make a tool of a function: its name, docstring and annotations are name, description and schemas of the tool."""

    def decorate(run: Callable[[ToolCall, Any], BaseModel]) -> Tool:
        types = get_type_hints(run)
        return Tool(
            name=run.__name__.rstrip("_"),
            title=title,
            description=" ".join((run.__doc__ or "").split()),
            right=right,
            request=types["request"],
            response=types["return"],
            run=run,
            **hints,
        )

    return decorate
