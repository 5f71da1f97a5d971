"""What a tool is, and the types of its arguments, lenient where language models are imprecise."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_type_hints

from mcp.types import Tool as ToolDescription
from mcp.types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from recollect.memory import Memory
from recollect.server.auth import Caller, Cursors, Right


def _parse_json(kind: type) -> BeforeValidator:
    """Accept JSON in a string, which some clients send; for a list, also a single string."""

    def parse(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        with suppress(ValueError, RecursionError):
            if isinstance(parsed := json.loads(value), kind):
                return parsed
        return [value] if kind is list else value

    return BeforeValidator(parse)


StringList = Annotated[list[str], _parse_json(list)]
JsonObject = Annotated[dict[str, Any], _parse_json(dict)]


class RequestModel(BaseModel):
    """The arguments of a tool; unknown ones are rejected."""

    model_config = ConfigDict(extra="forbid")

    namespace: str | None = Field(
        default=None, description="The namespace. Omit it for your own; namespaces are isolated from each other."
    )

    def arguments(self, *excluded: str) -> dict[str, Any]:
        """Return the arguments that are set, without the namespace and ``excluded``."""
        return {name: value for name, value in self if name not in ("namespace", *excluded) and value is not None}


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


class Tool(NamedTuple):
    """A tool. A language model decides by its description when to call it."""

    description: ToolDescription
    """The tool as the protocol describes it."""
    right: Right
    """The right that a caller needs; it is checked before ``run``, so that no tool can forget it."""
    request: type[RequestModel]
    run: Callable[[ToolCall, Any], BaseModel]
    """Runs in a thread: takes the call and the validated arguments, returns the response."""


def tool(
    title: str, right: Right, *, destructive: bool = False, idempotent: bool = True
) -> Callable[[Callable[[ToolCall, Any], BaseModel]], Tool]:
    """Make a tool of a function: its name, docstring and annotations are name, description and schemas of the tool.

    ``destructive`` tools can lose data; calling an ``idempotent`` tool twice has the same effect as once.
    """

    def decorate(run: Callable[[ToolCall, Any], BaseModel]) -> Tool:
        types = get_type_hints(run)
        description = ToolDescription(
            name=run.__name__.rstrip("_"),
            title=title,
            description=" ".join((run.__doc__ or "").split()),
            input_schema=types["request"].model_json_schema(),
            output_schema=types["return"].model_json_schema(),
            annotations=ToolAnnotations(
                title=title,
                read_only_hint=right is Right.READ,
                destructive_hint=destructive,
                idempotent_hint=idempotent,
                open_world_hint=False,  # it accesses notes only
            ),
        )
        return Tool(description, right, types["request"], run)

    return decorate
