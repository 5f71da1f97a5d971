"""Notes as resources: ``note://namespace/key``, where the key is a note's path or id."""

from __future__ import annotations

from urllib.parse import quote, unquote

from mcp.types import ListResourcesResult, ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from recollect.errors import NoteNotFoundError
from recollect.memory import Memory
from recollect.model import Note
from recollect.server.cursors import Cursors
from recollect.server.rights import Caller, Right

__all__ = ["TEMPLATE", "list_notes", "read_note", "uri_of"]

SCHEME = "note://"
PAGE = 100
MARKDOWN = "text/markdown"

TEMPLATE = ResourceTemplate(
    name="note",
    title="A note",
    uri_template=f"{SCHEME}{{namespace}}/{{+key}}",
    description="The text of one note, named by its path or id, as recall and list tell them.",
    mime_type=MARKDOWN,
)


def uri_of(namespace: str, key: str) -> str:
    """Return the address of a note.

    >>> uri_of("default", "memory/green tea.md#morning")
    'note://default/memory/green%20tea.md%23morning'
    """
    return f"{SCHEME}{quote(namespace, safe='')}/{quote(key)}"


def list_notes(memory: Memory, caller: Caller, cursors: Cursors, cursor: str | None) -> ListResourcesResult:
    """Return a page of the notes in the caller's own namespace."""
    home = caller.namespace(None, Right.READ)
    page = memory.page(PAGE, after=cursors.place(cursor, home), namespace=home)
    following = None if page.next is None else cursors.sealed(page.next, home)
    return ListResourcesResult(resources=[_resource(note) for note in page.notes], next_cursor=following)


def read_note(memory: Memory, caller: Caller, uri: str) -> ReadResourceResult:
    """Return the text of a note; where the caller may not read, that is all that is told."""
    namespace, slash, key = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not slash:
        raise NoteNotFoundError(f"there is no resource {uri!r}; the address of a note is note://namespace/key")
    home, name = caller.namespace(unquote(namespace), Right.READ), unquote(key)
    note = memory.get(name, namespace=home)
    if note is None:
        raise NoteNotFoundError(f"there is no note {name!r} in namespace {home!r}")
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=note.content, mime_type=MARKDOWN)])


def _resource(note: Note) -> Resource:
    return Resource(
        uri=uri_of(note.namespace, note.path or note.id),
        name=note.path or note.id,
        title=note.title or None,
        description=note.summary or None,
        mime_type=MARKDOWN,
        size=len(note.content.encode()),
    )
