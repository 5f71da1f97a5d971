"""The decorator that makes a tool of a function, and argument types that accept the imprecise values of models."""

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


def _json_in_string(expected_type: type) -> BeforeValidator:
    """Return a validator that accepts JSON in a string, too; other text becomes the only item if a list is expected."""

    def parse(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
            if isinstance(parsed, expected_type):
                return parsed
        return [value] if expected_type is list else value

    return BeforeValidator(parse)


StringList = Annotated[list[str], _json_in_string(list)]
JsonObject = Annotated[dict[str, Any], _json_in_string(dict)]


class RequestModel(BaseModel):
    """The arguments of a tool; unknown arguments are rejected."""

    model_config = ConfigDict(extra="forbid")

    namespace: str | None = Field(
        default=None, description="The namespace; omit it to use your own. Namespaces are isolated from each other."
    )

    def given_arguments(self, *excluded: str) -> dict[str, Any]:
        """Return the arguments that have a value, without the namespace and the ``excluded`` names."""
        return {name: value for name, value in self if name not in ("namespace", *excluded) and value is not None}


class FilterRequest(RequestModel):
    """Arguments of a tool that filters notes."""

    tags: StringList | None = Field(default=None, description="Only notes with all of these tags.")
    path_prefix: str | None = Field(
        default=None, description="Only notes whose path begins with this prefix, such as 'projects/'."
    )
    session: str | None = Field(default=None, description="Only notes of this conversation or document.")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An authorised call of a tool: the caller has the tool's right in ``namespace``."""

    memory: Memory
    caller: Caller
    namespace: str
    cursors: Cursors


class Tool(NamedTuple):
    """A tool that language models can call; its description says when to call it."""

    description: ToolDescription  # the tool as the protocol describes it
    right: Right
    """The right that a caller needs. The server checks it before ``run``, so that no tool can forget the check."""
    request: type[RequestModel]
    run: Callable[[ToolCall, Any], BaseModel]
    """The function: takes the call and the validated arguments, returns the response; runs in a thread."""


def tool(
    title: str, right: Right, *, destructive: bool = False, idempotent: bool = True
) -> Callable[[Callable[[ToolCall, Any], BaseModel]], Tool]:
    """Make a tool of a function. Its name, docstring and annotations become name, description and schemas of the tool.

    ``destructive`` tools can lose data; calling an ``idempotent`` tool twice has the same effect as once.
    """

    def decorate(run: Callable[[ToolCall, Any], BaseModel]) -> Tool:
        type_hints = get_type_hints(run)
        description = ToolDescription(
            name=run.__name__.rstrip("_"),
            title=title,
            description=" ".join((run.__doc__ or "").split()),
            input_schema=type_hints["request"].model_json_schema(),
            output_schema=type_hints["return"].model_json_schema(),
            annotations=ToolAnnotations(
                title=title,
                read_only_hint=right is Right.READ,
                destructive_hint=destructive,
                idempotent_hint=idempotent,
                open_world_hint=False,  # tools access notes only
            ),
        )
        return Tool(description, right, type_hints["request"], run)

    return decorate
