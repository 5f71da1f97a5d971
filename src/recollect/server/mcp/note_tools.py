"""Tools that read and write notes: ``remember``, ``update``, ``forget``, ``link``, ``list`` and ``stats``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from recollect.errors import ArgumentError
from recollect.model import NOTE_FIELDS, Note
from recollect.server.auth import Right
from recollect.server.mcp.tools import FilterRequest, JsonObject, RequestModel, StringList, ToolCall, tool

LISTED_TEXT_LENGTH = 300  # how many characters of a note's text a listing shows


def _note_field(name: str) -> Any:
    """Return an optional field with the description of ``NOTE_FIELDS``."""
    return Field(default=None, description=NOTE_FIELDS[name].description)


class NoteArguments(RequestModel):
    """Fields of a note that ``remember`` and ``update`` both take."""

    path: str | None = _note_field("path")
    title: str | None = _note_field("title")
    summary: str | None = _note_field("summary")
    tags: StringList | None = _note_field("tags")
    importance: Annotated[float, Field(ge=0, le=1)] | None = _note_field("importance")
    metadata: JsonObject | None = _note_field("metadata")
    expires_at: str | None = _note_field("expires_at")


class RememberRequest(NoteArguments):
    """Arguments of ``remember``."""

    content: str = Field(description="What to remember, in full sentences that still make sense in a year.")
    created_at: str | None = _note_field("created_at")
    session: str | None = _note_field("session")
    position: Annotated[int, Field(ge=0)] | None = _note_field("position")
    supersedes: str | None = Field(default=None, description="Id or path of an older note that this one replaces.")


class UpdateRequest(NoteArguments):
    """Arguments of ``update``; a list or an object replaces the old one as a whole."""

    key: str = Field(description="The note's id or path.")
    content: str | None = _note_field("content")


class ForgetRequest(RequestModel):
    """Arguments of ``forget``."""

    keys: Annotated[StringList, Field(min_length=1, max_length=100)] = Field(description="Ids or paths of notes.")


class LinkRequest(RequestModel):
    """Arguments of ``link``."""

    source: str = Field(description="Id or path of the note that the link starts from.")
    target: str = Field(description="Id, path or name of the note that the link leads to.")
    kind: str = Field(
        default="related", description="The kind of the link: related, supersedes, part_of, or one of your own."
    )


class ListRequest(FilterRequest):
    """Arguments of ``list``."""

    keys: Annotated[StringList, Field(max_length=50)] | None = Field(
        default=None, description="Ids or paths: return these notes as a whole, instead of a listing."
    )
    limit: Annotated[int, Field(ge=1, le=200)] = Field(default=20, description="The maximum number of notes.")
    cursor: str | None = Field(default=None, description="The next_cursor of the page before.")


class WrittenNote(BaseModel):
    """A note that was written."""

    id: str = Field(description="The id of the note. Other tools accept the id or the path as a key.")
    path: str | None = None
    namespace: str
    created_at: str | None = None
    updated_at: str | None = None
    expires_at: str | None = Field(default=None, description="When the note expires.")


class ForgetResponse(BaseModel):
    """The result of ``forget``."""

    forgotten: int = Field(description="How many notes were deleted.")
    missing: list[str] = Field(description="Keys without a note.")


class LinkResponse(BaseModel):
    """The result of ``link``."""

    created: bool = Field(description="False if the link existed.")


class NoteSummary(BaseModel):
    """A note in a listing."""

    id: str
    path: str | None = None
    title: str | None = None
    tags: list[str] | None = None
    created_at: str | None = None
    text: str
    truncated: bool | None = Field(default=None, description="True if text is only the beginning.")


class ListResponse(BaseModel):
    """The result of ``list``."""

    notes: list[NoteSummary]
    missing: list[str] | None = Field(default=None, description="Keys without a note.")
    next_cursor: str | None = Field(default=None, description="The cursor of the next page; missing at the end.")
    namespace: str


class StatsResponse(BaseModel):
    """The result of ``stats``."""

    notes: int = Field(description="The number of notes in the namespace.")
    namespace: str
    namespaces: list[str] | None = Field(default=None, description="Your namespaces; missing if you may use all.")
    embedder: str = Field(description="The embedder of vector search, and why it was chosen.")


def _summarise(note: Note, length: int | None = None) -> NoteSummary:
    """Return a note with its text, which is cut after ``length`` characters unless ``length`` is ``None``."""
    text = note.content[:length]
    fields = _fields(note, "id", "path", "title", "tags", "created_at")
    return NoteSummary(**fields, text=text, truncated=len(text) < len(note.content) or None)


def _written_note(note: Note) -> WrittenNote:
    return WrittenNote(**_fields(note, *WrittenNote.model_fields))


def _fields(note: Note, *names: str) -> dict[str, Any]:
    data = note.to_dict()
    return {name: data[name] or None for name in names}  # the response leaves out None


@tool("Remember something", Right.WRITE, idempotent=False)
def remember(call: ToolCall, request: RememberRequest) -> WrittenNote:
    """Store a new note for later conversations.

    Call it when the user states a lasting fact, preference, decision or plan, or asks you to remember; one fact per
    note. If the fact changes what an older note says, name that note in `supersedes`. Returns the id of the note.
    Never store passwords or keys.
    """
    if request.path and call.memory.has(request.path, namespace=call.namespace):
        raise ArgumentError("path", f"the note {request.path!r} exists; change it with update, or choose another path")
    return _written_note(call.memory.add(**request.given_arguments(), namespace=call.namespace))


@tool("Change a note", Right.WRITE, destructive=True)
def update(call: ToolCall, request: UpdateRequest) -> WrittenNote:
    """Change fields of a note by id or path; omitted fields keep their values.

    Call it to correct a mistake. If the world changed, remember a new note that supersedes the old one instead.
    Returns the note's id.
    """
    changes = request.given_arguments("key")
    if not changes:
        raise ArgumentError("key", f"nothing to change in {request.key!r}; pass content, title or another field")
    return _written_note(call.memory.update(request.key, namespace=call.namespace, **changes))


@tool("Delete notes", Right.WRITE, destructive=True)
def forget(call: ToolCall, request: ForgetRequest) -> ForgetResponse:
    """Delete notes by id or path, permanently.

    Call it only when the user asks for it, and recall first to check the ids. Returns how many notes were deleted,
    and which keys have no note.
    """
    missing = [key for key in request.keys if not call.memory.delete(key, namespace=call.namespace)]
    return ForgetResponse(forgotten=len(request.keys) - len(missing), missing=missing)


@tool("Link two notes", Right.WRITE)
def link(call: ToolCall, request: LinkRequest) -> LinkResponse:
    """Link a note to another, so that searches follow the link.

    Call it when two notes belong together. Returns whether the link is new.
    """
    created = call.memory.link(request.source, request.target, kind=request.kind, namespace=call.namespace)
    return LinkResponse(created=created)


@tool("List or read notes", Right.READ)
def list_(call: ToolCall, request: ListRequest) -> ListResponse:
    """List notes in insertion order, page by page, or read single notes as a whole by `keys`.

    Call it to browse a folder, a tag or a session, or when a recalled note was truncated. To search, use recall.
    """
    if request.keys is not None:
        notes = {key: call.memory.get(key, namespace=call.namespace) for key in request.keys}
        return ListResponse(
            notes=[_summarise(note) for note in notes.values() if note],
            missing=[key for key, note in notes.items() if not note] or None,
            namespace=call.namespace,
        )
    page = call.memory.page(
        request.limit,
        after=call.cursors.decode(request.cursor, call.namespace),
        namespace=call.namespace,
        filters=request.given_arguments("keys", "limit", "cursor"),
    )
    return ListResponse(
        notes=[_summarise(note, LISTED_TEXT_LENGTH) for note in page.notes],
        next_cursor=call.cursors.encode(page.next, call.namespace),
        namespace=call.namespace,
    )


@tool("Count the notes", Right.READ)
def stats(call: ToolCall, request: RequestModel) -> StatsResponse:  # noqa: ARG001 (the signature of every tool)
    """Return the number of notes in the memory, and the namespaces that you may use.

    Call it when the user asks how much is stored, or where.
    """
    namespaces = call.caller.grant.namespaces
    return StatsResponse(
        notes=call.memory.count(namespace=call.namespace),
        namespace=call.namespace,
        namespaces=None if namespaces is None else sorted(namespaces),
        embedder=call.memory.described_embedder,
    )
