"""The tools that look around: ``list``, which also reads notes as a whole, and ``stats``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from recollect.server.mcp.tool import Call, Tool
from recollect.server.mcp.values import Arguments, Brief, Texts, brief_of
from recollect.server.rights import Right

__all__ = ["LIST", "STATS"]


class Listing(Arguments):
    """What ``list`` takes."""

    keys: Annotated[Texts, Field(max_length=50)] | None = Field(
        default=None, description="Ids or paths: these notes as a whole, instead of a listing."
    )
    path_prefix: str | None = Field(default=None, description="Only notes whose path begins so, such as 'projects/'.")
    tags: Texts | None = Field(default=None, description="Only notes with all of these tags.")
    session: str | None = Field(default=None, description="Only notes of this conversation or document.")
    limit: Annotated[int, Field(ge=1, le=200)] = Field(default=20, description="How many notes at most.")
    cursor: str | None = Field(
        default=None, description="The next_cursor of the answer before, for what comes after it."
    )


class Listed(BaseModel):
    """What ``list`` found."""

    notes: list[Brief]
    missing: list[str] | None = Field(default=None, description="Which of the keys named no note.")
    next_cursor: str | None = Field(default=None, description="Where the rest begins; nothing if this is all.")
    namespace: str


class Counting(Arguments):
    """What ``stats`` takes."""


class Counted(BaseModel):
    """What ``stats`` counted."""

    notes: int = Field(description="How many notes there are in the namespace.")
    namespace: str
    namespaces: list[str] | None = Field(default=None, description="The namespaces that you may use; nothing if all.")
    embedder: str = Field(description="What is searched by meaning with, and why it was chosen.")


def _list(call: Call, asked: Listing) -> Listed:
    if asked.keys is not None:
        found = {key: call.memory.get(key, namespace=call.namespace) for key in asked.keys}
        return Listed(
            notes=[brief_of(note, None) for note in found.values() if note],
            missing=[key for key, note in found.items() if not note] or None,
            namespace=call.namespace,
        )
    page = call.memory.page(
        asked.limit,
        after=call.cursors.place(asked.cursor, call.namespace),
        namespace=call.namespace,
        filters=asked.changes("keys", "limit", "cursor"),
    )
    return Listed(
        notes=[brief_of(note) for note in page.notes],
        next_cursor=None if page.next is None else call.cursors.sealed(page.next, call.namespace),
        namespace=call.namespace,
    )


def _stats(call: Call, asked: Counting) -> Counted:  # noqa: ARG001 (every tool is called so)
    held = call.caller.grant.namespaces
    return Counted(
        notes=call.memory.count(namespace=call.namespace),
        namespace=call.namespace,
        namespaces=None if held is None else sorted(held),
        embedder=call.memory.described_embedder,
    )


LIST = Tool(
    name="list",
    title="List or read notes",
    description=(
        "List notes in the order in which they came, page by page, or read some as a whole by `keys`. Call it to "
        "browse a folder, a tag or a session, or when a recalled note was shortened. To find something, use recall."
    ),
    right=Right.READ,
    arguments=Listing,
    answer=Listed,
    run=_list,
)

STATS = Tool(
    name="stats",
    title="Count the notes",
    description="How many notes the memory holds, and which namespaces you may use. Call it when the user asks.",
    right=Right.READ,
    arguments=Counting,
    answer=Counted,
    run=_stats,
)
