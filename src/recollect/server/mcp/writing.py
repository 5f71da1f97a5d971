"""The tools that change notes: ``remember``, ``update``, ``forget`` and ``link``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from recollect.errors import ArgumentError
from recollect.model import NOTE_FIELDS, Note
from recollect.server.mcp.tool import Call, Tool
from recollect.server.mcp.values import Arguments, Object, Texts, Written
from recollect.server.rights import Right

__all__ = ["FORGET", "LINK", "REMEMBER", "UPDATE"]

Importance = Annotated[float, Field(ge=0, le=1)]


class Remembering(Arguments):
    """What ``remember`` takes."""

    content: str = Field(description="What to remember, in full sentences that still make sense in a year.")
    path: str | None = Field(
        default=None, description="A name of your choice, such as 'people/ines.md', to find it again by."
    )
    title: str | None = Field(default=None, description="A few words; they count much in searches.")
    summary: str | None = Field(default=None, description="What a long text says, in a sentence.")
    tags: Texts | None = Field(default=None, description="Words to filter by.")
    importance: Importance | None = Field(default=None, description=NOTE_FIELDS["importance"].description)
    created_at: str | None = Field(default=None, description="When it became true, in ISO 8601; now if left out.")
    session: str | None = Field(default=None, description="The conversation or document that it belongs to.")
    position: Annotated[int, Field(ge=0)] | None = Field(default=None, description="Its place in the session, from 0.")
    metadata: Object | None = Field(default=None, description="Anything else, as a JSON object.")
    expires_at: str | None = Field(default=None, description="When to forget it, in ISO 8601; never if left out.")
    supersedes: str | None = Field(default=None, description="Id or path of an older note that this one replaces.")


class Updating(Arguments):
    """What ``update`` takes."""

    key: str = Field(description="The note's id or path.")
    content: str | None = Field(default=None, description="Its new text, as a whole.")
    path: str | None = Field(default=None, description="Its new path.")
    title: str | None = Field(default=None, description="Its new title.")
    summary: str | None = Field(default=None, description="Its new summary.")
    tags: Texts | None = Field(default=None, description="Its new tags, all of them.")
    importance: Importance | None = Field(default=None, description=NOTE_FIELDS["importance"].description)
    metadata: Object | None = Field(default=None, description="Its new metadata, as a whole.")
    expires_at: str | None = Field(default=None, description="When to forget it, in ISO 8601; 'never' keeps it.")


class Forgetting(Arguments):
    """What ``forget`` takes."""

    keys: Annotated[Texts, Field(min_length=1, max_length=100)] = Field(description="Ids or paths of notes.")


class Forgotten(BaseModel):
    """What ``forget`` did."""

    forgotten: int = Field(description="How many notes were deleted.")
    missing: list[str] = Field(description="Which of the keys named no note.")


class Linking(Arguments):
    """What ``link`` takes."""

    source: str = Field(description="Id or path of the note that the link leads from.")
    target: str = Field(description="Id, path or name of the note that it leads to.")
    kind: str = Field(
        default="related", description="What the link means: related, supersedes, part_of, or a word of yours."
    )


class Linked(BaseModel):
    """What ``link`` did."""

    created: bool = Field(description="False if the link was there already.")


def _remember(call: Call, asked: Remembering) -> Written:
    if asked.path and call.memory.has(asked.path, namespace=call.namespace):
        raise ArgumentError("path", f"there is a note {asked.path!r} already; change it with update, or name another")
    return _written(call.memory.add(**asked.changes(), namespace=call.namespace))


def _update(call: Call, asked: Updating) -> Written:
    changes = asked.changes("key")
    if not changes:
        raise ArgumentError("key", f"nothing is said of what should change of {asked.key!r}; give content, title, …")
    return _written(call.memory.update(asked.key, namespace=call.namespace, **changes))


def _forget(call: Call, asked: Forgetting) -> Forgotten:
    missing = [key for key in asked.keys if not call.memory.delete(key, namespace=call.namespace)]
    return Forgotten(forgotten=len(asked.keys) - len(missing), missing=missing)


def _link(call: Call, asked: Linking) -> Linked:
    made = call.memory.link(asked.source, asked.target, kind=asked.kind, namespace=call.namespace)
    return Linked(created=made)


def _written(note: Note) -> Written:
    told = note.to_dict()
    return Written.model_validate({name: told[name] or None for name in Written.model_fields})


REMEMBER = Tool(
    name="remember",
    title="Remember something",
    description=(
        "Store a new note for later conversations. Call it when the user states a lasting fact, preference, decision "
        "or plan, or asks you to remember; one fact a note. If it changes what an older note says, name that note in "
        "`supersedes`. Returns the id of the note. Never store passwords or keys."
    ),
    right=Right.WRITE,
    arguments=Remembering,
    answer=Written,
    run=_remember,
    idempotent=False,
)

UPDATE = Tool(
    name="update",
    title="Change a note",
    description=(
        "Change fields of a note by id or path; what you leave out stays. Call it to correct a mistake. Where the "
        "world changed, rather remember a new note that supersedes the old one. Returns the note's id."
    ),
    right=Right.WRITE,
    arguments=Updating,
    answer=Written,
    run=_update,
    destructive=True,
)

FORGET = Tool(
    name="forget",
    title="Delete notes",
    description=(
        "Delete notes by id or path, for good. Call it only when the user asks for it, and recall first to be sure of "
        "the ids. Returns how many were deleted, and which keys named none."
    ),
    right=Right.WRITE,
    arguments=Forgetting,
    answer=Forgotten,
    run=_forget,
    destructive=True,
)

LINK = Tool(
    name="link",
    title="Link two notes",
    description=(
        "Link a note to another, so that one leads to the other in searches. Call it when two notes belong together. "
        "Returns whether the link is new."
    ),
    right=Right.WRITE,
    arguments=Linking,
    answer=Linked,
    run=_link,
)
