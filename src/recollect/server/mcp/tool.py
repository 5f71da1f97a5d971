"""What a tool is: its name and hints, what it takes and gives, the right that it needs, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.types import Tool as Description
from mcp.types import ToolAnnotations
from pydantic import BaseModel

from recollect.memory import Memory
from recollect.server.cursors import Cursors
from recollect.server.mcp.values import Arguments
from recollect.server.rights import Caller, Right

__all__ = ["Call", "Tool"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that is called: by whom, in which namespace, which they may use so, and with which memory."""

    memory: Memory
    caller: Caller
    namespace: str
    cursors: Cursors


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool; what is said of it is for a language model, which decides by it when to call.

    Whether the caller may do so in the namespace is settled before ``run`` is called, so that no tool can forget it.
    """

    name: str
    title: str
    description: str
    right: Right
    arguments: type[Arguments]
    answer: type[BaseModel]
    run: Callable[[Call, Any], BaseModel]
    """Does it, in a thread: takes the call and the checked arguments, returns the answer."""
    destructive: bool = False
    """Whether something may be lost by it."""
    idempotent: bool = True
    """Whether doing it twice is the same as doing it once."""

    def describe(self) -> Description:
        """Return the tool as the protocol describes one."""
        return Description(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.answer.model_json_schema(),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.right is Right.READ,
                destructive_hint=self.destructive,
                idempotent_hint=self.idempotent,
                open_world_hint=False,  # it knows its notes and nothing else
            ),
        )
